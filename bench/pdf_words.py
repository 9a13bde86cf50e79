"""Measures which words of PDFs Charter finds, over the corpus of `bench/pdf_corpus.py`.

    VENV/bin/python bench/pdf_words.py CORPUS --charter target/release/charter [--at-least 0.98]

The reference of a file is the words on which two other readers, pypdfium2 and pypdf, agree: the common part of what
each reads, word for word, separated by white space. Files with fewer than 20 such words are left out. The share of a
file is the part of its reference that `charter __extract` reads too. With `--at-least` the exit code is 1 where a
smaller share of the files has 95 % of its words, or the corpus has fewer than 200 files or 15 producers.
"""

import argparse
import json
import logging
import multiprocessing
import os
import subprocess
import tempfile
import time
import unicodedata
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

FEWEST_WORDS = 20
FEWEST_FILES = 200
FEWEST_PRODUCERS = 15
GOOD = 0.95
MOST_PAGES = 400
TIMEOUT_S = 60


@dataclass
class Measured:
    """What came of one file."""

    file: str
    producer: str
    words: int
    share: float
    seconds: float
    memory_mib: int
    exit_code: int


def words(text: str) -> Counter[str]:
    """The words of a text that have a letter or digit."""
    return Counter(
        word for word in unicodedata.normalize("NFKC", text).split() if any(map(str.isalnum, word))
    )


def by_pdfium(file: Path) -> tuple[Counter[str], str]:
    """The words that pypdfium2 reads, and the producer."""
    import pypdfium2

    document = pypdfium2.PdfDocument(file)
    found: Counter[str] = Counter()
    for number in range(min(len(document), MOST_PAGES)):
        found += words(document[number].get_textpage().get_text_range())
    return found, document.get_metadata_dict().get("Producer", "")


def by_pypdf(file: Path) -> Counter[str]:
    """The words that pypdf reads."""
    import pypdf

    reader = pypdf.PdfReader(file)
    if reader.is_encrypted:
        reader.decrypt("")
    found: Counter[str] = Counter()
    for page in reader.pages[:MOST_PAGES]:
        found += words(page.extract_text())
    return found


def reference(file: Path, into: "multiprocessing.Queue[tuple[Counter[str], str]]") -> None:
    """The words on which both agree; what one of them cannot read has none."""
    logging.disable()
    try:
        found, producer = by_pdfium(file)
        into.put((found & by_pypdf(file), producer))
    except Exception:
        into.put((Counter(), ""))


def referenced(file: Path) -> tuple[Counter[str], str]:
    """The reference, by a process of its own, which may crash or go on for ever."""
    queue: multiprocessing.Queue[tuple[Counter[str], str]] = multiprocessing.Queue()
    process = multiprocessing.Process(target=reference, args=(file, queue))
    process.start()
    try:
        return queue.get(timeout=TIMEOUT_S)
    except Exception:
        return Counter(), ""
    finally:
        process.kill()
        process.join()


def measure(file: Path, charter: str) -> Measured | None:
    """Compares one file; none when its reference is too short."""
    wanted, producer = referenced(file)
    if wanted.total() < FEWEST_WORDS:
        return None
    with tempfile.TemporaryFile() as described, tempfile.TemporaryFile() as written:
        described.write(b'{"media_type":"pdf","charset":null}')
        described.seek(0)
        started = time.monotonic()
        command = ["timeout", str(TIMEOUT_S), charter, "__extract", str(file)]
        process = subprocess.Popen(command, stdin=described, stdout=written, stderr=subprocess.DEVNULL)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        seconds = time.monotonic() - started
        written.seek(0)
        text = json.load(written)["text"] if process.returncode == 0 else ""
    share = (wanted & words(text)).total() / wanted.total()
    memory_mib = usage.ru_maxrss >> 10
    return Measured(file.name, producer, wanted.total(), share, seconds, memory_mib, process.returncode)


def shortcomings(measured: list[Measured], at_least: float) -> list[str]:
    """What keeps a measurement below the bar."""
    producers = len({file.producer for file in measured})
    share = sum(file.share >= GOOD for file in measured) / len(measured)
    found = []
    if len(measured) < FEWEST_FILES:
        found.append(f"{len(measured)} files are fewer than {FEWEST_FILES}")
    if producers < FEWEST_PRODUCERS:
        found.append(f"{producers} producers are fewer than {FEWEST_PRODUCERS}")
    if share < at_least:
        found.append(f"{share:.2%} of the files have {GOOD:.0%} of their words, less than {at_least:.2%}")
    return found


def main() -> None:
    """Prints the files below the mark, and the table."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("corpus", type=Path)
    arguments.add_argument("--charter", default="target/release/charter")
    arguments.add_argument("--at-least", type=float, help="the share of files from which the exit code is 0")
    given = arguments.parse_args()
    measured = [found for file in sorted(given.corpus.glob("*.pdf")) if (found := measure(file, given.charter))]
    if not measured:
        raise SystemExit(f"{given.corpus} has no PDF whose words two readers agree on")
    for file in sorted(measured, key=lambda file: file.share):
        if file.share < GOOD:
            what = f"{file.file}  {file.producer[:40]}  exit code {file.exit_code}"
            print(f"{file.share:6.1%} of {file.words:6} words  {what}")
    good = sum(file.share >= GOOD for file in measured)
    slowest = max(measured, key=lambda file: file.seconds)
    largest = max(measured, key=lambda file: file.memory_mib)
    print(f"files                     {len(measured)}")
    print(f"producers                 {len({file.producer for file in measured})}")
    print(f"files with {GOOD:.0%} of words   {good} ({good / len(measured):.2%})")
    print(f"files with all words      {sum(file.share == 1 for file in measured)}")
    print(f"slowest                   {slowest.seconds:.2f} s ({slowest.file})")
    print(f"most memory               {largest.memory_mib} MiB ({largest.file})")
    if given.at_least is not None and (short := shortcomings(measured, given.at_least)):
        raise SystemExit("pdf_words: " + "; ".join(short))


if __name__ == "__main__":
    main()
