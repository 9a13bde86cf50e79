"""The quickstart: a server, two real packages, a question and a brief, with proof.

    run.py --charter BINARY [--state DIR] [--question TEXT] [--keep]

Starts the AWS simulator with a small estate, serves Charter on the embedded
store, registers packages/aws-security and packages/cost-hygiene, asks, and
prints the answer and the evidence; then a mission briefs on the account, with a
stand-in for a search engine and without a model. One summary line ends it. With
AWS_PROFILE set it asks the real account instead, read-only, and starts no
simulator. Everything that it started it stops again, with --keep after Ctrl-C.
Any failure ends it with a non-zero exit.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import simulator

ROOT = Path(__file__).resolve().parent.parent
QUESTION = "Which of my security groups are open to the internet?"
GOAL = "What does the internet reach in our account, and what is to be fixed first?"
BRIEF = "security.account_brief"
# Further questions, shown with --keep.
NEXT_QUESTIONS = (
    "are any S3 buckets readable by the public",
    "which exposure should we fix first",
    "remediate the public exposure findings",
)
PACKAGES = ("aws-security", "cost-hygiene")
SHOWN_EVIDENCE = 5
START_TIMEOUT_S = 60.0
STOP_TIMEOUT_S = 15.0
POLL_S = 0.02
LISTENS = re.compile(r"listening on (http://\S+)")
SIMULATED = {
    "AWS_ACCESS_KEY_ID": "simulated",
    "AWS_SECRET_ACCESS_KEY": "simulated",
    "AWS_DEFAULT_REGION": "us-east-1",
}
GRANTED = (
    "AWS_PROFILE",
    "AWS_REGION",
    "AWS_DEFAULT_REGION",
    "AWS_ENDPOINT_URL",
    "AWS_ACCESS_KEY_ID",
    "AWS_SECRET_ACCESS_KEY",
    "AWS_SESSION_TOKEN",
    "AWS_CONFIG_FILE",
    "AWS_SHARED_CREDENTIALS_FILE",
)


class Charter:
    """The binary with one configuration; every call fails loudly."""

    def __init__(self, binary: Path, config: Path, data: Path) -> None:
        self._command = [str(binary), "--config", str(config), "--data-dir", str(data)]

    def call(self, *arguments: str) -> str:
        """The command's standard output."""
        done = subprocess.run([*self._command, *arguments], stdout=subprocess.PIPE, text=True, check=False)
        if done.returncode != 0:
            raise SystemExit(f"quickstart: `charter {' '.join(arguments)}` failed with exit {done.returncode}")
        return done.stdout

    def json(self, *arguments: str) -> Any:
        """The command's output as JSON."""
        return json.loads(self.call(*arguments, "--output", "json"))

    @contextmanager
    def serving(self, log: Path) -> Iterator[str]:
        """Runs the server on a free loopback port while the block runs; its address."""
        with log.open("wb") as output:
            server = subprocess.Popen(
                [*self._command, "serve", "--listen", "127.0.0.1:0"],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
            )
        try:
            yield _await_listening(server, log)
        finally:
            server.send_signal(signal.SIGTERM)
            try:
                server.wait(STOP_TIMEOUT_S)
            except subprocess.TimeoutExpired:
                server.kill()


def _await_listening(server: subprocess.Popen[bytes], log: Path) -> str:
    deadline = time.monotonic() + START_TIMEOUT_S
    while True:
        written = log.read_text(encoding="utf-8", errors="replace")
        if listens := LISTENS.search(written):
            return listens[1]
        if server.poll() is not None or time.monotonic() > deadline:
            raise SystemExit(f"quickstart: the server did not start:\n{written}")
        time.sleep(POLL_S)


@contextmanager
def estate(state: Path) -> Iterator[str | None]:
    """The simulated estate's address; nothing where a real account is asked."""
    if os.environ.get("AWS_PROFILE"):
        print(f"quickstart: asking the account of the profile {os.environ['AWS_PROFILE']}, read-only")
        yield None
        return
    endpoint = simulator.start(0, state)
    os.environ |= SIMULATED | {"AWS_ENDPOINT_URL": endpoint}
    try:
        subprocess.run([sys.executable, str(ROOT / "quickstart" / "estate.py")], check=True)
        yield endpoint
    finally:
        simulator.stop(state)


@contextmanager
def search() -> Iterator[str]:
    """The address of the stand-in for a search engine, while the block runs."""
    command = [sys.executable, str(ROOT / "quickstart" / "web.py"), "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, start_new_session=True) as engine:
        try:
            assert engine.stdout is not None
            yield engine.stdout.readline().split()[-1]
        finally:
            engine.terminate()


def write_config(path: Path, endpoint: str | None, engine: str) -> None:
    """What tools are granted: this interpreter, AWS variables, the simulator's address, a search."""
    egress = [endpoint.removeprefix("http://")] if endpoint else []
    lines = [
        "# Written by quickstart/run.py.",
        "[tools]",
        f"python = {json.dumps(sys.executable)}",
        f"environment = {json.dumps(list(GRANTED))}",
        f"egress = {json.dumps(egress)}",
        "[search]",
        'provider = "searxng"',
        f"url = {json.dumps(engine + '/')}",
        'plain_http = "loopback"',
        "[model]",
        f"cache = {json.dumps(str(ROOT / 'target' / 'models'))}",
    ]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def show(charter: Charter, answer: dict[str, Any]) -> str:
    """Prints answer and evidence; returns the summary line."""
    metadata = answer["metadata"]
    print(f"\n{answer['content']}\n")
    print(f"routed: {metadata['verdict']['kind']}: {metadata['verdict']['reason']}")
    print(f"tools: {', '.join(metadata['tools_used'])}")
    for identifier in metadata["evidence_ids"][:SHOWN_EVIDENCE]:
        record = charter.json("evidence", "show", identifier)
        print(f"evidence {identifier}: {record['summary']}\n  {record['console_links'][0]['href']}")
    findings, evidence = len(metadata["findings"]), len(metadata["evidence_ids"])
    verdict = metadata["verdict"]["kind"]
    if verdict != "narrow" or evidence == 0:
        raise SystemExit(f"quickstart: unexpected answer: verdict={verdict} evidence={evidence}")
    return f"quickstart: ok · findings={findings} · evidence={evidence} · verdict={verdict}"


def brief(charter: Charter) -> str:
    """Has a mission brief on the account and prints what it came to; returns its part of the summary line."""
    mission = charter.json("mission", "start", GOAL, "--type", BRIEF, "--model", "offline", "--wait")
    identifier, output = mission["mission_id"], mission.get("output")
    if output is None:
        raise SystemExit(f"quickstart: the mission came to nothing: {mission['state']} {mission.get('reason', '')}")
    print(f"\n{output['summary']}\n")
    for shown in mission["proposals"]:
        proposal = shown["proposal"]
        print(f"proposed: {proposal['action_type']} {proposal['target_entity_id']}: {proposal['payload']['reason']}")
    if not charter.json("mission", "replay", identifier)["identical"]:
        raise SystemExit(f"quickstart: the mission {identifier} does not replay")
    return f"claims={len(output['claims'])} · proposals={len(mission['proposals'])}"


def keep(address: str, binary: Path) -> None:
    """Names the console and further questions, and waits for Ctrl-C."""
    print(f"\nThe server runs until Ctrl-C. The web console is at {address}/console/\nAsk in another terminal:\n")
    for question in NEXT_QUESTIONS:
        print(f'  {binary} --server {address} ask "{question}"')
    sys.stdout.flush()
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with suppress(KeyboardInterrupt):
        while True:
            signal.pause()


def main() -> None:
    """Run the whole story once."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--charter", type=Path, required=True)
    parser.add_argument("--state", type=Path, default=ROOT / "target" / "quickstart")
    parser.add_argument("--question", default=QUESTION)
    parser.add_argument("--keep", action="store_true", help="leave the server running until Ctrl-C")
    arguments = parser.parse_args()
    state: Path = arguments.state
    state.mkdir(parents=True, exist_ok=True)
    config = state / "config.toml"
    charter = Charter(arguments.charter, config, state / "data")
    with estate(state) as endpoint, search() as engine:
        write_config(config, endpoint, engine)
        with charter.serving(state / "server.log") as address:
            for package in PACKAGES:
                registered = charter.json("package", "register", str(ROOT / "packages" / package))
                print(f"quickstart: {package} {registered['version']} is in force")
            print(f"quickstart: {arguments.question}")
            summary = show(charter, charter.json("ask", arguments.question))
            print(f"\nquickstart: {GOAL}")
            summary = f"{summary} · {brief(charter)}"
            if arguments.keep:
                print(f"\n{summary}")
                keep(address, arguments.charter)
                return
    print(f"\n{summary}")


if __name__ == "__main__":
    main()
