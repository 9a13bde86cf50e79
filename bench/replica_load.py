"""What bench/replicas.py has replicas do: the playbooks, clients that start their runs and wait till they have
ended, and a service that does not answer.
"""

import json
import socket
import threading
import time

from charter_server import Connection

# Kind of step: in how many steps of it there is a playbook. `look` asks a built-in tool about a directory,
# `script` starts an empty script in the sandbox, `proven` does so and leaves evidence of it.
PLAYBOOKS = {"look": (1, 5, 20), "script": (5,), "proven": (5,)}
WORDS = {"look": "built-in tool", "script": "script", "proven": "script with evidence"}
STEPS = {
    "look": "tool_id: charter.fs.stat, parameters: {path: .}",
    "script": "tool_id: bench.script",
    "proven": "tool_id: bench.proven",
}
SCRIPT = """tool_id: bench.{name}
name: {name}
provider: charter
tool_class: readonly
domain: reliability
description: Does nothing.
language: bash
execution_target: server
implementation: {{type: script, body: "echo {{}}"}}
"""
EVIDENCE = "evidence: {type: api_call, system: aws.bench}\n"
WAITED_S = 60


def told(what):
    """In words, what a row of figures is of."""
    kind, _, steps = what.partition(" ")
    if kind not in WORDS:
        return f"reads: {what}"
    return f"run of {steps} {'step' if steps == '1' else 'steps'}, {WORDS[kind]}"


def playbook(name, step, count):
    steps = "".join(f"  - {{step_id: s{at}, type: readonly, {step}}}\n" for at in range(1, count + 1))
    return (
        f"playbook_id: bench.{name}\nname: {name}\ndomain: reliability\n"
        f"trigger_conditions: [{name}]\nsafety: {{safety_class: automated}}\nsteps:\n{steps}"
    )


def package(stalling_port):
    """The files of the package; a run of `bench.wait` waits for the service that does not answer."""
    files = {
        "package.yaml": "name: bench-replicas\nversion: 1.0.0\ntitle: Steps that do little\nscope: tenant\n",
        "tools/script.yaml": SCRIPT.format(name="script"),
        "tools/proven.yaml": SCRIPT.format(name="proven") + EVIDENCE,
    }
    wait = f"tool_id: charter.net.get, parameters: {{url: 'http://127.0.0.1:{stalling_port}/', timeout_ms: 120000}}"
    files["playbooks/wait.yaml"] = playbook("wait", wait, 1)
    for kind, counts in PLAYBOOKS.items():
        for count in counts:
            name = f"{kind}_{count}"
            files[f"playbooks/{name}.yaml"] = playbook(name, STEPS[kind], count)
    return files


class Stalling:
    """A service that takes connections and says nothing."""

    def __init__(self):
        self.socket = socket.create_server(("127.0.0.1", 0), backlog=1024)
        self.port = self.socket.getsockname()[1]
        self.held, self.came = [], threading.Condition()
        threading.Thread(target=self.take, daemon=True).start()

    def take(self):
        while True:
            try:
                connection, _ = self.socket.accept()
            except OSError:
                return
            with self.came:
                self.held.append(connection)
                self.came.notify()

    def wait_for(self, count):
        """Until so many wait for it."""
        with self.came:
            if not self.came.wait_for(lambda: len(self.held) >= count, WAITED_S):
                raise RuntimeError(f"{len(self.held)} of {count} runs asked the service that does not answer")

    def stop(self):
        self.socket.close()
        for connection in self.held:
            connection.close()


def started(connection, playbook):
    """Starts a run; its id."""
    status, body = connection.post(f"/v1/playbooks/{playbook}/runs", b"{}")
    if status != 201:
        raise RuntimeError(f"{playbook} was not started: {status} {body[:500].decode()}")
    return json.loads(body)["run_id"]


class Ends:
    """Tells of the ends of runs, by the stream of events of one replica, which hears of all of them."""

    def __init__(self, port):
        self.connection = Connection(port)
        request = "GET /v1/events?topic=run.status HTTP/1.1\r\nhost: localhost\r\naccept: text/event-stream\r\n\r\n"
        self.connection.socket.sendall(request.encode())
        self.lines = self.connection.socket.makefile("rb")
        if not self.lines.readline().startswith(b"HTTP/1.1 200"):
            raise RuntimeError("the stream of events was refused")
        self.ended, self.told = {}, threading.Condition()
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        try:
            for line in self.lines:
                if line.startswith(b"data: "):
                    self.note(json.loads(line[6:])["data"])
        except (OSError, ValueError):
            return  # It was closed here.

    def note(self, change):
        if change["status"] not in ("working", "created"):
            with self.told:
                self.ended[change["run_id"]] = change["status"]
                self.told.notify_all()

    def wait(self, run):
        with self.told:
            if not self.told.wait_for(lambda: run in self.ended, WAITED_S):
                raise RuntimeError(f"nothing was heard of the run {run}")
            status = self.ended.pop(run)
        if status != "completed":
            raise RuntimeError(f"the run {run} is {status}")

    def close(self):
        self.connection.close()


class Client(threading.Thread):
    """Starts runs, one when the other has ended, until it is time."""

    def __init__(self, port, playbook, ends, until):
        super().__init__()
        self.connection, self.playbook, self.ends, self.until = Connection(port), playbook, ends, until
        self.times_ms, self.failure = [], None

    def run(self):
        try:
            while (began := time.perf_counter()) < self.until:
                self.ends.wait(started(self.connection, self.playbook))
                self.times_ms.append((time.perf_counter() - began) * 1e3)
        except Exception as failure:  # Told where the figures are put together.
            self.failure = failure
        finally:
            self.connection.close()


def runs_at_once(ports, playbook, steps, connections, seconds):
    """Runs of a playbook from so many connections, spread over the replicas: how many, and how long each took."""
    ends = Ends(ports[0])
    until = time.perf_counter() + seconds
    clients = [Client(ports[at % len(ports)], playbook, ends, until) for at in range(connections)]
    for client in clients:
        client.start()
    for client in clients:
        client.join()
    ends.close()
    for client in clients:
        if client.failure:
            raise client.failure
    times_ms = [took for client in clients for took in client.times_ms]
    return {"runs": len(times_ms), "steps": len(times_ms) * steps, "times_ms": times_ms}
