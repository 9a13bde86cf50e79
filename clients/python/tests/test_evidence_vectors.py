"""The vectors that the verifiers in Rust, TypeScript and Python share: testdata/evidence-log. No server is needed."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from charter_client.evidence_log import (
    _LEAF,
    EMPTY,
    Checkpoint,
    Head,
    Malformed,
    VerifierKey,
    _Frontier,
    extends,
    includes,
    leaf_hash,
    node_hash,
    verify,
)

VECTORS = Path(__file__).resolve().parents[3] / "testdata" / "evidence-log"


def vectors(name: str) -> Any:
    return json.loads((VECTORS / f"{name}.json").read_text(encoding="utf-8"))


TREE, NOTES, LEAVES, EXPORTS = map(vectors, ("tree", "notes", "leaves", "exports"))


def hashes(listed: list[str]) -> list[bytes]:
    return [bytes.fromhex(item) for item in listed]


def head(listed: dict[str, Any]) -> Head:
    return Head(listed["size"], bytes.fromhex(listed["root"]))


def test_hashes_of_leaves_and_nodes() -> None:
    assert TREE["empty"] == EMPTY.hex()
    for node in TREE["nodes"]:
        assert node_hash(*hashes([node["left"], node["right"]])).hex() == node["hash"]
    for log in TREE["logs"].values():
        for leaf in log["leaves"]:
            assert leaf_hash(bytes.fromhex(leaf["data"])).hex() == leaf["hash"]


@pytest.mark.parametrize("log", TREE["logs"].values(), ids=TREE["logs"])
def test_heads(log: Any) -> None:
    frontier = _Frontier()
    roots = [frontier.root().hex()]
    for leaf in log["leaves"]:
        frontier.push(bytes.fromhex(leaf["hash"]))
        roots.append(frontier.root().hex())
    assert roots == log["heads"]


@pytest.mark.parametrize("case", TREE["inclusion"], ids=lambda case: case["name"])
def test_inclusion(case: Any) -> None:
    leaf, root = hashes([case["leaf"], case["root"]])
    assert includes(case["index"], case["size"], leaf, hashes(case["proof"]), root) is case["valid"]


@pytest.mark.parametrize("case", TREE["consistency"], ids=lambda case: case["name"])
def test_consistency(case: Any) -> None:
    assert extends(head(case["old"]), head(case["new"]), hashes(case["proof"])) is case["valid"]


def test_keys() -> None:
    for vector in NOTES["keys"]:
        key = VerifierKey.parse(vector["key"])
        assert (str(key), key.name, key.id) == (vector["key"], vector["name"], vector["id"])
    for vector in NOTES["refused_keys"]:
        with pytest.raises(Malformed):
            VerifierKey.parse(vector["key"])


def test_notes() -> None:
    for vector in [*NOTES["opened"], *NOTES["signed"]]:
        assert VerifierKey.parse(vector["key"]).open(vector["note"]) == vector["text"]


@pytest.mark.parametrize("vector", NOTES["refused"], ids=lambda vector: vector["name"])
def test_a_changed_note_is_refused(vector: Any) -> None:
    with pytest.raises(Malformed):
        VerifierKey.parse(vector["key"]).open(vector["note"])


def test_checkpoints() -> None:
    for vector in NOTES["checkpoints"]:
        opened = Checkpoint.open(vector["note"], VerifierKey.parse(vector["key"]))
        assert opened == Checkpoint(vector["origin"], head(vector))


@pytest.mark.parametrize("vector", NOTES["refused_checkpoints"], ids=lambda vector: vector["name"])
def test_an_invalid_checkpoint_is_refused(vector: Any) -> None:
    with pytest.raises(Malformed):
        Checkpoint.open(vector["note"], VerifierKey.parse(vector["key"]))


def test_leaves() -> None:
    for vector in LEAVES["records"]:
        leaf = _LEAF.validate_json(vector["leaf"])
        record, payload = vector["record"].encode(), vector["payload"].encode()
        submitted = vector["evidence"].get("receipt")
        receipt = {"receipt": submitted} if submitted else {}
        assert leaf.model_dump(exclude_none=True) == receipt | {
            "kind": "record",
            "evidence_id": vector["evidence"]["id"],
            "record_sha256": hashlib.sha256(record).hexdigest(),
            "payload_sha256": hashlib.sha256(bytes.fromhex(vector["salt"]) + payload).hexdigest(),
        }
    for vector in LEAVES["others"]:
        assert _LEAF.validate_json(vector["leaf"]).model_dump() == vector["entry"]
    for vector in LEAVES["records"] + LEAVES["others"]:
        assert leaf_hash(vector["leaf"].encode()).hex() == vector["leaf_hash"]
    for vector in LEAVES["refused"]:
        with pytest.raises(ValidationError):
            _LEAF.validate_json(vector["leaf"])


@pytest.mark.parametrize("case", EXPORTS["cases"], ids=lambda case: f"{case['base']}: {case['name']}")
def test_exports(case: Any, tmp_path: Path) -> None:
    base = EXPORTS["bases"][case["base"]]
    export = tmp_path / "evidence.jsonl"
    lines = [base[line - 1] if isinstance(line, int) else line for line in case["lines"]]
    export.write_bytes("".join(lines).encode())
    verdict = verify(export, case.get("pinned"), case.get("since"), selection=case["accepts"] == "selection")
    assert [{"line": fault.line, "evidence_id": fault.evidence_id} for fault in verdict.faults] == case["faults"]
