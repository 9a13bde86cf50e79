"""Makes labelled queries as people send them: mistyped, shouted, buried in a log or a mail, doubled, negated.

    python3 bench/perturb.py QUERIES KIND [--seed N] [--output FILE]

QUERIES are JSON lines, plain or gzipped: {query, relevant, part?, miss?, candidates?, ...}. Each line is a perturbed
query with the labels of the query that it was made of; other fields are kept. A query that a kind cannot be made of is
left out: no typo without a word of five letters, no negation of what is no command. The same seed, kind and query give
the same result on every machine.

Needs nothing but Python's standard library.
"""

import argparse
import gzip
import json
import random
import re
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

Query = dict[str, Any]

LEAST_LETTERS = 5
# Longer queries are not joined to another: a sentence of this length asks for one thing.
MOST_JOINED = 300

KEYBOARD = ("qwertyuiop", "asdfghjkl", "zxcvbnm")
# Code, and objects of JSON.
CODE = re.compile(r"```.*?```|`[^`]*`|\{[^{}]*:[^{}]*\}", re.DOTALL)
PUNCTUATION = ".,;:!?()[]\"'\u201c\u201d\u2018\u2019\u2026"

# The question words, pronouns and articles that lose their capital inside a sentence.
OPENING_WORDS = """
a an any are as at can could did do does for from has have how if in is it my of on our should the there these they
this those to was we were what when where which who whose why will with would you your
"""
# Verbs that open a command.
COMMANDING_WORDS = """
add adjust alert allocate analyse analyze append apply archive arrange assign attach back backup block book build
buy calculate call cancel change check choose clean clear close collect combine compare compile complete compose
compress compute configure confirm connect convert copy count create cut deactivate debug decode decrease decrypt
delete deploy describe design detect determine diagnose disable display divide do download draft draw drop edit
email enable encode encrypt estimate evaluate examine execute explain explore export extract fetch fill filter find
fix forecast format forward freeze gather generate get give grab grant help hold identify implement import improve
increase initialize insert inspect install investigate invite join keep kill launch let list load locate lock log
look lower mail make mark measure merge migrate modify monitor move multiply mute notify open optimise optimize
order organise organize pause pay perform pick pin plan play plot post predict prepare print process produce provide
publish pull purchase push put raise rank read rebuild recommend record redirect reduce refactor refresh register
reject remind remove rename renew repeat replace report request reschedule reserve reset resize resolve restart
restore retrieve return review revoke rewrite rotate run save scan schedule search secure select send set share ship
show shut simulate skip solve sort specify split start stop store submit subscribe subtract suggest summarise
summarize suspend switch sync tell terminate test text track train transfer translate trigger turn undo unlock
unmute unsubscribe update upgrade upload use validate verify view visualize wake warn watch withdraw write
"""
OPENERS = frozenset(OPENING_WORDS.split())
COMMANDS = frozenset(COMMANDING_WORDS.split())
# After these the word before is a noun: "Test of …", "Order is late".
NO_COMMAND_BEFORE = frozenset({"of", "is", "are", "was", "were", "has", "have", "for", "and", "or"})
NEGATIONS = ("Do not {}", "Don't {}", "Please do not {}", "Do not {}, whatever happens")

FIRST_NAMES = ("Amira", "Jonas", "Priya", "Tomasz", "Leila", "Marcus", "Yuki", "Ingrid", "Diego", "Fatou", "Vera")
LAST_NAMES = ("Albrecht", "Castellano", "Dubois", "Eriksen", "Farouk", "Hallgren", "Ivanova", "Mbeki", "Okada", "Quist")
ROLES = ("Site Reliability", "Customer Care", "Finance Operations", "Products", "Field Service", "Data Office")
COMPANIES = ("Northgate Supplies", "Bluefin Logistics", "Oakhurst Labs", "Perimeter Energy", "Sable & Finch")
HOSTS = ("app-03", "edge-eu-2", "worker-17", "db-replica-1", "gw-internal", "cron-01")

LOG_LINES = (
    "{date} {time},{ms} WARN  [pool-{n}-thread-{m}] c.n.SessionKeeper - heartbeat late by {ms} ms, try {m} of 5",
    "{date}T{time}.{ms}Z {host} sshd[{pid}]: Connection closed by 10.{n}.{m}.{n} port {pid} [preauth]",
    '10.{m}.{n}.{m} - - [{date}:{time} +0000] "GET /healthz HTTP/1.1" 200 {n} "-" "probe/1.{m}"',
    '{{"ts":"{date}T{time}Z","level":"error","host":"{host}","pid":{pid},"msg":"upstream reset before headers"}}',
    "[{time}] {host} kernel: eth{m}: link is down (reset #{n})",
    "{date} {time} ERROR {host} gc[{pid}]: allocation stalled for {ms}ms, heap at {n}%",
)
SIGNATURES = (
    "-- \n{name}\n{role} | {company}\nT +44 20 7946 0{ms}",
    "Best regards,\n{name}\n\n{company}, {role}\nThis message may be confidential.",
    "--\n{name} ({role})\n{company} · room {n}.{m} · ext. {pid}",
    "Kind regards\n{name}\n{role}\n{company}\nwww.example.com",
)
GREETINGS = ("Hi {first},", "Hello team,", "Good morning {first},", "Dear all,", "Hey {first},", "Dear {first},")
PADDING = (
    "I hope the move to the new office went well.",
    "Sorry for the short notice, the week has been rather full on our side.",
    "It was good to meet you at the fair on Thursday.",
    "As you know, half of my colleagues are on leave until the end of the month.",
    "The weather here has finally become bearable.",
    "I only got back from my holidays yesterday and am still reading my way through the backlog.",
    "Our meeting on Monday was a pleasure, and the coffee was excellent.",
    "I know that you are busy, so I will keep it short.",
    "Things have been quiet since the summer, which is a relief.",
    "My colleague pointed me to you, since she is away until Wednesday.",
)
SIGN_OFFS = ("Thanks, {name}", "Many thanks and best regards\n{name}", "Cheers\n{name}", "Yours sincerely,\n{name}")
QUOTED = (
    "Thank you for the call. I will come back to you as soon as the figures are in.",
    "We have received your letter and passed it on to the department in charge.",
    "Lunch on Friday suits me, the usual place at half past twelve.",
    "The minutes are in the shared folder, with the slides of both speakers.",
    "Nothing new from our side, the contractor was here and left again.",
)
JOINERS = (", and also {}", ", and {}", " and then {}")


def read_queries(path: Path) -> list[Query]:
    """The lines of a file; the name of a gzipped one ends in `.gz`."""
    content = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    return [json.loads(line) for line in content.decode().split("\n") if line.strip()]


def write_queries(path: Path, queries: Iterable[Query]) -> None:
    """Writes lines; gzipped where the name ends in `.gz`."""
    lines = "".join(json.dumps(query, ensure_ascii=False) + "\n" for query in queries).encode()
    # Without the time, so that equal queries are equal files.
    path.write_bytes(gzip.compress(lines, mtime=0) if path.suffix == ".gz" else lines)


def words(text: str) -> list[tuple[int, int]]:
    """Where the words are that may be mistyped: five letters or more, and no part of code, an id or an address."""
    code = [match.span() for match in CODE.finditer(text)]
    found = []
    for chunk in re.finditer(r"\S+", text):
        core = chunk[0].strip(PUNCTUATION)
        start = chunk.start() + chunk[0].index(core)
        inside = any(first <= start < last for first, last in code)
        plain = core.isalpha() and not any(letter >= "\u2e80" for letter in core)
        if plain and len(core) >= LEAST_LETTERS and core[1:].islower() and not inside:
            found.append((start, start + len(core)))
    return found


def neighbour(letter: str, chance: random.Random) -> str:
    """A key beside a letter's; the letter itself where the keyboard has none."""
    for row in KEYBOARD:
        at = row.find(letter.lower())
        if at >= 0:
            key = chance.choice(row[max(at - 1, 0) : at] + row[at + 1 : at + 2])
            return key.upper() if letter.isupper() else key
    return letter


def mistyped(word: str, chance: random.Random) -> str:
    """The word with one typo after its first letter: two letters swapped, one dropped, doubled, or a key beside it."""
    kinds = ["swap", "drop", "double", "neighbour"]
    chance.shuffle(kinds)
    for kind in kinds:
        at = chance.randrange(1, len(word) - 1)
        if kind == "swap":
            new = word[:at] + word[at + 1] + word[at] + word[at + 2 :]
        elif kind == "drop":
            new = word[:at] + word[at + 1 :]
        elif kind == "double":
            new = word[:at] + word[at] + word[at:]
        else:
            new = word[:at] + neighbour(word[at], chance) + word[at + 1 :]
        if new != word:
            return new
    return word[:-1]


def with_typos(text: str, count: int, chance: random.Random) -> str | None:
    """The text with typos in as many words."""
    places = words(text)
    if len(places) < count:
        return None
    for start, end in sorted(chance.sample(places, count), reverse=True):
        text = text[:start] + mistyped(text[start:end], chance) + text[end:]
    return text


def one_typo(text: str, chance: random.Random) -> str | None:
    return with_typos(text, 1, chance)


def two_typos(text: str, chance: random.Random) -> str | None:
    return with_typos(text, 2, chance)


def upper_case(text: str, _: random.Random) -> str | None:
    return text.upper() if text.upper() != text else None


def filled(template: str, chance: random.Random) -> str:
    """A template with made-up names, numbers and times."""
    first = chance.choice(FIRST_NAMES)
    return template.format(
        first=chance.choice(FIRST_NAMES),
        name=f"{first} {chance.choice(LAST_NAMES)}",
        role=chance.choice(ROLES),
        company=chance.choice(COMPANIES),
        host=chance.choice(HOSTS),
        date=f"202{chance.randrange(3, 7)}-{chance.randrange(1, 13):02}-{chance.randrange(1, 29):02}",
        time=f"{chance.randrange(24):02}:{chance.randrange(60):02}:{chance.randrange(60):02}",
        ms=chance.randrange(100, 1000),
        pid=chance.randrange(1000, 32000),
        n=chance.randrange(10, 100),
        m=chance.randrange(1, 6),
    )


def pasted(text: str, chance: random.Random) -> str | None:
    """A log line before the text and a signature after it."""
    log = filled(chance.choice(LOG_LINES), chance)
    signature = filled(chance.choice(SIGNATURES), chance)
    gap = chance.choice(("\n", "\n\n"))
    return f"{log}{gap}{text}\n\n{signature}"


def mail(text: str, chance: random.Random) -> str | None:
    """The text in a mail with a greeting, two sentences of padding, a sign-off, and the mail that it answers."""
    first, second = chance.sample(PADDING, 2)
    body = chance.choice((f"{first} {second}\n\n{text}", f"{first}\n\n{text}\n\n{second}", f"{first} {second} {text}"))
    quoted = "".join(f"> {line}\n" for line in chance.sample(QUOTED, 2))
    answered = filled(f"On {{date}} at {{time}}, {{name}} wrote:\n{quoted}", chance)
    greeting, sign_off = filled(chance.choice(GREETINGS), chance), filled(chance.choice(SIGN_OFFS), chance)
    return f"{greeting}\n\n{body}\n\n{sign_off}\n\n{answered}".rstrip()


def lowered(text: str) -> str:
    """The text as it goes on inside a sentence: names, "I" and acronyms keep their capitals."""
    first = re.split(r"\W", text, maxsplit=1)[0].lower()
    return text[:1].lower() + text[1:] if first in OPENERS | COMMANDS else text


def negated(text: str, chance: random.Random) -> str | None:
    """The command forbidden; none where the text is no command."""
    command = re.sub(r"^please,?\s+", "", text.strip(), flags=re.IGNORECASE)
    first, _, rest = command.partition(" ")
    following = rest.split(" ", maxsplit=1)[0].lower()
    if first.lower() not in COMMANDS or not rest or following in NO_COMMAND_BEFORE:
        return None
    end = re.search(r"[.!?]?\s*$", command)
    body = command[: end.start()] if end else command
    # A text of several sentences is forbidden in its first: a tail would join the last.
    several = re.search(r"[.!?]\s", body) is not None
    negation = NEGATIONS[0] if several else chance.choice(NEGATIONS)
    return negation.format(lowered(body)) + "."


def two(queries: list[Query], seed: int) -> list[Query]:
    """Each query joined to another one that asks for something else: "A, and also B"."""
    fit = [query for query in queries if joins(query)]
    made = []
    for query in fit:
        chance = chance_of(seed, "two", query)
        others = [other for other in chance.sample(fit, min(len(fit), 20)) if differs(query, other)]
        if others:
            made.append(joined(query, others[0], chance))
    return made


def joins(query: Query) -> bool:
    """Whether a query can be one of two. What misses its own candidates might be answered by those of the other."""
    text = query["query"].strip()
    sentences = re.search(r"[.!?]\s", text)
    misses_candidates = not query["relevant"] and bool(query.get("candidates"))
    return not (sentences or "\n" in text or len(text) > MOST_JOINED or misses_candidates)


def differs(query: Query, other: Query) -> bool:
    """Whether two queries can be joined: both or neither answered, by different entries."""
    if bool(query["relevant"]) != bool(other["relevant"]) or bool(query.get("candidates")) != bool(
        other.get("candidates")
    ):
        return False
    return query["query"] != other["query"] and not set(query["relevant"]) & set(other["relevant"])


def joined(query: Query, other: Query, chance: random.Random) -> Query:
    """Both in one sentence. `requests` holds what answers each of them, where something does."""
    first = query["query"].strip().rstrip(".!?")
    text = first + chance.choice(JOINERS).format(lowered(other["query"].strip()))
    made: Query = {"query": text, "relevant": query["relevant"] + other["relevant"], "part": "two"}
    if query["relevant"]:
        made["requests"] = [query["relevant"], other["relevant"]]
    if query.get("candidates"):
        made["candidates"] = list(dict.fromkeys(query["candidates"] + other["candidates"]))
    return made


def chance_of(seed: int, kind: str, query: Query) -> random.Random:
    return random.Random(f"{seed}\0{kind}\0{query['query']}")


# Perturbations of one text.
OF_ONE: dict[str, Callable[[str, random.Random], str | None]] = {
    "typo": one_typo,
    "typos": two_typos,
    "upper": upper_case,
    "pasted": pasted,
    "mail": mail,
    "negated": negated,
}
KINDS = (*OF_ONE, "two")


def perturbed(queries: list[Query], kind: str, seed: int = 0) -> list[Query]:
    """The queries as a kind changes them, without those that it cannot be made of."""
    if kind == "two":
        return two(queries, seed)
    made = []
    for query in queries:
        text = OF_ONE[kind](query["query"], chance_of(seed, kind, query))
        if text is not None:
            made.append({**query, "query": text})
    return made


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("queries", type=Path)
    parser.add_argument("kind", choices=KINDS)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--output", type=Path, help="a file instead of standard output; gzipped with `.gz`")
    options = parser.parse_args()
    queries = read_queries(options.queries)
    for query in queries:
        query.setdefault("relevant", [])
    made = perturbed(queries, options.kind, options.seed)
    if options.output:
        write_queries(options.output, made)
        return
    for query in made:
        sys.stdout.write(json.dumps(query, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
