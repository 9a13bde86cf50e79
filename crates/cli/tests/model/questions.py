"""Ten questions over the packages that come with Charter, in words of their own (`questions.json`).

    questions.py --charter BINARY [--python PYTHON]

Asks them over the simulated account and the small CRM of the quickstart: without a model, and with a scripted one, whose
drafts are partly false. Each question has to lead to its skill, the findings have to be those of the rules, and what the
model contributes has to rest on what it cites. Runs are replayed when the model is gone. `run.py` asks the same questions
with a language model.
"""

import argparse
import contextlib
import json
import pathlib
import subprocess
import sys
import tempfile
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from binary import PROJECT, Charter, expect

HERE = pathlib.Path(__file__).resolve().parent
QUESTIONS = [(one["question"], one["skill"]) for one in json.loads((HERE / "questions.json").read_text())]
PACKAGES = ("aws-security", "cost-hygiene", "crm-leads")
# The route that the skills of these packages name.
ROUTE = "CHARTER_MODELS__ROUTES__ANALYSIS"
SIMULATED = {"AWS_ACCESS_KEY_ID": "simulated", "AWS_SECRET_ACCESS_KEY": "simulated"}
TOKENS = {"input": 120, "output": 30}
CONFIG = """
[models.providers.scripted]
api = "openai"
base_url = "{url}/v1"
stream = false
"""


@contextlib.contextmanager
def estate(python, folder):
    """The environment in which the packages' tools find the simulated account and the CRM."""
    script = lambda name, *more: [python, PROJECT / "quickstart" / name, *more]  # noqa: E731
    state = ("--port", "0", "--state", folder / "simulator")
    started = subprocess.run(script("simulator.py", "start", *state), check=True, stdout=subprocess.PIPE, text=True)
    endpoint = started.stdout.strip()
    account = {**SIMULATED, "AWS_ENDPOINT_URL": endpoint}
    crm = subprocess.Popen(script("crm.py", "--port", "0", "--database", folder / "crm.db"), stdout=subprocess.PIPE, text=True)
    try:
        port = crm.stdout.readline().strip().rpartition(":")[2]
        subprocess.run(script("estate.py"), check=True, env={"PATH": "", "HOME": str(folder), **account})
        yield {
            **account,
            "CRM_PORT": port,
            "CHARTER_TOOLS__PYTHON": str(python),
            "CHARTER_TOOLS__ENVIRONMENT": ",".join([*account, "CRM_PORT"]),
            "CHARTER_TOOLS__EGRESS": "127.0.0.1:*",
        }
    finally:
        crm.kill()
        crm.wait()
        subprocess.run(script("simulator.py", "stop", *state), check=True, stdout=subprocess.DEVNULL)


def register(charter):
    for package in PACKAGES:
        code, _ = charter.run("package", "register", PROJECT / "packages" / package)
        expect(f"the package {package} is registered", code, 0)


def asked(charter, question, skill):
    """The answer to a question in words, which has to lead to its skill."""
    code, answer = charter.run("ask", question)
    first = answer["metadata"]["verdict"]["candidates"][0]["id"] if code == 0 else None
    expect(f"the document of: {question}", (code, first), (0, skill))
    return answer


def without_model(charter):
    """The ten answers without a model: each has findings, with evidence."""
    answers = [asked(charter, *question) for question in QUESTIONS]
    metadata = [answer["metadata"] for answer in answers]
    expect("no model is asked without its route", [one for one in metadata if "analysis" in one], [])
    unproven = [finding for one in metadata for finding in one["findings"] if not finding["evidence_ids"]]
    expect("every finding has evidence", unproven, [])
    expect("every question has findings", [bool(one["findings"]) for one in metadata], [True] * len(QUESTIONS))
    return answers


def with_model(charter, plain):
    """The ten answers with a model, whatever it is: an answer comes, citations resolve, and the findings stay those of the
    rules."""
    answers = []
    for question, without in zip(QUESTIONS, plain, strict=True):
        answer = asked(charter, *question)
        metadata = answer["metadata"]
        expect("the findings are those of the rules", found(metadata), found(without["metadata"]))
        unresolved = [one["text"] for one in metadata.get("sentences", []) if not resolves(one, metadata)]
        expect("every sentence rests on what is in the answer", unresolved, [])
        answers.append(answer)
    return answers


def found(metadata):
    """The findings without their evidence, which each run has of its own."""
    return [(finding["finding_id"], finding["severity"]) for finding in metadata["findings"]]


def resolves(sentence, metadata):
    """Whether a sentence cites something, and the answer has all that it cites."""
    findings = {finding["finding_id"] for finding in metadata["findings"]}
    named, proven, quoted = (sentence.get(field, []) for field in ("finding_ids", "evidence_ids", "passages"))
    is_known = findings.issuperset(named) and set(metadata["evidence_ids"]).issuperset(proven)
    return is_known and bool(named or proven or quoted)


def replayed(charter, answers):
    """The runs of the answers, replayed without a model."""
    runs = [run for answer in answers for run in answer["metadata"]["run_ids"]]
    expect("runs replay without a model", [run for run in runs if charter.run("runs", "replay", run)[0] != 0], [])


def draft(context):
    """Two sentences that hold, one with a number that nothing has, one about a finding that is not there, and one that
    cites nothing."""
    finding, total = context["findings"][0], context["totals"][0]["findings"]
    severe = f"{finding['resource_id']} has the severity {finding['severity']}."
    sentences = [
        (severe, ["f1"]),
        ("7341 findings were made.", ["t1"]),
        (severe, ["f99"]),
        ("There is nothing to do.", []),
        (f"{total} findings were made.", ["t1"]),
    ]
    return {"sentences": [{"text": text, "cites": cites} for text, cites in sentences]}


class Scripted(BaseHTTPRequestHandler):
    """A model that drafts by `draft`."""

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        prompt = body["messages"][-1]["content"]
        context = json.loads(prompt.split("<data>\n", 1)[1].rsplit("\n</data>", 1)[0])
        message = {"role": "assistant", "content": json.dumps(draft(context))}
        completion = {
            "object": "chat.completion",
            "model": "script",
            "choices": [{"index": 0, "finish_reason": "stop", "message": message}],
            "usage": {"prompt_tokens": TOKENS["input"], "completion_tokens": TOKENS["output"]},
        }
        text = json.dumps(completion).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *_):
        pass


def check_scripted(answers):
    """Of each draft the two true sentences are there, and the others were counted."""
    for answer in answers:
        metadata, analysis = answer["metadata"], answer["metadata"]["analysis"]
        sentences = [one["text"] for one in metadata["sentences"]]
        first = metadata["findings"][0]
        total = f"{len(metadata['findings'])} findings were made."
        expect("the true sentences are kept", (len(sentences), sentences[1]), (2, total))
        expect("the answer opens with them", answer["content"].startswith(sentences[0]), True)
        expect("the first is about a finding", first["resource_id"] in sentences[0], True)
        dropped = {why: number for why, number in analysis["dropped"].items() if number}
        expect("the others are counted", dropped, {"uncited": 1, "unresolved": 1, "unsupported": 1})
        expect("tokens count once", (analysis["tokens"], metadata["tokens"]), (TOKENS, TOKENS))


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--charter", required=True)
    arguments.add_argument("--python", default=sys.executable, help="an interpreter with quickstart/requirements.txt")
    given = arguments.parse_args()
    model = ThreadingHTTPServer(("127.0.0.1", 0), Scripted)
    threading.Thread(target=model.serve_forever, daemon=True).start()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        charter = Charter(given.charter, folder, CONFIG.format(url=f"http://127.0.0.1:{model.server_port}"))
        with estate(given.python, folder) as environment:
            charter.environment |= environment
            register(charter)
            plain = without_model(charter)
            charter.environment[ROUTE] = "scripted/script"
            answers = with_model(charter, plain)
        model.shutdown()
        model.server_close()
        check_scripted(answers)
        replayed(charter, answers)
    print("model: ten questions were answered without a model, and with a scripted one")


if __name__ == "__main__":
    main()
