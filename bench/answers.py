"""Questions to a skill whose tool answers at once, without a model: Charter beside a bare axum route and, where one is
given, beside another build of Charter.

    python bench/answers.py [--beside CHARTER] [--questions N] [--rounds N] [--no-build] [--release DIR]

A part of `make bench`; `make bench PARTS=answers BESIDE=CHARTER` compares two builds, e.g. before and after a change, in
one run. All sides are asked in turn, each over one kept-alive connection. Figures never decide the exit code. What is
measured: bench/README.md.
"""

import contextlib
import json
import pathlib
import subprocess
import tempfile
import uuid

from asked import Timed, in_turn
from charter_server import Connection, Server
from release import RELEASE, build, fetch_model
from table import Line, machine, options_of, say, show

ROUNDS = 5
GOAL = 1.1
TEXT = "which boilers of the heating plant are overdue for a check?"
BOILERS = {"boilers": [{"id": f"boiler-{number}", "days_since_check": 200 * number} for number in range(4)]}
OVERDUE = ["boiler-2", "boiler-3"]
PACKAGE = {
    "package.yaml": "name: heating\nversion: 1.0.0\ntitle: Heating\nscope: tenant\n",
    "skills/overdue.yaml": f"""skill_id: reliability.find_overdue_boilers
name: find_overdue_boilers
domain: reliability
display_name: Find overdue boilers
description: Lists the boilers of the heating plant that were not checked for a year.
purpose: find boilers that are overdue for a check
examples: ["{TEXT}"]
output_type: finding
execution_plan:
  steps:
    - {{step_id: step_1, type: read, tool_id: plant.list_boilers, cache_ttl_seconds: 0, parameters: {{}}}}
analysis:
  findings:
    - rule_id: overdue
      from: step_1
      filter: |
        .boilers[] | select(.days_since_check > 365)
        | {{severity: "high", resource_type: "plant.boiler", resource_id: .id, days: .days_since_check}}
  summary: "{{{{ count }}}} overdue boiler(s)."
""",
    "templates/overdue.yaml": """template_id: reliability.overdue_boiler
output_type: finding
skill_id: reliability.find_overdue_boilers
structure: {title: "{{resource_id}} was not checked for {{days}} days"}
""",
    "tools/list_boilers.yaml": """tool_id: plant.list_boilers
name: list_boilers
provider: aws
service: iot
tool_class: readonly
domain: reliability
description: Lists the boilers of the plant.
parameters: []
execution_target: server
language: http
implementation: {type: http, method: POST, url: "http://SERVICE/boilers"}
egress: ["SERVICE"]
evidence: {type: config_snapshot, system: aws.iot, native_id: '"plant"', region: '"eu-west-1"'}
""",
}


class Questions(Timed):
    """The same question again and again, each time as a request of its own; what it finds are the resources."""

    def __init__(self, port, number):
        super().__init__([TEXT] * number)
        self.connection = Connection(port)

    def ask(self, question):
        request = {"id": f"req-{uuid.uuid4()}", "timestamp": "2026-04-14T12:00:00Z", "input": question}
        status, body = self.connection.post("/v1/requests", json.dumps(request).encode())
        if status != 200:
            raise RuntimeError(f"a question was answered with {status}: {body[:500].decode()}")
        return body

    def read(self, found):
        findings = json.loads(found)["metadata"]["findings"]
        return sorted(finding["resource_id"] for finding in findings)


@contextlib.contextmanager
def bare_route(release, body, folder):
    """The port of an axum server that answers every request with this body."""
    file = folder / f"{uuid.uuid4()}.json"
    file.write_text(json.dumps(body))
    route = subprocess.Popen([release / "examples" / "bare_route", file], stdout=subprocess.PIPE, text=True)
    try:
        yield int(route.stdout.readline())
    finally:
        route.kill()
        route.wait()


@contextlib.contextmanager
def serving(binary, model, data, service):
    """A server with the package, whose tool calls the service."""
    server = Server(binary, model, data, {"CHARTER_TOOLS__EGRESS": service})
    try:
        files = {path: text.replace("SERVICE", service) for path, text in PACKAGE.items()}
        server.register([json.dumps({"files": files}).encode()])
        yield server
    finally:
        server.stop()


def measure(options, folder):
    model = fetch_model(options.release)
    with contextlib.ExitStack() as stack:
        enter = stack.enter_context
        service = f"127.0.0.1:{enter(bare_route(options.release, BOILERS, folder))}"
        ours = enter(serving(options.release / "charter", model, folder / "ours", service))
        ours = Questions(ours.port, options.questions)
        answer = json.loads(ours.ask(TEXT))
        bare = Questions(enter(bare_route(options.release, answer, folder)), options.questions)
        peers = [("a bare axum route, same body size", bare, None)]
        if options.beside:
            beside = enter(serving(options.beside, model, folder / "beside", service))
            peers.append((f"Charter, {options.beside}", Questions(beside.port, options.questions), GOAL))
        say("asking in turn")
        in_turn([ours, *(peer for _, peer, _ in peers)], options.rounds)
    if wrong := [way.found[0] for _, way, _ in peers if way.found[0] != OVERDUE]:
        raise RuntimeError(f"found: {wrong} instead of {OVERDUE}")
    return [line(share, ours, *peer) for share in (0.5, 0.99) for peer in peers]


def line(share, ours, name, peer, goal):
    what = f"POST /v1/requests, instant tool, p{share * 100:.0f}"
    times = Line.of_times(what, ours.quantile(share), peer.quantile(share), "ms", name)
    # The goal is one for the middle; the slowest of a hundred are the disk's affair.
    return times.at_most(goal) if goal and share == 0.5 else times


def main():
    options = options_of(__doc__, build, ROUNDS, RELEASE, questions=100, beside=pathlib.Path)
    with tempfile.TemporaryDirectory(prefix="charter-bench-") as folder:
        lines = measure(options, pathlib.Path(folder))
    print(show(lines, f"{machine()}; {options.rounds} rounds of {options.questions} questions, in turn"))


if __name__ == "__main__":
    main()
