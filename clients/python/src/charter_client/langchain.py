"""Charter's skills, playbooks and readonly tools for LangChain agents and LangGraph graphs.

    from charter_client import Charter
    from charter_client.langchain import tools

    agent = create_agent(model, tools(Charter(), skills="all", playbooks=["security.remediate_public_exposure"]))

Each is a `StructuredTool` that asks the server; nothing is executed here. In a graph
with a checkpointer a playbook that waits for a person interrupts the graph with the
question (`charter_client.offered.Question`), and goes on when the graph is resumed.

Needs the extra: `pip install charter-client[langchain]`.
"""

from __future__ import annotations

from typing import Annotated, Any

from langchain_core.runnables import RunnableConfig
from langchain_core.tools import BaseTool, InjectedToolCallId, StructuredTool, ToolException
from langgraph.types import interrupt
from pydantic import ConfigDict, Field, WithJsonSchema, create_model

from charter_client.client import Charter
from charter_client.errors import CharterError
from charter_client.offered import Offer, Outcome, Question, Selection, begin, look, offers, question, say

#: Names that a parameter of an offer may not have, because the tool uses them.
CALL_ID = "charter_call_id"


def tools(
    charter: Charter,
    *,
    skills: Selection = "all",
    playbooks: Selection = (),
    readonly_tools: Selection = (),
    person: Charter | None = None,
) -> list[BaseTool]:
    """Charter's offers as tools: what `charter`'s key sees, by id or `"all"`.

    A tool gives the text for the model as its content, and `{"run_id", "status", "evidence_ids",
    "findings"}` as its artifact. A refusal of the server is told to the model.

    Where a run waits for a person and the graph has a checkpointer, the graph is interrupted with the
    question. It is resumed by `Command(resume=...)`. What is said there is carried out with `person`, a
    client with the key of that person and of nobody else (see `charter_client.offered.say`); without
    one, people decide in Charter itself (console, command line), and resuming looks again.

    Raises `ValueError` and `NotFound` as `charter_client.offered.offers` does.
    """
    found: list[Offer] = charter.carry_out(offers(skills, playbooks, readonly_tools))
    return [_tool(charter, person, offer) for offer in found]


def _tool(charter: Charter, person: Charter | None, offer: Offer) -> BaseTool:
    def call(config: RunnableConfig, **arguments: Any) -> tuple[str, dict[str, Any]]:
        call_id = arguments.pop(CALL_ID, None)
        thread = config.get("configurable", {}).get("thread_id")
        given = {name: value for name, value in arguments.items() if value is not None}
        try:
            named = f"{thread}/{call_id}" if thread is not None and call_id else None
            reached: Outcome = charter.carry_out(begin(offer, given, named))
            if thread is not None and reached.run_id is not None and offer.kind == "playbook":
                reached = _through_people(charter, person, reached.run_id)
        except CharterError as failure:
            raise ToolException(str(failure)) from failure
        return reached.content, {**reached.shown(), "findings": reached.findings}

    return StructuredTool.from_function(
        func=call,
        name=offer.name,
        description=offer.description,
        args_schema=_arguments(offer),
        infer_schema=False,
        response_format="content_and_artifact",
        handle_tool_error=True,
    )


def _through_people(charter: Charter, person: Charter | None, run_id: str) -> Outcome:
    """Puts what a run waits for to whoever looks after the graph, until it waits for nobody.

    The graph runs a tool from its beginning when it is resumed, and gives each `interrupt` its answer
    again. An answer names what it is an answer to, so one that was carried out before does nothing.
    """
    refused: str | None = None
    while (asked := charter.carry_out(question(run_id, refused))) is not None:
        said = interrupt(asked.shown())
        refused = person.carry_out(say(asked, said)) if person is not None else None
        charter.carry_out(look(run_id))
    reached: Outcome = charter.carry_out(look(run_id))
    return reached


def _arguments(offer: Offer) -> Any:
    """The parameters of an offer as a model whose schema is the offer's own."""
    fields: dict[str, Any] = {CALL_ID: (Annotated[str | None, InjectedToolCallId], None)}
    for name, schema in offer.parameters["properties"].items():
        said = Annotated[Any, WithJsonSchema(dict(schema))]
        required = name in offer.parameters["required"]
        fields[name] = (said, Field(... if required else None, description=schema.get("description")))
    return create_model(f"Arguments_{offer.name}", __config__=ConfigDict(protected_namespaces=()), **fields)


__all__ = ["Question", "tools"]
