"""Measures routing on labelled sets as they are and as people would send them, and prints a table.

    python3 bench/routing.py SETS --program target/release/examples/route_eval --model DIR --cache FILE
        [--before PROGRAM] [--sets NAME,...] [--perturbations KIND,...] [--parts SET=PART,...] [--most N] [--seed N]

SETS is a folder with a folder for each set: `catalogue.jsonl`, `queries.jsonl` and perhaps `no_match.jsonl`, plain or
`.gz`, as docs/operate/routing-measured.md describes them. PROGRAM is `charter`, or the example `route_eval` of
crates/embed, which keeps vectors between its runs. Without `--model` only words are compared.

Each set is measured as it is (`clean`) and under each perturbation of `bench/perturb.py`, with its queries that nothing
answers perturbed in the same way. A set whose queries name candidates is measured twice: over its catalogue, without
the queries that only their candidates miss, and among the candidates. With `--before` each cell is `before → after`.

Needs nothing but Python's standard library.
"""

import argparse
import hashlib
import json
import os
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from perturb import KINDS, Query, perturbed, read_queries, write_queries
from table import grid, say

CLEAN = "clean"
PERCENT = 100
COLUMNS = (
    "acc@1",
    "recall@5",
    "both@5",
    "AUROC",
    "narrow coverage",
    "narrow precision",
    "no match narrow",
    "ECE",
)
# Shown between 0 and 1 rather than in per cent.
PLAIN = ("AUROC", "ECE")

Figures = dict[str, float | None]


@dataclass(frozen=True)
class LabelledSet:
    """A catalogue with its queries, and those that nothing answers."""

    name: str
    catalogue: Path
    queries: list[Query]
    no_match: list[Query]
    among_candidates: bool = False

    def perturbed(self, kind: str, seed: int) -> "LabelledSet":
        if kind == CLEAN:
            return self
        return LabelledSet(
            self.name,
            self.catalogue,
            perturbed(self.queries, kind, seed),
            perturbed(self.no_match, kind, seed),
            self.among_candidates,
        )


@dataclass(frozen=True)
class Program:
    """A program that measures a set, and its embedding model."""

    path: Path
    model: Path | None
    cache: Path | None

    def report(self, labelled: LabelledSet, folder: Path) -> dict[str, Any]:
        queries, no_match = folder / "queries.jsonl", folder / "no_match.jsonl"
        write_queries(queries, labelled.queries)
        write_queries(no_match, labelled.no_match)
        is_charter = self.path.name.startswith("charter")
        command: list[str | Path] = [self.path]
        environment = dict(os.environ)
        if is_charter:
            command += ["--data-dir", folder, "--output", "json", "route", "eval"]
            command += ["--catalogue", labelled.catalogue, "--queries", queries]
            if self.model:
                environment["CHARTER_MODEL__DIRECTORY"] = str(self.model)
            else:
                environment["CHARTER_MODEL__SOURCE"] = "none"
        else:
            command += [labelled.catalogue, queries]
            command += ["--model", self.model] if self.model else []
            command += ["--cache", self.cache] if self.cache else []
        command += ["--out-of-scope", no_match] if labelled.no_match else []
        command += ["--candidates"] if labelled.among_candidates else []
        done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, env=environment)
        report: dict[str, Any] = json.loads(done.stdout)
        return report


def file_of(folder: Path, name: str) -> Path:
    gzipped = folder / f"{name}.jsonl.gz"
    return gzipped if gzipped.exists() else folder / f"{name}.jsonl"


def sampled(queries: list[Query], most: int | None, seed: int) -> list[Query]:
    """As many of the queries, in their order. Which ones depends on nothing but their texts and the seed."""
    if most is None or len(queries) <= most:
        return queries

    def drawn(at: int) -> str:
        return hashlib.sha256(f"{seed}\0{queries[at]['query']}".encode()).hexdigest()

    chosen = sorted(range(len(queries)), key=drawn)[:most]
    return [queries[at] for at in sorted(chosen)]


def sets_of(folder: Path, parts: list[str], most: int | None, seed: int) -> list[LabelledSet]:
    """The set in a folder; twice where its queries name candidates."""
    queries = read_queries(file_of(folder, "queries"))
    for query in queries:
        query.setdefault("relevant", [])
    if parts:
        queries = [query for query in queries if query.get("part") in parts]
    no_match = file_of(folder, "no_match")
    misses = [{**query, "relevant": []} for query in read_queries(no_match)] if no_match.exists() else []
    name, catalogue, misses = folder.name, file_of(folder, "catalogue"), sampled(misses, most, seed)
    if not any(query.get("candidates") for query in queries):
        return [LabelledSet(name, catalogue, sampled(queries, most, seed), misses)]
    over_all = [query for query in queries if query["relevant"] or not query.get("candidates")]
    return [
        LabelledSet(name, catalogue, sampled(over_all, most, seed), misses),
        LabelledSet(f"{name}, candidates", catalogue, sampled(queries, most, seed), misses, True),
    ]


def share(part: float, whole: float) -> float | None:
    return part / whole if whole else None


def figures(report: dict[str, Any]) -> Figures:
    """The columns of a report. An earlier program reports no shares of verdicts, but their counts."""
    verdicts = report["verdicts"]
    answered = verdicts["narrow"] + verdicts["broad"] + verdicts["false_miss"]
    misses = verdicts["true_miss"] + verdicts["false_narrow"] + verdicts["false_broad"]
    return {
        "acc@1": report["acc@1"] if answered else None,
        "recall@5": report["recall@5"] if answered else None,
        "both@5": report.get("several", {}).get("each@5"),
        "AUROC": report["auroc"],
        "narrow coverage": share(verdicts["narrow"], answered),
        "narrow precision": share(verdicts["narrow_right"], verdicts["narrow"] + verdicts["false_narrow"]),
        "no match narrow": share(verdicts["false_narrow"], misses),
        "ECE": report.get("trust", {}).get("ece"),
    }


def cell(name: str, value: float | None) -> str:
    if value is None:
        return "-"
    return f"{value:.3f}" if name in PLAIN else f"{PERCENT * value:.1f}"


def cells(after: Figures, before: Figures | None) -> list[str]:
    shown = []
    for name in COLUMNS:
        text = cell(name, after[name])
        if before is not None and (before[name], after[name]) != (None, None):
            text = f"{cell(name, before[name])} → {text}"
        shown.append(text)
    return shown


def listed(text: str) -> list[str]:
    return [name for name in text.split(",") if name]


def options_of() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, metavar="SETS")
    parser.add_argument("--program", type=Path, required=True, help="`charter` or `route_eval`")
    parser.add_argument("--before", type=Path, help="an earlier program, whose figures are put before the others")
    parser.add_argument("--model", type=Path, help="the folder of the embedding model; words alone without it")
    parser.add_argument("--cache", type=Path, help="a file in which `route_eval` keeps vectors")
    parser.add_argument("--sets", type=listed, default=[], help="only these; all when absent")
    parser.add_argument(
        "--perturbations", type=listed, default=[CLEAN, *KINDS], help=f"of {CLEAN}, {', '.join(KINDS)}; all when absent"
    )
    parser.add_argument(
        "--parts", action="append", default=[], metavar="SET=PART,...", help="only these parts of a set's queries"
    )
    parser.add_argument("--most", type=int, help="this many queries of each set; all when absent")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", type=Path, help="a file for the whole reports")
    options = parser.parse_args()
    if unknown := [kind for kind in options.perturbations if kind not in (CLEAN, *KINDS)]:
        parser.error(f"unknown perturbation: {', '.join(unknown)}; there are {CLEAN}, {', '.join(KINDS)}")
    there = sorted(path.name for path in options.folder.iterdir() if file_of(path, "queries").exists())
    if unknown := [name for name in options.sets if name not in there]:
        parser.error(f"unknown set: {', '.join(unknown)}; there are {', '.join(there)}")
    options.sets = options.sets or there
    if wrong := [text for text in options.parts if text.partition("=")[0] not in options.sets]:
        parser.error(f"--parts {wrong[0]}: name a set and its parts, as in SET=PART,PART")
    options.parts = {name: listed(parts) for name, _, parts in (text.partition("=") for text in options.parts)}
    return options


def main() -> None:
    options = options_of()
    after = Program(options.program, options.model, options.cache)
    before = Program(options.before, options.model, options.cache) if options.before else None
    rows, reports = [["set", "perturbation", "queries", "no match", *COLUMNS]], []
    measured = [
        labelled
        for name in options.sets
        for labelled in sets_of(options.folder / name, options.parts.get(name, []), options.most, options.seed)
    ]
    with tempfile.TemporaryDirectory() as scratch:
        for labelled in measured:
            for kind in options.perturbations:
                made = labelled.perturbed(kind, options.seed)
                if not made.queries:
                    say(f"{labelled.name}: no query can be made `{kind}`")
                    continue
                say(f"{labelled.name}: {kind}")
                now = after.report(made, Path(scratch))
                then = before.report(made, Path(scratch)) if before else None
                reports.append({"set": labelled.name, "perturbation": kind, "before": then, "after": now})
                counts = [str(now["queries"]), str(now["misses"])]
                rows.append([labelled.name, kind, *counts, *cells(figures(now), figures(then) if then else None)])
    if options.json:
        options.json.write_text(json.dumps(reports, indent=1) + "\n")
    print(grid(rows))


if __name__ == "__main__":
    main()
