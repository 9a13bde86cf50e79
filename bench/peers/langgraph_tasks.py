"""LangGraph's side of bench/missions.py: one graph of tasks that do nothing.

    python langgraph_tasks.py DIR TASKS WIDTH

Tasks are nodes in layers of WIDTH, each after one of the layer before. Every step is
written to SQLite before the next begins (`durability="sync"`, `synchronous=FULL`). The
graph is built and compiled beforehand. Writes one line of JSON.
"""

import json
import operator
import pathlib
import sys
import time
from typing import Annotated, TypedDict

from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import START, StateGraph


class State(TypedDict):
    done: Annotated[list, operator.add]


def node(at):
    return lambda _state: {"done": [at]}


def compiled(tasks, width, saver):
    graph = StateGraph(State)
    for at in range(tasks):
        graph.add_node(f"t{at}", node(at))
        graph.add_edge(START if at < width else f"t{at - width}", f"t{at}")
    return graph.compile(checkpointer=saver)


def main():
    directory, tasks, width = pathlib.Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    with SqliteSaver.from_conn_string(str(directory / "checkpoints.sqlite")) as saver:
        saver.setup()
        saver.conn.execute("PRAGMA synchronous = FULL")
        graph = compiled(tasks, width, saver)
        config = {"configurable": {"thread_id": "1"}, "recursion_limit": tasks + 2}
        started = time.perf_counter()
        state = graph.invoke({"done": []}, config, durability="sync")
        seconds = time.perf_counter() - started
    if len(state["done"]) != tasks:
        raise RuntimeError(f"{len(state['done'])} tasks of {tasks} were done")
    print(json.dumps({"seconds": seconds}))


if __name__ == "__main__":
    main()
