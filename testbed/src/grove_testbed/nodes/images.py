"""Writes container images as OCI archives, without a builder: a few files on top of nothing or of a base layer.

For the images of the testbed itself (pause, CoreDNS, programs of tests). What we ship is built from its Dockerfile.
"""

from __future__ import annotations

import hashlib
import io
import json
import platform
import tarfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from grove_testbed.build import built
from grove_testbed.components import component
from grove_testbed.nodes.requirements import BUSYBOX

Json = dict[str, Any]

PAUSE = "localhost/pause:1"
COREDNS = "localhost/coredns:1"

_MANIFEST = "application/vnd.oci.image.manifest.v1+json"
_CONFIG = "application/vnd.oci.image.config.v1+json"
_LAYER = "application/vnd.oci.image.layer.v1.tar"
_ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}


@dataclass(frozen=True)
class Image:
    """``files`` maps a path in the image to its content, executable.

    Below them is ``base``: a tar archive of a root file system, or an OCI archive, whose layers are taken over.
    """

    name: str
    files: Mapping[str, Path | str]
    entrypoint: Sequence[str]
    base: Path | None = None
    environment: Mapping[str, str] = field(default_factory=dict)


def pause() -> Image:
    """Holds the namespaces of a pod: it only has to stay."""
    return Image(PAUSE, {"bin/busybox": BUSYBOX}, ("/bin/busybox", "tail", "-f", "/dev/null"))


def coredns() -> Image:
    return Image(COREDNS, {"coredns": built(component("coredns"))}, ("/coredns",))


def write_archive(target: Path, *images: Image) -> Path:
    """The images as one file that `ctr images import` takes; what they share is in it once."""
    with tarfile.open(target, "w") as file:
        archive = _Archive(file)
        manifests = [_write(archive, image) for image in images]
        archive.add("oci-layout", _json({"imageLayoutVersion": "1.0.0"}))
        archive.add("index.json", _json({"schemaVersion": 2, "manifests": manifests}))
    return target


def _write(archive: _Archive, image: Image) -> Json:
    layers, contents = archive.base(image.base) if image.base else ([], [])
    if image.files:
        top = archive.store(_layer(image.files), _LAYER)
        layers, contents = [*layers, top], [*contents, top["digest"]]
    config = {
        "architecture": _ARCHITECTURES.get(platform.machine(), platform.machine()),
        "os": "linux",
        "config": {
            "Entrypoint": list(image.entrypoint),
            "Env": [f"{name}={value}" for name, value in image.environment.items()],
        },
        "rootfs": {"type": "layers", "diff_ids": contents},
    }
    manifest = {
        "schemaVersion": 2,
        "mediaType": _MANIFEST,
        "config": archive.store(_json(config), _CONFIG),
        "layers": layers,
    }
    reference = archive.store(_json(manifest), _MANIFEST)
    return {**reference, "annotations": {"io.containerd.image.name": image.name}}


class _Archive:
    """An OCI archive that is being written; a blob that is there already is not written again."""

    def __init__(self, file: tarfile.TarFile) -> None:
        self._file = file
        self._bases: dict[Path, tuple[list[Json], list[str]]] = {}
        self._blobs: set[str] = set()

    def base(self, path: Path) -> tuple[list[Json], list[str]]:
        """Takes over the layers of another archive: as they are stored, and the digests of their contents."""
        if path not in self._bases:
            with tarfile.open(path) as other:
                first = other.next()
                is_image = first is not None and first.name.startswith(("blobs", "oci-layout", "index.json"))
                self._bases[path] = self._layers(other) if is_image else self._root_file_system(path)
        return self._bases[path]

    def _layers(self, other: tarfile.TarFile) -> tuple[list[Json], list[str]]:
        def read(name: str) -> Json:
            file = other.extractfile(name)
            assert file is not None
            found: Json = json.load(file)
            return found

        def blob(descriptor: Json) -> str:
            return f"blobs/{descriptor['digest'].replace(':', '/')}"

        [reference] = read("index.json")["manifests"]
        manifest = read(blob(reference))
        for layer in manifest["layers"]:
            name = blob(layer)
            self._file.addfile(other.getmember(name), other.extractfile(name))
            self._blobs.add(layer["digest"])
        return manifest["layers"], read(blob(manifest["config"]))["rootfs"]["diff_ids"]

    def _root_file_system(self, path: Path) -> tuple[list[Json], list[str]]:
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        self._file.add(path, f"blobs/sha256/{digest}")
        layer = {"mediaType": _LAYER, "digest": f"sha256:{digest}", "size": path.stat().st_size}
        return [layer], [f"sha256:{digest}"]

    def store(self, content: bytes, kind: str) -> Json:
        digest = hashlib.sha256(content).hexdigest()
        if digest not in self._blobs:
            self._blobs.add(digest)
            self.add(f"blobs/sha256/{digest}", content)
        return {"mediaType": kind, "digest": f"sha256:{digest}", "size": len(content)}

    def add(self, name: str, content: bytes) -> None:
        _add(self._file, name, content)


def _layer(files: Mapping[str, Path | str]) -> bytes:
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w") as archive:
        for name, content in sorted(files.items()):
            _add(archive, name, content.read_bytes() if isinstance(content, Path) else content.encode())
    return data.getvalue()


def _add(archive: tarfile.TarFile, name: str, content: bytes) -> None:
    entry = tarfile.TarInfo(name)
    entry.size, entry.mode = len(content), 0o755
    archive.addfile(entry, io.BytesIO(content))


def _json(value: object) -> bytes:
    return json.dumps(value, sort_keys=True).encode()
