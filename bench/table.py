"""The lines that `make bench` prints."""

import argparse
import os
import pathlib
import platform
import sys
from dataclasses import dataclass
from typing import Optional


def say(text: str) -> None:
    """Tells whoever waits what is going on."""
    print(f"bench: {text}", file=sys.stderr, flush=True)


@dataclass
class Line:
    """One comparison. `ratio` is ours over theirs, or theirs over ours where `speed` says so."""

    what: str
    ours: float
    theirs: Optional[float]
    unit: str
    peer: str
    ratio: Optional[float] = None
    goal: str = "none"
    met: Optional[bool] = None

    @classmethod
    def of_times(cls, what, ours, theirs, unit, peer):
        return cls(what, ours, theirs, unit, peer, ours / theirs)

    @classmethod
    def of_rates(cls, what, ours, theirs, unit, peer):
        return cls(what, ours, theirs, unit, peer, ours / theirs)

    @classmethod
    def of_one(cls, what, ours, unit):
        return cls(what, ours, None, unit, "")

    def as_speed(self, goal):
        """A time as a speed: how often we are done while they are done once."""
        self.ratio = self.theirs / self.ours
        return self.at_least(goal)

    def at_least(self, goal):
        self.goal, self.met = f"ratio ≥ {goal:g}", self.ratio >= goal
        return self

    def at_most(self, goal):
        self.goal, self.met = f"ratio ≤ {goal:g}", self.ratio <= goal
        return self

    def limit(self, goal):
        self.goal, self.met = f"≤ {goal:g} {self.unit}", self.ours <= goal
        return self

    def cells(self):
        return [
            self.what,
            figure(self.ours, self.unit),
            "" if self.theirs is None else figure(self.theirs, self.unit),
            self.peer,
            "" if self.ratio is None else f"{self.ratio:.2f}",
            self.goal,
            {True: "yes", False: "NO", None: ""}[self.met],
        ]


def figure(value, unit):
    digits = 0 if value >= 1_000 else 1 if value >= 100 else 2
    return f"{value:,.{digits}f} {unit}"


def show(lines, title):
    head = ["what", "Charter", "peer", "the peer", "ratio", "goal", "met?"]
    return "\n".join([title, "", grid([head] + [line.cells() for line in lines])])


def grid(rows: list[list[str]]) -> str:
    """Rows of text as a table, the first of them its head."""
    widths = [max(len(row[at]) for row in rows) for at in range(len(rows[0]))]
    lined = [
        "| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths)) + " |"
        for row in rows
    ]
    rule = "|" + "|".join("-" * (width + 2) for width in widths) + "|"
    return "\n".join([lined[0], rule, *lined[1:]])


def machine():
    """What the figures were measured on."""
    return f"{os.cpu_count()} cores, {platform.machine()}, {platform.system()} {platform.release()}"


def options_of(doc, build, rounds, release, **more):
    """What a part of the benchmarks is told when it is run alone: `more` are options, each with its number by default or
    with the type of a value that may be absent. Builds what it measures, unless told not to."""
    parser = argparse.ArgumentParser(description=doc.splitlines()[0])
    for name, default in {"rounds": rounds, **more}.items():
        known = {"type": default} if isinstance(default, type) else {"type": int, "default": default}
        parser.add_argument(f"--{name}", **known)
    parser.add_argument("--no-build", action="store_true", help="measure what is built")
    parser.add_argument("--release", type=pathlib.Path, default=release, help="where it is built")
    options = parser.parse_args()
    if not options.no_build:
        build()
    return options


def by_itself(doc, build, measure, rounds, release):
    """What a part of the benchmarks does when it is run alone."""
    options = options_of(doc, build, rounds, release)
    lines = measure(options.rounds, options.release)
    print(show(lines, f"{machine()}; median of {options.rounds} rounds, ours and theirs in turn"))
