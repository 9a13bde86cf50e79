"""Skill discovery through a filter: Charter's index and named peers over the same vectors, in one run.

    python bench/skills.py [--rows N] [--share S] [--rounds R] [--queries Q] [--debug]
                           [--postgres URL] [--only PEER …]

Every peer gets the same rows and queries (unit vectors around random centres, a fixed seed) and may
return only the rows that a caller reaches: every tenth with the share 0.1. A peer whose package is not
installed, and pgvector without --postgres, is named and left out. Figures never decide the exit code.
Packages: bench/peers/requirements-skills.txt. What is measured: bench/README.md.
"""

import argparse
import importlib.util
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

import numpy

ROOT = pathlib.Path(__file__).resolve().parent.parent
DIMS = 384
TOP_K = 10
SEED = 7
CENTRES = 256
SPREAD = 0.6
ADD_BATCH = 5_000
SKILLS_BENCH = "skills_bench"


def say(text):
    print(f"bench: {text}", file=sys.stderr, flush=True)


def unit(rows):
    return rows / numpy.linalg.norm(rows, axis=1, keepdims=True)


def made_up(count, queries):
    """Rows and queries around the same centres, as summaries of related skills lie."""
    numbers = numpy.random.default_rng(SEED)
    centres = unit(numbers.standard_normal((CENTRES, DIMS)))

    def around(many):
        noise = unit(numbers.standard_normal((many, DIMS)))
        return unit(centres[numbers.integers(CENTRES, size=many)] + SPREAD * noise)

    return around(count).astype("float32"), around(queries).astype("float32")


class Numpy:
    """One matrix product over the visible rows, copied out beforehand."""

    def __init__(self, rows, visible, _):
        self.ids, self.rows = visible, rows[visible].copy()

    def ask(self, query):
        scores = self.rows @ query
        best = numpy.argpartition(-scores, TOP_K)[:TOP_K]
        return self.ids[best[numpy.argsort(-scores[best])]].tolist()


class Faiss:
    """A flat index of the visible rows alone."""

    def __init__(self, rows, visible, _):
        import faiss

        self.ids, self.index = visible, faiss.IndexFlatIP(DIMS)
        self.index.add(rows[visible])

    def ask(self, query):
        _, found = self.index.search(query[None, :], TOP_K)
        return self.ids[found[0]].tolist()


class SqliteVec:
    """A `vec0` table of all rows, with the reach as a metadata column."""

    def __init__(self, rows, visible, _):
        # Not Python's own sqlite3, which many builds forbid to load extensions.
        import apsw
        import sqlite_vec

        self.db = apsw.Connection(":memory:")
        self.db.enable_load_extension(True)
        self.db.load_extension(sqlite_vec.loadable_path())
        metric = "distance_metric=cosine"
        self.db.execute(
            f"CREATE VIRTUAL TABLE skill USING vec0(vector float[{DIMS}] {metric}, reached integer)"
        )
        reached = numpy.zeros(len(rows), dtype=int)
        reached[visible] = 1
        values = ((at, row.tobytes(), int(reached[at])) for at, row in enumerate(rows))
        insert = "INSERT INTO skill (rowid, vector, reached) VALUES (?, ?, ?)"
        with self.db:
            self.db.executemany(insert, values)

    def ask(self, query):
        sql = "SELECT rowid FROM skill WHERE vector MATCH ? AND reached = 1 AND k = ?"
        return [row[0] for row in self.db.execute(sql, (query.tobytes(), TOP_K))]


class Chroma:
    """A collection of all rows, with the reach as metadata that the query filters by."""

    def __init__(self, rows, visible, _):
        import chromadb

        client = chromadb.EphemeralClient()
        space = {"hnsw:space": "cosine"}
        self.skills = client.create_collection("skills", metadata=space)
        reached = set(visible.tolist())
        for start in range(0, len(rows), ADD_BATCH):
            ids = range(start, min(start + ADD_BATCH, len(rows)))
            self.skills.add(
                ids=[str(at) for at in ids],
                embeddings=rows[start : start + ADD_BATCH],
                metadatas=[{"reached": at in reached} for at in ids],
            )

    def ask(self, query):
        found = self.skills.query(
            query_embeddings=query[None, :], n_results=TOP_K, where={"reached": True}, include=[]
        )
        return [int(at) for at in found["ids"][0]]


class Pgvector:
    """A table of all rows with the reach as an indexed column, searched exactly."""

    def __init__(self, rows, visible, postgres):
        import psycopg

        self.db = psycopg.connect(postgres, autocommit=True)
        self.db.execute("CREATE EXTENSION IF NOT EXISTS vector")
        self.db.execute(
            f"CREATE TEMPORARY TABLE skill (id int, reached boolean, vector vector({DIMS}))"
        )
        reached = set(visible.tolist())
        with self.db.cursor().copy("COPY skill FROM STDIN") as copy:
            for at, row in enumerate(rows):
                copy.write_row((at, at in reached, "[" + ",".join(map(str, row)) + "]"))
        self.db.execute("CREATE INDEX ON skill (reached)")
        self.db.execute("ANALYZE skill")

    def ask(self, query):
        text = "[" + ",".join(map(str, query)) + "]"
        sql = "SELECT id FROM skill WHERE reached ORDER BY vector <=> %s::vector LIMIT %s"
        return [row[0] for row in self.db.execute(sql, (text, TOP_K), prepare=True)]


PEERS = {
    "numpy": (Numpy, "numpy"),
    "faiss-flat": (Faiss, "faiss"),
    "sqlite-vec": (SqliteVec, "sqlite_vec"),
    "chromadb": (Chroma, "chromadb"),
    "pgvector": (Pgvector, "psycopg"),
}


def available(only, postgres):
    for name, (peer, package) in PEERS.items():
        if only and name not in only:
            continue
        if importlib.util.find_spec(package) is None:
            say(f"{name} is left out: {package} is not installed")
        elif name == "pgvector" and not postgres:
            say("pgvector is left out: no --postgres URL")
        else:
            yield name, peer


def timed(peer, queries, exact):
    times, right = [], 0
    for query, expected in zip(queries, exact):
        started = time.perf_counter()
        found = peer.ask(query)
        times.append((time.perf_counter() - started) * 1e3)
        right += len(set(found) & set(expected))
    return statistics.median(times), right / (len(queries) * TOP_K)


def build(debug):
    profile = [] if debug else ["--release"]
    cargo = ["cargo", "build", "--quiet", *profile, "-p", "charter-search"]
    subprocess.run([*cargo, "--example", SKILLS_BENCH], check=True, cwd=ROOT)
    return ROOT / "target" / ("debug" if debug else "release") / "examples" / SKILLS_BENCH


def ours(program, files, share):
    command = [program, *files, str(DIMS), str(share)]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    return json.loads(done.stdout)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--share", type=float, default=0.1)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--queries", type=int, default=200)
    parser.add_argument("--postgres")
    parser.add_argument("--only", nargs="*")
    parser.add_argument("--debug", action="store_true", help="our development build, for a trial")
    given = parser.parse_args()
    program = build(given.debug)
    rows, queries = made_up(given.rows, given.queries)
    visible = numpy.arange(0, given.rows, round(1 / given.share))
    exact = [Numpy(rows, visible, None).ask(query) for query in queries]
    peers = []
    for name, make in available(given.only, given.postgres):
        say(f"loading {name}")
        peers.append((name, make(rows, visible, given.postgres)))
    figures = {name: [] for name, _ in peers}
    mine = []
    with tempfile.TemporaryDirectory() as folder:
        files = [pathlib.Path(folder) / name for name in ("rows", "queries")]
        for file, numbers in zip(files, (rows, queries)):
            file.write_bytes(numbers.tobytes())
        for at in range(given.rounds):
            say(f"round {at + 1} of {given.rounds}")
            mine.append(ours(program, files, given.share))
            for name, peer in peers:
                figures[name].append(timed(peer, queries, exact))
    own = statistics.median(figure["p50_ms"] for figure in mine)
    print(f"{given.rows} skills of which {len(visible)} are within reach, top {TOP_K}")
    print(f"{'charter':12} p50 {own:8.3f} ms  recall@10 {mine[0]['recall_at_10']:.4f}"
          f"  {mine[0]['mib_per_100k']} MiB for 100,000, a write {mine[0]['put_ms']} ms")
    for name, found in figures.items():
        p50 = statistics.median(time for time, _ in found)
        print(f"{name:12} p50 {p50:8.3f} ms  recall@10 {found[0][1]:.4f}  {p50 / own:6.2f} times ours")


if __name__ == "__main__":
    main()
