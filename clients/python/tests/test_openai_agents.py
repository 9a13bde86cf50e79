"""Charter's offers in the real OpenAI Agents SDK, as function tools and over MCP. Only the model is scripted."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
from agents import Agent, Model, ModelResponse, Runner, Usage, set_tracing_disabled
from agents.items import TResponseInputItem
from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText

from charter_client import AsyncCharter, Charter
from charter_client.openai_agents import mcp_server, tools

INGRESS, PUBLISH = "security.detect_public_ingress", "reliability.publish_notice"
TEXT = {"text": "Closed on Monday."}


@pytest.fixture(autouse=True)
def no_tracing() -> None:
    """The SDK would send traces elsewhere."""
    set_tracing_disabled(True)


class Scripted(Model):
    """A model that calls the tools that it was told to call, then says its last word."""

    def __init__(self, *says: Any) -> None:
        self.says = list(says)
        self.seen: list[Any] = []

    async def get_response(self, *args: Any, **options: Any) -> ModelResponse:
        self.seen.append(args[1] if len(args) > 1 else options["input"])
        said = self.says.pop(0)
        output = said(self.seen[-1]) if callable(said) else said
        return ModelResponse(output=[output], usage=Usage(), response_id=None)

    def stream_response(self, *args: Any, **options: Any) -> AsyncIterator[Any]:
        raise NotImplementedError


def calls(name: str, arguments: dict[str, Any], call_id: str = "call-1") -> ResponseFunctionToolCall:
    return ResponseFunctionToolCall(
        name=name, arguments=json.dumps(arguments), call_id=call_id, type="function_call", id=call_id
    )


def says(text: str) -> ResponseOutputMessage:
    content = ResponseOutputText(text=text, type="output_text", annotations=[])
    return ResponseOutputMessage(id="m", content=[content], role="assistant", status="completed", type="message")


def results(items: list[TResponseInputItem]) -> list[Any]:
    """What tools gave, as JSON."""
    outputs = [item["output"] for item in items if item.get("type") == "function_call_output"]  # type: ignore[typeddict-item]
    return [json.loads(output) if isinstance(output, str) else output for output in outputs]


async def test_an_agent_answers_with_a_skill_and_its_proof(async_charter: AsyncCharter) -> None:
    model = Scripted(calls("security_detect_public_ingress", {"region": "us-east-1"}), says("Done."))
    agent = Agent(name="auditor", model=model, tools=await tools(async_charter, skills=[INGRESS]))
    result = await Runner.run(agent, "What is open?")
    assert result.final_output == "Done."
    (answer,) = results(result.to_input_list())
    assert answer["status"] == "completed" and "ways in from the internet" in answer["content"]
    record = await async_charter.evidence.get(answer["evidence_ids"][0])
    assert record.id == answer["evidence_ids"][0]


async def test_a_playbook_waits_for_a_person_whom_the_model_cannot_replace(
    async_charter: AsyncCharter, bob: Charter
) -> None:
    def looks(items: list[TResponseInputItem]) -> ResponseFunctionToolCall:
        run_id = results(items)[-1]["run_id"]
        bob.runs.abort(run_id, reason="not today")
        return calls("charter_run", {"run_id": run_id}, "call-2")

    model = Scripted(calls("reliability_publish_notice", TEXT), looks, says("It was ended."))
    offered = await tools(async_charter, skills=(), playbooks=[PUBLISH])
    assert [tool.name for tool in offered] == ["reliability_publish_notice", "charter_run"]
    result = await Runner.run(Agent(name="operator", model=model, tools=offered), "Put it up.")
    begun, looked = results(result.to_input_list())
    assert begun["status"] == "awaiting_approval" and "waits for a person" in begun["content"]
    assert looked["status"] == "aborted" and looked["run_id"] == begun["run_id"]


async def test_a_refusal_is_told_to_the_model(async_charter: AsyncCharter) -> None:
    model = Scripted(calls("security_detect_public_ingress", {"region": "nowhere"}), says("No."))
    agent = Agent(name="auditor", model=model, tools=await tools(async_charter, skills=[INGRESS]))
    (answer,) = results((await Runner.run(agent, "What is open?")).to_input_list())
    assert answer["status"] == "failed" and answer["content"].startswith("[")


async def test_over_mcp_the_whole_catalogue_is_found_and_run(async_charter: AsyncCharter) -> None:
    async with mcp_server(async_charter) as server:
        model = Scripted(
            calls("find", {"query": "open security groups"}),
            calls("run", {"skill_id": INGRESS, "question": "What is open?", "parameters": {}}, "call-2"),
            says("Done."),
        )
        agent = Agent(name="auditor", model=model, mcp_servers=[server])
        result = await Runner.run(agent, "What is open?")
    assert result.final_output == "Done."
    assert INGRESS in json.dumps(results(result.to_input_list())[0])
    assert "ways in from the internet" in json.dumps(results(result.to_input_list())[1])
