"""The guide and the examples do what they say, against the real server."""

from __future__ import annotations

import asyncio
import contextlib
import importlib.util
import io
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from agents import set_tracing_disabled
from langchain_core.messages import AIMessage

import test_langchain
import test_openai_agents
from charter_client import Charter
from conftest import ROOT, Server

GUIDE = ROOT / "docs" / "guides" / "python.md"
EXAMPLES = Path(__file__).resolve().parent.parent / "examples"
#: Examples that are given a model; the others are programs as they stand.
WITH_A_MODEL = {"langgraph_agent", "agents_sdk"}
BLOCK = re.compile(r"^```(python|text)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@pytest.fixture
def surroundings(server: Server, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[dict[str, str]]:
    """The variables that the guide and the examples are run with, in a directory of their own."""
    variables = {
        "CHARTER_SERVER": server.address,
        "CHARTER_API_KEY": server.key("ann"),
        "CHARTER_APPROVER_KEY": server.key("bob"),
        "REVIEWER_KEY": server.key("bob"),
        "CHECKOUT": str(ROOT),
    }
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(tmp_path)
    set_tracing_disabled(True)
    yield variables


def models() -> dict[str, Any]:
    """What stands for language models in the guide."""
    lang, sdk = test_langchain, test_openai_agents
    look = lang.calls("security_detect_public_ingress", {"region": "us-east-1"})
    change = lang.calls("security_remediate_public_exposure", lang.REGION, "call-9")
    return {
        "model": lang.Scripted(says=[look, AIMessage("It is open.")]),
        "changing_model": lang.Scripted(says=[change, AIMessage("Not today.")]),
        "sdk_model": sdk.Scripted(sdk.calls("run", {"skill_id": sdk.INGRESS, "parameters": {}}), sdk.says("It is.")),
    }


def matches(shown: str, printed: str) -> bool:
    """Whether the lines that the guide shows come in this order; an ellipsis stands for anything."""
    lines = iter(printed.splitlines())
    patterns = [".*".join(map(re.escape, line.split("…"))) for line in shown.splitlines()]
    return all(any(re.fullmatch(pattern, line) for line in lines) for pattern in patterns)


def test_the_guide_prints_what_it_shows(surroundings: dict[str, str]) -> None:
    names: dict[str, Any] = models()
    printed, executed = "", 0
    try:
        for kind, block in BLOCK.findall(GUIDE.read_text(encoding="utf-8")):
            if kind == "text":
                assert matches(block, printed), f"{block}\nis shown, and this was printed:\n{printed}"
                continue
            with contextlib.redirect_stdout(io.StringIO()) as said:
                exec(compile(block, str(GUIDE), "exec"), names)
            printed, executed = said.getvalue(), executed + 1
    finally:
        for value in names.values():
            if isinstance(value, Charter):
                value.close()
    assert executed > 10


def test_what_the_guide_shows_is_compared() -> None:
    assert matches("a …\n…c", "a b\nx\nbc\n")
    assert not matches("a\nb", "b\na\n")
    assert not matches("a", "ab")


@pytest.mark.parametrize("name", sorted(path.stem for path in EXAMPLES.glob("*.py") if path.stem not in WITH_A_MODEL))
def test_an_example_runs(surroundings: dict[str, str], name: str) -> None:
    command = [sys.executable, "-W", "error", str(EXAMPLES / f"{name}.py")]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env={**os.environ, **surroundings})
    assert done.returncode == 0, done.stderr
    assert done.stdout and not done.stderr


def example(name: str) -> Any:
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_langgraph_example_asks_whoever_runs_it(
    surroundings: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    words = iter(["", "reject"])
    monkeypatch.setattr("builtins.input", lambda prompt: next(words))
    change = test_langchain.calls("security_remediate_public_exposure", test_langchain.REGION, "call-10")
    model = test_langchain.Scripted(says=[change, AIMessage("It was refused.")])
    assert example("langgraph_agent").main(model, "Lock them.") == "It was refused."
    assert next(words, None) is None


def test_the_agents_sdk_example_finds_its_way(surroundings: dict[str, str]) -> None:
    sdk = test_openai_agents
    model = sdk.Scripted(sdk.calls("find", {"query": "open groups"}), sdk.says("There are."))
    assert asyncio.run(example("agents_sdk").main(model, "What is open?")) == "There are."
