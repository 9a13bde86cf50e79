"""Installs a release from its files alone, and asks the first question.

    try.py --dist DIRECTORY [--kind deb|wheel|archive] [--root TAR]

Into an empty root file system without a network: Debian with Python (made by mmdebstrap), or that of another system in
a tar file. Everything that the installation page lets a newcomer type is typed: install, serve, create the example
package, register it, ask. Prints the bytes of the files and the seconds of each step; fails after --most seconds.

Runs as root, needs bubblewrap, and mmdebstrap unless --root is given.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

SUITE = "bookworm"
MIRROR = "http://deb.debian.org/debian"
QUESTION = "who is responsible for payments?"
ANSWER = "payments belongs to Team Ledger"
# The lines by which the server names the next steps with a new store.
STEPS = "nothing is registered yet"


class TryError(Exception):
    """What failed."""


@dataclass(frozen=True)
class Kind:
    """A way to install: the files of the release, Debian's packages that it needs, and the commands."""

    files: tuple[str, ...]
    packages: str
    install: str
    program: str = "charter"


UNPACK = 'for file in /release/*.tar.gz; do tar -xzf "$file" -C /usr/local --strip-components=1 || exit 1; done'
KINDS = {
    "deb": Kind(
        ("charter_*_{debian}.deb", "charter-model_*_all.deb"),
        "python3,ca-certificates",
        "dpkg --install /release/*.deb",
    ),
    "wheel": Kind(
        ("charter_binary-*_{machine}.whl", "charter_model-*.whl"),
        "python3,python3-venv,ca-certificates",
        "python3 -m venv /opt/charter && "
        "/opt/charter/bin/pip install --no-index --find-links /release 'charter-binary[model]'",
        "/opt/charter/bin/charter",
    ),
    "archive": Kind(
        ("charter-[0-9]*-{machine}-linux.tar.gz", "charter-model-*.tar.gz"),
        "python3,ca-certificates",
        UNPACK,
    ),
    # On a system without glibc.
    "static": Kind(
        ("charter-[0-9]*-{machine}-linux-musl.tar.gz", "charter-model-*.tar.gz"),
        "python3,ca-certificates",
        UNPACK,
    ),
}

# Runs in the root file system. Each line of steps begins with its number of milliseconds.
SCRIPT = """
now() {{ cut -d ' ' -f 1 /proc/uptime | tr -d .; }}
step() {{
    begun=$(now)
    sh -c "$2" > /tmp/step.log 2>&1 || {{ echo "failed: $1"; cat /tmp/step.log; cat /root/serve.log; exit 1; }}
    echo "step $(( ($(now) - begun) * 10 )) $1"
}}
export HOME=/root
cd /root
step "install" {install}
{program} --version || exit 1
{program} serve 2> /root/serve.log &
step "serve" "until grep -q 'listening on' /root/serve.log; do kill -0 $! || exit 1; sleep 0.05; done"
step "create the example" "{program} init owners"
step "register it" "{program} package register owners"
step "ask" "{program} ask '{question}'"
cat /tmp/step.log
echo "server:"
cat /root/serve.log
"""


def find(dist: Path, kind: Kind) -> list[Path]:
    """Return the files of the release that a kind installs, with their checksums verified."""
    machine = os.uname().machine
    names = {"machine": machine, "debian": {"x86_64": "amd64", "aarch64": "arm64"}.get(machine, machine)}
    lines = (dist / "SHA256SUMS").read_text(encoding="ascii").splitlines()
    sums = {name: digest for digest, name in (line.split("  ", 1) for line in lines)}
    files = []
    for pattern in kind.files:
        found = sorted(dist.glob(pattern.format(**names)))
        if len(found) != 1:
            raise TryError(f"{dist} has {len(found)} files {pattern.format(**names)}, expected 1")
        with found[0].open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        if sums.get(found[0].name) != digest:
            raise TryError(f"SHA256SUMS has another digest of {found[0].name}")
        files += found
    return files


def make_root(kind: Kind, given: Path | None, suite: str, cache: Path) -> Path:
    """Return the tar file of the empty root file system; a made one is kept in the cache."""
    if given:
        return given
    path = cache / f"{suite}-{kind.packages.replace(',', '+')}.tar"
    if not path.exists():
        cache.mkdir(parents=True, exist_ok=True)
        making = path.with_suffix(".part.tar")
        options = ["--quiet", "--variant=minbase", f"--include={kind.packages}"]
        command = ["mmdebstrap", *options, suite, str(making), MIRROR]
        if subprocess.run(command, check=False).returncode != 0:
            raise TryError(f"`{' '.join(command)}` failed")
        making.rename(path)
    return path


def quoted(text: str) -> str:
    """Quote a text for the shell."""
    return "'" + text.replace("'", "'\\''") + "'"


def try_kind(name: str, given: argparse.Namespace, work: Path) -> float:
    """Install, serve and ask; return the seconds that it took."""
    kind = KINDS[name]
    files = find(given.dist, kind)
    root = work / "root"
    root.mkdir()
    with tarfile.open(make_root(kind, given.root, given.suite, given.cache)) as tar:
        tar.extractall(root, filter="fully_trusted")
    release = root / "release"
    release.mkdir()
    for file in files:
        shutil.copyfile(file, release / file.name)
    total = sum(file.stat().st_size for file in files)
    print(f"{name}: {total:,} bytes in {', '.join(file.name for file in files)}")
    script = SCRIPT.format(install=quoted(kind.install), program=kind.program, question=QUESTION)
    (root / "try.sh").write_text(script, encoding="utf-8")
    command = ["bwrap", "--unshare-net", "--unshare-pid", "--unshare-ipc", "--die-with-parent", "--cap-add", "ALL"]
    command += ["--bind", str(root), "/", "--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp", "--clearenv"]
    command += ["--setenv", "PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"]
    for variable in given.env:
        command += ["--setenv", *variable.split("=", 1)]
    started = time.monotonic()
    done = subprocess.run([*command, "/bin/sh", "/try.sh"], stdout=subprocess.PIPE, text=True, check=False)
    seconds = time.monotonic() - started
    print(done.stdout)
    if done.returncode != 0 or ANSWER not in done.stdout:
        raise TryError(f"{name}: the question has no answer (exit code {done.returncode})")
    if not given.without_steps and STEPS not in done.stdout:
        raise TryError(f"{name}: `charter serve` did not name the next steps")
    print(f"{name}: installed and answered in {seconds:.1f} s")
    return seconds


def main() -> None:
    """Try the kinds of installation."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dist", type=Path, required=True, help="the directory of the release's files")
    parser.add_argument(
        "--kind", choices=list(KINDS), action="append", help="the way to install; deb, wheel and archive if absent"
    )
    parser.add_argument("--root", type=Path, help="the tar file of another root file system")
    parser.add_argument("--suite", default=SUITE, help="the version of Debian that is made")
    parser.add_argument("--cache", type=Path, default=Path("target/release-roots"), help="where made ones are kept")
    parser.add_argument("--most", type=float, default=60.0, help="seconds from the files to the answer")
    parser.add_argument("--env", action="append", default=[], metavar="NAME=VALUE", help="a variable of all commands")
    parser.add_argument("--without-steps", action="store_true", help="accept a server that names no next steps")
    given = parser.parse_args()
    try:
        if os.getuid() != 0:
            raise TryError("the root file system is made by root alone: run this as root")
        for name in given.kind or ("deb", "wheel", "archive"):
            with tempfile.TemporaryDirectory(prefix="charter-try-") as folder:
                seconds = try_kind(name, given, Path(folder))
            if seconds > given.most:
                raise TryError(f"{name}: took {seconds:.1f} s, more than {given.most:.0f} s")
    except TryError as error:
        sys.exit(f"try: {error}")


if __name__ == "__main__":
    main()
