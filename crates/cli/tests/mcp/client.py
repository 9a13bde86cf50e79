"""The official Python client of the Model Context Protocol, as the tests of crates/cli/tests/suite/mcp.rs use it.

Run by crates/cli/tests/clients/forks.py. Takes one JSON object: how to reach the server (`url` and `key`, or
`command`), the `mode` of the SDK ("legacy" or a revision), and what to do. Writes one JSON object with what it saw.
"""

import asyncio
import contextlib
import json
import sys

import anyio
import httpx2
import mcp_types as types
from mcp import Client, MCPError, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client
from pydantic import TypeAdapter


@contextlib.asynccontextmanager
async def reach(given):
    if "command" in given:
        program, *arguments = given["command"]
        server = StdioServerParameters(command=program, args=arguments, env=given["environment"])
        async with stdio_client(server) as streams:
            yield streams
        return
    headers = {"authorization": f"Bearer {given['key']}"} if given.get("key") else {}
    async with httpx2.AsyncClient(headers=headers, timeout=60, trust_env=False) as http:
        async with streamable_http_client(given["url"], http_client=http) as streams:
            yield streams


def structured(result):
    if result.is_error:
        # Structured content would have to keep the tool's output schema, which has no place for an error.
        assert result.structured_content is None, result
        return {"is_error": True, "content": json.loads(result.content[0].text)}
    return {"is_error": False, "content": result.structured_content}


async def refused(doing):
    try:
        await doing
    except MCPError as error:
        return error.error.code
    return None


async def tour(client, given):
    """Lists everything, finds, opens and runs a skill, reads its evidence and gets a prompt."""
    told = []

    async def progress(done, total, message):
        told.append(message)

    tools = await client.list_tools()
    found = await client.call_tool("find", {"query": given["question"]})
    opened = await client.call_tool("open", {"kind": "skill", "id": given["skill"]})
    run = await client.call_tool("run", {"question": given["question"]}, progress_callback=progress)
    called = await client.call_tool("call", {"tool_id": given["tool"], "parameters": {"vault": "main"}})
    status = await client.call_tool("status", {"id": run.structured_content["id"]})
    evidence = run.structured_content["evidence"][0]
    read = await client.read_resource(evidence)
    resources = await client.list_resources()
    templates = await client.list_resource_templates()
    prompts = await client.list_prompts()
    prompt = None
    if prompts.prompts:
        name = prompts.prompts[0].name
        prompt = (await client.get_prompt(name, {"vault": "main"})).messages[0].content.text
    return {
        "version": client.protocol_version,
        "server": client.server_info.name,
        "tools": {tool.name: tool.annotations.model_dump(exclude_none=True) for tool in tools.tools},
        "found": structured(found),
        "opened": structured(opened),
        "run": structured(run),
        "called": structured(called),
        "status": structured(status),
        "told": told,
        "read": json.loads(read.contents[0].text),
        "evidence": evidence,
        "resources": [str(resource.uri) for resource in resources.resources],
        "templates": [template.uri_template for template in templates.resource_templates],
        "prompts": [
            {"name": prompt.name, "arguments": [a.model_dump(exclude_none=True) for a in prompt.arguments]}
            for prompt in prompts.prompts
        ],
        "prompt": prompt,
        "absent": await refused(client.read_resource("evidence://ev-00000000-0000-7000-8000-000000000000")),
        "foreign": await refused(client.read_resource("file:///etc/passwd")),
        "unknown_tool": await refused(client.call_tool("no_such_tool", {})),
        "unknown_prompt": await refused(client.get_prompt("no_such_prompt", {})),
    }


async def call(client, given):
    """One tool call, with what it told on the way."""
    told = []

    async def progress(done, total, message):
        told.append(message)

    result = await client.call_tool(given["tool"], given["arguments"], progress_callback=progress)
    return {**structured(result), "told": told}


async def steps(client, given):
    """One thing after the other: tool calls, reads, listings of resources, and any other method."""

    async def step(what):
        if "tool" in what:
            return structured(await client.call_tool(what["tool"], what["arguments"]))
        if "read" in what:
            contents = (await client.read_resource(what["read"])).contents[0]
            return contents.model_dump(exclude_none=True, mode="json")
        if "resources" in what:
            found, cursor = [], None
            while True:
                page = await client.list_resources(cursor=cursor)
                found += [resource.model_dump(exclude_none=True, mode="json") for resource in page.resources]
                cursor = page.next_cursor
                if cursor is None:
                    return found
        request = types.Request[dict, str](method=what["method"], params=what["params"])
        return await client.session.send_request(request, TypeAdapter(dict))

    saw = []
    for what in given["steps"]:
        try:
            saw.append(await step(what))
        except MCPError as error:
            saw.append({"code": error.error.code, "message": error.error.message})
    return {"steps": saw, "extensions": client.server_capabilities.extensions}


async def cancel(client, given):
    """Starts a call and gives it up; the server says on its standard output that the call has begun."""

    async def begun():
        while (await asyncio.to_thread(sys.stdin.readline)).strip() != "begun":
            pass

    async with anyio.create_task_group() as group:

        async def calling():
            await client.call_tool(given["tool"], given["arguments"])

        group.start_soon(calling)
        await begun()
        group.cancel_scope.cancel()
    # The connection goes on.
    tools = await client.list_tools()
    return {"tools": len(tools.tools)}


async def main(given):
    asked = []

    async def elicit(context, params):
        asked.append({"message": params.message, "schema": params.requested_schema})
        answer = given["answers"][len(asked) - 1]
        if answer is None:
            return types.ElicitResult(action="decline")
        return types.ElicitResult(action="accept", content=answer)

    callback = elicit if "answers" in given else None
    transport = reach(given)
    async with Client(transport, mode=given["mode"], elicitation_callback=callback) as client:
        saw = await {"tour": tour, "call": call, "steps": steps, "cancel": cancel}[given["do"]](client, given)
    print(json.dumps({**saw, "asked": asked}))
