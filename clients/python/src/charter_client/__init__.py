"""The client of Charter, the context engine and mission runtime for AI agents.

    from charter_client import Charter

    charter = Charter()  # CHARTER_SERVER, CHARTER_API_KEY, else the server of this machine
    answer = charter.requests.create("are any buckets public?", parameters={"region": "eu-west-1"})
    print(answer.content)

`AsyncCharter` has the same operations to await. Failures are in `charter_client.errors` and
`charter_client.codes`, values in `charter_client.shown` and `charter_client.contract`, the check of
exported evidence in `charter_client.evidence_log`, adapters in `charter_client.langchain` and
`charter_client.openai_agents`. The guide is docs/guides/python.md.
"""

from charter_client.client import AsyncCharter, Charter
from charter_client.errors import ApiError, CharterError, NotCharter, Unreachable, WaitedTooLong
from charter_client.shown import Answer, Approval, Mission, Progress, Run, Verdict

__all__ = [
    "Answer",
    "ApiError",
    "Approval",
    "AsyncCharter",
    "Charter",
    "CharterError",
    "Mission",
    "NotCharter",
    "Progress",
    "Run",
    "Unreachable",
    "Verdict",
    "WaitedTooLong",
]
