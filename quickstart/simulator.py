"""Start, await and stop the AWS simulator (moto) on a loopback port.

    simulator.py start [--port N] [--state DIR]   prints the endpoint's address
    simulator.py status | stop [--port N] [--state DIR]

With port 0 the system chooses the port, so that nobody else can take it
meanwhile. A process id file in the state directory makes ``start`` idempotent
on a port that was named: a simulator that runs is reused. Only the process
named there is ever stopped.
"""

from __future__ import annotations

import argparse
import http.client
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

HOST = "127.0.0.1"
DEFAULT_PORT = 5599
READY_TIMEOUT_S = 30.0
STOP_TIMEOUT_S = 10.0
POLL_S = 0.05
LISTENS = re.compile(rb"Running on http://[0-9.]+:(\d+)")


def _answers(port: int) -> bool:
    """Whether moto itself answers on the port."""
    connection = http.client.HTTPConnection(HOST, port, timeout=1)
    try:
        connection.request("GET", "/moto-api/data.json")
        return connection.getresponse().status == http.client.OK
    except OSError:
        return False
    finally:
        connection.close()


def _is_running(pid: int) -> bool:
    """Whether the process is alive and is a simulator, not a later process of the same id."""
    command_line = Path(f"/proc/{pid}/cmdline")
    if Path("/proc/self").exists():
        try:
            return b"moto.server" in command_line.read_bytes()
        except OSError:
            return False
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def _read_pid(pid_file: Path) -> int | None:
    try:
        pid = int(pid_file.read_text(encoding="ascii"))
    except (FileNotFoundError, ValueError):
        return None
    return pid if _is_running(pid) else None


def start(port: int, state: Path) -> str:
    """Run a simulator unless one runs; its address, once it answers."""
    state.mkdir(parents=True, exist_ok=True)
    pid_file, log = state / "simulator.pid", state / "simulator.log"
    if port and _answers(port):
        if _read_pid(pid_file) is None:
            raise SystemExit(f"port {port} already serves another simulator; choose another --port")
        return f"http://{HOST}:{port}"
    # Without the simulator's own machine images and their thousand snapshots, and with the policies of AWS itself.
    environment = os.environ | {
        "MOTO_PORT": str(port),
        "MOTO_EC2_LOAD_DEFAULT_AMIS": "false",
        "MOTO_IAM_LOAD_MANAGED_POLICIES": "true",
    }
    with log.open("wb") as said:
        process = subprocess.Popen(
            [sys.executable, "-m", "moto.server", "-H", HOST, "-p", str(port)],
            stdin=subprocess.DEVNULL,
            stdout=said,
            stderr=said,
            env=environment,
            start_new_session=True,
        )
    pid_file.write_text(str(process.pid), encoding="ascii")
    deadline = time.monotonic() + READY_TIMEOUT_S
    while True:
        # The port that the process says it has is its own; what answers on another may be anybody's.
        listens = LISTENS.search(log.read_bytes())
        if listens is not None and _answers(int(listens[1])):
            return f"http://{HOST}:{int(listens[1])}"
        if process.poll() is not None:
            pid_file.unlink(missing_ok=True)
            raise SystemExit(f"the simulator ended at once; {log} says why:\n{log.read_text()}")
        if time.monotonic() > deadline:
            stop(state)
            raise SystemExit(f"the simulator did not answer within {READY_TIMEOUT_S:.0f} s")
        time.sleep(POLL_S)


def stop(state: Path) -> bool:
    """Stop the simulator of this state directory. False when none ran."""
    pid_file = state / "simulator.pid"
    pid = _read_pid(pid_file)
    pid_file.unlink(missing_ok=True)
    if pid is None:
        return False
    os.kill(pid, signal.SIGTERM)
    deadline = time.monotonic() + STOP_TIMEOUT_S
    while _is_running(pid):
        if time.monotonic() > deadline:
            os.kill(pid, signal.SIGKILL)
            break
        _reap(pid)
        time.sleep(POLL_S)
    return True


def _reap(pid: int) -> None:
    """Collect the process if it is our own child, so that it does not linger."""
    try:
        os.waitpid(pid, os.WNOHANG)
    except ChildProcessError:
        return


def main() -> int:
    """Run one command; exit code 0 on success, 1 when ``status`` or ``stop`` finds none."""
    parser = argparse.ArgumentParser(description="the quickstart's AWS simulator")
    parser.add_argument("command", choices=["start", "stop", "status"])
    parser.add_argument("--port", type=int, default=DEFAULT_PORT)
    parser.add_argument("--state", type=Path, default=Path("data/simulator"))
    arguments = parser.parse_args()
    if arguments.command == "start":
        print(start(arguments.port, arguments.state))
        return 0
    if arguments.command == "stop":
        return 0 if stop(arguments.state) else 1
    running = _read_pid(arguments.state / "simulator.pid") is not None
    ready = running and _answers(arguments.port)
    print("running" if ready else "not running")
    return 0 if ready else 1


if __name__ == "__main__":
    sys.exit(main())
