"""Builds the container image from release/image.toml, without a container engine.

    image.py files   --binary FILE --model DIRECTORY --output TAR     the root file system, as a tar file
    image.py layout  --root TAR --output DIRECTORY --dist DIRECTORY   an OCI layout with layers and configuration; as a
                                                                      tar file, and the compose file and the Helm chart
                                                                      with its digest, among the files of a release
    image.py list    TAR                                              each file with mode, owner and digest
    image.py compare TAR TAR                                          fails where two root file systems differ

Needs mmdebstrap, pip, and otherwise Python's standard library; as root, or where user namespaces are allowed. Programs
that read an OCI layout are skopeo, umoci, podman, containerd and `docker load` (as a tar file).
"""

from __future__ import annotations

import argparse
import datetime
import hashlib
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import tomllib
from pathlib import Path
from typing import Any

import oci
import package
from archives import Entry, write_tar, write_tar_gz

ROOT = Path(__file__).resolve().parent.parent
LIST = Path(__file__).with_name("image.toml")
COMPOSE = ROOT / "deploy/compose.yaml"
CHART = ROOT / "deploy/helm/charter"
MODEL_FILES = ("config.json", "model.safetensors", "tokenizer.json")
PYVENV = "home = /usr/bin\ninclude-system-site-packages = false\nversion = {version}\n"
# Files that differ between two root file systems with equal packages: logs, and caches that packages write.
VARYING = ("var/log/", "var/cache/ldconfig/", "var/lib/dpkg/status-old", "var/cache/debconf/")
NANOSECONDS = 1_000_000_000


class ImageError(Exception):
    """Why the image cannot be built."""


def contents() -> dict[str, Any]:
    """Read the list of contents."""
    return tomllib.loads(LIST.read_text(encoding="utf-8"))


def run(*command: str | Path, environment: dict[str, str] | None = None) -> None:
    """Run a command, which has to succeed; its output goes to standard error."""
    whole = os.environ | (environment or {})
    try:
        done = subprocess.run([str(part) for part in command], stdout=sys.stderr, check=False, env=whole)
    except FileNotFoundError as error:
        raise ImageError(f"{command[0]} is not installed") from error
    if done.returncode != 0:
        raise ImageError(f"`{' '.join(map(str, command))}` failed with exit code {done.returncode}")


def gather(listed: dict[str, Any], binary: Path, model: Path, folder: Path) -> None:
    """Collect in a folder all files that are not of Debian's packages."""
    program = folder / listed["program"]["file"]
    program.parent.mkdir(parents=True)
    shutil.copyfile(binary, program)
    program.chmod(0o755)
    models = folder / listed["model"]["directory"]
    models.mkdir(parents=True)
    for name in MODEL_FILES:
        if not (model / name).is_file():
            raise ImageError(f"{model} has no {name}: `make model` fetches the model")
        shutil.copyfile(model / name, models / name)
    environment = folder / listed["python"]["directory"]
    interpreter = Path("/", listed["python"]["interpreter"])
    version = interpreter.name.removeprefix("python")
    packages = environment / f"lib/python{version}/site-packages"
    options = ["--quiet", "--disable-pip-version-check", "--no-deps", "--no-compile", "--require-hashes"]
    options += ["--only-binary=:all:", "--python-version", version, "--target", str(packages)]
    run(sys.executable, "-m", "pip", "install", *options, "--requirement", ROOT / listed["python"]["requirements"])
    # Scripts of the libraries name the interpreter of this machine.
    shutil.rmtree(packages / "bin", ignore_errors=True)
    for record in packages.glob("*.dist-info/RECORD"):
        lines = record.read_text(encoding="utf-8").splitlines(keepends=True)
        record.write_text("".join(line for line in lines if not line.startswith("../../bin/")), encoding="utf-8")
    (environment / "bin").mkdir()
    for name in ("python", "python3"):
        (environment / "bin" / name).symlink_to(interpreter)
    (environment / "pyvenv.cfg").write_text(PYVENV.format(version=version), encoding="ascii")
    for path in folder.rglob("*"):
        if not path.is_symlink():
            executable = path.is_dir() or path == program
            path.chmod(0o755 if executable else 0o644)


def build_files(listed: dict[str, Any], binary: Path, model: Path, output: Path, epoch: int) -> None:
    """Write the root file system as a tar file."""
    user, base = listed["user"], listed["base"]
    name, id = user["name"], user["id"]
    owned = " ".join(f'"$1/{directory}"' for directory in user["directories"])
    hooks = [
        f'echo "{name}:x:{id}:{id}::{user["home"]}:/usr/sbin/nologin" >> "$1/etc/passwd"',
        f'echo "{name}:x:{id}:" >> "$1/etc/group"',
        f'echo "{name}:!:1::::::" >> "$1/etc/shadow"; echo "{name}:!::" >> "$1/etc/gshadow"',
        f"install --directory --owner={id} --group={id} --mode=0700 {owned}",
        # Compiled before, because the root file system is read-only when tools run.
        f'chroot "$1" /{listed["python"]["interpreter"]} -m compileall -q --invalidation-mode unchecked-hash '
        f"/{listed['python']['directory']}",
        # A container has no use for programs that change the user.
        'find "$1" -xdev -type f -perm /6000 -exec chmod ug-s {} +',
        # Made for one machine, or again at each start.
        'rm -rf "$1/var/log"/* "$1/var/cache/ldconfig" "$1/var/cache/apt"/*.bin "$1/etc/hostname" "$1/etc/resolv.conf" '
        '"$1/usr/share/python3/debpython/__pycache__"',
    ]
    with tempfile.TemporaryDirectory() as folder:
        gathered = Path(folder) / "gathered"
        gathered.mkdir()
        gather(listed, binary, model, gathered)
        # mmdebstrap, which may not be root, reads the folder.
        Path(folder).chmod(0o755)
        options = ["--quiet", "--variant=minbase", f"--include={','.join(base['packages'])}"]
        options += [f"--dpkgopt=path-exclude={path}" for path in base["leave_out"]]
        options += [f"--customize-hook=sync-in {gathered} /"]
        options += [f"--customize-hook={hook}" for hook in hooks]
        target = Path(folder) / "root.tar"
        environment = {"SOURCE_DATE_EPOCH": str(epoch)}
        run("mmdebstrap", *options, base["suite"], target, *base["mirrors"], environment=environment)
        output.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(target, output)


def layer_of(path: str, order: list[str]) -> int:
    """Return the index of the layer that a file belongs to."""
    for index, prefix in enumerate(order, start=1):
        if path == prefix or path.startswith(f"{prefix}/"):
            return index
    return 0


def configuration(listed: dict[str, Any], version: str) -> dict[str, Any]:
    """Return what a container runs, as image configurations have it."""
    given = listed["run"]
    health = given["health"]
    return {
        "User": given["user"],
        "Env": [f"{name}={value}" for name, value in given["environment"].items()],
        "Entrypoint": given["entrypoint"],
        "Cmd": given["command"],
        "ExposedPorts": {f"{given['port']}/tcp": {}},
        "Volumes": {given["volume"]: {}},
        "WorkingDir": "/",
        "StopSignal": given["stop_signal"],
        # Of Docker's format: engines that do not know it leave it out.
        "Healthcheck": {
            "Test": ["CMD", *health["command"]],
            "Interval": health["interval_s"] * NANOSECONDS,
            "Timeout": health["timeout_s"] * NANOSECONDS,
            "StartPeriod": health["start_period_s"] * NANOSECONDS,
            "Retries": health["retries"],
        },
        "Labels": {
            "org.opencontainers.image.title": "charter",
            "org.opencontainers.image.version": version,
            "org.opencontainers.image.licenses": "Apache-2.0",
        },
    }


def deployment(digest: str, repository: str) -> list[Entry]:
    """Return the compose file and the Helm chart, which name the image by its digest."""
    entries = []
    for path in sorted([COMPOSE, *(path for path in CHART.rglob("*") if path.is_file())]):
        text = path.read_text(encoding="utf-8")
        for before, after in {
            "${CHARTER_IMAGE:-charter:latest}": f"${{CHARTER_IMAGE:-{repository}@{digest}}}",
            "  build:\n    context: ..\n    dockerfile: deploy/Dockerfile\n": "",
            '  repository: charter\n  tag: ""': f'  repository: {repository}\n  tag: ""',
            '  digest: ""\n': f'  digest: "{digest}"\n',
        }.items():
            text = text.replace(before, after)
        entries.append(Entry(str(path.relative_to(ROOT)), text.encode()))
    named = [entry.name for entry in entries if digest.encode() in entry.read()]
    expected = [str(path.relative_to(ROOT)) for path in (COMPOSE, CHART / "values.yaml")]
    if sorted(named) != sorted(expected):
        raise ImageError(f"the digest is in {named}, expected in {expected}: a text that it replaces has changed")
    return entries


def build_layout(listed: dict[str, Any], given: argparse.Namespace, epoch: int) -> None:
    """Write the OCI layout and what is made of it; print its digest and size."""
    version, output, dist = package.workspace_version(), given.output, given.dist
    output.parent.mkdir(parents=True, exist_ok=True)
    dist.mkdir(parents=True, exist_ok=True)
    order = listed["layers"]["order"]
    with tempfile.TemporaryDirectory(dir=output.parent) as folder:
        layers = oci.split(given.root, len(order) + 1, lambda path: layer_of(path, order), Path(folder), epoch)
        created = datetime.datetime.fromtimestamp(epoch, datetime.UTC).isoformat().replace("+00:00", "Z")
        image = oci.Image(given.machine, created, configuration(listed, version), version)
        digest = oci.write_layout(output, image, layers)
    unpacked = sum(layer.unpacked_bytes for layer in layers)
    packed = sum(layer.packed_bytes for layer in layers)
    files = [Entry(str(path.relative_to(output)), path) for path in sorted(output.rglob("*")) if path.is_file()]
    write_tar(dist / f"charter-{version}-image-{given.machine}.tar", files, epoch)
    write_tar_gz(dist / f"charter-{version}-deploy-{given.machine}.tar.gz", deployment(digest, given.repository), epoch)
    package.write_checksums(dist)
    print(f"{digest} {len(layers)} layers, {packed:,} bytes packed, {unpacked:,} bytes unpacked")


def described(root: Path) -> dict[str, str]:
    """Return for each path of a root file system its type, mode, owner and content."""
    found = {}
    with tarfile.open(root) as tar:
        for member in tar:
            path = member.name.removeprefix("./").rstrip("/")
            if not path or path.startswith(VARYING):
                continue
            facts = f"{member.mode:04o} {member.uid}:{member.gid}"
            if member.isfile():
                file = tar.extractfile(member)
                assert file is not None
                found[path] = f"file {facts} {hashlib.sha256(file.read()).hexdigest()}"
            elif member.issym() or member.islnk():
                found[path] = f"link {member.uid}:{member.gid} {member.linkname.removeprefix('./')}"
            elif member.isdir():
                found[path] = f"directory {facts}"
    return found


def differences(one: dict[str, str], other: dict[str, str]) -> list[str]:
    """Return a line for each path that differs."""
    lines = []
    for path in sorted(one.keys() | other.keys()):
        if one.get(path) != other.get(path):
            lines.append(f"{path}: {one.get(path, 'absent')} | {other.get(path, 'absent')}")
    return lines


def main() -> None:
    """Run one command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    files = commands.add_parser("files")
    files.add_argument("--binary", type=Path, required=True)
    files.add_argument("--model", type=Path, required=True)
    files.add_argument("--output", type=Path, required=True)
    layout = commands.add_parser("layout")
    layout.add_argument("--root", type=Path, required=True)
    layout.add_argument("--machine", default="amd64", help="the processor, as Go names it")
    layout.add_argument("--repository", default="charter", help="the image's name in the compose file and the chart")
    layout.add_argument("--output", type=Path, required=True)
    layout.add_argument("--dist", type=Path, required=True)
    commands.add_parser("list").add_argument("root", type=Path)
    compare = commands.add_parser("compare")
    compare.add_argument("one", type=Path)
    compare.add_argument("other", type=Path)
    given = parser.parse_args()
    try:
        if given.command == "files":
            build_files(contents(), given.binary, given.model, given.output, package.commit_time())
        elif given.command == "layout":
            build_layout(contents(), given, package.commit_time())
        elif given.command == "list":
            print("\n".join(f"{path} {facts}" for path, facts in sorted(described(given.root).items())))
        else:
            found = differences(described(given.one), described(given.other))
            if found:
                raise ImageError("the root file systems differ:\n" + "\n".join(found))
            print("the root file systems have equal contents")
    except ImageError as error:
        sys.exit(f"image: {error}")


if __name__ == "__main__":
    main()
