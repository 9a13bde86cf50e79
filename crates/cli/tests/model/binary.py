"""The charter binary as tests of models run it: one command after the other, in an environment of their own."""

import json
import os
import pathlib
import subprocess
import sys

PROJECT = pathlib.Path(__file__).resolve().parents[4]
LIMIT_S = 1_200


class Charter:
    """The binary with a configuration of its own."""

    def __init__(self, binary, folder, config, secrets=()):
        self.folder, self.secrets = folder, secrets
        (folder / "charter.toml").write_text(config)
        binary = os.path.abspath(binary)
        self.command = [binary, "--config", folder / "charter.toml", "--data-dir", folder / "data"]
        models = os.environ.get("CHARTER_MODEL__CACHE", PROJECT / "target/models")
        self.environment = {
            "PATH": os.environ["PATH"],
            "CHARTER_MODEL__CACHE": os.path.abspath(models),
            "HOME": str(folder),
        }

    def run(self, *arguments):
        """The exit code and what was printed."""
        ran = subprocess.run(
            [*self.command, *arguments, "--output", "json"],
            env=self.environment,
            stdout=subprocess.PIPE,
            check=False,
            text=True,
            timeout=LIMIT_S,
        )
        if any(secret in ran.stdout for secret in self.secrets):
            sys.exit("a key was printed")
        return ran.returncode, json.loads(ran.stdout or "null")


def expect(what, found, expected):
    if found != expected:
        sys.exit(f"model: {what}: {json.dumps(found, indent=2)} is not {json.dumps(expected)}")
    print(f"model: {what}: ok")
