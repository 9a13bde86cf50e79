"""Skill discovery through a filter: Charter's index and named peers over the same vectors, in one run.

    python bench/skills.py [--rows N] [--share S] [--rounds R] [--queries Q] [--debug] [--only PEER …]

A part of `make bench`. Every peer gets the same rows and queries (unit vectors around random centres, a
fixed seed) and may return only the rows that a caller reaches: every tenth with the share 0.1. Figures
never decide the exit code. Packages: bench/peers/requirements-skills.txt. What is measured: bench/README.md.
"""

import argparse
import importlib.metadata
import json
import pathlib
import statistics
import subprocess
import tempfile
import time

import numpy

import postgres
from release import RELEASE, build
from table import Line, machine, say, show
from vectors import DIMS, made_up

TOP_K = 10
ADD_BATCH = 5_000
SKILLS_BENCH = "skills_bench"


class Numpy:
    """One matrix product over the visible rows, copied out beforehand."""

    def __init__(self, rows, visible):
        self.ids, self.rows = visible, rows[visible].copy()

    def ask(self, query):
        scores = self.rows @ query
        best = numpy.argpartition(-scores, TOP_K)[:TOP_K]
        return self.ids[best[numpy.argsort(-scores[best])]].tolist()


class Faiss:
    """A flat index of the visible rows alone."""

    def __init__(self, rows, visible):
        import faiss

        # One query takes longest where its threads wait for each other.
        faiss.omp_set_num_threads(1)
        self.ids, self.index = visible, faiss.IndexFlatIP(DIMS)
        self.index.add(rows[visible])

    def ask(self, query):
        _, found = self.index.search(query[None, :], TOP_K)
        return self.ids[found[0]].tolist()


class SqliteVec:
    """A `vec0` table of all rows, with the reach as a metadata column."""

    def __init__(self, rows, visible):
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

    def __init__(self, rows, visible):
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

    def __init__(self, rows, visible):
        import psycopg

        self.server = postgres.Postgres()
        self.db = psycopg.connect(host=str(self.server.folder), user=postgres.SUPERUSER, autocommit=True)
        self.db.execute("CREATE EXTENSION vector")
        self.db.execute(f"CREATE TABLE skill (id int, reached boolean, vector vector({DIMS}))")
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

    def stop(self):
        self.server.stop()


# Each with the package whose version is told, or none where that is the server's.
PEERS = {
    "faiss, flat": (Faiss, "faiss-cpu"),
    "numpy": (Numpy, "numpy"),
    "sqlite-vec": (SqliteVec, "sqlite-vec"),
    "pgvector": (Pgvector, None),
    "chromadb": (Chroma, "chromadb"),
}


def named(name, package):
    if package is None:
        return f"{name}, PostgreSQL {postgres.version()}"
    return f"{name} {importlib.metadata.version(package)}"


def timed(peer, queries, exact):
    times, right = [], 0
    for query, expected in zip(queries, exact):
        started = time.perf_counter()
        found = peer.ask(query)
        times.append((time.perf_counter() - started) * 1e3)
        right += len(set(found) & set(expected))
    return statistics.median(times), right / (len(queries) * TOP_K)


def ours(program, files, share):
    command = [program, *files, str(DIMS), str(share)]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    return json.loads(done.stdout)


def measured(rows, queries, options):
    """Our figures and each peer's times and recall, in turns over the same rows."""
    visible = numpy.arange(0, len(rows), round(1 / options.share))
    nearest = Numpy(rows, visible)
    exact = [nearest.ask(query) for query in queries]
    build()
    program = RELEASE / "examples" / SKILLS_BENCH
    mine, theirs, peers = [], {}, {}
    with tempfile.TemporaryDirectory() as folder:
        files = [pathlib.Path(folder) / name for name in ("rows", "queries")]
        for file, numbers in zip(files, (rows, queries)):
            file.write_bytes(numbers.tobytes())
        try:
            for name in options.only or PEERS:
                say(f"loading {name}")
                make, package = PEERS[name]
                peers[named(name, package)] = make(rows, visible)
            for at in range(options.rounds):
                say(f"round {at + 1} of {options.rounds}")
                mine.append(ours(program, files, options.share))
                for name, peer in peers.items():
                    theirs.setdefault(name, []).append(timed(peer, queries, exact))
        finally:
            for peer in peers.values():
                if hasattr(peer, "stop"):
                    peer.stop()
    return mine, theirs


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--share", type=float, default=0.1)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--queries", type=int, default=200)
    parser.add_argument("--only", nargs="*", choices=PEERS)
    options = parser.parse_args()
    mine, theirs = measured(*made_up(options.rows, options.queries), options)
    own = statistics.median(figure["p50_ms"] for figure in mine)
    what = f"skill among {mine[0]['visible']:,} of {mine[0]['rows']:,}, p50"
    lines = []
    for name, figures in theirs.items():
        p50 = statistics.median(time for time, _ in figures)
        lines.append(Line.of_times(what, own, p50, "ms", name).at_most(1))
    for name, figures in theirs.items():
        lines.append(Line("the same, recall@10", mine[0]["recall_at_10"], figures[0][1], "", name))
    lines.append(Line.of_one("memory of 100,000 skills' index", mine[0]["mib_per_100k"], "MiB"))
    lines.append(Line.of_one("one of them changed", statistics.median(figure["put_ms"] for figure in mine), "ms"))
    print(show(lines, f"{machine()}; median of {options.rounds} rounds, ours and theirs in turn"))


if __name__ == "__main__":
    main()
