"""Charter's offers in real LangChain agents and LangGraph graphs. Only the model is scripted."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

from charter_client import Charter
from charter_client.codes import NotFound
from charter_client.langchain import tools
from conftest import Server

INGRESS, REMEDIATE = "security.detect_public_ingress", "security.remediate_public_exposure"
PUBLISH = "reliability.publish_notice"
REGION = {"region": "us-east-1", "profile": ""}
TEXT = {"text": "Closed on Monday."}


class Scripted(BaseChatModel):
    """A model that says what it was told to say, one message after the other."""

    says: list[AIMessage]
    at: int = 0

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, tools: Any, **options: Any) -> Any:
        return self

    def _generate(self, messages: list[BaseMessage], *args: Any, **options: Any) -> ChatResult:
        said = self.says[self.at]
        self.at += 1
        return ChatResult(generations=[ChatGeneration(message=said)])


def calls(name: str, arguments: dict[str, Any], call_id: str = "call-1") -> AIMessage:
    return AIMessage("", tool_calls=[{"name": name, "args": arguments, "id": call_id}])


def asked(question: str) -> Any:
    return {"messages": [HumanMessage(question)]}


def test_offers_are_what_the_catalogue_says(charter: Charter) -> None:
    found = {tool.name: tool for tool in tools(charter, playbooks=[REMEDIATE])}
    assert {"security_detect_public_ingress", "security_remediate_public_exposure"} <= set(found)
    skill = found["security_detect_public_ingress"]
    assert "AWS region to examine" in json.dumps(skill.tool_call_schema.model_json_schema())  # type: ignore[union-attr]
    schema = found["security_remediate_public_exposure"].tool_call_schema.model_json_schema()  # type: ignore[union-attr]
    assert schema["required"] == ["region", "profile"] and set(schema["properties"]) >= {"group_ids", "dry_run"}
    assert schema["properties"]["group_ids"]["type"] == "array"
    with pytest.raises(ValueError, match="writes"):
        tools(charter, skills=(), readonly_tools=["aws.lock_security_group"])
    with pytest.raises(NotFound):
        tools(charter, skills=["no.such_skill"])


def test_an_agent_answers_with_a_skill_and_its_proof(charter: Charter) -> None:
    model = Scripted(says=[calls("security_detect_public_ingress", {"region": "us-east-1"}), AIMessage("Done.")])
    agent = create_agent(model, tools(charter, skills=[INGRESS]))
    *_, result, last = agent.invoke(asked("What is open?"))["messages"]
    assert isinstance(result, ToolMessage) and "ways in from the internet" in result.text
    assert last.text == "Done."
    evidence = result.artifact["evidence_ids"]
    assert evidence and charter.evidence.get(evidence[0]).id == evidence[0]
    assert {"severity", "resource_id"} <= set(result.artifact["findings"][0])
    assert charter.runs.get(result.artifact["run_id"]).status == "completed"


async def test_an_agent_on_the_event_loop_calls_a_readonly_tool(charter: Charter) -> None:
    model = Scripted(says=[calls("aws_describe_security_groups", {"region": "us-east-1"}), AIMessage("Done.")])
    agent = create_agent(model, tools(charter, skills=(), readonly_tools=["aws.describe_security_groups"]))
    *_, result, _ = (await agent.ainvoke(asked("Which groups are there?")))["messages"]
    assert json.loads(result.text)["step-001"][0]["GroupId"].startswith("sg-")


def test_a_refusal_is_told_to_the_model(server: Server, charter: Charter) -> None:
    model = Scripted(says=[calls("security_detect_public_ingress", {"region": "nowhere"}), AIMessage("No.")])
    agent = create_agent(model, tools(charter, skills=[INGRESS]))
    *_, result, _ = agent.invoke(asked("What is open?"))["messages"]
    assert result.status == "error" and result.text.startswith("[")


def interrupts(state: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for stopped in state.get("__interrupt__", ()):
        yield stopped.value


def test_a_playbook_interrupts_the_graph_until_people_have_said_their_word(charter: Charter, bob: Charter) -> None:
    """Bob is at the graph. Ann's key, the agent's, says nothing in his place."""
    model = Scripted(says=[calls("reliability_publish_notice", TEXT, "call-7"), AIMessage("It was refused.")])
    agent = create_agent(
        model, tools(charter, skills=(), playbooks=[PUBLISH], person=bob), checkpointer=InMemorySaver()
    )
    thread: Any = {"configurable": {"thread_id": "people"}}
    (approval,) = interrupts(agent.invoke(asked("Put it up."), thread))
    assert approval["waits_for"] == "approval"
    assert approval["call"]["tool"] == "charter.fs.write" and approval["call"]["parameters"]["content"]
    mistaken: list[Any] = ["yes, do it", {"approve": "sha256:another"}, {"confirm": approval["digest"]}]
    for said in mistaken:
        (again,) = interrupts(agent.invoke(Command(resume=said), thread))
        assert again == approval

    word = {"reject": approval["digest"], "reason": "not today"}
    *_, result, last = agent.invoke(Command(resume=word), thread)["messages"]
    assert "approval_rejected" in result.text or "did not approve" in result.text or "not today" in result.text
    assert result.artifact["run_id"] == approval["run_id"] and last.text == "It was refused."
    decided = next(charter.approvals.list(run_id=approval["run_id"]))
    assert (decided.state, decided.by) == ("rejected", "bob")


def test_without_a_person_resuming_only_looks_again(charter: Charter, bob: Charter) -> None:
    model = Scripted(says=[calls("reliability_publish_notice", TEXT, "call-8"), AIMessage("Ended.")])
    agent = create_agent(model, tools(charter, skills=(), playbooks=[PUBLISH]), checkpointer=InMemorySaver())
    thread: Any = {"configurable": {"thread_id": "nobody"}}
    (question,) = interrupts(agent.invoke(asked("Put it up."), thread))
    (again,) = interrupts(agent.invoke(Command(resume={"approve": question["digest"]}), thread))
    assert again == question and charter.runs.get(question["run_id"]).waits_for == "approval"
    charter.runs.abort(question["run_id"], reason="decided in Charter")
    *_, result, _ = agent.invoke(Command(resume="look"), thread)["messages"]
    assert result.artifact["status"] == "aborted"
    assert next(charter.runs.list()).run_id == question["run_id"]
