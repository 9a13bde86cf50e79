"""Ask a question, and see what proves the answer."""

from charter_client import Charter

with Charter() as charter:
    answer = charter.requests.create("Which of my security groups are open to the internet?", {"region": "us-east-1"})
    print(answer.content)
    for evidence_id in answer.evidence_ids:
        print(evidence_id, charter.evidence.get(evidence_id).summary)
