"""Prefect's side of bench/missions.py: one flow of tasks that do nothing.

    python prefect_tasks.py DIR TASKS WIDTH

Tasks are in layers of WIDTH, each waiting for one of the layer before. Results are
persisted, as what can be resumed must be; the server that keeps the states, with its
SQLite database, is the one that Prefect starts by itself. It is up before the time is taken. Writes
one line of JSON.
"""

import json
import os
import pathlib
import sys
import time

DIRECTORY, TASKS, WIDTH = pathlib.Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
os.environ |= {
    "PREFECT_HOME": str(DIRECTORY),
    "PREFECT_LOGGING_LEVEL": "ERROR",
    "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
    "PREFECT_SERVER_EPHEMERAL_STARTUP_TIMEOUT_SECONDS": "120",
    "DO_NOT_TRACK": "1",
}

from prefect import flow, task  # noqa: E402  (it reads its settings when it is imported)
from prefect.task_runners import ThreadPoolTaskRunner  # noqa: E402


@task(persist_result=True)
def nothing(at):
    return at


@flow(task_runner=ThreadPoolTaskRunner(max_workers=WIDTH))
def graph(tasks):
    futures = []
    for at in range(tasks):
        before = [futures[at - WIDTH]] if at >= WIDTH else []
        futures.append(nothing.submit(at, wait_for=before))
    return [future.result() for future in futures]


def main():
    graph(1)
    started = time.perf_counter()
    done = graph(TASKS)
    seconds = time.perf_counter() - started
    if len(done) != TASKS:
        raise RuntimeError(f"{len(done)} tasks of {TASKS} were done")
    print(json.dumps({"seconds": seconds}))


if __name__ == "__main__":
    main()
