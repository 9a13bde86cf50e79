"""Runs the container image and asks it a question, without a container engine's daemon.

    run_image.py --layout DIRECTORY --python PYTHON [--engine crun|bwrap]

The image's layers are unpacked, and its server runs as an unprivileged user on a read-only root, without capabilities,
on this machine's network: by crun with the seccomp profile of container engines where that is installed, else by
bubblewrap. The server has to become healthy, to answer a question about the simulated AWS account, to serve the web
console, and, after SIGTERM, to finish a running request and to end with exit code 0.

PYTHON has quickstart/requirements.txt, for the simulated account.
"""

from __future__ import annotations

import argparse
import contextlib
import datetime
import hashlib
import json
import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tarfile
import tempfile
import threading
import time
import urllib.error
import urllib.request
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
QUESTION = "Which of my security groups are open to the internet?"
PACKAGE = ROOT / "packages/aws-security"
# Debian's golang-github-containers-common has it.
SECCOMP = Path("/usr/share/containers/seccomp.json")
# crun refuses to run where both versions of control groups are mounted: it sees the newer one alone.
HYBRID = Path("/sys/fs/cgroup/unified")
ONE_CGROUP = ["unshare", "--mount", "sh", "-c", 'mount -t cgroup2 cgroup2 /sys/fs/cgroup && exec "$@"', "sh"]
MACHINE = "SCMP_ARCH_X86_64" if os.uname().machine == "x86_64" else "SCMP_ARCH_AARCH64"
HEALTHY_S = 60.0
STOP_S = 40.0
ASK_S = 120.0
GRANTED = ("AWS_ENDPOINT_URL", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_DEFAULT_REGION")


class RunError(Exception):
    """What the image does not do."""


def check(holds: bool, failure: str) -> None:
    """Fail with a message unless something holds."""
    if not holds:
        raise RunError(failure)


def blob(layout: Path, digest: str) -> Path:
    """Return the file of a blob, whose digest is checked."""
    kind, _, name = digest.partition(":")
    path = layout / "blobs" / kind / name
    with path.open("rb") as file:
        found = hashlib.file_digest(file, kind).hexdigest()
    check(found == name, f"{path} has the digest {found}")
    return path


def unpack(layout: Path, root: Path) -> dict[str, Any]:
    """Unpack the only image of a layout; return its configuration."""
    [named] = json.loads((layout / "index.json").read_text(encoding="utf-8"))["manifests"]
    manifest = json.loads(blob(layout, named["digest"]).read_text(encoding="utf-8"))
    root.mkdir()
    for layer in manifest["layers"]:
        with tarfile.open(blob(layout, layer["digest"])) as tar:
            # The files are our own, with absolute links and owners.
            tar.extractall(root, filter="fully_trusted")
    config = json.loads(blob(layout, manifest["config"]["digest"]).read_text(encoding="utf-8"))
    loaded: dict[str, Any] = config["config"]
    return loaded


def seccomp(profile: Path) -> dict[str, Any]:
    """Return the rules of an engine's seccomp profile that hold for a container without capabilities."""
    given = json.loads(profile.read_text(encoding="utf-8"))
    calls = []
    for rule in given["syscalls"]:
        includes = rule.get("includes") or {}
        arches = {"amd64": "SCMP_ARCH_X86_64", "x86": "SCMP_ARCH_X86_64", "arm64": "SCMP_ARCH_AARCH64"}
        fits = not includes.get("arches") or MACHINE in {arches.get(name) for name in includes["arches"]}
        if fits and not includes.get("caps"):
            kept = {name: rule[name] for name in ("names", "action", "errnoRet", "args") if rule.get(name)}
            for argument in kept.get("args", []):
                for name in ("value", "valueTwo"):
                    argument[name] = argument.get(name) or 0
            calls.append(kept)
    return {"defaultAction": given["defaultAction"], "architectures": [MACHINE], "syscalls": calls}


class Crun:
    """A container of crun."""

    # The server is the container's first process.
    status = "/proc/1/status"

    def __init__(self, work: Path, root: Path, config: dict[str, Any], data: Path) -> None:
        self._id = f"charter-{secrets.token_hex(4)}"
        self._bundle = work
        self._config, self._data, self._root = config, data, root
        self._command = [*(ONE_CGROUP if HYBRID.exists() else []), "crun", "--cgroup-manager=disabled"]
        self._command.append(f"--root={work / 'crun'}")

    def start(self, environment: dict[str, str]) -> subprocess.Popen[bytes]:
        """Start the image's command."""
        user, group = map(int, self._config["User"].split(":"))
        flags = {"proc": ["nosuid", "noexec", "nodev"], "tmpfs": ["nosuid", "nodev", "mode=1777"]}
        mounts = [
            {"destination": "/proc", "type": "proc", "source": "proc", "options": flags["proc"]},
            {"destination": "/dev", "type": "tmpfs", "source": "tmpfs", "options": ["nosuid", "mode=755", "size=64k"]},
            {"destination": "/tmp", "type": "tmpfs", "source": "tmpfs", "options": flags["tmpfs"]},
        ]
        options = ["bind", "rw", "nosuid", "nodev"]
        mounts.append({"destination": "/data", "type": "bind", "source": str(self._data), "options": options})
        linux: dict[str, Any] = {
            "namespaces": [{"type": kind} for kind in ("pid", "ipc", "uts", "mount")],
            "maskedPaths": ["/proc/kcore", "/proc/keys", "/proc/timer_list", "/sys/firmware"],
            "readonlyPaths": ["/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger"],
        }
        if SECCOMP.exists():
            linux["seccomp"] = seccomp(SECCOMP)
        else:
            print(f"run_image: there is no {SECCOMP}: the container runs without a seccomp profile")
        spec = {
            "ociVersion": "1.0.2",
            "process": {
                "user": {"uid": user, "gid": group},
                "args": [*self._config["Entrypoint"], *self._config["Cmd"]],
                "env": [*self._config["Env"], *(f"{name}={value}" for name, value in environment.items())],
                "cwd": "/",
                "noNewPrivileges": True,
                "capabilities": {},
            },
            "root": {"path": str(self._root), "readonly": True},
            "mounts": mounts,
            "linux": linux,
        }
        (self._bundle / "config.json").write_text(json.dumps(spec), encoding="utf-8")
        command = [*self._command, "run", f"--bundle={self._bundle}", self._id]
        return subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=sys.stderr)

    def inside(self, *command: str) -> list[str]:
        """Return the command that runs another one in the container."""
        return [*self._command, "exec", f"--user={self._config['User']}", self._id, *command]

    def stop(self) -> None:
        """Send the image's stop signal."""
        subprocess.run([*self._command, "kill", self._id, self._config["StopSignal"]], check=True)

    def end(self) -> None:
        """Remove the container, also if it runs."""
        subprocess.run([*self._command, "delete", "--force", self._id], stderr=subprocess.DEVNULL, check=False)


class Bwrap:
    """The image's files below bubblewrap, which needs user namespaces alone. Each command has namespaces of its own."""

    status = "/proc/self/status"

    def __init__(self, work: Path, root: Path, config: dict[str, Any], data: Path) -> None:
        user, group = config["User"].split(":")
        self._config = config
        self._environment: dict[str, str] = {}
        self._command = ["bwrap", "--unshare-user", "--unshare-ipc", "--unshare-pid", "--uid", user, "--gid", group]
        self._command += ["--cap-drop", "ALL", "--die-with-parent", "--new-session", "--clearenv"]
        self._command += ["--ro-bind", str(root), "/", "--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp"]
        self._command += ["--bind", str(data), "/data"]
        self._server: subprocess.Popen[bytes] | None = None

    def start(self, environment: dict[str, str]) -> subprocess.Popen[bytes]:
        """Start the image's command."""
        self._environment = dict(line.split("=", 1) for line in self._config["Env"]) | environment
        command = self.inside(*self._config["Entrypoint"], *self._config["Cmd"])
        self._server = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=sys.stderr)
        return self._server

    def inside(self, *command: str) -> list[str]:
        """Return the command that runs another one over the same files."""
        variables = [word for name, value in self._environment.items() for word in ("--setenv", name, value)]
        return [*self._command, *variables, *command]

    def stop(self) -> None:
        """Send the image's stop signal to the server, which is a child of bubblewrap's own first process."""
        assert self._server is not None
        first = self._children(self._server.pid)[0]
        for process in self._children(first):
            os.kill(process, getattr(signal, self._config["StopSignal"]))

    @staticmethod
    def _children(process: int) -> list[int]:
        return [int(word) for word in Path(f"/proc/{process}/task/{process}/children").read_text().split()]

    def end(self) -> None:
        """End the server, also if it runs."""
        if self._server is not None:
            self._server.kill()


@contextlib.contextmanager
def account(python: Path, state: Path) -> Iterator[str]:
    """Run the simulated AWS account while the block runs; return its address."""
    script = [str(python), str(ROOT / "quickstart/simulator.py")]
    keys = {"AWS_ACCESS_KEY_ID": "simulated", "AWS_SECRET_ACCESS_KEY": "simulated", "AWS_DEFAULT_REGION": "us-east-1"}
    started = [*script, "start", "--port", "0", "--state", str(state)]
    endpoint = subprocess.run(started, check=True, stdout=subprocess.PIPE, text=True).stdout.strip()
    try:
        environment = os.environ | keys | {"AWS_ENDPOINT_URL": endpoint}
        subprocess.run(
            [str(python), str(ROOT / "quickstart/estate.py")], check=True, env=environment, stdout=sys.stderr
        )
        yield endpoint
    finally:
        subprocess.run([*script, "stop", "--state", str(state)], check=False)


def free_port() -> int:
    """Return a port that is free now."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
        return port


class Client:
    """Requests to the server, with a key."""

    def __init__(self, base: str, key: str) -> None:
        self._base, self._key = base, key

    def call(self, method: str, path: str, body: Any = None) -> Any:
        """Return the answer, which has to be JSON."""
        headers = {"Authorization": f"Bearer {self._key}", "Content-Type": "application/json"}
        content = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self._base + path, content, headers, method=method)
        try:
            with urllib.request.urlopen(request, timeout=ASK_S) as answer:
                return json.load(answer)
        except urllib.error.HTTPError as error:
            raise RunError(f"{method} {path}: {error.code} {error.read().decode(errors='replace')}") from error

    def status(self, path: str) -> int:
        """Return the status of a page."""
        try:
            with urllib.request.urlopen(self._base + path, timeout=ASK_S) as answer:
                status: int = answer.status
                return status
        except urllib.error.HTTPError as error:
            return error.code

    def ask(self) -> Any:
        """Ask the question."""
        now = datetime.datetime.now(datetime.UTC).isoformat()
        return self.call("POST", "/v1/requests", {"id": f"req-{uuid.uuid4()}", "timestamp": now, "input": QUESTION})


def package(directory: Path) -> dict[str, Any]:
    """Return the package in a directory, as it is registered over REST."""
    files = [path for path in sorted(directory.rglob("*")) if path.is_file() and "__pycache__" not in path.parts]
    return {"files": {str(path.relative_to(directory)): path.read_text(encoding="utf-8") for path in files}}


def await_healthy(container: Crun | Bwrap, server: subprocess.Popen[bytes], config: dict[str, Any]) -> None:
    """Wait until the image's own health check succeeds."""
    command = container.inside(*config.get("Healthcheck", {}).get("Test", ["CMD", "charter", "health"])[1:])
    deadline = time.monotonic() + HEALTHY_S
    while subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False).returncode != 0:
        check(server.poll() is None, f"the server ended with exit code {server.poll()}")
        check(time.monotonic() < deadline, f"the server is not healthy after {HEALTHY_S:.0f} s")
        time.sleep(0.1)


def check_confined(container: Crun | Bwrap, user: str) -> None:
    """Check the rights of processes in the container."""
    touched = "for f in / /etc /usr/bin /opt/charter; do touch $f/x 2> /dev/null && echo $f; done; true"
    script = f"grep -E '^(Uid|CapEff|NoNewPrivs):' {container.status}; {touched}"
    command = container.inside("/bin/bash", "-c", script)
    shown = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout.split()
    expected = ["Uid:", *[user.split(":")[0]] * 4, "CapEff:", "0" * 16, "NoNewPrivs:", "1"]
    check(shown == expected, f"the container's user, capabilities and writable paths are {shown}, expected {expected}")


def try_image(engine: str, given: argparse.Namespace, work: Path) -> None:
    """Run the image, and check what it does."""
    config = unpack(given.layout, work / "root")
    user, group = map(int, config["User"].split(":"))
    data = work / "data"
    data.mkdir(mode=0o700)
    key = f"test-{secrets.token_hex(16)}"
    port = free_port()
    client = Client(f"http://127.0.0.1:{port}", key)
    with account(given.python.absolute(), work / "account") as endpoint:
        settings = data / "charter.toml"
        settings.write_text(
            f'[[auth.keys]]\nsha256 = "{hashlib.sha256(key.encode()).hexdigest()}"\n'
            f'tenant = "acme"\nuser = "tester"\nrole = "admin"\n'
            f'[tools]\negress = ["{endpoint.removeprefix("http://")}"]\nenvironment = {json.dumps(GRANTED)}\n',
            encoding="utf-8",
        )
        if engine == "crun":
            for path in (data, settings):
                os.chown(path, user, group)
        environment = {
            "CHARTER_CONFIG": "/data/charter.toml",
            "CHARTER_LISTEN": f"127.0.0.1:{port}",
            "AWS_ENDPOINT_URL": endpoint,
            "AWS_ACCESS_KEY_ID": "simulated",
            "AWS_SECRET_ACCESS_KEY": "simulated",
            "AWS_DEFAULT_REGION": "us-east-1",
        }
        container = (Crun if engine == "crun" else Bwrap)(work, work / "root", config, data)
        started = time.monotonic()
        server = container.start(environment)
        try:
            await_healthy(container, server, config)
            print(f"run_image: healthy after {time.monotonic() - started:.1f} s")
            check_confined(container, config["User"])
            if not given.without_console:
                check(client.status("/console/") == 200, "the image has no web console")
            ask(client, given.package)
            drain(client, container, server)
        finally:
            container.end()


def ask(client: Client, directory: Path) -> None:
    """Register the package, and ask about the account."""
    client.call("POST", "/v1/packages", package(directory))
    started = time.monotonic()
    answer = client.ask()
    found, evidence = len(answer["metadata"]["findings"]), len(answer["metadata"]["evidence_ids"])
    check(found > 0 and evidence > 0, f"the answer has {found} findings and {evidence} records of evidence: {answer}")
    print(f"run_image: {found} findings, {evidence} records of evidence in {time.monotonic() - started:.1f} s")


def drain(client: Client, container: Crun | Bwrap, server: subprocess.Popen[bytes]) -> None:
    """Stop the server while it answers: it has to finish the request, then end by itself."""
    answers: list[Any] = []
    asking = threading.Thread(target=lambda: answers.append(client.ask()))
    asking.start()
    # The request runs once the server shows it as unfinished.
    deadline = time.monotonic() + ASK_S
    while not any(run["status"] == "working" for run in client.call("GET", "/v1/runs")["entries"]):
        check(asking.is_alive() and time.monotonic() < deadline, "the request ended before the server was stopped")
        time.sleep(0.01)
    stopped = time.monotonic()
    container.stop()
    try:
        code = server.wait(STOP_S)
    except subprocess.TimeoutExpired as error:
        raise RunError(f"the server runs {STOP_S:.0f} s after SIGTERM") from error
    asking.join()
    check(code == 0, f"the server ended with exit code {code} after SIGTERM")
    check(len(answers) == 1 and bool(answers[0]["metadata"]["findings"]), "SIGTERM ended a running request")
    print(f"run_image: drained and stopped {time.monotonic() - stopped:.1f} s after SIGTERM")


def main() -> None:
    """Run the image once."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--layout", type=Path, required=True)
    parser.add_argument("--python", type=Path, required=True)
    parser.add_argument("--engine", choices=["crun", "bwrap"], help="crun if it is installed and runs as root")
    parser.add_argument("--package", type=Path, default=PACKAGE, help="the package to register; aws-security if absent")
    parser.add_argument("--without-console", action="store_true", help="accept a binary without the web console")
    given = parser.parse_args()
    can_crun = shutil.which("crun") is not None and os.getuid() == 0
    engine = given.engine or ("crun" if can_crun else "bwrap")
    print(f"run_image: {engine}")
    with tempfile.TemporaryDirectory(prefix="charter-image-") as folder:
        Path(folder).chmod(0o755)
        try:
            try_image(engine, given, Path(folder))
        except RunError as error:
            sys.exit(f"run_image: {error}")
    print("run_image: ok")


if __name__ == "__main__":
    main()
