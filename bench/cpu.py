"""Processor time of processes, from /proc: a clock that does not run while others have the processor."""

import os
import pathlib

TICKS_PER_S = os.sysconf("SC_CLK_TCK")


def fields(process):
    """What stands behind the name in /proc/PID/stat, from the state on; nothing of a process that has gone."""
    try:
        return pathlib.Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()
    except (FileNotFoundError, ProcessLookupError):
        return []


def tree_cpu_s(root):
    """Seconds of a process, of those that it waited for, and of its children that live."""
    own = fields(root)
    ticks = sum(map(int, own[11:15]))
    for entry in pathlib.Path("/proc").iterdir():
        if entry.name.isdigit() and (found := fields(entry.name)) and found[1] == str(root):
            ticks += sum(map(int, found[11:15]))
    return ticks / TICKS_PER_S
