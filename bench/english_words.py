"""Makes the list of English words that spelling takes for right: crates/embed/src/words/english.txt.

    python3 bench/english_words.py SCOWL SOFTWARE_TERMS TOKENIZER [--output FILE]

SCOWL is the folder of the word lists of SCOWL (Debian's package `scowl`, /usr/share/dict/scowl), SOFTWARE_TERMS the
folder `dict` of the npm package `@cspell/dict-software-terms`, TOKENIZER the `tokenizer.json` of all-MiniLM-L6-v2.

A word is left out if the vocabulary of the model or a shorter word of the list gives it by the rules for forms and
compounds of crates/embed/src/words.rs, which this file repeats.

Needs nothing but Python's standard library.
"""

import argparse
import gzip
import json
import re
import sys
from collections.abc import Iterable
from pathlib import Path

# SCOWL's "large" size: what an educated reader knows.
MOST_SIZE = 60
DIALECTS = ("english", "american", "british")
LETTERS = range(5, 25)
# Letters of the shortest word of the vocabulary, and of a part of a compound.
LEAST_KNOWN = 4
LEAST_PART = 4

# As in crates/embed/src/words.rs.
ENDINGS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("ies", ("y",)),
    ("ied", ("y",)),
    ("es", ("", "e")),
    ("s", ("",)),
    ("ed", ("", "e")),
    ("ing", ("", "e")),
    ("er", ("", "e")),
    ("ers", ("", "e")),
    ("ly", ("", "le")),
    ("able", ("", "e")),
    ("ation", ("e", "")),
    ("ations", ("e", "")),
    ("ment", ("",)),
    ("ness", ("",)),
)
BEGINNINGS = ["un", "re", "non", "pre", "mis", "de", "dis", "over", "sub", "auto", "multi", "inter", "out", "anti"]

# Terms of computing and trade, products and new words that neither source has.
MORE_TERMS = [
    "configmap",
    "crypto",
    "daemonset",
    "datadog",
    "dedup",
    "dedupe",
    "detag",
    "dynamodb",
    "fastapi",
    "forex",
    "grafana",
    "hadoop",
    "hubspot",
    "jaeger",
    "oauth",
    "pagerduty",
    "paypal",
    "pharma",
    "preauth",
    "prometheus",
    "ramen",
    "rekey",
    "replicaset",
    "shopify",
    "statefulset",
    "twilio",
    "unban",
    "untag",
]
# Test data of the software terms: the alphabet, and misspellings.
NO_TERM = re.compile(r"abc.*|.*cdef.*|aeiouy|appointedd|autospy")


def is_plain(word: str) -> bool:
    return word.isascii() and word.isalpha() and len(word) in LETTERS


def english(folder: Path) -> set[str]:
    """The words of SCOWL up to a size, without names, abbreviations and accents."""
    words: set[str] = set()
    for file in sorted(folder.iterdir()):
        match = re.fullmatch(r"([a-z]+)-words\.(\d+)", file.name)
        if match and match[1] in DIALECTS and int(match[2]) <= MOST_SIZE:
            words.update(file.read_text("latin-1").split())
    return {word for word in words if is_plain(word) and word.islower()}


def software_terms(folder: Path) -> set[str]:
    """The words of cspell's terms, without comments and the signs of their form."""
    terms: set[str] = set()
    for file in sorted(folder.iterdir()):
        if file.suffixes[:1] != [".txt"]:
            continue
        content = file.read_bytes()
        text = (gzip.decompress(content) if file.suffix == ".gz" else content).decode()
        for line in text.splitlines():
            plain = re.sub(r"[+*]", "", line.partition("#")[0])
            terms.update(word.lower() for word in plain.split())
    return {term for term in terms if is_plain(term) and not NO_TERM.fullmatch(term)}


class Words:
    """What is known: the words of a vocabulary, and those of the list."""

    def __init__(self, vocabulary: Iterable[str]) -> None:
        self.vocabulary = {word for word in vocabulary if len(word) >= LEAST_KNOWN and word.isalpha()}
        self.listed: set[str] = set()

    def has(self, word: str) -> bool:
        return word in self.vocabulary or word in self.listed

    def has_form(self, word: str) -> bool:
        if self.has(word):
            return True
        for ending, taken in ENDINGS:
            if not word.endswith(ending):
                continue
            base = word[: -len(ending)]
            doubled = len(base) > 1 and base[-1] == base[-2]
            if any(self.has(base + letter) for letter in taken) or (doubled and self.has(base[:-1])):
                return True
        return False

    def knows(self, word: str) -> bool:
        begun = any(word.startswith(begin) and self.has_form(word[len(begin) :]) for begin in BEGINNINGS)
        cuts = range(LEAST_PART, len(word) - LEAST_PART + 1)
        parts = any(word[:at] in self.vocabulary and self.has_form(word[at:]) for at in cuts)
        return self.has_form(word) or begun or parts


def listed(words: Iterable[str], vocabulary: Iterable[str]) -> list[str]:
    """The words that nothing else gives, in order."""
    known = Words(vocabulary)
    for word in sorted(words, key=lambda word: (len(word), word)):
        if not known.knows(word):
            known.listed.add(word)
    return sorted(known.listed)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("scowl", type=Path)
    parser.add_argument("software_terms", type=Path)
    parser.add_argument("tokenizer", type=Path)
    parser.add_argument("--output", type=Path)
    arguments = parser.parse_args()
    vocabulary: dict[str, int] = json.loads(arguments.tokenizer.read_text())["model"]["vocab"]
    words = english(arguments.scowl) | software_terms(arguments.software_terms) | set(MORE_TERMS)
    text = "".join(f"{word}\n" for word in listed(words, vocabulary))
    if arguments.output:
        arguments.output.write_text(text)
    else:
        sys.stdout.write(text)


if __name__ == "__main__":
    main()
