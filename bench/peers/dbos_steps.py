"""DBOS's side of bench/steps.py: workflows whose steps do nothing, in this process.

    python dbos_steps.py STORE

Reads scenarios from standard input and answers each with its figures. Runs in
flight are threads that call the workflow, which is DBOS's cheapest way: nothing
is queued and nobody polls for a result. STORE is a directory, for SQLite, or the
`postgres://` URL of a database; otherwise DBOS is configured as it comes.
"""

import json
import pathlib
import sys
import time
from concurrent.futures import ThreadPoolExecutor

from dbos import DBOS, DBOSConfig


@DBOS.step()
def nothing() -> None:
    pass


@DBOS.workflow()
def take(steps: int) -> int:
    for _ in range(steps):
        nothing()
    return steps


def timed(steps):
    started = time.perf_counter()
    if take(steps) != steps:
        raise RuntimeError("the workflow ended early")
    return (time.perf_counter() - started) * 1e3


def run(scenario):
    with ThreadPoolExecutor(scenario["in_flight"]) as threads:
        started = time.perf_counter()
        times_ms = list(threads.map(timed, [scenario["steps"]] * scenario["runs"]))
        return {"seconds": time.perf_counter() - started, "times_ms": times_ms}


def main():
    store = sys.argv[1]
    if store.startswith("postgres://"):
        url = store.replace("postgres://", "postgresql://", 1)
    else:
        url = f"sqlite:///{pathlib.Path(store) / 'dbos.sqlite'}"
    config: DBOSConfig = {"name": "steps", "system_database_url": url, "log_level": "ERROR"}
    DBOS(config=config)
    DBOS.launch()
    for line in sys.stdin:
        print(json.dumps(run(json.loads(line))), flush=True)
    DBOS.destroy()


if __name__ == "__main__":
    main()
