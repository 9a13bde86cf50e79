"""Ask several questions at the same time."""

import asyncio

from charter_client import AsyncCharter

QUESTIONS = ["are any buckets public?", "Which of my security groups are open to the internet?"]


async def main() -> None:
    """Asks and prints."""
    async with AsyncCharter() as charter:
        answers = await asyncio.gather(*(charter.ask(question, {"region": "us-east-1"}) for question in QUESTIONS))
    for question, answer in zip(QUESTIONS, answers, strict=True):
        print(question, len(answer.findings), "findings")


asyncio.run(main())
