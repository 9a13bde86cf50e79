"""Fits the model of docs/operate/capacity.md to what bench/replicas.py and bench/steps.py measured, and draws it.

    python bench/capacity.py [--replicas FILE] [--steps FILE] [--svg FILE] [--document FILE]

Needs numpy and matplotlib (bench/peers/requirements.txt). The model: a run costs so many milliseconds of processor
time, each step of it so many more, on the replicas and on the database; each further replica adds a little to a run,
because it reads what the others tell; a replica that does nothing costs a little each second. Prints the coefficients,
how far each measurement is from the model, and what loads would need; `--document docs/operate/capacity.md` replaces
the tables there that follow a comment `<!-- measured: NAME -->`.
"""

import argparse
import json
import pathlib
import re
import statistics

import matplotlib
import numpy

from replica_load import told
from replicas import REPLICAS
from table import grid

matplotlib.use("svg")
from matplotlib import pyplot  # noqa: E402 (the backend is chosen first)

ROOT = pathlib.Path(__file__).resolve().parent.parent
MEASURED = ROOT / "target" / "bench"
SIDES = {"replica": "replicas", "postgres": "PostgreSQL"}
TERMS = {
    "run": "a run",
    "step": "a step of it",
    "script": "a step that starts a script, on top",
    "proven": "evidence of a step, on top",
    "other": "a run, for each further replica",
}
LOADS = (100, 1_000, 10_000)
STEPS_OF_A_RUN = 10
# Of each core at most so much, so that queues stay short.
BUSY = 0.6


def groups(rows):
    """The rounds of each thing that was done by each number of replicas: `(what, replicas): rows`."""
    found = {}
    for row in rows:
        found.setdefault((row["what"], row["replicas"]), []).append(row)
    return found


def idle_ms(rows, side):
    """Milliseconds of processor time that a replica which does nothing costs in a second; a slope over replicas."""
    idle = [(row["replicas"], 1e3 * row[f"{side}_cpu_s"] / row["seconds"]) for row in rows if row["what"] == "idle"]
    return max(0.0, numpy.polyfit(*zip(*idle), 1)[0])


def terms(row):
    """How often each term of the model counts in one run of a row."""
    steps, kind = row["steps"] / row["runs"], row["what"].split()[0]
    script = steps if kind in ("script", "proven") else 0
    return [1, steps, script, steps if kind == "proven" else 0, row["replicas"] - 1]


class Fit:
    """Processor time of one side for a run, as a sum of terms: least squares of relative errors."""

    def __init__(self, rows, side):
        self.idle = idle_ms(rows, side)
        self.side, self.runs = side, [row for row in rows if "runs" in row]
        measured = numpy.array([self.measured(row) for row in self.runs])
        counts = numpy.array([terms(row) for row in self.runs])
        found = numpy.linalg.lstsq(counts / measured[:, None], numpy.ones(len(measured)), rcond=None)[0]
        self.cost = dict(zip(TERMS, found))

    def measured(self, row):
        """Milliseconds for a run, without what the replicas would have cost doing nothing."""
        spent = 1e3 * row[f"{self.side}_cpu_s"] - self.idle * row["replicas"] * row["seconds"]
        return spent / row["runs"]

    def fitted(self, row):
        return float(numpy.dot(terms(row), list(self.cost.values())))

    def of(self, steps, replicas=1):
        """Milliseconds for a run of so many steps."""
        return self.cost["run"] + steps * self.cost["step"] + (replicas - 1) * self.cost["other"]


def names(figures):
    """The sides as columns are called; what was not built for release is not taken for it."""
    replicas, postgres = SIDES.values()
    return [replicas if figures["build"] == "release" else f"{replicas}, unoptimised build", postgres]


def coefficients(fits, figures):
    rows, table = figures["rows"], [["milliseconds of processor time of", *names(figures)]]
    for term, words in TERMS.items():
        table.append([words, *(f"{fits[side].cost[term]:.2f}" for side in SIDES)])
    table.append(["a second of an idle replica", *(f"{fits[side].idle:.2f}" for side in SIDES)])
    for what in ("route", "guardrails"):
        reads = [row for row in rows if row["what"] == what]
        cells = (statistics.median(1e3 * row[f"{side}_cpu_s"] / row["reads"] for row in reads) for side in SIDES)
        table.append([f"a read: {what}", *(f"{cell:.3f}" for cell in cells)])
    return table


def residuals(fits):
    """The median of the rounds beside the model, and how far apart they are."""
    table = [["a", "replicas", *(f"{name}: measured, model, off" for name in SIDES.values())]]
    for (what, count), rows in groups(fits["replica"].runs).items():
        cells = []
        for fit in fits.values():
            measured = statistics.median(map(fit.measured, rows))
            model = fit.fitted(rows[0])
            cells.append(f"{measured:.2f}, {model:.2f}, {model / measured - 1:+.0%}")
        table.append([told(what), str(count), *cells])
    return table


def slope(rows, x, y, scale=1.0):
    """The straight line through measurements: what one more costs, and what none does."""
    return numpy.polyfit([row[x] for row in rows], [scale * row[y] for row in rows], 1)


def sizes(figures):
    per_skill, with_none = slope(figures["memory_of_skills"], "skills", "mib", 1024)
    per_run, _ = slope(figures["memory_of_runs"], "runs", "mib", 1024)
    journals = [row | {"each": row["payload_bytes"] / row["runs"]} for row in figures["stored"]["of_steps"]]
    per_step, of_run = slope(journals, "steps", "each")
    stored = figures["stored"]
    looks = [row for row in figures["rows"] if row["what"].startswith("look")]
    logs = [{"steps": row["steps"] / row["runs"], "log": row["wal_bytes"] / row["runs"]} for row in looks]
    log_step, log_run = slope(logs, "steps", "log")
    said = [{"steps": row["steps"] / row["runs"], "said": row["statements"] / row["runs"]}
            for row in looks if row["replicas"] == 1]  # fmt: skip
    said_step, said_run = slope(said, "steps", "said")
    return [
        ["what", "figure"],
        ["memory of a replica without skills", f"{with_none / 1024:.0f} MiB"],
        ["memory of a skill", f"{per_skill:.2f} KiB"],
        ["memory of a run in flight", f"{per_run:.1f} KiB"],
        ["a journal: a run, a step of it", f"{of_run:,.0f} bytes, {per_step:,.0f} bytes"],
        ["its table with indexes, for each event", f"{stored['table_bytes'] / stored['table_events']:,.0f} bytes"],
        ["write-ahead log: a run, a step of it", f"{log_run / 1024:.1f} KiB, {log_step / 1024:.1f} KiB"],
        ["statements: a run, a step of it", f"{said_run:.1f}, {said_step:.1f}"],
        ["commits: a run, a step of it", "{1:.1f}, {0:.1f}".format(*slope(
            [{"steps": row["steps"] / row["runs"], "commits": row["commits"] / row["runs"]} for row in looks],
            "steps", "commits"))],
        ["a page to the disk (fdatasync)", f"{figures['fsync_ms']:.2f} ms"],
        ["a statement that does nothing, there and back", f"{figures['round_trip_ms']:.3f} ms"],
    ]  # fmt: skip


def in_sequence(figures, fits, steps):
    """How long a step takes when one waits for the other, and of what that is made."""
    lines = {line["peer"]: line for line in steps if line["what"] == "1 run of 1,000 steps, PostgreSQL"}
    if not lines:
        return []
    bare = lines["a bare PostgreSQL commit"]
    step, commit = 1e3 / bare["ours"], 1e3 / bare["theirs"]
    return [
        ["of a step in a sequence", "ms"],
        ["measured (bench/steps.py, without HTTP)", f"{step:.2f}"],
        ["a bare commit on the same server", f"{commit:.2f}"],
        ["processor time of both sides by the model", f"{sum(fit.cost['step'] for fit in fits.values()):.2f}"],
        ["a page to the disk", f"{figures['fsync_ms']:.2f}"],
    ]


def cores(fit, rate):
    return rate / STEPS_OF_A_RUN * fit.of(STEPS_OF_A_RUN) / 1e3 / BUSY


def loads(fits, figures):
    table = [["steps/s", *(f"cores of {name}" for name in names(figures)), "commits/s", "write-ahead log"]]
    looks = [row for row in figures["rows"] if row["what"].startswith("look")]
    log_step, log_run = slope(
        [{"steps": row["steps"] / row["runs"], "log": row["wal_bytes"] / row["runs"]} for row in looks], "steps", "log"
    )
    commits_step, commits_run = slope(
        [{"steps": row["steps"] / row["runs"], "n": row["commits"] / row["runs"]} for row in looks], "steps", "n"
    )
    for rate in LOADS:
        runs = rate / STEPS_OF_A_RUN
        log = (runs * log_run + rate * log_step) / (1 << 20)
        needed = [f"{cores(fit, rate):.1f}" for fit in fits.values()]
        table.append([f"{rate:,}", *needed, f"{runs * commits_run + rate * commits_step:,.0f}", f"{log:.1f} MiB/s"])
    return table


def throughput(rows):
    """What was done in a second by replicas that share a machine, and how much of it was in use."""
    table = [["", *(f"{count} replicas" if count > 1 else "1 replica" for count in REPLICAS)]]
    for what in dict.fromkeys(row["what"] for row in rows if row["what"] != "idle"):
        cells = []
        for count in REPLICAS:
            of = groups(rows)[(what, count)]
            unit = "steps" if "runs" in of[0] else "reads"
            cells.append(f"{statistics.median(row[unit] / row['seconds'] for row in of):,.0f} {unit}/s")
        table.append([told(what), *cells])
    return table


def filled(document, texts):
    """The document with each table in the place of the one that stood behind its mark."""
    for name, text in texts.items():
        mark = f"<!-- measured: {name} -->\n"
        document = re.sub(f"{re.escape(mark)}(.+\n)*", lambda _: f"{mark}{text}\n", document)
    return document


def draw(fits, figures, path):
    matplotlib.rcParams.update({"svg.hashsalt": "charter", "svg.fonttype": "none", "font.size": 9})
    drawn, (costs, rates) = pyplot.subplots(1, 2, figsize=(9, 3.6))
    looks = [row for row in fits["replica"].runs if row["what"].startswith("look")]
    for (side, fit), colour in zip(fits.items(), ("tab:blue", "tab:orange")):
        for count, mark in ((1, "o"), (2, "s"), (4, "^")):
            rows = [row for row in looks if row["replicas"] == count]
            steps = [row["steps"] / row["runs"] for row in rows]
            costs.plot(steps, list(map(fit.measured, rows)), mark, color=colour, markersize=4, fillstyle="none")
            line = numpy.array([0, 21])
            costs.plot(line, [fit.of(at, count) for at in line], color=colour, linewidth=0.8)
        costs.plot([], [], "o-", color=colour, label=SIDES[side])
    costs.set(xlabel="steps of a run", ylabel="processor time of a run, ms", xlim=(0, 21), ylim=(0, None))
    costs.set_title("circles 1, squares 2, triangles 4 replicas; lines the model", fontsize=7)
    costs.legend()
    for what in dict.fromkeys(row["what"] for row in looks):
        by = [row for row in looks if row["what"] == what]
        counts = sorted({row["replicas"] for row in by})
        done = [
            statistics.median(row["steps"] / row["seconds"] for row in by if row["replicas"] == count)
            for count in counts
        ]
        rates.plot(counts, done, "o-", markersize=4, label=f"runs of {what.split()[1]}")
    rates.set(xlabel="replicas, on the same cores", ylabel="steps per second, by steps of a run", xticks=counts, ylim=(0, None))
    rates.set_title(f"{figures['machine']}; {figures['build']} build", fontsize=7)
    rates.legend()
    drawn.tight_layout()
    drawn.savefig(path, metadata={"Date": None})


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--replicas", type=pathlib.Path, default=MEASURED / "replicas.json")
    parser.add_argument("--steps", type=pathlib.Path, default=MEASURED / "steps.json")
    parser.add_argument("--document", type=pathlib.Path)
    parser.add_argument("--svg", type=pathlib.Path, default=MEASURED / "capacity.svg")
    options = parser.parse_args()
    if not options.replicas.exists():
        parser.error(f"{options.replicas} does not exist: run `make bench PARTS=replicas` first")
    figures = json.loads(options.replicas.read_text())
    # Which kernel it was is nothing that a reader of the document can use.
    figures["machine"] = figures["machine"].rsplit(" ", 1)[0]
    steps = json.loads(options.steps.read_text()) if options.steps.exists() else []
    fits = {side: Fit(figures["rows"], side) for side in SIDES}
    tables = {
        "coefficients": coefficients(fits, figures),
        "residuals": residuals(fits),
        "sizes": sizes(figures),
        "sequence": in_sequence(figures, fits, steps),
        "loads": loads(fits, figures),
        "throughput": throughput(figures["rows"]),
    }
    texts = {name: grid(table) for name, table in tables.items() if table}
    texts["machine"] = f"{figures['machine']}; {figures['postgres']}; {figures['build']} build of Charter."
    texts.setdefault("sequence", "Not measured yet: `bench/steps.py` leaves what this table is made of.")
    print("\n\n".join(texts.values()))
    draw(fits, figures, options.svg)
    if options.document:
        options.document.write_text(filled(options.document.read_text(), texts))


if __name__ == "__main__":
    main()
