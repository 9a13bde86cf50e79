"""A LangChain agent that looks with Charter's skills and changes with its playbooks.

Whoever runs it is asked before anything changes, and answers with a key of their own,
CHARTER_APPROVER_KEY. The agent's key cannot answer in their place.
"""

import os
from typing import Any

from langchain.agents import create_agent
from langchain.chat_models import init_chat_model
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

from charter_client import Charter
from charter_client.langchain import tools

PLAYBOOKS = ["security.remediate_public_exposure"]
PERSON_AT_THE_GRAPH: Any = {"configurable": {"thread_id": "audit"}}


def main(model: Any, question: str) -> str:
    """Asks the agent; puts its questions to whoever sits here."""
    with Charter() as charter, Charter(api_key=os.environ["CHARTER_APPROVER_KEY"]) as person:
        offered = tools(charter, skills="all", playbooks=PLAYBOOKS, person=person)
        agent = create_agent(model, offered, checkpointer=InMemorySaver())
        state = agent.invoke({"messages": [{"role": "user", "content": question}]}, PERSON_AT_THE_GRAPH)
        while "__interrupt__" in state:
            asked = state["__interrupt__"][0].value
            print(asked)
            word = input("confirm, approve, reject, or nothing to look again: ").strip()
            state = agent.invoke(Command(resume={word: asked["digest"]} if word else "look"), PERSON_AT_THE_GRAPH)
        return str(state["messages"][-1].text)


if __name__ == "__main__":
    print(main(init_chat_model(os.environ["MODEL"]), "Lock what the internet reaches in us-east-1."))
