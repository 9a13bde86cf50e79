"""Ask several questions at the same time."""

import asyncio

from charter_client import AsyncCharter

QUESTIONS = ["are any buckets public?", "Which of my security groups are open to the internet?"]


async def main() -> None:
    """Asks and prints."""
    async with AsyncCharter() as charter:
        asked = (charter.requests.create(question, {"region": "us-east-1"}) for question in QUESTIONS)
        answers = await asyncio.gather(*asked)
    for question, answer in zip(QUESTIONS, answers, strict=True):
        print(question, len(answer.findings), "findings")


asyncio.run(main())
