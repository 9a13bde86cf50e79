"""Search on engines of their own, through Charter and asked directly: same entries, same questions, in turn.

    python bench/search.py [--rows N] [--runs R] [--rounds R] [--queries Q] [--no-build] [--release DIR]

A part of `make bench`. An OpenSearch node (`make opensearch`) holds the skills; one question is a vector and asks
for the nearest among all skills of the tenant. Directly means: the request that Charter sends, from here to the
node; and the nearest alone, looking at no more than these. Figures never decide the exit code. What is measured:
bench/README.md.
"""

import json
import os
import pathlib
import pwd
import re
import shutil
import signal
import subprocess
import tempfile
import time

import numpy

from asked import Asked, in_turn
from charter_server import Connection, Server
from release import RELEASE, ROOT, build, fetch_model
from table import Line, machine, options_of, say, show
from vectors import made_up

NODE = ROOT / "target/opensearch/node"
INDEX = "agent_skills.tenant-local"
PATH = (
    "/_msearch?filter_path=responses.status,responses.error.reason,responses.timed_out,responses._shards.failed,"
    "responses.hits.hits._score,responses.hits.hits.fields"
)
BATCH = 500
TOP_K = 10
SENT = TOP_K + 10
EXPLORED = 200
RUNS = 5
ROUNDS = 50
GOAL = 1.10
START_S = 120
SETTINGS = """cluster.name: bench
discovery.type: single-node
network.host: 127.0.0.1
http.port: 0
transport.port: 0
bootstrap.system_call_filter: false
cluster.routing.allocation.disk.threshold_enabled: false
path.data: {0}/data
path.logs: {0}/logs
"""


class OpenSearch:
    """A node over a directory of its own. It refuses to run as root, and then runs as nobody."""

    def __init__(self, folder):
        node, settings = NODE, {}
        config = folder / "config"
        config.mkdir(parents=True)
        (folder / "tmp").mkdir()
        (config / "opensearch.yml").write_text(SETTINGS.format(folder))
        shutil.copy(NODE / "config/log4j2.properties", config)
        if os.getuid() == 0:
            nobody = pwd.getpwnam("nobody")
            node = folder / "node"
            shutil.copytree(NODE, node)
            for path in [folder, *folder.rglob("*")]:
                os.chown(path, nobody.pw_uid, nobody.pw_gid, follow_symlinks=False)
            settings = {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}
        command = [
            node / "runtime/bin/java", "-Xms1g", "-Xmx1g", "-Xss1m", "-Djava.awt.headless=true",
            "-Dfile.encoding=UTF-8", "-Djna.nosys=true", f"-Djna.tmpdir={folder}/tmp",
            f"-Djava.io.tmpdir={folder}/tmp", "-Dio.netty.noUnsafe=true",
            "-Dlog4j.shutdownHookEnabled=false", "-Dlog4j2.disable.jmx=true",
            f"-javaagent:{node}/agent/opensearch-agent.jar",
            "--add-opens=java.base/java.nio=org.apache.arrow.memory.core,ALL-UNNAMED",
            "-Dorg.apache.lucene.store.MMapDirectory.sharedArenaMaxPermits=1",
            f"-Dopensearch.path.home={node}", f"-Dopensearch.path.conf={config}",
            "-Dopensearch.distribution.type=zip", "-Dopensearch.bundled_jdk=false",
            "-cp", f"{node}/lib/*", "org.opensearch.bootstrap.OpenSearch",
        ]
        self.log = folder / "node.log"
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                command, cwd=folder, stdin=subprocess.DEVNULL, stdout=log, stderr=log, **settings
            )
        self.port = self.wait()

    def wait(self):
        listens = re.compile(r"AbstractHttpServerTransport.*publish_address \{127\.0\.0\.1:(\d+)\}")
        started = time.perf_counter()
        while time.perf_counter() - started < START_S and self.process.poll() is None:
            if found := listens.search(self.log.read_text(errors="replace")):
                return int(found.group(1))
            time.sleep(0.1)
        raise RuntimeError(f"the node does not start: {self.log.read_text()[-2000:]}")

    def stop(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()


def load(server, rows):
    connection = Connection(server.port)
    for start in range(0, len(rows), BATCH):
        skills = [
            {"skill_id": f"s{number}", "summary": f"skill {number}", "is_folder": False,
             "skill_desc_vector": rows[number].tolist()}
            for number in range(start, min(start + BATCH, len(rows)))
        ]
        status, body = connection.post("/v1/agent-skills/bulk", json.dumps({"skills": skills}).encode())
        if status != 200:
            raise RuntimeError(f"loading answered {status}: {body[:500]}")
    connection.close()


def in_step(server):
    while (state := server.get_json("/readyz")["skill_index"])["state"] != "in_step" \
            or state["indexed"] != state["served"]:
        time.sleep(0.5)
    return state


def components(vector):
    """The numbers of a vector with the digits of 32-bit floats, as Charter and its clients write them."""
    return [float(str(component)) for component in vector]


def direct(vector, size=SENT, explored=EXPLORED):
    """The request of Charter for a caller who reaches all skills of one tenant, with other numbers if given."""
    knn = {"vector": vector, "k": explored, "filter": {"match_all": {}}}
    search = {
        "size": size, "_source": False, "track_total_hits": False, "docvalue_fields": ["skill_id"],
        "query": {"knn": {"skill_desc_vector": knn}},
    }
    lines = [{"index": INDEX}, search]
    return "".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines).encode()


def ids(answer):
    """The skills of a node's answer."""
    return [hit["fields"]["skill_id"][0] for hit in answer["responses"][0]["hits"]["hits"]]


def recall(rows, queries, found):
    hits = 0
    for query, ids in zip(queries, found):
        scores = rows @ query
        hits += len({f"s{number}" for number in numpy.argpartition(-scores, TOP_K)[:TOP_K]} & set(ids[:TOP_K]))
    return hits / (TOP_K * len(queries))


def main():
    options = options_of(__doc__, build, ROUNDS, RELEASE, rows=20_000, runs=RUNS, queries=100)
    model = fetch_model()
    rows, queries = made_up(options.rows, options.queries)
    with tempfile.TemporaryDirectory(prefix="charter-bench-") as temporary:
        folder = pathlib.Path(temporary)
        folder.chmod(0o755)
        say("starting OpenSearch")
        node = OpenSearch(folder / "opensearch")
        try:
            settings = {
                "CHARTER_SKILL_INDEX__URL": f"http://127.0.0.1:{node.port}",
                "CHARTER_SKILL_INDEX__VECTORS_IN_MEMORY": "false",
                "CHARTER_SKILL_INDEX__TIMEOUT_MS": "60000",
                "CHARTER_LIMITS__BODY_BYTES": str(64 << 20),
            }
            server = Server(options.release / "charter", model, folder / "data", settings)
            try:
                lines = compare(server, node, rows, queries, options)
            finally:
                server.stop()
        finally:
            node.stop()
    asked = f"{options.runs} runs of {options.rounds * options.queries:,} queries"
    title = f"Skills on a search node. {machine()}; median of {asked}"
    print(show(lines, title))


def compare(server, node, rows, queries, options):
    say(f"loading {len(rows):,} skills")
    started = time.perf_counter()
    load(server, rows)
    stored = time.perf_counter() - started
    in_step(server)
    followed = time.perf_counter() - started
    say(f"stored in {stored:.1f} s, indexed in {followed:.1f} s")
    vectors = [components(query) for query in queries]
    asked = [json.dumps({"vector": vector, "top_k": TOP_K}).encode() for vector in vectors]
    ours = Asked(server.port, "/v1/agent-skills/search", asked,
                 lambda answer: [hit["skill_id"] for hit in answer["hits"]])

    def asked_directly(*given):
        sent = [direct(vector, *given) for vector in vectors]
        return Asked(node.port, PATH, sent, ids, "application/x-ndjson")

    theirs, alone = asked_directly(), asked_directly(TOP_K, TOP_K)
    in_turn([ours, theirs, alone], options.rounds, options.runs)
    what = f"nearest {TOP_K} of {len(rows):,} skills"
    peers = [("OpenSearch, the same request", theirs, GOAL), (f"OpenSearch, the nearest {TOP_K} alone", alone, None)]
    lines = []
    for peer, one, goal in peers:
        for name, share in [("p50", 0.5), ("p99", 0.99)]:
            line = Line.of_times(f"{what}, {name}", ours.quantile(share), one.quantile(share), "ms", peer)
            lines.append(line.at_most(goal) if goal else line)
        found = [recall(rows, queries, each.found) for each in (ours, one)]
        lines.append(Line(f"the same, recall@{TOP_K}", found[0], found[1], "", peer))
    lines.append(Line.of_one(f"{len(rows):,} skills stored and indexed", followed, "s"))
    return lines


if __name__ == "__main__":
    main()
