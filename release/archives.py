"""Archives whose bytes depend on their content alone: sorted names, one time, no owner."""

from __future__ import annotations

import gzip
import io
import tarfile
import zipfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

# zip has no earlier time.
EARLIEST = (1980, 1, 1, 0, 0, 0)


@dataclass(frozen=True)
class Entry:
    """A file in an archive: its name, its content or the file with its content, and its mode."""

    name: str
    content: bytes | Path
    mode: int = 0o644

    def read(self) -> bytes:
        """Return the content."""
        return self.content if isinstance(self.content, bytes) else self.content.read_bytes()


def _member(name: str, mode: int, epoch: int) -> tarfile.TarInfo:
    member = tarfile.TarInfo(name)
    member.mode, member.mtime = mode, epoch
    member.uname = member.gname = "root"
    return member


def _parents(entries: Iterable[Entry]) -> list[str]:
    found = {str(parent) for entry in entries for parent in Path(entry.name).parents}
    return sorted(found - {".", "/"})


def _add_all(tar: tarfile.TarFile, entries: list[Entry], epoch: int) -> None:
    """Add all parent directories, then the entries."""
    for name in _parents(entries):
        folder = _member(name, 0o755, epoch)
        folder.type = tarfile.DIRTYPE
        tar.addfile(folder)
    for entry in sorted(entries, key=lambda entry: entry.name):
        member, content = _member(entry.name, entry.mode, epoch), entry.read()
        member.size = len(content)
        tar.addfile(member, io.BytesIO(content))


def write_tar(path: Path, entries: list[Entry], epoch: int) -> None:
    """Write a tar file."""
    with tarfile.open(path, "w", format=tarfile.GNU_FORMAT) as tar:
        _add_all(tar, entries, epoch)


def write_tar_gz(path: Path, entries: list[Entry], epoch: int) -> None:
    """Write a tar file, packed by gzip."""
    with (
        path.open("wb") as file,
        gzip.GzipFile("", "wb", 6, file, mtime=epoch) as packed,
        tarfile.open(fileobj=packed, mode="w|", format=tarfile.GNU_FORMAT) as tar,
    ):
        _add_all(tar, entries, epoch)


def write_zip(path: Path, entries: list[Entry]) -> None:
    """Write a zip file in the order of the entries."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for entry in entries:
            member = zipfile.ZipInfo(entry.name, EARLIEST)
            member.compress_type = zipfile.ZIP_DEFLATED
            member.create_system = 3
            member.external_attr = (0o100000 | entry.mode) << 16
            archive.writestr(member, entry.read())
