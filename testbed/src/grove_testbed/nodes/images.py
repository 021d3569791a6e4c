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

PAUSE = "localhost/pause:1"
COREDNS = "localhost/coredns:1"

_MANIFEST = "application/vnd.oci.image.manifest.v1+json"
_CONFIG = "application/vnd.oci.image.config.v1+json"
_LAYER = "application/vnd.oci.image.layer.v1.tar"
_ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}


@dataclass(frozen=True)
class Image:
    """``files`` maps a path in the image to its content, executable; ``base`` is a tar archive below them."""

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


def write_archive(image: Image, target: Path) -> Path:
    """The image as a file that `ctr images import` takes. The same image gives the same digest."""
    with tarfile.open(target, "w") as archive:
        layers = [_store_file(archive, image.base)] if image.base else []
        layers.append(_store(archive, _layer(image.files), _LAYER))
        config = {
            "architecture": _ARCHITECTURES.get(platform.machine(), platform.machine()),
            "os": "linux",
            "config": {
                "Entrypoint": list(image.entrypoint),
                "Env": [f"{name}={value}" for name, value in image.environment.items()],
            },
            "rootfs": {"type": "layers", "diff_ids": [layer["digest"] for layer in layers]},
        }
        manifest = {
            "schemaVersion": 2,
            "mediaType": _MANIFEST,
            "config": _store(archive, _json(config), _CONFIG),
            "layers": layers,
        }
        reference = _store(archive, _json(manifest), _MANIFEST)
        reference["annotations"] = {"io.containerd.image.name": image.name}
        _add(archive, "oci-layout", _json({"imageLayoutVersion": "1.0.0"}))
        _add(archive, "index.json", _json({"schemaVersion": 2, "manifests": [reference]}))
    return target


def _layer(files: Mapping[str, Path | str]) -> bytes:
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w") as archive:
        for name, content in sorted(files.items()):
            _add(archive, name, content.read_bytes() if isinstance(content, Path) else content.encode())
    return data.getvalue()


def _store(archive: tarfile.TarFile, content: bytes, kind: str) -> dict[str, Any]:
    digest = hashlib.sha256(content).hexdigest()
    _add(archive, f"blobs/sha256/{digest}", content)
    return {"mediaType": kind, "digest": f"sha256:{digest}", "size": len(content)}


def _store_file(archive: tarfile.TarFile, layer: Path) -> dict[str, Any]:
    """Like ``_store``, for a layer that is too large to hold in memory."""
    with layer.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    archive.add(layer, f"blobs/sha256/{digest}")
    return {"mediaType": _LAYER, "digest": f"sha256:{digest}", "size": layer.stat().st_size}


def _add(archive: tarfile.TarFile, name: str, content: bytes) -> None:
    entry = tarfile.TarInfo(name)
    entry.size, entry.mode = len(content), 0o755
    archive.addfile(entry, io.BytesIO(content))


def _json(value: object) -> bytes:
    return json.dumps(value, sort_keys=True).encode()
