"""A real server with a real package over a simulated account, for every test of the client.

The server has a data directory and a port of its own, and keys: Ann is an admin, Bob an
operator, Uma a user. Whatever is started here is stopped here.
"""

from __future__ import annotations

import hashlib
import json
import os
import signal
import subprocess
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from charter_client import AsyncCharter, Charter

ROOT = Path(__file__).resolve().parents[3]
QUICKSTART = ROOT / "quickstart"
PACKAGE = ROOT / "packages" / "aws-security"
#: One playbook over a file: enough to steer runs, and quick.
NOTICES = Path(__file__).resolve().parent / "notices"
START_TIMEOUT_S = 60.0
SIMULATED = {
    "AWS_ACCESS_KEY_ID": "simulated",
    "AWS_SECRET_ACCESS_KEY": "simulated",
    "AWS_DEFAULT_REGION": "us-east-1",
}
PEOPLE = {"ann": "admin", "bob": "operator", "uma": "user"}


def pytest_addoption(parser: pytest.Parser) -> None:
    """Which binary and which interpreter with the AWS SDK."""
    parser.addoption("--charter", type=Path, default=ROOT / "target" / "debug" / "charter")
    parser.addoption("--tools-python", type=Path, default=ROOT / "target" / "quickstart-venv" / "bin" / "python")


@dataclass(frozen=True)
class Server:
    """A server that runs."""

    address: str
    binary: Path
    config: Path
    data: Path
    python: Path
    environment: dict[str, str]

    @property
    def notice(self) -> Path:
        """The file that the playbook of the notices changes."""
        return self.data.parent / "site" / "notice.txt"

    def key(self, person: str) -> str:
        """The key of somebody."""
        return f"{person}-key"

    def command(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """What the command line says, beside the server."""
        environment = self.environment | {"CHARTER_SERVER": self.address, "CHARTER_API_KEY": self.key("ann")}
        command = [str(self.binary), "--config", str(self.config), *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=False, env=environment)


@pytest.fixture(scope="session")
def server(pytestconfig: pytest.Config, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """The server, with `packages/aws-security` and the notices registered."""
    binary: Path = pytestconfig.getoption("--charter")
    python: Path = pytestconfig.getoption("--tools-python")
    state = tmp_path_factory.mktemp("charter")
    with simulated_account(python, state) as endpoint:
        environment = {**os.environ, **SIMULATED, "AWS_ENDPOINT_URL": endpoint}
        config = write_config(state, python, endpoint)
        with serving(binary, config, state, environment) as address:
            started = Server(address, binary, config, state / "data", python, environment)
            with Charter(address, started.key("ann")) as charter:
                charter.packages.register(PACKAGE)
                charter.packages.register(NOTICES)
            yield started


@contextmanager
def simulated_account(python: Path, state: Path) -> Iterator[str]:
    """The address of a simulated account with the estate of the quickstart."""
    simulator = [str(python), str(QUICKSTART / "simulator.py")]
    where = ["--port", "0", "--state", str(state / "simulator")]
    endpoint = subprocess.run(
        [*simulator, "start", *where], check=True, stdout=subprocess.PIPE, text=True
    ).stdout.strip()
    try:
        environment = {**os.environ, **SIMULATED, "AWS_ENDPOINT_URL": endpoint}
        subprocess.run([str(python), str(QUICKSTART / "estate.py")], check=True, env=environment, capture_output=True)
        yield endpoint
    finally:
        subprocess.run([*simulator, "stop", *where], check=True)


def write_config(state: Path, python: Path, endpoint: str) -> Path:
    """What the quickstart grants, a file to change, and three people."""
    (state / "site").mkdir()
    (state / "site" / "notice.txt").write_text("Open every day.", encoding="utf-8")
    lines = [
        f"data_dir = {json.dumps(str(state / 'data'))}",
        "[tools]",
        f"python = {json.dumps(str(python))}",
        f"environment = {json.dumps([*SIMULATED, 'AWS_ENDPOINT_URL'])}",
        f"egress = {json.dumps([endpoint.removeprefix('http://')])}",
        "[tools.builtin.roots.site]",
        f"path = {json.dumps(str(state / 'site'))}",
        'access = "write"',
        "[model]",
        f"cache = {json.dumps(str(ROOT / 'target' / 'models'))}",
    ]
    for person, role in PEOPLE.items():
        digest = hashlib.sha256(f"{person}-key".encode()).hexdigest()
        lines += ["[[auth.keys]]", f'sha256 = "{digest}"', 'tenant = "local"', f'user = "{person}"', f'role = "{role}"']
    config = state / "charter.toml"
    config.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return config


@contextmanager
def serving(binary: Path, config: Path, state: Path, environment: dict[str, str]) -> Iterator[str]:
    """The address of a server, while the block runs."""
    log = state / "server.log"
    command = [str(binary), "--config", str(config), "serve", "--listen", "127.0.0.1:0"]
    with log.open("wb") as output:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=output, stderr=output, env=environment)
    try:
        yield listening(process, log)
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(15)
        except subprocess.TimeoutExpired:
            process.kill()


def listening(process: subprocess.Popen[bytes], log: Path) -> str:
    """The address, once the server says it."""
    deadline = time.monotonic() + START_TIMEOUT_S
    while "listening on" not in (said := log.read_text(encoding="utf-8", errors="replace")):
        if process.poll() is not None or time.monotonic() > deadline:
            raise RuntimeError(f"the server did not start:\n{said}")
        time.sleep(0.02)
    after = said.split("listening on", 1)[1]
    return next(word for word in after.split() if word.startswith("http://")).rstrip(",.")


@pytest.fixture
def charter(server: Server) -> Iterator[Charter]:
    """Ann's client."""
    with Charter(server.address, server.key("ann")) as client:
        yield client


@pytest.fixture
def bob(server: Server) -> Iterator[Charter]:
    """Bob's client: another person, who may approve what Ann asked for."""
    with Charter(server.address, server.key("bob")) as client:
        yield client


@pytest.fixture
async def async_charter(server: Server) -> AsyncIterator[AsyncCharter]:
    """Ann's client on the event loop."""
    async with AsyncCharter(server.address, server.key("ann")) as client:
        yield client
