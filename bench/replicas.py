"""Replicas of `charter serve` over one PostgreSQL on one machine: what they do in a second, and what it costs.

    python bench/replicas.py [--rounds N] [--seconds S] [--skills N] [--no-build] [--release DIR]

A part of `make bench`. Client, replicas and database share the machine's cores, so more replicas are not
faster where one keeps them busy: what is worth knowing is the processor time of each side, from /proc, from
which `bench/capacity.py` fits a model. Figures never decide the exit code; all of them are written to
target/bench/replicas.json. What is measured: bench/README.md.
"""

import json
import resource
import shutil
import statistics
import time
from urllib.parse import quote

import catalogue
import wrk
from charter_server import Connection, Server
from postgres import Postgres
from release import RELEASE, ROOT, build, fetch_model
from replica_load import PLAYBOOKS, Stalling, package, runs_at_once, started, told
from table import Line, grid, machine, options_of, say, show

WORK = ROOT / "target" / "bench" / "replicas"
FIGURES = ROOT / "target" / "bench" / "replicas.json"
DATABASE = "charter"

REPLICAS = (1, 2, 4)
ROUNDS = 3
SECONDS = 3
SKILLS = 4_000
CONNECTIONS = 32
READING_CONNECTIONS = 16
SUBJECTS = 200
IDLE_S = 5
HELD_RUNS = (100, 200, 400)
CONFIG = """[tools]
concurrency = 1000

[tools.builtin]
hosts = ["127.0.0.1:{port}"]

[tools.builtin.roots.bench]
path = "{root}"
"""


class Cluster:
    """One database and as many replicas as are asked for."""

    def __init__(self, binary, model):
        self.binary, self.model, self.replicas = binary, model, []
        shutil.rmtree(WORK, ignore_errors=True)
        (WORK / "root").mkdir(parents=True)
        self.postgres = Postgres(shared_preload_libraries="pg_stat_statements")
        self.postgres.say("CREATE EXTENSION pg_stat_statements")
        self.url = self.postgres.database(DATABASE)
        self.stalling = Stalling()
        config = CONFIG.format(root=WORK / "root", port=self.stalling.port)
        (WORK / "config.toml").write_text(config)

    def scale(self, count):
        """Starts or stops replicas until so many run."""
        while len(self.replicas) > count:
            self.replicas.pop().stop()
        while len(self.replicas) < count:
            settings = {
                "CHARTER_CONFIG": str(WORK / "config.toml"),
                "CHARTER_STORE__URL": self.url,
                "CHARTER_EVIDENCE__KEY_FILE": str(WORK / "evidence.key"),
                "CHARTER_REPLICA__DRAIN_S": "1",
            }
            data = WORK / f"data{len(self.replicas)}"
            self.replicas.append(Server(self.binary, self.model, data, settings))

    def ports(self):
        return [replica.port for replica in self.replicas]

    def counted(self):
        """What has been used so far. Asking the database for it costs processor time as well."""
        sql = """SELECT coalesce(sum(calls), 0), coalesce(sum(calls) FILTER (WHERE query ILIKE 'SET %'), 0),
                        coalesce(sum(calls) FILTER (WHERE query = 'COMMIT'), 0),
                        pg_current_wal_insert_lsn() - '0/0'
                 FROM pg_stat_statements WHERE dbid = (SELECT oid FROM pg_database WHERE datname = '%s')"""
        found = self.postgres.say(sql.replace("%s", DATABASE)).split("|")
        return dict(zip(("statements", "settings", "commits", "wal_bytes"), map(int, found)))

    def cpu(self):
        own = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
        return {
            "replica_cpu_s": sum(replica.cpu_s() for replica in self.replicas),
            "postgres_cpu_s": self.postgres.cpu_s(),
            "client_cpu_s": sum(used.ru_utime + used.ru_stime for used in own),
        }

    def measured(self, what, work):
        """What `work` says that it did, with what that cost."""
        counted, cpu = self.counted(), self.cpu()
        began = time.perf_counter()
        did = work()
        seconds = time.perf_counter() - began
        used = {name: value - cpu[name] for name, value in self.cpu().items()}
        used |= {name: value - counted[name] for name, value in self.counted().items()}
        return {"what": what, "replicas": len(self.replicas), "seconds": seconds} | did | used

    def stop(self):
        self.scale(0)
        self.stalling.stop()
        self.postgres.stop()


def memory_of_skills(cluster, bundles):
    """Registers the catalogue by and by; the memory of a replica that has just started over what is there."""
    rows, skills = [], 0
    for bundle in [None, *bundles]:
        if bundle:
            cluster.replicas[0].register([bundle])
            skills += sum(path.startswith("skills/") for path in json.loads(bundle)["files"])
        cluster.scale(0)
        cluster.scale(1)
        rows.append({"skills": skills, "mib": cluster.replicas[0].memory_mib()})
    return rows


def memory_of_runs(cluster):
    """The memory of a replica while runs are in flight, each of which waits for an answer that does not come."""
    cluster.scale(0)
    cluster.scale(1)
    replica, held = cluster.replicas[0], 0
    connection = Connection(replica.port)
    rows = [{"runs": 0, "mib": replica.memory_mib()}]
    for count in HELD_RUNS:
        for _ in range(count - held):
            started(connection, "bench.wait")
        held = count
        cluster.stalling.wait_for(held)
        rows.append({"runs": held, "mib": replica.memory_mib()})
    connection.close()
    return rows


def stored(cluster):
    """What the journals of runs of steps that only look at a file take in the database."""
    sql = """SELECT coalesce(sum(pg_column_size(payload)), 0), count(*) FROM journal_event
             WHERE run_id IN (SELECT run_id FROM run WHERE title = 'playbook bench.look_%s')"""
    rows = []
    for steps in PLAYBOOKS["look"]:
        counted = f"SELECT count(*) FROM run WHERE title = 'playbook bench.look_{steps}'"
        runs = int(cluster.postgres.say(counted, DATABASE))
        size, events = cluster.postgres.say(sql.replace("%s", str(steps)), DATABASE).split("|")
        rows.append({"steps": steps, "runs": runs, "events": int(events), "payload_bytes": int(size)})
    whole = "SELECT pg_total_relation_size('journal_event'), (SELECT count(*) FROM journal_event)"
    whole = cluster.postgres.say(whole, DATABASE)
    size, events = map(int, whole.split("|"))
    return {"of_steps": rows, "table_bytes": size, "table_events": events}


def disk_and_way(cluster):
    """How long the disk takes to keep a page, and the database to answer when it has nothing to do."""
    postgres = cluster.postgres
    told = postgres.run("pg_test_fsync", "-s", "1", "-f", postgres.folder / "data" / "fsync.probe")
    line = next(line for line in told.splitlines() if line.strip().startswith("fdatasync"))
    fsync_ms = float(line.split("ops/sec")[1].split()[0]) / 1e3
    script = postgres.folder / "way.sql"
    script.write_text("SELECT 1;\n")
    script.chmod(0o644)
    asked = ["-n", "-M", "prepared", "-c", "1", "-T", "2", "-f", script, *postgres.reached("postgres")[:4], "postgres"]
    told = postgres.run("pgbench", *asked)
    return {"fsync_ms": fsync_ms, "round_trip_ms": float(told.split("latency average = ")[1].split()[0])}


def works(cluster, queries, seconds):
    """What is measured of each number of replicas, by name; the first of them are runs."""
    texts = [f"/v1/route?query={quote(query['text'])}" for query in queries[:SUBJECTS]]
    subjects = [f"/v1/resolve/guardrails?skill_id={query['skill_id']}" for query in queries[:SUBJECTS]]

    def read(paths):
        ports = cluster.ports()
        each = max(1, READING_CONNECTIONS // len(ports))
        return {"reads": sum(rate * seconds for rate in wrk.rates(ports, paths, each, seconds))}

    def run(kind, steps):
        return lambda: runs_at_once(cluster.ports(), f"bench.{kind}_{steps}", steps, CONNECTIONS, seconds)

    found = {f"{kind} {steps}": run(kind, steps) for kind, each in PLAYBOOKS.items() for steps in each}
    found["route"] = lambda: read(texts)
    found["guardrails"] = lambda: read(subjects)
    return found


def idle():
    time.sleep(IDLE_S)
    return {}


def take_turns(cluster, queries, rounds, seconds):
    rows = []
    for number in range(rounds):
        for count in REPLICAS:
            say(f"round {number + 1} of {rounds}, {count} replicas")
            cluster.scale(count)
            for what, work in works(cluster, queries, seconds).items():
                rows.append(cluster.measured(what, work) | {"round": number})
            if number == 0:
                rows.append(cluster.measured("idle", idle) | {"round": number})
    return rows


def measure(options):
    # bench/capacity.py must not take the figures of an earlier run for those of one that failed.
    FIGURES.unlink(missing_ok=True)
    model = fetch_model(options.release)
    texts = WORK.with_name("replica_catalogue")
    catalogue.write(texts, options.skills)
    bundles = (texts / "bundles.jsonl").read_bytes().splitlines()
    queries = [json.loads(row) for row in (texts / "queries.jsonl").read_text(encoding="utf-8").splitlines()]
    say("starting PostgreSQL")
    cluster = Cluster(options.release / "charter", model)
    try:
        say(f"registering {options.skills:,} skills")
        figures = {"memory_of_skills": memory_of_skills(cluster, bundles)}
        files = json.dumps({"files": package(cluster.stalling.port)}).encode()
        cluster.replicas[0].register([files])
        figures |= disk_and_way(cluster)
        figures["rows"] = take_turns(cluster, queries, options.rounds, options.seconds)
        figures["stored"] = stored(cluster)
        say("holding runs")
        figures["memory_of_runs"] = memory_of_runs(cluster)
        return figures | {
            "postgres": cluster.postgres.name, "machine": machine(), "build": options.release.name
        }  # fmt: skip
    finally:
        cluster.stop()


def middle(rows, what, replicas, value):
    return statistics.median(value(row) for row in rows if (row["what"], row["replicas"]) == (what, replicas))


def lines_of(rows):
    """What is done in a second, against one replica."""
    lines = []
    for what in dict.fromkeys(row["what"] for row in rows if row["what"] != "idle"):
        of_reads = "reads" in next(row for row in rows if row["what"] == what)
        done, unit = ("reads", "/s") if of_reads else ("steps", "steps/s")
        rates = {count: middle(rows, what, count, lambda row: row[done] / row["seconds"]) for count in REPLICAS}
        for count in REPLICAS[1:]:
            lines.append(Line.of_rates(f"{told(what)}; {count} replicas", rates[count], rates[1], unit, "1 replica"))
    return lines


def middle_time(rows, what, replicas):
    """Of the middle run, where runs were timed."""
    if "times_ms" not in next(row for row in rows if row["what"] == what):
        return ""
    return f"{middle(rows, what, replicas, lambda row: statistics.median(row['times_ms'])):.1f}"


def costs_of(rows):
    """Processor time, statements and log of the database for each run or read."""
    head = ["each", "replicas", "per second", "p50 ms", "replicas' CPU ms", "PostgreSQL's", "client's", "statements",
            "commits", "log KiB", "cores busy"]  # fmt: skip
    table = [head]
    for what in dict.fromkeys(row["what"] for row in rows if row["what"] != "idle"):
        for count in REPLICAS:
            each = lambda name, scale=1.0: middle(
                rows, what, count, lambda row: scale * row[name] / (row.get("runs") or row["reads"])
            )
            busy = lambda row: sum(row[f"{side}_cpu_s"] for side in ("replica", "postgres", "client")) / row["seconds"]
            table.append(
                [told(what), str(count), f"{1 / each('seconds'):,.1f}", middle_time(rows, what, count)]
                + [f"{each(f'{side}_cpu_s', 1e3):.2f}" for side in ("replica", "postgres", "client")]
                + [f"{each(name):.1f}" for name in ("statements", "commits")]
                + [f"{each('wal_bytes', 1 / 1024):.1f}", f"{middle(rows, what, count, busy):.2f}"]
            )
    return table


def main():
    options = options_of(__doc__, build, ROUNDS, RELEASE, seconds=SECONDS, skills=SKILLS)
    figures = measure(options)
    FIGURES.write_text(json.dumps(figures, indent=1) + "\n")
    rows = figures["rows"]
    title = f"{machine()}; {figures['postgres']}; median of {options.rounds} rounds in turn"
    print(show(lines_of(rows), title), grid(costs_of(rows)), sep="\n\n")


if __name__ == "__main__":
    main()
