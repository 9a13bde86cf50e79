"""Follow a question on its way to the answer."""

from charter_client import Answer, Charter

with Charter() as charter:
    for event in charter.requests.stream("are any buckets public?", {"region": "us-east-1"}):
        if isinstance(event, Answer):
            print(f"{len(event.findings)} findings")
        else:
            print(event.stage, event.model_extra)
