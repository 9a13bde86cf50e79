"""An agent of the OpenAI Agents SDK that finds what it needs in Charter's catalogue, over MCP."""

import asyncio
from typing import Any

from agents import Agent, Runner

from charter_client import AsyncCharter
from charter_client.openai_agents import mcp_server


async def main(model: Any, question: str) -> str:
    """Asks the agent."""
    async with AsyncCharter() as charter, mcp_server(charter) as server:
        agent = Agent(name="auditor", model=model, mcp_servers=[server])
        result = await Runner.run(agent, question)
        return str(result.final_output)


if __name__ == "__main__":
    print(asyncio.run(main(None, "Which of my security groups are open to the internet?")))
