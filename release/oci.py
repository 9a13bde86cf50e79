"""OCI layouts: a root file system as layers, with the image's configuration. Knows nothing of Charter."""

from __future__ import annotations

import contextlib
import gzip
import hashlib
import json
import shutil
import tarfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

MANIFEST = "application/vnd.oci.image.manifest.v1+json"
CONFIG = "application/vnd.oci.image.config.v1+json"
LAYER = "application/vnd.oci.image.layer.v1.tar+gzip"
INDEX = "application/vnd.oci.image.index.v1+json"


@dataclass(frozen=True)
class Layer:
    """A packed layer."""

    path: Path
    digest: str
    packed_bytes: int
    # The digest and size of the tar file in it.
    unpacked_digest: str
    unpacked_bytes: int


@dataclass(frozen=True)
class Image:
    """An image apart from its files."""

    machine: str
    created: str
    configuration: dict[str, Any]
    tag: str


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return f"sha256:{hashlib.file_digest(file, 'sha256').hexdigest()}"


def _write_tars(root: Path, count: int, layer_of: Callable[[str], int], folder: Path, epoch: int) -> list[Path]:
    """Write the members of a tar file into one tar file for each layer. Each layer has the parents of its files."""
    paths = [folder / f"{index}.tar" for index in range(count)]
    directories: dict[str, tarfile.TarInfo] = {}
    written: list[set[str]] = [set() for _ in paths]
    with contextlib.ExitStack() as opened:
        whole = opened.enter_context(tarfile.open(root))
        tars = [opened.enter_context(tarfile.open(path, "w", format=tarfile.PAX_FORMAT)) for path in paths]
        for member in whole:
            member.name = member.name.removeprefix("./").rstrip("/")
            # Devices are made by the engine.
            if not member.name or member.name == "." or member.isdev():
                continue
            if member.islnk():
                member.linkname = member.linkname.removeprefix("./")
            member.mtime = min(int(member.mtime), epoch)
            member.uname = member.gname = ""
            member.pax_headers = {name: value for name, value in member.pax_headers.items() if "xattr" in name}
            index = layer_of(member.name)
            if member.isdir():
                directories[member.name] = member
            for parent in reversed(Path(member.name).parents):
                name = str(parent)
                if name in directories and name not in written[index]:
                    written[index].add(name)
                    tars[index].addfile(directories[name])
            written[index].add(member.name)
            tars[index].addfile(member, whole.extractfile(member) if member.isfile() else None)
    return paths


def split(root: Path, count: int, layer_of: Callable[[str], int], folder: Path, epoch: int) -> list[Layer]:
    """Split a root file system into packed layers."""
    layers = []
    for path in _write_tars(root, count, layer_of, folder, epoch):
        packed = path.with_suffix(".tar.gz")
        with (
            path.open("rb") as tar,
            packed.open("wb") as file,
            gzip.GzipFile("", "wb", 6, file, mtime=0) as out,
        ):
            shutil.copyfileobj(tar, out, 1 << 20)
        layers.append(Layer(packed, _digest(packed), packed.stat().st_size, _digest(path), path.stat().st_size))
        path.unlink()
    return layers


def _put(blobs: Path, document: dict[str, Any], kind: str) -> dict[str, Any]:
    content = json.dumps(document, separators=(",", ":"), sort_keys=True).encode()
    digest = hashlib.sha256(content).hexdigest()
    (blobs / digest).write_bytes(content)
    return {"mediaType": kind, "digest": f"sha256:{digest}", "size": len(content)}


def write_layout(output: Path, image: Image, layers: list[Layer]) -> str:
    """Write an OCI layout in the place of an earlier one; return the digest of the image."""
    shutil.rmtree(output, ignore_errors=True)
    blobs = output / "blobs/sha256"
    blobs.mkdir(parents=True)
    for layer in layers:
        shutil.copyfile(layer.path, blobs / layer.digest.removeprefix("sha256:"))
    config = {
        "created": image.created,
        "architecture": image.machine,
        "os": "linux",
        "config": image.configuration,
        "rootfs": {"type": "layers", "diff_ids": [layer.unpacked_digest for layer in layers]},
        "history": [{"created": image.created, "created_by": "release/image.py"} for _ in layers],
    }
    manifest = {
        "schemaVersion": 2,
        "mediaType": MANIFEST,
        "config": _put(blobs, config, CONFIG),
        "layers": [{"mediaType": LAYER, "digest": layer.digest, "size": layer.packed_bytes} for layer in layers],
    }
    named = _put(blobs, manifest, MANIFEST)
    index = {
        "schemaVersion": 2,
        "mediaType": INDEX,
        "manifests": [
            named
            | {
                "platform": {"architecture": image.machine, "os": "linux"},
                "annotations": {"org.opencontainers.image.ref.name": image.tag},
            }
        ],
    }
    (output / "oci-layout").write_text('{"imageLayoutVersion":"1.0.0"}', encoding="ascii")
    (output / "index.json").write_text(json.dumps(index), encoding="ascii")
    return str(named["digest"])
