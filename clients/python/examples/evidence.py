"""Export evidence, and check the file without the server."""

from pathlib import Path

from charter_client import Charter
from charter_client.evidence_log import verify

with Charter() as charter:
    key = charter.evidence.get_key().key  # safer: the key as its owner published it
    file = charter.evidence.export(Path("evidence.jsonl"))

verdict = verify(file, key=key)
print("good" if verdict.is_good else [str(fault) for fault in verdict.faults])
print(f"{verdict.records} records under the head {verdict.root}")
