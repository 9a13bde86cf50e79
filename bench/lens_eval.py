"""Measures a lens over a documentation tree: recall of known passages, time of a query, and what re-indexing touches.

The tree is PostgreSQL's manual as Debian ships it (`postgresql-doc-15`); it is not part of this repository:

    apt-get download postgresql-doc-15 && dpkg-deb -x postgresql-doc-15_*.deb TREE
    python3 bench/lens_eval.py --charter target/release/charter --model target/models \
        --docs TREE/usr/share/doc/postgresql-doc-15/html

Three sets of questions, each with the file that answers it known beforehand:
  hand      written for this script, in other words than the manual's;
  headings  every k-th section heading that is unique in the tree; the passage must be of that section;
  sentences every k-th sentence from the middle of a page, with every third word left out; the passage must hold it.
"""

import argparse
import html
import json
import os
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

LENS = "platform.postgresql_manual"
TOP_K = 10
PACKAGE_BYTES = 14 << 20
# Pages of legal text and lists of links answer no question.
LEFT_OUT = re.compile(r"^(bookindex|index|legalnotice|release.*|biblio.*|contrib|acronyms|sql-commands|features.*)$")

HAND = [
    ("build an index that only covers some of the rows", "indexes-partial"),
    ("how do I stop dead rows from bloating my tables", "routine-vacuuming sql-vacuum"),
    ("which setting says how much memory a sort may use", "runtime-config-resource"),
    ("let users see only their own rows of a table", "ddl-rowsecurity"),
    ("restore the database to how it was yesterday at noon", "continuous-archiving"),
    ("split a huge table into pieces by date", "ddl-partitioning"),
    ("what can two transactions see of each other when running at the same time", "transaction-iso mvcc-intro"),
    ("file where the server decides which hosts may log in and how", "auth-pg-hba-conf client-authentication"),
    ("keep passwords for psql out of the command line", "libpq-pgpass"),
    ("move to a new major version without dump and reload", "pgupgrade upgrading"),
    ("why is the planner not using my index, read the plan", "using-explain indexes-examine"),
    ("load a lot of rows as fast as possible", "populate"),
    ("compute a running total over rows", "tutorial-window functions-window"),
    ("query a tree of employees and managers recursively", "queries-with"),
    ("column whose value is always computed from other columns", "ddl-generated-columns"),
    ("find which statements take most time overall", "pgstatstatements"),
    ("search words in documents and rank the results", "textsearch-controls textsearch-intro"),
    ("store documents with nested keys and look inside them", "datatype-json functions-json"),
    ("read a CSV file as if it were a table", "file-fdw sql-copy"),
    ("query tables that live on another PostgreSQL server", "postgres-fdw"),
    ("send a message to other sessions when something changes", "sql-notify sql-listen libpq-notify"),
    ("lock rows so nobody else can change them", "explicit-locking sql-select"),
    ("standby server that answers read queries", "hot-standby"),
    ("replicate only some tables to another cluster", "logical-replication logical-replication-publication logical-replication-row-filter"),
    ("encrypt connections between client and server with certificates", "ssl-tcp libpq-ssl"),
    ("make string comparison ignore upper and lower case", "citext collation"),
    ("find strings that are similar despite typos", "pgtrgm fuzzystrmatch"),
    ("hash passwords inside the database", "pgcrypto"),
    ("turn rows into columns, a pivot table", "tablefunc"),
    ("how large values are moved out of the main table", "storage-toast"),
    ("insert or update depending on whether the row exists", "sql-merge sql-insert"),
    ("shared memory limits of the operating system are too low", "kernel-resources"),
    ("take a copy of a whole running cluster over the network", "app-pgbasebackup continuous-archiving"),
    ("export a single table to a script", "app-pgdump backup-dump"),
    ("measure how many transactions per second the server does", "pgbench"),
    ("run code when a table is dropped or altered", "event-triggers event-trigger-matrix event-trigger-definition event-trigger-interface event-trigger-example"),
    ("loop over query results in a stored procedure", "plpgsql-control-structures"),
    ("roles that are there from the start, such as reading all data", "predefined-roles"),
    ("check a btree for corruption", "amcheck"),
    ("when may a query be run by several workers", "when-can-parallel-query-be-used parallel-safety parallel-query how-parallel-query-works parallel-plans"),
]


def main():
    options = read_options()
    with tempfile.TemporaryDirectory() as home:
        home = Path(home)
        pages = choose(options.docs, options.pages)
        folder = write_package(home / "package", pages, "1.0.0")
        server = Server(options, home / "data")
        try:
            print(json.dumps(measure(server, folder, pages, options), indent=2))
        finally:
            server.stop()


def read_options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--charter", required=True, type=Path)
    parser.add_argument("--model", required=True, type=Path, help="where the embedding model is kept; `none` for words alone")
    parser.add_argument("--docs", required=True, type=Path)
    parser.add_argument("--pages", type=int, default=10_000, help="at most so many pages, those that questions need first")
    parser.add_argument("--questions", type=int, default=150, help="at most so many made-up questions of each kind")
    return parser.parse_args()


def choose(docs, most):
    """The tree's pages by name, within what a package may hold."""
    wanted = {name for _, names in HAND for name in names.split()}
    files = [file for file in sorted(docs.glob("*.html")) if not LEFT_OUT.match(file.stem)]
    files.sort(key=lambda file: (file.stem not in wanted, file.name))
    pages, size = {}, 0
    for file in files[:most]:
        text = file.read_text(encoding="utf-8")
        if size + len(text.encode()) <= PACKAGE_BYTES:
            pages[file.stem] = text
            size += len(text.encode())
    return pages


def write_package(folder, pages, version):
    (folder / "lenses").mkdir(parents=True, exist_ok=True)
    (folder / "sources" / "manual").mkdir(parents=True, exist_ok=True)
    manifest = f"name: postgresql-manual\nversion: {version}\ntitle: PostgreSQL's manual\nscope: tenant\n"
    (folder / "package.yaml").write_text(manifest)
    lens = (
        f"lens_id: {LENS}\ndomain: platform\ncontent_type: reference\ntitle: PostgreSQL manual\n"
        "description: The manual of PostgreSQL 15.\nsource:\n  type: file\n  ref: sources/manual\ntags: [postgresql]\n"
    )
    (folder / "lenses" / "manual.yaml").write_text(lens)
    for name, text in pages.items():
        (folder / "sources" / "manual" / f"{name}.html").write_text(text, encoding="utf-8")
    return folder


class Server:
    def __init__(self, options, data):
        env = {
            "HOME": str(data.parent),
            "PATH": os.environ["PATH"],
            "CHARTER_LIMITS__TIMEOUT_MS": "7200000",
            "CHARTER_LIMITS__BODY_BYTES": str(64 << 20),
        }
        if str(options.model) == "none":
            env["CHARTER_MODEL__SOURCE"] = "none"
        else:
            env["CHARTER_MODEL__CACHE"] = str(options.model.absolute())
        command = [str(options.charter), "--data-dir", str(data), "serve", "--listen", "127.0.0.1:0"]
        self.process = subprocess.Popen(command, env=env, stderr=subprocess.PIPE, text=True)
        for line in self.process.stderr:
            found = re.match(r"charter is listening on (\S+)", line)
            if found:
                self.base = found.group(1)
                return
        raise SystemExit("the server did not start")

    def post(self, path, body):
        request = urllib.request.Request(
            self.base + path, json.dumps(body).encode(), {"content-type": "application/json"}
        )
        with urllib.request.urlopen(request, timeout=7200) as answer:
            return json.load(answer)

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait()


def measure(server, folder, pages, options):
    report = {"pages": len(pages), "bytes": sum(len(text.encode()) for text in pages.values())}
    report["first"] = register(server, folder)
    times = []
    for name, questions in question_sets(pages, options.questions).items():
        report[name] = recall(server, questions, times)
    report["query_ms"] = {
        "p50": round(1000 * statistics.median(times), 1),
        "p95": round(1000 * statistics.quantiles(times, n=20)[-1], 1),
        "queries": len(times),
    }
    changed = dict(pages)
    page = "indexes-partial"
    changed[page] = changed[page].replace("</p>", " A sentence that was not there before.</p>", 1)
    report["one_paragraph_changed"] = register(server, write_package(folder, changed, "1.0.1"))
    report["nothing_changed"] = register(server, write_package(folder, changed, "1.0.2"))
    return report


def register(server, folder):
    files = {str(file.relative_to(folder)): file.read_text(encoding="utf-8") for file in folder.rglob("*") if file.is_file()}
    started = time.monotonic()
    done = server.post("/v1/packages", {"files": files})["lenses"][0]
    done.pop("lens_id")
    return {**done, "seconds": round(time.monotonic() - started, 1)}


def question_sets(pages, most):
    hand = [
        (question, lambda passage, names=names.split(): page_of(passage) in names)
        for question, names in HAND
        if all(name in pages for name in names.split()[:1])
    ]
    return {
        "hand": hand,
        "headings": every(headings(pages), most),
        "sentences": every(sentences(pages), most),
    }


def page_of(passage):
    return Path(passage["position"]["file"]).stem


def every(found, most):
    step = max(1, len(found) // most)
    return found[::step][:most]


def plain(markup):
    return " ".join(html.unescape(re.sub(r"<[^>]+>", "", markup)).split())


def headings(pages):
    """Section headings of at least two words that stand once in the tree, with their page."""
    places = {}
    for page, text in pages.items():
        for markup in re.findall(r"<h[23][^>]*>(.*?)</h[23]>", text, re.S):
            title = re.sub(r"^[A-Z]?[\d.]+\s*", "", plain(markup))
            if len(title.split()) >= 2:
                places.setdefault(title, []).append(page)
    return [
        (title, lambda passage, page=found[0]: page_of(passage) == page)
        for title, found in sorted(places.items())
        if len(found) == 1
    ]


def sentences(pages):
    """A sentence from the middle of each page, every third word left out."""
    questions = []
    for page, text in sorted(pages.items()):
        paragraphs = [plain(markup) for markup in re.findall(r"<p>(.*?)</p>", text, re.S)]
        long = [p for p in paragraphs if 12 <= len(p.split(". ")[0].split()) <= 40]
        if not long:
            continue
        sentence = long[len(long) // 2].split(". ")[0]
        words = sentence.split()
        question = " ".join(word for at, word in enumerate(words) if at % 3)
        known = " ".join(words[:6])
        holds = lambda passage, page=page, known=known: page_of(passage) == page and known in " ".join(passage["text"].split())
        questions.append((question, holds))
    return questions


def recall(server, questions, times):
    ranks = []
    for question, is_right in questions:
        started = time.monotonic()
        answer = server.post(f"/v1/lenses/{LENS}/search", {"query": question, "top_k": TOP_K})
        times.append(time.monotonic() - started)
        right = [rank for rank, passage in enumerate(answer["passages"], 1) if is_right(passage)]
        ranks.append(right[0] if right else None)
    if not ranks:
        return {"questions": 0}
    share = lambda k: round(sum(rank is not None and rank <= k for rank in ranks) / len(ranks), 3)
    missed = [question for (question, _), rank in zip(questions, ranks) if rank is None][:5]
    mrr = round(sum(1 / rank for rank in ranks if rank) / len(ranks), 3)
    return {"questions": len(ranks), "recall@1": share(1), "recall@5": share(5), "recall@10": share(10), "mrr": mrr, "missed": missed}


if __name__ == "__main__":
    sys.exit(main())
