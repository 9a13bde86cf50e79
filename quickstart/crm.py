"""A small CRM over a SQLite file, for the package crm-leads and its mission.

    crm.py [--port N] [--database FILE]

    GET   /leads?interest=WORD          leads by score, best first
    GET   /leads/ID                     one lead
    GET   /conversations?interest=WORD  each lead with what was written
    PATCH /leads/ID                     stage and note; If-Match: the lead's version

A lead's version grows with each change. A change for another version than the
lead has is answered 409 and changes nothing. A change that is repeated with its
Idempotency-Key is answered as it was and made once. A file that is new begins
with the leads of crm_data.py.
"""

from __future__ import annotations

import argparse
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from crm_data import LEADS, MESSAGES, TODAY
from local_http import Json, Refused, Request, serve

STAGES = ("New", "Contacted", "Qualified", "Negotiation", "Won", "Lost")
MAX_NOTE = 2_000
LEAD = (
    "lead_id, name, segment, interest, budget_aed, stage, score, owner, last_contact, "
    "CAST(julianday(?) - julianday(last_contact) AS INTEGER) AS days_since_contact, note, version"
)
SCHEMA = f"""
CREATE TABLE leads (
    lead_id TEXT PRIMARY KEY, name TEXT NOT NULL, segment TEXT NOT NULL, interest TEXT NOT NULL,
    budget_aed INTEGER NOT NULL, stage TEXT NOT NULL CHECK (stage IN {STAGES}), score INTEGER NOT NULL,
    owner TEXT NOT NULL, last_contact TEXT NOT NULL, note TEXT, version INTEGER NOT NULL DEFAULT 1
);
CREATE TABLE messages (
    lead_id TEXT NOT NULL REFERENCES leads, day TEXT NOT NULL, author TEXT NOT NULL, text TEXT NOT NULL
);
CREATE TABLE changes (idempotency_key TEXT PRIMARY KEY, lead_id TEXT NOT NULL, version INTEGER NOT NULL);
"""


class Crm:
    """The leads of one file. Each request has a connection of its own."""

    def __init__(self, database: Path) -> None:
        self._database = database
        with self._connection() as db:
            if db.execute("SELECT count(*) FROM sqlite_schema").fetchone()[0]:
                return
            db.executescript(SCHEMA)
            columns = "lead_id, name, segment, interest, budget_aed, stage, score, owner, last_contact"
            db.executemany(f"INSERT INTO leads ({columns}) VALUES (?,?,?,?,?,?,?,?,?)", LEADS)
            db.executemany("INSERT INTO messages VALUES (?,?,?,?)", MESSAGES)

    @contextmanager
    def _connection(self) -> Iterator[sqlite3.Connection]:
        db = sqlite3.connect(self._database, timeout=10, isolation_level="IMMEDIATE")
        db.row_factory = sqlite3.Row
        try:
            with db:
                yield db
        finally:
            db.close()

    def answer(self, request: Request) -> Json:
        """The answer to one request."""
        match (request.method, request.path):
            case ("GET", ("leads",)):
                return {"as_of": TODAY, "leads": self._leads(request.query.get("interest"))}
            case ("GET", ("leads", lead)):
                with self._connection() as db:
                    return self._lead(db, lead)
            case ("GET", ("conversations",)):
                return {"as_of": TODAY, "conversations": self._conversations(request.query.get("interest"))}
            case ("PATCH", ("leads", lead)):
                return self._change(lead, request)
        raise Refused(404, "there is no such page")

    def _leads(self, interest: str | None) -> list[dict[str, Any]]:
        with self._connection() as db:
            rows = db.execute(
                f"SELECT {LEAD} FROM leads WHERE ?2 IS NULL OR interest = ?2 ORDER BY score DESC, lead_id",
                (TODAY, interest),
            )
            return [dict(row) for row in rows]

    def _lead(self, db: sqlite3.Connection, lead: str) -> dict[str, Any]:
        row = db.execute(f"SELECT {LEAD} FROM leads WHERE lead_id = ?", (TODAY, lead)).fetchone()
        if row is None:
            raise Refused(404, f"there is no lead {lead}")
        return dict(row)

    def _conversations(self, interest: str | None) -> list[dict[str, Any]]:
        leads = self._leads(interest)
        with self._connection() as db:
            for lead in leads:
                lead["messages"] = [
                    dict(row)
                    for row in db.execute(
                        "SELECT day, author, text FROM messages WHERE lead_id = ? ORDER BY day, rowid",
                        (lead["lead_id"],),
                    )
                ]
        return [lead for lead in leads if lead["messages"]]

    def _change(self, lead: str, request: Request) -> dict[str, Any]:
        body = request.body if isinstance(request.body, dict) else {}
        stage, note = body.get("stage"), body.get("note")
        if stage not in STAGES:
            raise Refused(422, f"a stage is one of {', '.join(STAGES)}")
        if note is not None and (not isinstance(note, str) or len(note) > MAX_NOTE):
            raise Refused(422, f"a note is a text of at most {MAX_NOTE} characters")
        expected = request.headers.get("if-match", "").strip('"')
        if not expected.isdecimal():
            raise Refused(428, "a change names the version that it is for: If-Match")
        key = request.headers.get("idempotency-key")
        with self._connection() as db:
            found = self._lead(db, lead)
            done = db.execute("SELECT lead_id FROM changes WHERE idempotency_key = ?", (key,)).fetchone()
            if done is not None:
                return found
            if found["version"] != int(expected):
                raise Refused(409, f"{lead} is at version {found['version']}, not {expected}")
            db.execute(
                "UPDATE leads SET stage = ?, note = coalesce(?, note), version = version + 1 WHERE lead_id = ?",
                (stage, note, lead),
            )
            if key is not None:
                db.execute("INSERT INTO changes VALUES (?,?,?)", (key, lead, found["version"] + 1))
            return self._lead(db, lead)


def main() -> None:
    """Serve one file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--port", type=int, default=7610)
    parser.add_argument("--database", type=Path, default=Path("crm.db"))
    arguments = parser.parse_args()
    serve("the CRM", arguments.port, Crm(arguments.database).answer)


if __name__ == "__main__":
    main()
