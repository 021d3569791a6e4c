"""Rules for the metadata of a set."""

from collections.abc import Iterator

from grove.api.meta import ObjectMeta
from grove.api.validation.problem import Problem, required
from grove.api.validation.syntax import check_annotations, check_labels, check_name
from grove.schema.errors import Path

PATH: Path = ("metadata",)


def check_metadata(meta: ObjectMeta) -> Iterator[Problem]:
    if meta.name is not None:
        yield from check_name((*PATH, "name"), meta.name)
    elif meta.generate_name:
        yield from check_name((*PATH, "generateName"), meta.generate_name + "x")
    else:
        yield required((*PATH, "name"), "an object has a name", "set metadata.name")
    yield from check_labels((*PATH, "labels"), meta.labels)
    yield from check_annotations((*PATH, "annotations"), meta.annotations)
