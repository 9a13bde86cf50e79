"""Follows a page as a reader does: writes its files, types its commands, and compares what they print.

    python docs/follow.py --charter target/debug/charter --models target/models docs/tutorial/README.md

The page starts in an empty directory, with `charter` on the path and nothing else of Charter's.

A fenced block is a file (`yaml file=PATH`) or a transcript (`console`). In a transcript, a line after `$ ` is a command
and the lines after it are all that it prints; a line `…` stands for any lines, `…` within a line for any words, and
`<name>` for a word or a part of one, the same wherever the page names it again. A command ends with the exit code 0,
or with the one that its comment names (`# exit code 1`). A block `console terminal=NAME` is typed in a terminal of its
own, where the command goes on; the next block for that terminal comes after Ctrl-C.
"""

import argparse
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

# How long a command, or a program in a terminal of its own, may take to print what is shown.
PATIENCE_S = 120
# Commands whose answer may still change: they are asked until it is the one shown.
LOOKS = ("charter runs show", "charter approvals list", "charter events")
NAME = re.compile(r"<[\w-]+>")
EXIT_CODE = re.compile(r"^(?P<line>.*?)\s+# exit code (?P<code>\d+)$", re.DOTALL)

Named = dict[str, str]


class Surprise(Exception):
    """What happened is not what the page says."""


@dataclass
class Command:
    """A command of a transcript, and what the page shows of its output."""

    line: str
    shown: list[str] = field(default_factory=list)
    code: int = 0


@dataclass
class Block:
    """A fenced block: its info words, its lines, and the line of the page that it begins at."""

    info: str
    lines: list[str]
    at: int

    def option(self, name: str) -> str | None:
        found = re.search(rf"\b{name}=(\S+)", self.info)
        return found[1] if found else None

    def commands(self) -> list[Command]:
        found: list[Command] = []
        for line in self.lines:
            if found and found[-1].line.endswith("\\") and not found[-1].shown:
                found[-1].line += "\n" + line
            elif line.startswith("$ "):
                found.append(Command(line.removeprefix("$ ")))
            elif line.strip():
                found[-1].shown.append(line)
        for command in found:
            if ends := EXIT_CODE.match(command.line):
                command.line, command.code = ends["line"], int(ends["code"])
        return found


def blocks(page: str) -> Iterator[Block]:
    """The fenced blocks of a page that a reader acts on, in order.

    >>> page = "Text.\\n```yaml file=a/b.yaml\\nx: 1\\n```\\n```text\\nno\\n```\\n"
    >>> page += "```console terminal=t\\n$ a \\\\\\n b  # exit code 2\\nout\\n```\\n"
    >>> file, transcript = blocks(page)
    >>> file.option("file"), file.lines, transcript.option("terminal")
    ('a/b.yaml', ['x: 1'], 't')
    >>> transcript.commands()
    [Command(line='a \\\\\\n b', shown=['out'], code=2)]
    """
    lines = iter(enumerate(page.splitlines(), 1))
    for at, line in lines:
        if line.startswith("```"):
            inside = []
            for _, line_inside in lines:
                if line_inside == "```":
                    break
                inside.append(line_inside)
            block = Block(line.removeprefix("```"), inside, at)
            if block.option("file") or block.info.startswith("console"):
                yield block


def word_agrees(shown: str, found: str, named: Named) -> Named | None:
    """Whether a word is the one shown, which may hold one name: `<run>`, `(<score>)`.

    >>> word_agrees("(<score>)", "(0.85)", {})
    {'<score>': '0.85'}
    >>> word_agrees("<run>", "run-2", {"<run>": "run-1"}), word_agrees("a", "b", {})
    (None, None)
    """
    name = NAME.search(shown)
    if not name:
        return named if shown == found else None
    before, after = shown[: name.start()], shown[name.end() :]
    value = found.removeprefix(before).removesuffix(after)
    if f"{before}{value}{after}" != found or named.get(name[0], value) != value:
        return None
    return named | {name[0]: value}


def words_agree(shown: list[str], found: list[str], named: Named) -> Named | None:
    """Whether words are those shown; what is named for the first time is noted in the answer."""
    if not shown:
        return named if not found else None
    first, rest = shown[0], shown[1:]
    if first == "…":
        tries = (words_agree(rest, found[skipped:], named) for skipped in range(len(found) + 1))
        return next((agreed for agreed in tries if agreed is not None), None)
    if not found:
        return None
    agreed = word_agrees(first, found[0], named)
    return None if agreed is None else words_agree(rest, found[1:], agreed)


def lines_agree(shown: list[str], found: list[str], named: Named) -> Named | None:
    """Whether lines are all those shown; a line `…` stands for any lines.

    >>> lines_agree(["<run> done", "…", "took …"], ["run-1  done", "x", "took 3 ms"], {})
    {'<run>': 'run-1'}
    >>> lines_agree(["done"], ["done", "and something that is not shown"], {})
    >>> lines_agree(["<run> began", "<run> ended"], ["run-1 began", "run-2 ended"], {})
    """
    if not shown:
        return named if not found else None
    if shown[0].strip() == "…":
        tries = (lines_agree(shown[1:], found[skipped:], named) for skipped in range(len(found) + 1))
        return next((agreed for agreed in tries if agreed is not None), None)
    if not found:
        return None
    agreed = words_agree(shown[0].split(), found[0].split(), named)
    return None if agreed is None else lines_agree(shown[1:], found[1:], agreed)


def printed(text: str) -> list[str]:
    return [line for line in text.splitlines() if line.strip()]


class Reader:
    """Somebody at a shell, with more terminals beside it."""

    def __init__(self, place: Path, environment: dict[str, str]) -> None:
        self.place = place
        self.environment = environment
        self.named: Named = {}
        self.commands = 0
        self.terminals: dict[str, subprocess.Popen] = {}
        self.outside = Path(tempfile.mkdtemp(prefix="charter-follow-"))
        self.shell = subprocess.Popen(
            ["bash", "--noprofile", "--norc"],
            cwd=place,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def close(self) -> None:
        try:
            for name in list(self.terminals):
                self.interrupt(name)
        finally:
            for process in self.terminals.values():
                process.kill()
        self.shell.stdin.close()
        self.shell.wait(PATIENCE_S)
        shutil.rmtree(self.outside)

    def follows(self, page: Path) -> None:
        for block in blocks(page.read_text()):
            try:
                self.does(block)
            except Surprise as surprise:
                raise Surprise(f"{page}:{block.at}: {surprise}") from None

    def does(self, block: Block) -> None:
        if path := block.option("file"):
            file = self.place / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text("\n".join(block.lines) + "\n")
            return
        for command in block.commands():
            self.commands += 1
            for name, value in self.named.items():
                command.line = command.line.replace(name, value)
            if terminal := block.option("terminal"):
                self.starts(terminal, command)
            else:
                self.types(command)

    def types(self, command: Command) -> None:
        """Types a command at the shell, and again where its answer may still change."""
        until = time.monotonic() + PATIENCE_S
        while True:
            code, output = self.ran(command.line)
            agreed = lines_agree(command.shown, printed(output), self.named)
            if code == command.code and agreed is not None:
                self.named = agreed
                return
            if not command.line.startswith(LOOKS) or time.monotonic() > until:
                shown = "\n".join(command.shown)
                raise Surprise(
                    f"$ {command.line}\nended with {code}, not {command.code}, or printed\n{output}\n"
                    f"where the page shows\n{shown}"
                )
            time.sleep(0.2)

    def ran(self, line: str) -> tuple[int, str]:
        """Runs a line in the shell, which keeps its variables and directory; its exit code and output."""
        script, output = self.outside / "line", self.outside / "output"
        script.write_text(line + "\n")
        self.shell.stdin.write(f". {script} > {output} 2>&1 < /dev/null; echo $?\n")
        self.shell.stdin.flush()
        code = self.shell.stdout.readline()
        if not code:
            raise Surprise(f"$ {line}\nended the shell")
        return int(code), output.read_text(errors="replace")

    def starts(self, terminal: str, command: Command) -> None:
        """Starts a program in a terminal of its own, and waits for what it shows."""
        self.interrupt(terminal)
        log = self.outside / terminal
        code, environment = self.ran("env -0")
        variables = dict(entry.split("=", 1) for entry in environment.split("\0") if "=" in entry)
        with log.open("w") as out:
            process = subprocess.Popen(
                ["bash", "-c", f"exec {command.line}"],
                cwd=self.place,
                env=variables,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
            )
        self.terminals[terminal] = process
        until = time.monotonic() + PATIENCE_S
        while True:
            lines = printed(log.read_text(errors="replace"))
            agreed = lines_agree(command.shown, lines, self.named)
            if agreed is not None:
                self.named = agreed
                return
            if process.poll() is not None or time.monotonic() > until:
                raise Surprise(f"$ {command.line}\nin the terminal {terminal} printed\n" + "\n".join(lines))
            time.sleep(0.1)

    def interrupt(self, terminal: str) -> None:
        """Ctrl-C."""
        if process := self.terminals.pop(terminal, None):
            process.send_signal(signal.SIGINT)
            try:
                process.wait(PATIENCE_S)
            except subprocess.TimeoutExpired:
                process.kill()
                raise Surprise(f"the program in the terminal {terminal} does not end by Ctrl-C") from None


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--charter", type=Path, required=True, help="the binary that is put on the path")
    parser.add_argument("--models", type=Path, help="a folder that has the embedding model, so that none is fetched")
    parser.add_argument("pages", type=Path, nargs="+", help="pages, of which each goes on where the one before it ends")
    given = parser.parse_args()
    # A job in the background ignores Ctrl-C, and what it starts would too.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    environment = {name: value for name, value in os.environ.items() if not name.startswith("CHARTER_")}
    environment["PATH"] = f"{given.charter.resolve().parent}:{environment['PATH']}"
    # A port that is free: another server may have the default one.
    environment["CHARTER_LISTEN"] = "127.0.0.1:0"
    if given.models:
        environment["CHARTER_MODEL__CACHE"] = str(given.models.resolve())
    with tempfile.TemporaryDirectory(prefix="charter-tutorial-") as place:
        reader = Reader(Path(place), environment | {"HOME": place, "PWD": place})
        try:
            for page in given.pages:
                reader.follows(page)
        except Surprise as surprise:
            print(f"follow: {surprise}", file=sys.stderr)
            return 1
        finally:
            reader.close()
    print(f"follow: ok · {len(given.pages)} page(s), {reader.commands} commands")
    return 0


if __name__ == "__main__":
    sys.exit(main())
