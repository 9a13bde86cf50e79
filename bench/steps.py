"""`make bench-peers`: durable steps per second against Restate, DBOS and a bare
commit per step, on one disk in one run: first with SQLite, then with PostgreSQL,
of which one server has a database for each engine.

    python bench/steps.py [--rounds N] [--no-build] [--release DIR]

What it needs is installed by `make bench-peers`; here the peers are started and,
in the end, stopped. Each engine is a process that reads one scenario per line,
{"runs", "steps", "in_flight"}, and answers it with {"seconds", "times_ms"}: how
long all runs took, and each. A step's own work is nothing everywhere. What each
line measures: bench/README.md.
"""

import json
import os
import pathlib
import shutil
import signal
import statistics
import subprocess
import time
import urllib.request

from charter_server import free_port
from postgres import Postgres
from release import RELEASE, ROOT, build
from table import Line, by_itself, say

PEERS = ROOT / "bench" / "peers"
INSTALLED = ROOT / "target" / "bench-peers"
WORK = ROOT / "target" / "bench" / "steps"
FIGURES = ROOT / "target" / "bench" / "steps.json"

ROUNDS = 3
SEQUENCE = {"runs": 1, "steps": 1_000, "in_flight": 1}
TWENTY = {"runs": 20, "steps": 100, "in_flight": 20}
SINGLE = {"runs": 2_000, "steps": 1, "in_flight": 32}
ALONE = {"runs": 20, "steps": 10, "in_flight": 1}
MANY = {"runs": 256, "steps": 10, "in_flight": 64}
WARM_UP = {"runs": 64, "steps": 1, "in_flight": 8}
STEPS = sorted({scenario["steps"] for scenario in (SEQUENCE, TWENTY, SINGLE, ALONE, MANY)})
# DBOS is asked for fewer runs, so that a round does not wait for it for half a minute.
MOST_DBOS_RUNS = 128
START_LIMIT_S = 60
STOP_LIMIT_S = 30
POLL_S = 0.1


class Engine:
    """A process that is asked in turn."""

    def __init__(self, name, directory, command, most_runs=None):
        self.name, self.most_runs = name, most_runs
        shutil.rmtree(directory, ignore_errors=True)
        directory.mkdir(parents=True)
        self.log = pathlib.Path(f"{directory}.log").open("wb")
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.log, text=True
        )

    def ask(self, scenario):
        print(json.dumps(scenario), file=self.process.stdin, flush=True)
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError(f"{self.name} ended early: see {self.log.name}")
        return json.loads(line)

    def run(self, scenario):
        """Durable steps per second, and the middle run's milliseconds."""
        runs = min(scenario["runs"], self.most_runs or scenario["runs"])
        answer = self.ask(scenario | {"runs": runs})
        if len(answer["times_ms"]) != runs:
            raise RuntimeError(f"{self.name} did {len(answer['times_ms'])} runs of {runs}")
        rate = runs * scenario["steps"] / answer["seconds"]
        return rate, statistics.median(answer["times_ms"])

    def stop(self):
        self.process.stdin.close()
        ended(self.process)
        self.log.close()


def ended(process):
    try:
        process.wait(STOP_LIMIT_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


class Restate(Engine):
    """Its server and its service, and the client that is asked."""

    def __init__(self, directory):
        version = json.loads((PEERS / "restate" / "package.json").read_text())
        version = version["dependencies"]["@restatedev/restate-server"]
        steps = INSTALLED / "restate" / "release" / "restate-steps"
        ingress, admin, node, service = (free_port() for _ in range(4))
        super().__init__(f"Restate {version}, Rust SDK", directory, [steps, "drive", str(ingress)])
        self.served = []
        try:
            self.serve([steps, "serve", str(service)])
            self.serve(server(directory, node), ports={"INGRESS": ingress, "ADMIN": admin})
            self.register(admin, service)
        except BaseException:
            self.stop()
            raise

    def serve(self, command, ports=None):
        own = {f"RESTATE_{role}__BIND_PORT": str(port) for role, port in (ports or {}).items()}
        environment = os.environ | {"RESTATE_DISABLE_TELEMETRY": "true"} | own
        self.served.append(
            subprocess.Popen(command, env=environment, stdout=self.log, stderr=self.log)
        )

    def register(self, admin, service):
        body = json.dumps({"uri": f"http://127.0.0.1:{service}"}).encode()
        request = urllib.request.Request(
            f"http://127.0.0.1:{admin}/deployments", body, {"content-type": "application/json"}
        )
        started = time.monotonic()
        while True:
            try:
                urllib.request.urlopen(request, timeout=START_LIMIT_S).close()
                return
            except OSError:
                if time.monotonic() - started > START_LIMIT_S:
                    raise
                time.sleep(POLL_S)

    def stop(self):
        super().stop()
        for process in reversed(self.served):
            process.send_signal(signal.SIGTERM)
            ended(process)


def server(directory, port):
    binaries = (INSTALLED / "npm" / "node_modules" / "@restatedev").glob(
        "restate-server-*/bin/restate-server"
    )
    return [
        next(binaries), "--no-logo", "--node-name", "bench", "--base-dir", directory / "data",
        "--listen-mode", "tcp", "--bind-ip", "127.0.0.1", "--bind-port", str(port),
    ]  # fmt: skip


def charter(release, store=None):
    directory = WORK / "charter"
    numbers = [str(number) for number in STEPS]
    command = [release / "examples" / "step_bench", store or directory, *numbers]
    return Engine("Charter", directory, command)


def dbos(kind, store=None):
    pinned = (PEERS / "requirements-steps.txt").read_text().split("dbos==")[1].split()[0]
    python, directory = INSTALLED / "venv" / "bin" / "python", WORK / "dbos"
    command = [python, PEERS / "dbos_steps.py", store or directory]
    return Engine(f"DBOS {pinned}, {kind}", directory, command, MOST_DBOS_RUNS)


def sqlite(release):
    directory = WORK / "sqlite"
    command = [release / "examples" / "bare_commit", directory]
    return Engine("a bare SQLite commit", directory, command)


class BareCommits:
    """PostgreSQL's own pgbench: for each step one INSERT, which is one commit."""

    def __init__(self, server):
        self.server, self.name = server, "a bare PostgreSQL commit"
        server.database("bare")
        table = "step (step_key bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, run int, step int)"
        server.say(f"CREATE TABLE {table}", "bare")
        self.script = server.folder / "step.sql"
        self.script.write_text("INSERT INTO step (run, step) VALUES (1, 1);\n")
        self.script.chmod(0o644)

    def run(self, scenario):
        """Commits per second; of a run's time it knows nothing."""
        clients = scenario["in_flight"]
        each = max(1, scenario["runs"] * scenario["steps"] // clients)
        asked = ["-n", "-M", "prepared", "-c", str(clients), "-t", str(each), "-f", self.script]
        told = self.server.run("pgbench", *asked, *self.server.reached("bare")[:4], "bare")
        return float(told.split("tps = ")[1].split()[0]), 0

    def stop(self):
        pass


def on_sqlite(release):
    """Ours first; each a name and how it is started."""
    return {
        "charter": lambda: charter(release),
        "restate": lambda: Restate(WORK / "restate"),
        "dbos": lambda: dbos("SQLite"),
        "bare": lambda: sqlite(release),
    }


def on_postgres(release, server):
    """The same with what can be kept there on one server. Restate keeps what it has itself."""
    return {
        "charter": lambda: charter(release, server.database("charter")),
        "restate": lambda: Restate(WORK / "restate"),
        "dbos": lambda: dbos("PostgreSQL", server.database("dbos")),
        "bare": lambda: BareCommits(server),
    }


def in_turn(running, scenario, rounds):
    """Medians of the rounds: steps per second and the middle run's milliseconds, by engine."""
    found = {what: [] for what in running}
    for _ in range(rounds):
        for what, engine in running.items():
            found[what].append(engine.run(scenario))
    return {
        what: tuple(statistics.median(column) for column in zip(*rows))
        for what, rows in found.items()
    }


def lines_of(running, rounds, place=""):
    for engine in running.values():
        engine.run(WARM_UP)
    lines = []

    def measure(what, scenario, goals, bare):
        what = f"{what}{place}"
        say(what)
        found = in_turn(running, scenario, rounds)
        for peer, engine in running.items():
            if peer == "charter" or (peer == "bare" and not bare):
                continue
            line = Line.of_rates(what, found["charter"][0], found[peer][0], "steps/s", engine.name)
            lines.append(line.at_least(goals[peer]) if peer in goals else line)
        return what, found

    measure("1 run of 1,000 steps", SEQUENCE, {"restate": 3, "dbos": 10}, bare=True)
    measure("20 runs of 100 steps at once", TWENTY, {"restate": 3}, bare=True)
    what, found = measure("2,000 runs of one step, 32 at once", SINGLE, {"restate": 5}, bare=False)
    for peer in ("restate", "dbos"):
        times = found["charter"][1], found[peer][1]
        line = Line.of_times(f"{what}: p50", *times, "ms", running[peer].name)
        lines.append(line.at_most(0.2) if peer == "restate" else line)
    measure("runs of 10 steps, one at a time", ALONE, {}, bare=True)
    measure("runs of 10 steps, 64 at once", MANY, {}, bare=True)
    replayed = running["charter"].ask({"replay": SEQUENCE["steps"]})
    rate = replayed["events"] / replayed["seconds"]
    lines.append(Line.of_one(f"events replayed strictly{place}", rate, "/s"))
    return lines


def together(engines, rounds, place=""):
    """Starts everybody, measures in turn, stops everybody."""
    running = {}
    try:
        for what, start in engines.items():
            say(f"starting {what}")
            running[what] = start()
        return lines_of(running, rounds, place)
    finally:
        for engine in running.values():
            engine.stop()


def measure(rounds, release=RELEASE):
    # bench/capacity.py must not take the figures of an earlier run for those of one that failed.
    FIGURES.unlink(missing_ok=True)
    lines = together(on_sqlite(release), rounds)
    server = Postgres()
    try:
        lines += together(on_postgres(release, server), rounds, ", PostgreSQL")
    finally:
        server.stop()
    FIGURES.write_text(json.dumps([line.__dict__ for line in lines], indent=1) + "\n")
    return lines


if __name__ == "__main__":
    by_itself(__doc__, build, measure, ROUNDS, RELEASE)
