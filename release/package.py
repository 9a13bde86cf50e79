"""Packs a release: archives, Debian packages, Python wheels, a bill of materials and checksums.

    package.py --binary FILE --debug FILE --target TRIPLE --model DIRECTORY --output DIRECTORY

The binary comes from release/build.sh and the model from `charter model fetch` or deploy/fetch_model.py. Nothing is
compiled or downloaded. Manual pages and completions are those that the binary writes; for a binary of another machine,
--runs names one that runs here. Equal inputs give equal files.

Needs readelf (binutils), dpkg-deb, Cargo for the bill of materials, and otherwise Python's standard library.
"""

from __future__ import annotations

import argparse
import base64
import email.utils
import gzip
import hashlib
import os
import re
import subprocess
import tempfile
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

import sbom
from archives import Entry, write_tar_gz, write_zip

ROOT = Path(__file__).resolve().parent.parent
HERE = Path(__file__).resolve().parent
SUMMARY = "The contract-first context engine and mission runtime for AI agents"
MAINTAINER = "Charter maintainers <maintainers@charter.invalid>"
MODEL_FILES = ("config.json", "model.safetensors", "tokenizer.json")
# The names of Debian for the machines of Rust's targets.
DEBIAN_MACHINES = {"x86_64": "amd64", "aarch64": "arm64"}
# Completions: the shell, the file below `share`, and Debian's file below `share` where it differs.
COMPLETIONS = (
    ("bash", "bash-completion/completions/charter", None),
    ("zsh", "zsh/site-functions/_charter", "zsh/vendor-completions/_charter"),
    ("fish", "fish/vendor_completions.d/charter.fish", None),
)
POSTINST = """#!/bin/sh
set -e
if [ "$1" = configure ]; then
    getent group charter > /dev/null || groupadd --system charter
    getent passwd charter > /dev/null || useradd --system --gid charter --no-create-home \\
        --home-dir /var/lib/charter --shell /usr/sbin/nologin charter
    install --directory --owner=charter --group=charter --mode=0700 /var/lib/charter
    if [ -d /run/systemd/system ]; then
        systemctl daemon-reload
    fi
fi
"""
PRERM = """#!/bin/sh
set -e
if [ "$1" = remove ] && [ -d /run/systemd/system ]; then
    systemctl --no-reload disable --now charter.service
fi
"""
POSTRM = """#!/bin/sh
set -e
if [ -d /run/systemd/system ]; then
    systemctl daemon-reload
fi
if [ "$1" = purge ] && [ -d /var/lib/charter ]; then
    echo "charter: /var/lib/charter is kept: it holds the store and the keys that sign evidence" >&2
fi
"""
COPYRIGHT = """Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/

Files: *
Copyright: 2026 The Charter authors, and the authors of all-MiniLM-L6-v2
License: Apache-2.0
 The text of the licence is in /usr/share/common-licenses/Apache-2.0.
"""
SHLIBS = {"libc.so.6": "libc6", "libm.so.6": "libc6", "libgcc_s.so.1": "libgcc-s1"}


@dataclass(frozen=True)
class Release:
    """The facts that names and descriptions of files are made of."""

    version: str
    target: str
    epoch: int

    @property
    def machine(self) -> str:
        """The processor, e.g. `x86_64`."""
        return self.target.split("-")[0]

    @property
    def is_static(self) -> bool:
        """Whether it is for systems without glibc, such as Alpine."""
        return self.target.endswith("-musl")

    @property
    def name(self) -> str:
        """The archive's name without its suffix."""
        return f"charter-{self.version}-{self.machine}-linux{'-musl' if self.is_static else ''}"


@dataclass(frozen=True)
class Linking:
    """The shared libraries of a binary, and the glibc that it needs; none if it is static."""

    libraries: tuple[str, ...]
    glibc: tuple[int, int] | None


def run(*command: str | Path, environment: dict[str, str] | None = None) -> str:
    """Return the output of a command, which has to succeed."""
    whole = os.environ | (environment or {})
    done = subprocess.run([str(part) for part in command], stdout=subprocess.PIPE, text=True, check=False, env=whole)
    if done.returncode != 0:
        raise SystemExit(f"package: `{' '.join(map(str, command))}` failed with exit code {done.returncode}")
    return done.stdout


def workspace_version() -> str:
    """Return the version of the workspace."""
    manifest = tomllib.loads((ROOT / "Cargo.toml").read_text(encoding="utf-8"))
    return str(manifest["workspace"]["package"]["version"])


def commit_time() -> int:
    """Return SOURCE_DATE_EPOCH, else the time of the commit."""
    given = os.environ.get("SOURCE_DATE_EPOCH")
    return int(given or run("git", "-C", ROOT, "log", "-1", "--format=%ct"))


def linking(described: str) -> Linking:
    """Read the output of `readelf --dynamic --version-info`."""
    libraries = re.findall(r"\(NEEDED\).*\[([^]]+)]", described)
    versions = [(int(major), int(minor)) for major, minor in re.findall(r"GLIBC_(\d+)\.(\d+)", described)]
    return Linking(tuple(sorted(libraries)), max(versions) if versions else None)


def wheel_tags(machine: str, linked: Linking) -> str:
    """Return the platforms on which a wheel with the binary installs."""
    if linked.glibc is None:
        return f"musllinux_1_1_{machine}"
    return f"manylinux_{linked.glibc[0]}_{linked.glibc[1]}_{machine}"


def debian_dependencies(linked: Linking) -> list[str]:
    """Return Debian's packages with the libraries that the binary needs."""
    if linked.glibc is None:
        return []
    others = {SHLIBS.get(library, "libc6") for library in linked.libraries} - {"libc6"}
    return [f"libc6 (>= {linked.glibc[0]}.{linked.glibc[1]})", *sorted(others)]


def generated(program: Path) -> tuple[list[Entry], list[Entry]]:
    """Return the completions and the manual pages, below `share`."""
    completions = [Entry(path, run(program, "completions", shell).encode()) for shell, path, _ in COMPLETIONS]
    with tempfile.TemporaryDirectory() as folder:
        run(program, "man", folder)
        pages = [Entry(f"man/man1/{page.name}", page.read_bytes()) for page in Path(folder).iterdir()]
    return completions, sorted(pages, key=lambda page: page.name)


def model_entries(directory: Path) -> list[Entry]:
    """Return the model's files, where the program looks for them, below a prefix."""
    missing = [name for name in MODEL_FILES if not (directory / name).is_file()]
    if missing:
        raise SystemExit(f"package: {directory} has no {', '.join(missing)}: `make model` fetches the model")
    return [Entry(f"share/charter/models/{directory.name}/{name}", directory / name) for name in MODEL_FILES]


def below(prefix: str, entries: Iterable[Entry]) -> list[Entry]:
    """Return the entries with a prefix before their names."""
    return [replace(entry, name=f"{prefix}/{entry.name}") for entry in entries]


def debian(
    fields: dict[str, str], scripts: dict[str, str], entries: list[Entry], packing: str, output: Path, epoch: int
) -> None:
    """Write a Debian package."""
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder) / "tree"
        for entry in entries:
            path = tree / entry.name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(entry.read())
            path.chmod(entry.mode)
        size = sum(path.stat().st_size for path in tree.rglob("*") if path.is_file())
        control = tree / "DEBIAN"
        control.mkdir()
        lines = [f"{name}: {value}" for name, value in (fields | {"Installed-Size": str(size // 1024)}).items()]
        (control / "control").write_text("\n".join(lines) + "\n", encoding="utf-8")
        for name, script in scripts.items():
            (control / name).write_text(script, encoding="utf-8")
            (control / name).chmod(0o644 if name == "conffiles" else 0o755)
        sums = [f"{hashlib.md5(entry.read()).hexdigest()}  {entry.name}" for entry in entries]
        (control / "md5sums").write_text("\n".join(sorted(sums)) + "\n", encoding="utf-8")
        for path in [tree, *tree.rglob("*")]:
            if path.is_dir():
                path.chmod(0o755)
        # One thread: the bytes must not depend on the number of processors.
        options = ["--root-owner-group", f"-Z{packing}", "--threads-max=1"]
        run("dpkg-deb", *options, "--build", tree, output, environment={"SOURCE_DATE_EPOCH": str(epoch)})


def debian_server(
    release: Release, linked: Linking, binary: Path, bom: bytes, output: Path, made: tuple[list[Entry], list[Entry]]
) -> Path:
    """Write the Debian package of the program and the service."""
    completions, pages = made
    places = {path: other or path for _, path, other in COMPLETIONS}
    changes = gzip.compress((ROOT / "CHANGELOG.md").read_bytes(), 9, mtime=0)
    entries = [
        Entry("usr/bin/charter", binary, 0o755),
        *(Entry(f"usr/share/{places[entry.name]}", entry.content) for entry in completions),
        *(Entry(f"usr/share/{page.name}.gz", gzip.compress(page.read(), 9, mtime=0)) for page in pages),
        Entry("usr/lib/systemd/system/charter.service", HERE / "charter.service"),
        Entry("etc/charter/charter.toml", HERE / "charter.toml"),
        *documents("charter", release),
        Entry("usr/share/doc/charter/CHANGELOG.md.gz", changes),
        Entry("usr/share/doc/charter/charter.cdx.json.gz", gzip.compress(bom, 9, mtime=0)),
    ]
    fields = {
        "Package": "charter",
        "Version": release.version,
        "Architecture": DEBIAN_MACHINES[release.machine],
        "Maintainer": MAINTAINER,
        "Section": "utils",
        "Priority": "optional",
        "Depends": ", ".join([*debian_dependencies(linked), "passwd"]),
        # Scripts of tools run with python3, and with bash, which every Debian has.
        "Recommends": f"charter-model (= {release.version}), python3, ca-certificates",
        "Description": f"{SUMMARY.removeprefix('The ')}\n One binary: server, command line and web console.",
    }
    scripts = {"conffiles": "/etc/charter/charter.toml\n", "postinst": POSTINST, "prerm": PRERM, "postrm": POSTRM}
    path = output / f"charter_{release.version}_{fields['Architecture']}.deb"
    debian(fields, scripts, entries, "xz", path, release.epoch)
    return path


def debian_model(release: Release, model: list[Entry], output: Path) -> Path:
    """Write the Debian package of the embedding model."""
    entries = [*below("usr", model), *documents("charter-model", release)]
    fields = {
        "Package": "charter-model",
        "Version": release.version,
        "Architecture": "all",
        "Maintainer": MAINTAINER,
        "Section": "utils",
        "Priority": "optional",
        "Description": "Embedding model of Charter\n all-MiniLM-L6-v2, which Charter compares sentences with.",
    }
    path = output / f"charter-model_{release.version}_all.deb"
    # The weights hardly shrink: the packing that unpacks fastest.
    debian(fields, {}, entries, "gzip", path, release.epoch)
    return path


def documents(name: str, release: Release) -> list[Entry]:
    """Return the documents that Debian expects in each package."""
    date = email.utils.formatdate(release.epoch)
    changelog = f"{name} ({release.version}) unstable; urgency=medium\n\n  * Release.\n\n -- {MAINTAINER}  {date}\n"
    folder = f"usr/share/doc/{name}"
    return [
        Entry(f"{folder}/copyright", COPYRIGHT.encode()),
        Entry(f"{folder}/changelog.gz", gzip.compress(changelog.encode(), 9, mtime=0)),
    ]


def wheel(
    release: Release, name: str, tags: str, requires: list[str], files: list[Entry], boms: list[Entry], output: Path
) -> Path:
    """Write a Python wheel that installs files below the prefix of the environment."""
    stem = f"{name.replace('-', '_')}-{release.version}"
    info, data = f"{stem}.dist-info", f"{stem}.data"
    about = [
        "Metadata-Version: 2.4",
        f"Name: {name}",
        f"Version: {release.version}",
        f"Summary: {SUMMARY}",
        "License-Expression: Apache-2.0",
        "License-File: LICENSE",
        *requires,
    ]
    tag_lines = "".join(f"Tag: py3-none-{tag}\n" for tag in tags.split("."))
    entries = [
        *(Entry(f"{data}/{file.name}", file.content, file.mode) for file in files),
        Entry(f"{info}/METADATA", ("\n".join(about) + "\n").encode()),
        Entry(f"{info}/WHEEL", f"Wheel-Version: 1.0\nGenerator: charter\nRoot-Is-Purelib: false\n{tag_lines}".encode()),
        Entry(f"{info}/licenses/LICENSE", ROOT / "LICENSE"),
        *below(f"{info}/sboms", boms),
    ]
    lines = []
    for entry in entries:
        content = entry.read()
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
        lines.append(f"{entry.name},sha256={digest},{len(content)}\n")
    record = f"{info}/RECORD"
    entries.append(Entry(record, "".join([*lines, f"{record},,\n"]).encode()))
    path = output / f"{stem}-py3-none-{tags}.whl"
    write_zip(path, entries)
    return path


def main() -> None:
    """Write all files of a release."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", type=Path, required=True, help="the stripped binary")
    parser.add_argument("--debug", type=Path, help="its debug information")
    parser.add_argument(
        "--target", required=True, help="the target that it was built for, e.g. x86_64-unknown-linux-gnu"
    )
    parser.add_argument(
        "--runs", type=Path, help="a binary of the same version that runs here; that of --binary if absent"
    )
    parser.add_argument("--model", type=Path, required=True, help="the directory with the embedding model's files")
    parser.add_argument("--output", type=Path, required=True)
    given = parser.parse_args()
    release = Release(workspace_version(), given.target, commit_time())
    if release.machine not in DEBIAN_MACHINES:
        raise SystemExit(f"package: no artifacts are made for {release.machine}, only for {', '.join(DEBIAN_MACHINES)}")
    program = (given.runs or given.binary).resolve()
    shown = run(program, "--version").strip()
    if shown != f"charter {release.version}":
        raise SystemExit(f"package: {program} is `{shown}`, but Cargo.toml has the version {release.version}")
    output: Path = given.output
    output.mkdir(parents=True, exist_ok=True)
    linked = linking(run("readelf", "--wide", "--dynamic", "--version-info", given.binary))
    written = pack(release, linked, given.binary, generated(program), model_entries(given.model), output)
    if given.debug:
        debug = output / f"{release.name}-debug.tar.gz"
        write_tar_gz(debug, [Entry(f"{release.name}/bin/charter.debug", given.debug)], release.epoch)
        written.append(debug)
    write_checksums(output)
    for path in written:
        print(f"{path.stat().st_size:>12,} {path.name}")


def pack(
    release: Release,
    linked: Linking,
    binary: Path,
    made: tuple[list[Entry], list[Entry]],
    model: list[Entry],
    output: Path,
) -> list[Path]:
    """Write the archives, packages and wheels, and the bill of materials."""
    completions, pages = made
    bom = sbom.to_json(sbom.bill(release.version, release.target, Path(str(model[0].content)).parent, release.epoch))
    bom_path = output / f"{release.name}.cdx.json"
    bom_path.write_bytes(bom)
    shared = below("share", [*completions, *pages])
    program = Entry("bin/charter", binary, 0o755)
    archive = output / f"{release.name}.tar.gz"
    texts = [Entry(f"share/doc/charter/{name}", ROOT / name) for name in ("LICENSE", "CHANGELOG.md")]
    service = [Entry("share/doc/charter/charter.service", HERE / "charter.service")]
    write_tar_gz(archive, below(release.name, [program, *shared, *texts, *service]), release.epoch)
    requires = ["Requires-Python: >=3.9", "Provides-Extra: model"]
    requires.append(f"Requires-Dist: charter-model=={release.version} ; extra == 'model'")
    files = [Entry("scripts/charter", binary, 0o755), *below("data", shared)]
    boms = [Entry("charter.cdx.json", bom)]
    binary_wheel = wheel(release, "charter-binary", wheel_tags(release.machine, linked), requires, files, boms, output)
    if release.is_static:
        return [bom_path, archive, binary_wheel]
    model_archive = output / f"charter-model-{release.version}.tar.gz"
    write_tar_gz(model_archive, below(f"charter-model-{release.version}", model), release.epoch)
    return [
        bom_path,
        archive,
        binary_wheel,
        model_archive,
        debian_server(release, linked, binary, bom, output, made),
        debian_model(release, model, output),
        wheel(release, "charter-model", "any", [], below("data", model), [], output),
    ]


def write_checksums(output: Path) -> None:
    """Write SHA256SUMS over all files of the directory."""
    names = sorted(path.name for path in output.iterdir() if path.is_file() and path.name != "SHA256SUMS")
    lines = []
    for name in names:
        with (output / name).open("rb") as file:
            lines.append(f"{hashlib.file_digest(file, 'sha256').hexdigest()}  {name}\n")
    (output / "SHA256SUMS").write_text("".join(lines), encoding="ascii")


if __name__ == "__main__":
    main()
