"""A Charter server under measurement: started and stopped, spoken to over one
kept-alive connection that costs the client as little as can be.
"""

import json
import os
import pathlib
import signal
import socket
import subprocess
import time
from typing import Any

from cpu import tree_cpu_s

POLL_S = 0.005
START_LIMIT_S = 120
STOP_LIMIT_S = 30
ANSWER_LIMIT_S = 1_800


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Connection:
    """One HTTP/1.1 connection."""

    def __init__(self, port, timeout=ANSWER_LIMIT_S):
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=timeout)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def get(self, path):
        return self.exchange(f"GET {path} HTTP/1.1\r\nhost: localhost\r\n\r\n".encode())

    def post(self, path, body):
        head = f"POST {path} HTTP/1.1\r\nhost: localhost\r\ncontent-length: {len(body)}\r\n\r\n"
        return self.exchange(head.encode() + body)

    def exchange(self, request):
        """Status and body; answers without a length are not expected here."""
        self.socket.sendall(request)
        received = b""
        while (end := received.find(b"\r\n\r\n")) < 0:
            received += self.more()
        head = received[:end].lower()
        length = int(head.split(b"content-length:", 1)[1].split(b"\r\n", 1)[0])
        body = received[end + 4 :]
        while len(body) < length:
            body += self.more()
        return int(head.split(b" ", 2)[1]), body

    def more(self):
        part = self.socket.recv(1 << 16)
        if not part:
            raise ConnectionError("the server closed the connection")
        return part

    def close(self):
        self.socket.close()


class Server:
    """`charter serve` over a data directory."""

    def __init__(
        self,
        binary: str | pathlib.Path,
        model: str | pathlib.Path,
        data_dir: str | pathlib.Path,
        settings: dict[str, str] | None = None,
    ) -> None:
        self.port = free_port()
        environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(data_dir),
            "CHARTER_MODEL__DIRECTORY": str(model),
            **(settings or {}),
        }
        command = [binary, "serve", "--data-dir", data_dir, "--listen", f"127.0.0.1:{self.port}"]
        self.log = pathlib.Path(f"{data_dir}.log").open("wb")
        started = time.perf_counter()
        self.process = subprocess.Popen(
            command, env=environment, stdout=self.log, stderr=self.log, stdin=subprocess.DEVNULL
        )
        self.wait_until_ready(started)
        self.ready_s = time.perf_counter() - started

    def wait_until_ready(self, started):
        while time.perf_counter() - started < START_LIMIT_S:
            if self.process.poll() is not None:
                raise RuntimeError(f"charter serve ended: see {self.log.name}")
            try:
                connection = Connection(self.port)
                status, _ = connection.get("/readyz")
                connection.close()
                if status == 200:
                    return
            except ConnectionError:
                pass
            time.sleep(POLL_S)
        raise TimeoutError(f"charter serve is not ready after {START_LIMIT_S} s")

    def register(self, bundles):
        """Registers packages in order; the seconds that each took."""
        connection, took = Connection(self.port), []
        for bundle in bundles:
            started = time.perf_counter()
            status, body = connection.post("/v1/packages", bundle)
            if status not in (200, 201):
                raise RuntimeError(f"registration answered {status}: {body[:2000].decode()}")
            took.append(time.perf_counter() - started)
        connection.close()
        return took

    def memory_mib(self):
        """Resident memory now."""
        status = pathlib.Path(f"/proc/{self.process.pid}/status").read_text()
        line = next(line for line in status.splitlines() if line.startswith("VmRSS:"))
        return int(line.split()[1]) / 1024

    def cpu_s(self):
        """Processor seconds that it and the tools that it ran have taken."""
        return tree_cpu_s(self.process.pid)

    def get_json(self, path: str) -> Any:
        connection = Connection(self.port)
        status, body = connection.get(path)
        connection.close()
        if status != 200:
            raise RuntimeError(f"{path} answered {status}: {body[:500].decode()}")
        return json.loads(body)

    def stop(self) -> None:
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(STOP_LIMIT_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.log.close()
