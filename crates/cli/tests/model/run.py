"""Asks a language model on this machine by `charter models test`, through a real server of another
make, and checks what comes of it.

Without --model the model is one that was never trained (see untrained.py). A server can hold it to a
schema all the same, which is checked; what a trained model is worth is not.
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import untrained

HERE = pathlib.Path(__file__).resolve().parent
KEY = "key-of-the-local-model"

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

[models.tenants.stranger.keys]
streamed = {{ variable = "WRONG_MODEL_KEY" }}
"""


class Charter:
    """The binary with a configuration of its own."""

    def __init__(self, binary, folder, url):
        keyfile = folder / "key"
        keyfile.write_text(KEY + "\n")
        self.command = [binary, "--config", folder / "charter.toml", "--output", "json"]
        (folder / "charter.toml").write_text(CONFIG.format(url=url, keyfile=keyfile))
        self.environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(folder),
            "LOCAL_MODEL_KEY": KEY,
            "WRONG_MODEL_KEY": "another-key",
        }

    def models(self, *arguments):
        """The exit code and what was printed."""
        ran = subprocess.run(
            [*self.command, "models", *arguments],
            env=self.environment,
            stdout=subprocess.PIPE,
            check=False,
            text=True,
        )
        if KEY in ran.stdout:
            sys.exit("the key was printed")
        return ran.returncode, json.loads(ran.stdout or "null")


def expect(what, found, expected):
    if found != expected:
        sys.exit(f"model: {what}: {json.dumps(found, indent=2)} is not {json.dumps(expected)}")
    print(f"model: {what}: ok")


def test(charter, route, *more):
    code, outcomes = charter.models("test", route, "--timeout-ms", "300000", *more)
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


def check(charter, trained):
    code, routes = charter.models("list")
    keys = {route["route"]: (route["provider"], route["key"].split()[0]) for route in routes}
    expected = {
        "messages": ("messages", "environment"),
        "schema_streamed": ("streamed", "environment"),
        "schema_whole": ("whole", "file"),
    }
    expect("routes", (code, keys), (0, expected))
    keeps_to_the_schema(charter)
    code, outcome = test(charter, "schema_streamed", "--tenant", "stranger")
    refused = (code, outcome.get("error_code"), outcome.get("fault"))
    expect("a wrong key is refused", refused, (1, "model_access_denied", "authentication"))
    code, outcome = test(charter, "messages")
    if not trained:
        # It knows no tools, so it writes until it is stopped.
        cut_off = (code, outcome.get("error_code"), outcome.get("fault"))
        expect("what does not end is cut off", cut_off, (1, "model_answer_invalid", "cut_off"))


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--charter", required=True)
    arguments.add_argument("--model", help="a GGUF file of a trained model")
    given = arguments.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        model = given.model
        if not model:
            model = str(folder / "untrained.gguf")
            untrained.write(model)
            print("model: no MODEL is given: one that was never trained is asked")
        log = (folder / "server.log").open("w")
        server = subprocess.Popen(
            [sys.executable, HERE / "server.py", model, KEY],
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
            check(charter, trained=bool(given.model))
        finally:
            server.kill()
            server.wait()
        code, outcome = test(charter, "schema_whole")
        gone = (code, outcome.get("error_code"), outcome.get("attempts"))
        expect("a server that is gone is told as such", gone, (1, "unavailable", 4))
    print("model: all passed")


if __name__ == "__main__":
    main()
