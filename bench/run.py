"""Embedding, routing, resolving, envelopes and start of Charter against named peers, as ratios measured in one run.

    python bench/run.py [--model DIR] [--rounds N] [--keep] [--no-build]

A part of `make bench`; `make bench PARTS=run` installs its peers and runs it. Ours
and theirs take turns; each figure is the median of the rounds. A section that fails
does not end the others. Figures never decide the exit code: it is 1 only if a
section failed. What each line measures: bench/README.md.
"""

import argparse
import json
import pathlib
import shutil
import statistics
import subprocess
import sys
import time
import traceback
from urllib.parse import quote

import catalogue
import wrk
from charter_server import Connection, Server
from release import RELEASE, ROOT, build, fetch_model
from table import Line, machine, say, show
from tokenizers import Tokenizer

PEERS = ROOT / "bench" / "peers"
# Installed by the Makefile.
NODE = ROOT / "target" / "web" / "node" / "bin" / "node"
ENVELOPE_PEER = ROOT / "target" / "envelope-peers" / "envelope_ajv.mjs"
WORK = ROOT / "target" / "bench"
SEED_ENVELOPE = ROOT / "crates/contract/tests/seeds/mission_envelope.json"
ENVELOPE_SCHEMA = ROOT / "schemas/mission_envelope.json"

ROUNDS = 5
QUERY_TOKENS = 16
# chromadb takes about a hundred times longer than the others: it is asked less often.
QUERIES = {"charter": 200, "numpy": 200, "embedding": 200, "chromadb": 25}
WARM_UP_QUERIES = 20
ROUTES_BEFORE_MEMORY = 1_000
STARTS = 5
WRK_CONNECTIONS = 16
WRK_SECONDS = 4
SUBJECTS = 200
QUERY_EMBEDDED = "16-token query embedded, p50"


def last_json(command, **options):
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, **options)
    return json.loads(done.stdout.strip().splitlines()[-1])


def p50(values):
    return statistics.median(values)


class Sections:
    """The lines measured so far, and the names of the sections that failed."""

    def __init__(self):
        self.lines, self.failed = [], []

    def measure(self, name, section, *arguments):
        """Adds the lines of a section. A failure is printed and noted: the other sections are still worth having."""
        say(name)
        try:
            self.lines += section(*arguments)
        except Exception:
            traceback.print_exc()
            self.failed.append(name)

    def own_embedding_ms(self):
        """Charter's time for the embedding of a query; none if that section failed."""
        return next((line.ours for line in self.lines if line.what == QUERY_EMBEDDED), None)


def embedding(model, rounds):
    """The query and the passages, against onnxruntime."""
    graph = WORK / "embed.onnx"
    subprocess.run(
        [sys.executable, PEERS / "export_onnx.py", model, graph], check=True, stdout=sys.stderr
    )
    ours, theirs = [], []
    for _ in range(rounds):
        ours.append(last_json([RELEASE / "examples" / "embed_bench", model]))
        theirs.append(last_json([sys.executable, PEERS / "embed_onnxruntime.py", model, graph]))
    peer = theirs[0]["engine"]
    median = lambda rows, key: statistics.median(row[key] for row in rows)
    own_ms, peer_ms = median(ours, "query16_p50_ms"), median(theirs, "query16_p50_ms")
    own_rate, peer_rate = median(ours, "passages128_per_s"), median(theirs, "passages128_per_s")
    return [
        Line.of_times(QUERY_EMBEDDED, own_ms, peer_ms, "ms", peer).as_speed(1.0),
        Line.of_rates("128-token passages embedded", own_rate, peer_rate, "/s", peer).at_least(1.0),
    ]


class RoutePeers:
    """bench/peers/route_peers.py, loaded once and asked in turn."""

    def __init__(self, model, documents):
        self.process = subprocess.Popen(
            [sys.executable, PEERS / "route_peers.py", model, WORK, documents],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.engines = self.read()["ready"]

    def read(self):
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError("route_peers.py ended early")
        return json.loads(line)

    def ask(self, what, queries):
        print(json.dumps({"what": what, "queries": queries}), file=self.process.stdin, flush=True)
        return self.read()

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def route(server, queries):
    """Times and best candidates of GET /v1/route over one kept-alive connection."""
    requests = [
        f"GET /v1/route?query={quote(query)} HTTP/1.1\r\nhost: localhost\r\n\r\n".encode()
        for query in queries
    ]
    connection, times, top = Connection(server.port), [], []
    for request in requests:
        started = time.perf_counter()
        status, body = connection.exchange(request)
        times.append((time.perf_counter() - started) * 1e3)
        if status != 200:
            raise RuntimeError(f"/v1/route answered {status}: {body[:500].decode()}")
        candidates = json.loads(body)["candidates"]
        top.append(candidates[0]["id"] if candidates else None)
    connection.close()
    return {"times_ms": times, "top": top}


def take_turns(server, peers, queries, rounds):
    """p50 of each round and best candidates, for each side."""
    texts = [query["text"] for query in queries]
    ask = {what: (lambda part, what=what: peers.ask(what, part)) for what in peers.engines}
    ask["charter"] = lambda part: route(server, part)
    found = {what: {"p50": [], "top": {}} for what in ask}
    for what, work in ask.items():
        work(texts[: WARM_UP_QUERIES if what != "chromadb" else 3])
    for number in range(rounds):
        for what, work in ask.items():
            count = QUERIES[what]
            start = number * count % len(texts)
            part = (texts + texts)[start : start + count]
            answer = work(part)
            found[what]["p50"].append(p50(answer["times_ms"]))
            found[what]["top"].update(zip(part, answer["top"]))
    return found


def right(found, queries):
    wanted = {query["text"]: query["skill_id"] for query in queries}
    top = found["top"]
    return sum(wanted[text] == id for text, id in top.items()) / len(top)


def routing(server, model, queries, own_embedding_ms, rounds):
    say("loading the routing peers")
    peers = RoutePeers(model, WORK / "catalogue" / "documents.jsonl")
    say("asking them in turn")
    try:
        found = take_turns(server, peers, queries, rounds)
    finally:
        peers.close()
    ms = {what: statistics.median(of["p50"]) for what, of in found.items()}
    what, engines, own = "route among 10,000 over HTTP, p50", peers.engines, ms["charter"]
    line = lambda name, key, peer: Line.of_times(name, own, key, "ms", peer)
    notes = ", ".join(
        f"{what} {right(found[what], queries):.2f}" for what in ("charter", "chromadb", "numpy")
    )
    say(f"best candidate is the skill that the query was drawn from: {notes}")
    lines = [
        line(what, ms["chromadb"], engines["chromadb"]).at_most(0.2),
        line(what, ms["embedding"], f"embedding alone, {engines['embedding']}").at_most(1.2),
        line(what, ms["numpy"], engines["numpy"]),
    ]
    if own_embedding_ms is not None:
        lines.insert(2, line(what, own_embedding_ms, "embedding alone, Charter's own").at_most(1.2))
    return lines


def resolving(server, queries, rounds):
    """GET /v1/resolve/guardrails against a bare axum route with a body of the same size."""
    paths = [f"/v1/resolve/guardrails?skill_id={query['skill_id']}" for query in queries[:SUBJECTS]]
    bodies = sorted((server.get_json(path) for path in paths), key=lambda body: len(json.dumps(body)))
    body = WORK / "guardrails.json"
    body.write_text(json.dumps(bodies[len(bodies) // 2], separators=(",", ":")))
    say(f"the middle answer has {len(json.loads(body.read_text()))} guardrails, {body.stat().st_size} bytes")
    bare = subprocess.Popen(
        [RELEASE / "examples" / "bare_route", body], stdout=subprocess.PIPE, text=True
    )
    try:
        port = int(bare.stdout.readline())
        ours, theirs = [], []
        for _ in range(rounds):
            ours += wrk.rates([server.port], paths, WRK_CONNECTIONS, WRK_SECONDS)
            theirs += wrk.rates([port], paths, WRK_CONNECTIONS, WRK_SECONDS)
    finally:
        bare.kill()
        bare.wait()
    own, peer = statistics.median(ours), statistics.median(theirs)
    name = "a bare axum route, same body size"
    return [Line.of_rates("resolve guardrails over HTTP", own, peer, "req/s", name).at_least(0.7)]


def envelopes(rounds):
    ours, theirs = [], []
    for _ in range(rounds):
        ours.append(last_json([RELEASE / "examples" / "envelope_bench"])["per_second"])
        theirs.append(last_json([NODE, ENVELOPE_PEER, ENVELOPE_SCHEMA, SEED_ENVELOPE]))
    own = statistics.median(ours)
    peer = statistics.median(row["per_second"] for row in theirs)
    name = f"JSON.parse and {theirs[0]['engine']}"
    return [Line.of_rates("mission envelope parsed, validated", own, peer, "/s", name).at_least(1.5)]


def cold_starts(model, data):
    """The server of the last start, and how long all of them took."""
    starts = []
    for number in range(STARTS):
        server = Server(RELEASE / "charter", model, data)
        starts.append(server.ready_s)
        if number < STARTS - 1:
            server.stop()
    return server, [Line.of_one("start with 10,000 skills until ready", statistics.median(starts), "s").limit(1.0)]


def memory(server, queries):
    """Of a server that has just started, and after 1,000 routes."""
    idle = server.memory_mib()
    texts = [query["text"] for query in queries] * ROUTES_BEFORE_MEMORY
    route(server, texts[:ROUTES_BEFORE_MEMORY])
    return [
        Line.of_one("resident memory, just started", idle, "MiB"),
        Line.of_one("resident memory, after 1,000 routes", server.memory_mib(), "MiB"),
    ]


def fill(model, keep):
    """A data directory with the catalogue registered, and its queries of 16 tokens."""
    texts, data = WORK / "catalogue", WORK / "data"
    catalogue.write(texts)
    rows = (texts / "queries.jsonl").read_text(encoding="utf-8").splitlines()
    tokenizer = Tokenizer.from_file(str(model / "tokenizer.json"))
    tokenizer.no_padding()
    queries = [json.loads(row) for row in rows]
    queries = [row for row in queries if len(tokenizer.encode(row["text"]).ids) == QUERY_TOKENS]
    if keep and data.exists():
        return data, queries, []
    shutil.rmtree(data, ignore_errors=True)
    say("registering 10,000 skills")
    server = Server(RELEASE / "charter", model, data)
    try:
        took = server.register((texts / "bundles.jsonl").read_bytes().splitlines())
    finally:
        server.stop()
    say("seconds per package: " + ", ".join(f"{seconds:.1f}" for seconds in took))
    return data, queries, [Line.of_one("10,000 skills registered, five packages", sum(took), "s")]


def serving(sections, model, options):
    """Registers the catalogue and starts the server over it; then the sections that ask this server."""
    data, queries, registered = fill(model, options.keep)
    say("starting")
    server, starts = cold_starts(model, data)
    try:
        sections.measure("memory", memory, server, queries)
        own_embedding_ms = sections.own_embedding_ms()
        sections.measure("routing", routing, server, model, queries, own_embedding_ms, options.rounds)
        sections.measure("resolving guardrails", resolving, server, queries, options.rounds)
    finally:
        server.stop()
    return starts + registered


def run(options):
    WORK.mkdir(parents=True, exist_ok=True)
    if not options.no_build:
        build()
    model = pathlib.Path(options.model).resolve() if options.model else fetch_model()
    sections = Sections()
    sections.measure("embedding", embedding, model, options.rounds)
    sections.measure("server with 10,000 skills", serving, sections, model, options)
    sections.measure("validating envelopes", envelopes, options.rounds)
    return sections


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", help="directory of all-MiniLM-L6-v2; fetched when absent")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--keep", action="store_true", help="use the last run's data directory")
    parser.add_argument("--no-build", action="store_true", help="measure what is built")
    options = parser.parse_args()
    sections = run(options)
    print(show(sections.lines, f"{machine()}; median of {options.rounds} rounds, ours and theirs in turn"))
    (WORK / "last.json").write_text(json.dumps([line.__dict__ for line in sections.lines], indent=1) + "\n")
    if sections.failed:
        sys.exit(f"failed sections: {', '.join(sections.failed)}")


if __name__ == "__main__":
    main()
