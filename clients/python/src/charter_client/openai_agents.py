"""Charter's skills, playbooks and readonly tools for the OpenAI Agents SDK.

    from charter_client import AsyncCharter
    from charter_client.openai_agents import tools

    agent = Agent(name="auditor", tools=await tools(AsyncCharter(), skills="all"))

Each is a function tool that asks the server; nothing is executed here. A playbook
that waits for a person says so to the model and goes on once that person has
decided in Charter; the tool `charter_run` says how far a run has come.

Over the Model Context Protocol the whole catalogue is one line, and the model
looks tools up instead of being given them all:

    agent = Agent(name="auditor", mcp_servers=[mcp_server(charter)])

Needs the extra: `pip install charter-client[openai-agents]`.
"""

from __future__ import annotations

import json
from typing import Any

from agents import FunctionTool, Tool
from agents.mcp import MCPServerStreamableHttp
from agents.tool_context import ToolContext

from charter_client.client import AsyncCharter
from charter_client.errors import CharterError
from charter_client.offered import Offer, Outcome, Selection, begin, look, offers

LOOK = "charter_run"
_LOOK_SCHEMA = {
    "type": "object",
    "properties": {"run_id": {"type": "string", "description": "The run, as the tool that began it named it."}},
    "required": ["run_id"],
    "additionalProperties": False,
}


async def tools(
    charter: AsyncCharter,
    *,
    skills: Selection = "all",
    playbooks: Selection = (),
    readonly_tools: Selection = (),
) -> list[Tool]:
    """Charter's offers as function tools: what `charter`'s key sees, by id or `"all"`.

    A tool gives JSON: `status`, `content`, `run_id`, `evidence_ids`. A refusal of the server is told to
    the model, with its code and hint.

    Raises `ValueError` and `NotFound` as `charter_client.offered.offers` does.
    """
    found: list[Offer] = await charter.carry_out(offers(skills, playbooks, readonly_tools))
    made: list[Tool] = [_tool(charter, offer) for offer in found]
    if any(offer.kind == "playbook" for offer in found):
        made.append(_look(charter))
    return made


def mcp_server(charter: AsyncCharter) -> MCPServerStreamableHttp:
    """Charter's own MCP endpoint as a server of the Agents SDK, with the client's address and key.

    It is to be connected: `async with mcp_server(charter) as server`.
    """
    settings = charter.settings
    headers = {"authorization": f"Bearer {settings.api_key}"} if settings.api_key else {}
    return MCPServerStreamableHttp(
        name="charter",
        params={"url": f"{settings.server}/mcp", "headers": headers, "timeout": settings.timeout_s},
        client_session_timeout_seconds=settings.timeout_s,
        cache_tools_list=True,
    )


def _tool(charter: AsyncCharter, offer: Offer) -> FunctionTool:
    async def invoke(context: ToolContext[Any], arguments: str) -> str:
        try:
            given = json.loads(arguments or "{}")
            reached: Outcome = await charter.carry_out(begin(offer, given, None))
        except (CharterError, ValueError) as failure:
            return json.dumps({"status": "failed", "content": str(failure)})
        return json.dumps(reached.shown(), ensure_ascii=False)

    return FunctionTool(
        name=offer.name,
        description=offer.description,
        params_json_schema=offer.parameters,
        on_invoke_tool=invoke,
        # Optional parameters stay optional.
        strict_json_schema=False,
    )


def _look(charter: AsyncCharter) -> FunctionTool:
    async def invoke(context: ToolContext[Any], arguments: str) -> str:
        try:
            reached: Outcome = await charter.carry_out(look(json.loads(arguments)["run_id"]))
        except (CharterError, KeyError, ValueError) as failure:
            return json.dumps({"status": "unknown", "content": str(failure)})
        return json.dumps(reached.shown(), ensure_ascii=False)

    return FunctionTool(
        name=LOOK,
        description="Says how far a run of a playbook has come that was begun before.",
        params_json_schema=_LOOK_SCHEMA,
        on_invoke_tool=invoke,
    )
