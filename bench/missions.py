"""Missions without model time, against LangGraph and Prefect, on one disk in one run.

    python bench/missions.py [--rounds N] [--no-build] [--release DIR]

Each side is a program that is given a fresh directory, the number of tasks and the
width of a layer, and answers with {"seconds"}. A task's own work is nothing
everywhere. What each line measures: bench/README.md. The peers are installed by
`make bench`.
"""

import json
import shutil
import statistics
import subprocess

from release import RELEASE, ROOT, build
from table import Line, by_itself, say

PEERS = ROOT / "bench" / "peers"
PYTHON = ROOT / "target" / "mission-peers" / "bin" / "python"
WORK = ROOT / "target" / "bench" / "missions"

ROUNDS = 3
# A mission's graph holds 1,000 tasks, of which four are its own: prompts, passes, aggregation and review.
TASKS = 996
WIDTHS = (20, 1)
# Prefect takes a minute for a chain of a thousand.
PREFECT_TASKS = 200
LIMIT_S = 600


def pinned(package):
    requirements = (PEERS / "requirements-missions.txt").read_text()
    return requirements.split(f"\n{package}==")[1].split()[0]


def sides(release):
    """Ours first: what each is called, its command and how many tasks it is asked for."""
    return {
        "charter": ("Charter", [release / "examples" / "mission_bench"], TASKS),
        "langgraph": (
            f"LangGraph {pinned('langgraph')}, SQLite",
            [PYTHON, PEERS / "langgraph_tasks.py"],
            TASKS,
        ),
        "prefect": (
            f"Prefect {pinned('prefect')}, SQLite",
            [PYTHON, PEERS / "prefect_tasks.py"],
            PREFECT_TASKS,
        ),
    }


def answer(side, width):
    name, command, tasks = side
    shutil.rmtree(WORK, ignore_errors=True)
    WORK.mkdir(parents=True)
    log = WORK.with_suffix(".log")
    with log.open("wb") as errors:
        done = subprocess.run(
            [*command, WORK, str(tasks), str(width)],
            stdout=subprocess.PIPE,
            stderr=errors,
            timeout=LIMIT_S,
            check=False,
        )
    if done.returncode:
        raise RuntimeError(f"{name} ended with {done.returncode}: see {log}")
    return json.loads(done.stdout.splitlines()[-1]) | {"tasks": tasks}


def measure(rounds, release=RELEASE):
    lines = []
    for width in WIDTHS:
        what = f"a mission of {TASKS:,} tasks, {width} at once" if width > 1 else (
            f"a mission of {TASKS:,} tasks, one after the other"
        )  # fmt: skip
        say(what)
        found = {side: [] for side in sides(release)}
        for _ in range(rounds):
            for side, command in sides(release).items():
                found[side].append(answer(command, width))
        if any(run["state"] != "completed" or not run["identical"] for run in found["charter"]):
            raise RuntimeError(f"our mission did not end as it should: {found['charter']}")
        rates = {
            side: statistics.median(run["tasks"] / run["seconds"] for run in runs)
            for side, runs in found.items()
        }
        for side, (name, _, _) in sides(release).items():
            if side != "charter":
                line = Line.of_rates(what, rates["charter"], rates[side], "tasks/s", name)
                lines.append(line.at_least(10) if side == "langgraph" else line)
    return lines


if __name__ == "__main__":
    by_itself(__doc__, build, measure, ROUNDS, RELEASE)
