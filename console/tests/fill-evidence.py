"""Puts many records of evidence into a server's store, for the measurement of long lists.

    fill-evidence.py DATABASE COUNT

The records have no leaves in the log: they can be listed, not verified.
"""

import json
import sqlite3
import sys
from datetime import UTC, datetime, timedelta

FIRST = datetime(2026, 1, 1, tzinfo=UTC)


def row(number: int) -> tuple[str, str, str, int, str, str, str, str, bytes]:
    """One record, a minute after the one before it."""
    identifier, kind = f"ev_measured.{number:06}", ("config_snapshot", "iam_policy", "log_line")[number % 3]
    at, subject = FIRST + timedelta(minutes=number), f"arn:aws:ec2:us-east-1:123456789012:security-group/sg-{number:06}"
    stamp = at.strftime("%Y-%m-%dT%H:%M:%SZ")
    body = {
        "id": identifier,
        "schema_version": 1,
        "created_at": stamp,
        "type": kind,
        "captured_at": stamp,
        "source": {"system": "aws.ec2", "region": "us-east-1", "account_id": "123456789012", "native_id": subject},
        "console_links": [{"label": "View security group in EC2", "href": "https://us-east-1.console.aws.amazon.com/"}],
        "payload": {},
        "summary": f"Record {number} of a long list.",
        "attached_to": [],
        "tenant_id": "local",
    }
    micros = int(at.timestamp()) * 1_000_000
    return ("local", identifier, kind, micros, "aws.ec2", subject, json.dumps(body), json.dumps({"number": number}), bytes(32))


def main() -> None:
    """Fills the store in one transaction."""
    database, count = sys.argv[1], int(sys.argv[2])
    columns = "tenant_id, evidence_id, user_id, evidence_type, captured_at, system, native_id, body, payload, payload_salt"
    with sqlite3.connect(database, timeout=60) as store:
        store.executemany(f"INSERT INTO evidence ({columns}) VALUES (?, ?, '', ?, ?, ?, ?, ?, ?, ?)", map(row, range(count)))


if __name__ == "__main__":
    main()
