"""Passages of lenses on pgvector, through Charter and asked of PostgreSQL directly: same vectors, same questions, in turn.

    python bench/passages.py [--rows N] [--runs R] [--rounds R] [--queries Q] [--no-build] [--release DIR]

A part of `make bench`. Vectors come from a server beside both, which knows them all: whoever asks gets the
question's vector from there first. Figures never decide the exit code. What is measured: bench/README.md.
"""

import hashlib
import json
import pathlib
import re
import tempfile
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy
import psycopg

from asked import Asked, Timed, in_turn
from charter_server import Connection, Server
from postgres import Postgres
from release import RELEASE, build
from table import Line, machine, options_of, say, show
from vectors import DIMS, made_up, unit

LENSES = 5
TOP_K = 10
RANKED = 200
RUNS = 5
ROUNDS = 50
GOAL = 1.10
MODEL = "made-up"
# A section of more than half a window's tokens is a passage of its own. It has two parts, here with one vector.
SECTION_LETTERS = 1_260
PARTS = 2
NUMBERED = re.compile(r"\b([pq])(\d+)\b")


class Site(ThreadingHTTPServer):
    """Sources of lenses, and an embeddings API that knows the vector of each of their passages."""

    daemon_threads = True

    def __init__(self, rows, queries):
        super().__init__(("127.0.0.1", 0), Page)
        self.known = {"p": rows, "q": queries}
        threading.Thread(target=self.serve_forever, daemon=True).start()

    @property
    def address(self):
        return f"127.0.0.1:{self.server_port}"

    def source(self, number):
        """The passages of a lens: a section for each row."""
        share = len(self.known["p"]) // LENSES
        return "\n\n".join(section(row) for row in range(number * share, (number + 1) * share))

    def vector(self, text):
        if found := NUMBERED.search(text):
            return self.known[found[1]][int(found[2])]
        seed = int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big")
        return unit(numpy.random.default_rng(seed).standard_normal((1, DIMS)))[0]


def section(row):
    words = " ".join(f"p{row} rule {word} of the manual holds for whoever works there." for word in range(30))
    return f"# Section {row}\n\n{words[:SECTION_LETTERS]}"


class Page(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    # An answer is one piece on the wire: head and body do not wait for each other.
    disable_nagle_algorithm = True
    wbufsize = -1

    def do_GET(self):
        self.answer(self.server.source(int(self.path.removeprefix("/lens/"))).encode(), "text/markdown; charset=utf-8")

    def do_POST(self):
        texts = json.loads(self.rfile.read(int(self.headers["content-length"])))["input"]
        texts = [texts] if isinstance(texts, str) else texts
        data = [
            {"index": index, "object": "embedding", "embedding": self.server.vector(text).tolist()}
            for index, text in enumerate(texts)
        ]
        body = {"object": "list", "model": MODEL, "data": data, "usage": {"prompt_tokens": 0, "total_tokens": 0}}
        self.answer(json.dumps(body).encode(), "application/json")

    def answer(self, body, kind):
        self.send_response(200)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def bundle(site):
    """A package with the lenses."""
    lens = (
        "lens_id: security.manual{0}\ndomain: security\ncontent_type: reference\ntitle: Manual {0}\n"
        "description: Made-up sections.\nsource:\n  type: url\n  ref: http://{1}/lens/{0}\ntags: [manual]\n"
    )
    files = {f"lenses/manual{number}.yaml": lens.format(number, site.address) for number in range(LENSES)}
    files["package.yaml"] = "name: manuals\nversion: 1.0.0\nscope: global\ntitle: Made-up manuals\n"
    return json.dumps({"files": files}).encode()


def literal(vector):
    return "[" + ",".join(map(str, vector)) + "]"


class Directly(Timed):
    """The vector from the server of vectors, then statements to PostgreSQL in one transaction, as the role of
    Charter."""

    def __init__(self, site, server, database, queries):
        super().__init__(queries)
        self.vectors = Connection(site.server_port)
        self.db = psycopg.connect(host=str(server.folder), user="charter", dbname=database)
        self.db.execute("SET charter.tenant = 'local'")
        self.db.commit()

    def vector(self, question):
        body = json.dumps({"model": MODEL, "input": [question]}).encode()
        status, answer = self.vectors.post("/v1/embeddings", body)
        if status != 200:
            raise RuntimeError(f"the server of vectors answered {status}")
        return literal(json.loads(answer)["data"][0]["embedding"])

    def ask(self, question):
        vector = self.vector(question)
        with self.db.transaction(), self.db.cursor() as cursor:
            cursor.execute(
                "SET LOCAL hnsw.iterative_scan = strict_order; SET LOCAL hnsw.ef_search = 200;"
                "SET LOCAL hnsw.max_scan_tuples = 200000; SET LOCAL plan_cache_mode = force_custom_plan"
            )
            return self.rows(cursor, vector)


class Written(Directly):
    """What an engineer would write: the nearest, with their texts."""

    def rows(self, cursor, vector):
        cursor.execute(
            f"""SELECT c.text FROM lens_near AS n JOIN lens_chunk AS c USING (scope, generation, ordinal)
                WHERE n.scope IN ('local', '') AND vector_dims(n.embedding) = {DIMS}
                ORDER BY n.embedding::vector({DIMS}) <=> %s::vector({DIMS}) LIMIT {TOP_K * PARTS}""",
            (vector,), prepare=True,
        )
        return list(dict.fromkeys(text for (text,) in cursor))[:TOP_K]


class Same(Directly):
    """What Charter asks for: the nearest that it ranks, then the texts of those that are shown."""

    def rows(self, cursor, vector):
        indexes = [number for (number,) in cursor.execute(
            "SELECT generation FROM lens_index WHERE scope IN ('local', '')", prepare=True)]
        cursor.execute(
            f"""WITH near AS MATERIALIZED (
                    SELECT scope, generation, ordinal FROM lens_near
                    WHERE scope IN ('local', '') AND generation = ANY(%(indexes)s) AND vector_dims(embedding) = {DIMS}
                    ORDER BY embedding::vector({DIMS}) <=> %(vector)s::vector({DIMS}) LIMIT {RANKED})
                SELECT scope, generation, ordinal, (1 - (part.embedding::vector({DIMS}) <=> %(vector)s::vector({DIMS})))
                FROM (SELECT DISTINCT scope, generation, ordinal FROM near) AS wanted
                JOIN lens_near AS part USING (scope, generation, ordinal)""",
            {"indexes": indexes, "vector": vector}, prepare=True,
        )
        best = list(dict.fromkeys(row[:3] for row in sorted(cursor, key=lambda row: -row[3])))[:TOP_K]
        cursor.execute(
            """SELECT text FROM unnest(%s::text[], %s::bigint[], %s::bigint[]) WITH ORDINALITY
                   AS wanted (scope, generation, ordinal, number)
               JOIN lens_chunk USING (scope, generation, ordinal) ORDER BY number""",
            [list(column) for column in zip(*best)], prepare=True,
        )
        return [text for (text,) in cursor]


def numbers(texts):
    return [int(NUMBERED.search(text)[2]) for text in texts]


def recall(rows, queries, found):
    hits = 0
    for query, texts in zip(queries, found):
        scores = rows @ query
        hits += len(set(numpy.argpartition(-scores, TOP_K)[:TOP_K].tolist()) & set(numbers(texts[:TOP_K])))
    return hits / (TOP_K * len(queries))


def compare(server, site, postgres, database, rows, queries, options):
    say(f"indexing {len(rows):,} passages")
    took = server.register([bundle(site)])[0]
    postgres.say("ANALYZE", database)
    questions = [f"q{number}" for number in range(len(queries))]
    bodies = [json.dumps({"query": question, "top_k": TOP_K}).encode() for question in questions]
    read = lambda answer: [passage["text"] for passage in answer["passages"]]  # noqa: E731
    ours = Asked(server.port, "/v1/lenses/search", bodies, read)
    peers = {
        "pgvector, the same statements": Same(site, postgres, database, questions),
        f"pgvector, the nearest {TOP_K} alone": Written(site, postgres, database, questions),
    }
    in_turn([ours, *peers.values()], options.rounds, options.runs)
    lines = []
    for number, (name, peer) in enumerate(peers.items()):
        for share in (0.5, 0.99):
            what = f"nearest {TOP_K} of {len(rows):,} passages, p{share * 100:.0f}"
            line = Line.of_times(what, ours.quantile(share), peer.quantile(share), "ms", name)
            lines.append(line.at_most(GOAL) if number == 0 else line)
        found = [recall(rows, queries, one.found) for one in (ours, peer)]
        lines.append(Line(f"the same, recall@{TOP_K}", *found, "", name))
    lines.append(Line.of_one(f"{len(rows):,} passages fetched, cut, embedded and indexed", took, "s"))
    lines.append(Line.of_one("memory of the server", server.memory_mib(), "MiB"))
    return lines


def main():
    options = options_of(__doc__, build, ROUNDS, RELEASE, rows=20_000, runs=RUNS, queries=100)
    rows, queries = made_up(options.rows, options.queries)
    site, postgres = Site(rows, queries), Postgres()
    try:
        url = postgres.database("passages")
        postgres.say("CREATE EXTENSION vector", "passages")
        with tempfile.TemporaryDirectory(prefix="charter-bench-") as temporary:
            settings = {
                "CHARTER_STORE__URL": url,
                "CHARTER_MODEL__SOURCE": "remote",
                "CHARTER_MODEL__BASE_URL": f"http://{site.address}/v1",
                "CHARTER_MODEL__NAME": MODEL,
                "CHARTER_MODEL__DIMS": str(DIMS),
                "CHARTER_LENSES__EGRESS": site.address,
                "CHARTER_LIMITS__TIMEOUT_MS": "1800000",
            }
            server = Server(options.release / "charter", "", pathlib.Path(temporary) / "data", settings)
            try:
                lines = compare(server, site, postgres, "passages", rows, queries, options)
            finally:
                server.stop()
    finally:
        postgres.stop()
    asked = f"{options.runs} runs of {options.rounds * options.queries:,} questions"
    title = f"Passages on pgvector. {machine()}; median of {asked}"
    print(show(lines, title))


if __name__ == "__main__":
    main()
