#!/usr/bin/env python3
"""Writes the test vectors of the evidence log.

    make.py            writes the files beside this script
    make.py --check    fails if a file differs

The scripts here use the standard library only, and none of Charter's code. Before it writes anything, this script
compares its trees and its signatures with values that others published.
"""

from __future__ import annotations

import argparse
import base64
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

from merkle import EMPTY, is_consistent, is_included, leaf_hash, node_hash, path_of, proof_of, root_of, sha256
from signing import Signer, base64_of, public_key, sign

HERE = Path(__file__).resolve().parent
Case = dict[str, Any]


# --- values that others published


def compare(what: str, made: object, published: object) -> None:
    if made != published:
        sys.exit(f"make.py: {what}: made {made!r}, published {published!r}")


def hexes(hashes: list[bytes]) -> list[str]:
    return [item.hex() for item in hashes]


#: The leaves that the Certificate Transparency implementations test with, and their heads from no leaf to eight.
CT_LEAVES = [bytes.fromhex(data) for data in (
    "", "00", "10", "2021", "3031", "40414243", "5051525354555657", "606162636465666768696a6b6c6d6e6f",
)]  # fmt: skip
CT_HEADS = [
    "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
    "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
    "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
    "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
    "4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4",
    "76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef",
    "ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c",
    "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328",
]
#: Their proof that the log of six leaves is the beginning of the log of eight.
CT_PROOF_6_8 = [
    "0ebc5d3437fbe2db158b9f126a1d118e308181031d0a949f8dededebc558ef6a",
    "ca854ea128ed050b41b35ffc1b87b8eb2bde461e9e3b5596ece6b9d5975a0ae0",
    "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
]
#: The example of golang.org/x/mod/sumdb/note, which C2SP signed-note describes.
GO_SEED = base64.b64decode("gQoUAtUUbI2E8kQzMPVAgOv5juF9nHT2JS/F1ccoMXM=")
GO_KEY = "PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW"
GO_TEXT = "If you think cryptography is the answer to your problem,\nthen you don't know what your problem is.\n"
GO_SIGNATURE = (
    "\u2014 PeterNeumann x08go/ZJkuBS9UG/SffcvIAQxVBtiFupLLr8pAcElZInNIuGUgYN1FFYC2pZSNXgKvqfqdngotpRZb6KE6RyyBwJnAM=\n"
)
#: RFC 8032 section 7.1, test 3: seed, public key, message and signature.
RFC_8032 = (
    "c5aa8df43f9f837bedb7442f31dcb7b166d38535076f094b85ce3a2e0b4458f7",
    "fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025",
    "af82",
    "6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac"
    "18ff9b538d16f290ae67f760984dc6594a7c15e9716ed28dc027beceea1ec40a",
)


def compare_with_published() -> None:
    leaves = [leaf_hash(data) for data in CT_LEAVES]
    compare("heads", hexes([root_of(leaves[:size]) for size in range(9)]), CT_HEADS)
    compare("consistency from 6 to 8", hexes(proof_of(6, leaves)), CT_PROOF_6_8)
    seed, public, message, signature = map(bytes.fromhex, RFC_8032)
    compare("public key of RFC 8032", public_key(seed).hex(), public.hex())
    compare("signature of RFC 8032", sign(seed, message).hex(), signature.hex())
    signer = Signer("PeterNeumann", GO_SEED)
    compare("verifier key", str(signer), GO_KEY)
    compare("signed note", signer.note(GO_TEXT), f"{GO_TEXT}\n{GO_SIGNATURE}")


# --- tree.json


def bent(proof: list[bytes], at: int) -> list[bytes]:
    """The proof with one bit changed in one hash."""
    changed = bytearray(proof[at])
    changed[at % 32] ^= 0x10
    return [*proof[:at], bytes(changed), *proof[at + 1 :]]


def inclusion(name: str, index: int, size: int, leaf: bytes, proof: list[bytes], root: bytes) -> Case:
    valid = is_included(index, size, leaf, proof, root)
    case: Case = {"name": name, "index": index, "size": size, "leaf": leaf.hex(), "root": root.hex()}
    return case | {"proof": hexes(proof), "valid": valid}


def refused_inclusions(leaves: list[bytes], index: int) -> list[Case]:
    size, root, proof = len(leaves), root_of(leaves), path_of(index, leaves)
    own, other = leaves[index], leaves[(index + 1) % len(leaves)]

    def case(
        what: str,
        *,
        at: int = index,
        of: int = size,
        leaf: bytes = own,
        path: list[bytes] = proof,
        head: bytes = root,
    ) -> Case:
        return inclusion(f"leaf {index} of {size}, refused: {what}", at, of, leaf, path, head)

    cases = [
        case("a changed leaf", leaf=leaf_hash(b"changed")),
        case("another leaf of the log", leaf=other),
        case("the leaf's data hashed without its prefix", leaf=sha256(b"changed")),
        case("the index of another leaf", at=(index + 1) % size),
        case("an index that is the size", at=size),
        case("an index beyond the size", at=size + index + 1),
        case("half the size", of=(size + 1) // 2),
        case("twice the size", of=2 * size + 1),
        case("no leaves", of=0),
        case("no proof", path=[]),
        case("the proof without its first hash", path=proof[1:]),
        case("the proof without its last hash", path=proof[:-1]),
        case("the proof with a hash more at its end", path=[*proof, root]),
        case("the proof with a hash more at its start", path=[own, *proof]),
        case("the proof in reverse", path=proof[::-1]),
        case("a changed root", head=bent([root], 0)[0]),
        case("the root of one leaf less", head=root_of(leaves[:-1])),
    ]
    return cases + [case(f"a bit of hash {at} changed", path=bent(proof, at)) for at in range(len(proof))]


def consistency(name: str, old: int, old_root: bytes, new: int, new_root: bytes, proof: list[bytes]) -> Case:
    heads = {"old": {"size": old, "root": old_root.hex()}, "new": {"size": new, "root": new_root.hex()}}
    valid = is_consistent(old, old_root, new, new_root, proof)
    return {"name": name, **heads, "proof": hexes(proof), "valid": valid}


def refused_consistencies(leaves: list[bytes], first: int) -> list[Case]:
    size, proof = len(leaves), proof_of(first, leaves)
    old_root, new_root = root_of(leaves[:first]), root_of(leaves)

    def case(
        what: str,
        *,
        old: int = first,
        before: bytes = old_root,
        new: int = size,
        after: bytes = new_root,
        path: list[bytes] = proof,
    ) -> Case:
        return consistency(f"{first} leaves to {size}, refused: {what}", old, before, new, after, path)

    cases = [
        case("a changed leaf of the old log", before=root_of([leaf_hash(b"changed"), *leaves[1:first]])),
        case("a changed leaf of the new log", after=root_of([*leaves[:-1], leaf_hash(b"changed")])),
        case("the two roots exchanged", before=new_root, after=old_root),
        case("the two logs exchanged", old=size, before=new_root, new=first, after=old_root),
        case("the old log one leaf larger", old=first + 1),
        case("the new log of half the size", new=(size + 1) // 2),
        case("the new log of twice the size", new=2 * size + 1),
        case("the old log of the new size", old=size),
        case("no leaf in the old log", old=0),
        case("no proof", path=[]),
        case("the proof without its first hash", path=proof[1:]),
        case("the proof without its last hash", path=proof[:-1]),
        case("the proof with a hash more at its end", path=[*proof, new_root]),
        case("the proof with a hash more at its start", path=[old_root, *proof]),
    ]
    return cases + [case(f"a bit of hash {at} changed", path=bent(proof, at)) for at in range(len(proof))]


def log_of(data: list[bytes]) -> Case:
    hashes = [leaf_hash(leaf) for leaf in data]
    return {
        "leaves": [{"data": leaf.hex(), "hash": hashed.hex()} for leaf, hashed in zip(data, hashes, strict=True)],
        "heads": hexes([root_of(hashes[:size]) for size in range(len(data) + 1)]),
    }


def tree() -> Case:
    numbers = [str(number).encode() for number in range(100)]
    eight, hundred = [leaf_hash(data) for data in CT_LEAVES], [leaf_hash(data) for data in numbers]
    included: list[Case] = []
    consistent: list[Case] = []
    for name, log, sizes in (("eight", eight, range(9)), ("hundred", hundred, (64, 65, 99, 100))):
        for size in sizes:
            leaves, root = log[:size], root_of(log[:size])
            edges = sorted({0, 1, size // 2, size - 2, size - 1})
            for index in range(size) if name == "eight" else edges:
                case = inclusion(f"leaf {index} of {size}", index, size, log[index], path_of(index, leaves), root)
                included.append(case | {"log": name})
            for old in range(size + 1) if name == "eight" else [edge + 1 for edge in edges]:
                proof = proof_of(old, leaves)
                case = consistency(f"{old} leaves to {size}", old, root_of(log[:old]), size, root, proof)
                consistent.append(case | {"log": name})
    for case in included + consistent:
        compare(case["name"], case["valid"], True)
    refused = [
        case for log, index in ((eight, 5), (eight[:7], 6), (hundred, 97)) for case in refused_inclusions(log, index)
    ]
    refused_proofs = [
        case for log, old in ((eight, 6), (eight[:7], 4), (hundred, 65)) for case in refused_consistencies(log, old)
    ]
    refused_proofs += [
        consistency("no leaf, refused: a root that is not the empty one", 0, eight[0], 3, root_of(eight[:3]), []),
        consistency("no leaf, refused: a proof", 0, EMPTY, 3, root_of(eight[:3]), [eight[0]]),
        consistency("the same size, refused: another root", 3, eight[0], 3, root_of(eight[:3]), []),
        consistency("the same size, refused: a proof", 3, root_of(eight[:3]), 3, root_of(eight[:3]), [eight[0]]),
    ]
    for case in refused + refused_proofs:
        # A log of another size can have a proof of the same shape: none of the cases is one.
        compare(case["name"], case["valid"], False)
    return {
        "empty": EMPTY.hex(),
        "nodes": [
            {"left": left.hex(), "right": right.hex(), "hash": node_hash(left, right).hex()}
            for left, right in ((eight[0], eight[1]), (eight[1], eight[0]), (EMPTY, EMPTY))
        ],
        "logs": {"eight": log_of(CT_LEAVES), "hundred": log_of(numbers)},
        "inclusion": included + refused,
        "consistency": consistent + refused_proofs,
    }


# --- notes.json

ORIGIN = "charter.example/evidence/acme"
SIGNER = Signer(ORIGIN, bytes(range(32)))
OTHER = Signer("charter.example/evidence/other", bytes(range(32, 64)))


def notes() -> Case:
    peter = Signer("PeterNeumann", GO_SEED)
    note = peter.note(GO_TEXT)
    forged = {
        "a changed letter": note.replace("answer", "Answer"),
        "a changed bit of the signature": note.replace("x08go/ZJ", "x08go/ZK"),
        "a signature of another text": f"{GO_TEXT}\n{peter.line('another text' + chr(10))}",
    }
    unsigned = {
        "the id of another key": note.replace("x08g", "x18g"),
        "a signature by another key only": OTHER.note(GO_TEXT),
    }
    malformed = {
        "no empty line": note.replace("\n\n", "\n"),
        "no line feed at the end": note.removesuffix("\n"),
        "an empty line at the end": f"{note}\n",
        "a hyphen for the dash": note.replace("\u2014", "-"),
        "base64 without padding": note.replace("nAM=", "nAM"),
        "base64 with a stray bit": note.replace("nAM=", "nAN="),
        "a space in the base64": note.replace("x08g", "x0 8g"),
        "a tab in the text": note.replace(" is the", "\tis the"),
        "no signature": f"{GO_TEXT}\n",
        "a signature line without a signature": f"{GO_TEXT}\n\u2014 PeterNeumann x08gow==\n",
        "seventeen signatures": f"{GO_TEXT}\n{GO_SIGNATURE * 17}",
        "no text at all": "",
    }
    broken = {"forged": forged, "unsigned": unsigned, "malformed": malformed}
    keys = [GO_KEY, str(SIGNER), str(OTHER)]
    refused_keys = {
        "nothing": "",
        "a name only": "PeterNeumann",
        "no key": "PeterNeumann+c74f20a3",
        "another name": GO_KEY.replace("Neumann", "Neuman"),
        "an id in capital letters": GO_KEY.replace("c74f20a3", "C74F20A3"),
        "the id of another key": GO_KEY.replace("c74f20a3", "c74f20a4"),
        "another algorithm": GO_KEY.replace("+ARpc", "+Ahpc"),
        "a key that is too short": GO_KEY.removesuffix("W"),
        "a key with another bit": GO_KEY.replace("+ARpc2", "+ARpc3"),
        "a space before the name": f" {GO_KEY}",
        "no name": f"+{sha256(bytes([10]), peter.public)[:4].hex()}+{base64_of(peter.public)}",
    }
    return {
        "keys": [{"key": key, "name": key.split("+")[0], "id": key.split("+")[1]} for key in keys],
        "refused_keys": [{"name": name, "key": key} for name, key in refused_keys.items()],
        "signed": [
            {"seed": signer.seed.hex(), "key": str(signer), "text": text, "note": signer.note(text)}
            for signer, text in ((peter, GO_TEXT), (SIGNER, "a text\n"), (SIGNER, "two\n\nparagraphs\n"))
        ],
        "opened": [
            {"name": "one signature", "key": GO_KEY, "note": note, "text": GO_TEXT},
            {
                "name": "a signature by another key before",
                "key": GO_KEY,
                "note": f"{GO_TEXT}\n{OTHER.line(GO_TEXT)}{GO_SIGNATURE}",
                "text": GO_TEXT,
            },
            {
                "name": "a signature by another key after",
                "key": GO_KEY,
                "note": f"{GO_TEXT}\n{GO_SIGNATURE}{OTHER.line(GO_TEXT)}",
                "text": GO_TEXT,
            },
            {
                "name": "an empty line in the text",
                "key": str(SIGNER),
                "note": SIGNER.note("two\n\nparagraphs\n"),
                "text": "two\n\nparagraphs\n",
            },
        ],
        "refused": [
            {"name": name, "kind": kind, "key": GO_KEY, "note": text}
            for kind, cases in broken.items()
            for name, text in cases.items()
        ],
        **checkpoints(),
    }


def checkpoints() -> Case:
    leaves = [leaf_hash(data) for data in CT_LEAVES]
    root = base64_of(root_of(leaves))
    good = SIGNER.checkpoint(leaves)
    texts = {
        "an extension line": f"{ORIGIN}\n8\n{root}\nextension\n",
        "no root": f"{ORIGIN}\n8\n",
        "a size with a leading zero": f"{ORIGIN}\n08\n{root}\n",
        "a size with a sign": f"{ORIGIN}\n+8\n{root}\n",
        "a negative size": f"{ORIGIN}\n-8\n{root}\n",
        "a size with a fraction": f"{ORIGIN}\n8.0\n{root}\n",
        "no size": f"{ORIGIN}\n\n{root}\n",
        "a size of 65 bits": f"{ORIGIN}\n18446744073709551616\n{root}\n",
        "a root without padding": f"{ORIGIN}\n8\n{root.removesuffix('=')}\n",
        "a root of three bytes": f"{ORIGIN}\n8\nAAAA\n",
        "a root in hexadecimal": f"{ORIGIN}\n8\n{root_of(leaves).hex()}\n",
        "no origin": f"\n8\n{root}\n",
        "the origin of another log": f"{OTHER.name}\n8\n{root}\n",
    }
    refused = {name: (SIGNER, SIGNER.note(text)) for name, text in texts.items()}
    refused |= {
        "another size than the one signed": (SIGNER, good.replace("\n8\n", "\n7\n")),
        "another root than the one signed": (SIGNER, good.replace(root, base64_of(root_of(leaves[:7])))),
        "a changed signature": (SIGNER, good[:-10] + "AAAAAAA=\n"),
        "another key": (OTHER, good),
        "another key's signature, under this key's name": (
            SIGNER,
            Signer(ORIGIN, OTHER.seed).checkpoint(leaves),
        ),
        "no signature": (SIGNER, good.split("\n\n")[0] + "\n"),
    }
    return {
        "checkpoints": [
            {
                "seed": SIGNER.seed.hex(),
                "key": str(SIGNER),
                "note": SIGNER.checkpoint(leaves[:size]),
                "origin": ORIGIN,
                "size": size,
                "root": root_of(leaves[:size]).hex(),
            }
            for size in (0, 1, 2, 7, 8)
        ],
        "refused_checkpoints": [
            {"name": name, "key": str(signer), "note": note} for name, (signer, note) in refused.items()
        ],
    }


# --- leaves.json and exports.json


def compact(value: object) -> str:
    """JSON as Charter writes it: no blanks, letters as they are."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


TENANT = "acme"
AT = "2026-05-14T10:00:00.25Z"


def evidence(number: int, payload: Case, **more: Any) -> Case:
    """A record as a document, its fields in the order of the contract."""
    return {
        "id": f"ev_{number}",
        "schema_version": 1,
        "type": "api_call",
        "captured_at": "2026-05-13T09:14:22Z",
        "source": {"system": "aws.ec2", "region": "eu-west-1", "native_id": "i-0a1b"},
        "console_links": [{"label": "View", "href": "https://console.example/"}],
        "payload": payload,
        "summary": "It was so.",
        "attached_to": [],
        "tenant_id": TENANT,
    } | more


RECORDS = [
    evidence(1, {"n": 1}),
    evidence(2, {"n": 2, "text": 'quoted "word" \\ slash / \u00e9\u20ac\U0001f600'}, redaction_class="restricted"),
    evidence(3, {}, summary="Nothing was found: \u00e4\u00f6\u00fc.", attached_to=[{"run_id": "run-1"}]),
]

RECEIPT = {"received_at": AT, "submitted_by": "mia"}
SUBMITTED = evidence(4, {"n": 4}, type="manual_note", receipt=RECEIPT)


class Sealed:
    """A record with what its leaf commits to."""

    def __init__(self, record: Case) -> None:
        self.id: str = record["id"]
        self.salt = bytes([int(self.id.removeprefix("ev_"))]) * 32
        self.record = compact(record | {"payload": {}})
        self.payload = compact(record["payload"])
        self.leaf = compact(
            {
                "kind": "record",
                "evidence_id": self.id,
                "record_sha256": sha256(self.record.encode()).hex(),
                "payload_sha256": sha256(self.salt, self.payload.encode()).hex(),
            }
            | ({"receipt": record["receipt"]} if "receipt" in record else {})
        )


ATTACHED = compact({"kind": "attachment", "evidence_id": "ev_1", "attached_to": {"bundle_id": "b1"}, "at": AT})
REMOVED = compact({"kind": "payload_removed", "evidence_id": "ev_1", "at": AT})


def leaves() -> Case:
    known = Sealed(RECORDS[0]).leaf
    submitted = Sealed(SUBMITTED).leaf
    refused = {
        "no JSON": "",
        "no object": "[]",
        "no kind": known.replace('"kind":"record",', ""),
        "an unknown kind": known.replace('"record"', '"note"'),
        "an unknown field": known.replace("}", ',"more":1}'),
        "no id": known.replace('"evidence_id":"ev_1",', ""),
        "a digest that is a number": known.replace(sha256(Sealed(RECORDS[0]).record.encode()).hex(), "1").replace(
            '"1"', "1"
        ),
        "something after the object": f"{known}{{}}",
        "an attachment to nothing": ATTACHED.replace('"attached_to":{"bundle_id":"b1"},', ""),
        "a removal without a time": REMOVED.replace(f',"at":"{AT}"', ""),
        "a receipt without a submitter": submitted.replace(',"submitted_by":"mia"', ""),
        "a receipt with an unknown field": submitted.replace('"mia"', '"mia","more":1'),
    }
    return {
        "records": [
            {
                "evidence": record,
                "salt": sealed.salt.hex(),
                "record": sealed.record,
                "record_sha256": sha256(sealed.record.encode()).hex(),
                "payload": sealed.payload,
                "payload_sha256": sha256(sealed.salt, sealed.payload.encode()).hex(),
                "leaf": sealed.leaf,
                "leaf_hash": leaf_hash(sealed.leaf.encode()).hex(),
            }
            for record, sealed in ((record, Sealed(record)) for record in [*RECORDS, SUBMITTED])
        ],
        "others": [
            {"entry": json.loads(leaf), "leaf": leaf, "leaf_hash": leaf_hash(leaf.encode()).hex()}
            for leaf in (ATTACHED, REMOVED)
        ],
        "refused": [{"name": name, "leaf": leaf} for name, leaf in refused.items()],
    }


def log_lines() -> list[Case]:
    """The log: three records; then the first is attached to a bundle and loses its payload."""
    lines: list[Case] = [
        {"leaf": sealed.leaf, "record": sealed.record, "payload": {"salt": sealed.salt.hex(), "text": sealed.payload}}
        for sealed in map(Sealed, RECORDS)
    ]
    del lines[0]["payload"]
    return [*lines, {"leaf": ATTACHED}, {"leaf": REMOVED}]


def line_of(index: int, line: Case, proof: list[bytes]) -> Case:
    """A line with its fields in the order of an export."""
    ordered: Case = {"index": index, "leaf": line["leaf"], "proof": hexes(proof)}
    return ordered | {name: line[name] for name in ("record", "payload", "withheld") if name in line}


def export_of(lines: list[Case], coverage: str = "complete", signer: Signer = SIGNER) -> list[Case]:
    """Header and lines of a log that consists of these lines."""
    hashes = [leaf_hash(line["leaf"].encode()) for line in lines]
    header = {
        "format": "charter-evidence/1",
        "tenant_id": TENANT,
        "coverage": coverage,
        "key": str(signer),
        "checkpoint": signer.checkpoint(hashes),
    }
    return [header, *(line_of(index, line, path_of(index, hashes)) for index, line in enumerate(lines))]


class Exports:
    """Exports of one log. Each is given as numbers of lines of a sound export, from 1, and texts of changed lines."""

    #: The lines of the whole log, and of the proof of each record: the header, and its leaves.
    WHOLE: ClassVar = [1, 2, 3, 4, 5, 6]
    PROOFS: ClassVar = {"ev_1": [1, 2, 5, 6], "ev_2": [1, 3], "ev_3": [1, 4]}

    def __init__(self) -> None:
        self.bases = {coverage: written(export_of(log_lines(), coverage)) for coverage in ("complete", "selection")}
        self.cases: list[Case] = []

    def add(self, name: str, lines: list[Any], *faults: tuple[int | None, str | None], **more: Any) -> None:
        """An export with the line and the record of each fault; with `record` it is the proof of that record."""
        base = "selection" if "record" in more else "complete"
        listed = [{"line": line, "evidence_id": record} for line, record in faults]
        self.cases.append({"name": name, "base": base, "accepts": base, "lines": lines, "faults": listed} | more)

    def add_changed(
        self, name: str, at: int, change: Callable[[Case], Any], fault_of: str | None, proof_of: str
    ) -> None:
        """Line `at` with a change, which is a fault: in the whole log, and in the proof of a record."""
        places = self.WHOLE, self.PROOFS[proof_of]
        for base, numbers, more in zip(self.bases, places, ({}, {"record": proof_of}), strict=True):
            line = json.loads(self.bases[base][at - 1])
            change(line)
            lines = [written([line])[0] if number == at else number for number in numbers]
            self.add(name, lines, (numbers.index(at) + 1, fault_of), **more)


def exports() -> Case:
    made = Exports()
    sound_exports(made)
    changed_lines(made)
    changed_headers(made)
    changed_order(made)
    rewritten_lines(made)
    older_checkpoints(made)
    submitted_records(made)
    return {"bases": made.bases, "cases": made.cases}


def sound_exports(made: Exports) -> None:
    made.add("the whole log", made.WHOLE)
    made.add("the whole log, signed by the known key", made.WHOLE, pinned=str(SIGNER))
    for record, lines in made.PROOFS.items():
        made.add("the proof of a record", lines, record=record)
        made.add("the proof of a record, signed by the known key", lines, record=record, pinned=str(SIGNER))
    withheld = json.loads(made.bases["complete"][2])
    withholding("restricted")(withheld)
    line = written([withheld])[0]
    made.add("a payload withheld for its class", [1, 2, line, 4, 5, 6])
    made.add("a payload withheld for its class", [1, line], record="ev_2")


def changed_lines(made: Exports) -> None:
    def change(name: str, change: Callable[[Case], Any]) -> None:
        made.add_changed(name, 3, change, "ev_2", "ev_2")

    change("a word of the record", replacing("record", "It was so", "It was not"))
    change("the record removed", lambda line: line.pop("record"))
    change("the record of another", lambda line: line.update(record=Sealed(RECORDS[2]).record))
    change("a digit of the payload", lambda line: line["payload"].update(text='{"n":9}'))
    change("the salt", lambda line: line["payload"].update(salt="09" * 32))
    change("withheld for a class that the record lacks", withholding("secret"))
    change("a leaf made to fit a changed record", forging)
    change("a bit of the inclusion proof", bending)
    change("the inclusion proof without its last hash", lambda line: line["proof"].pop())
    change("the inclusion proof without its first hash", lambda line: line["proof"].pop(0))
    change("the inclusion proof with a hash more", lambda line: line["proof"].append("00" * 32))
    made.add_changed("an attachment to something else", 5, replacing("leaf", '"b1"', '"b2"'), "ev_1", "ev_1")


def changed_headers(made: Exports) -> None:
    def change(name: str, change: Callable[[Case], Any]) -> None:
        made.add_changed(name, 1, change, None, "ev_2")

    change("another tenant", lambda header: header.update(tenant_id="other"))
    change("another format", lambda header: header.update(format="charter-evidence/9"))
    change("another size of the log", replacing("checkpoint", "\n5\n", "\n4\n"))
    change("another root", lambda header: header.update(checkpoint=another_root(header["checkpoint"])))
    change("no signature", lambda header: header.update(checkpoint=header["checkpoint"].split("\n\n")[0] + "\n"))
    change("the id of another key", replacing("key", SIGNER.id.hex(), "00000000"))
    made.add("signed by another key than the known one", made.WHOLE, (1, None), pinned=str(OTHER))
    made.add("signed by another key than the known one", [1, 3], (1, None), pinned=str(OTHER), record="ev_2")


def changed_order(made: Exports) -> None:
    payload = json.loads(made.bases["complete"][2])
    del payload["payload"]
    made.add("a payload removed without a leaf", [1, 2, written([payload])[0], 4, 5, 6], (3, "ev_2"))
    made.add("a leaf removed", [1, 2, 4, 5, 6], (3, None))
    made.add("the last leaves removed", [1, 2, 3, 4], (None, None), (2, "ev_1"))
    made.add("every leaf removed", [1], (None, None))
    made.add("two leaves exchanged", [1, 2, 4, 3, 5, 6], (3, None), (4, "ev_2"))
    made.add("a leaf twice", [1, 2, 3, 3, 4, 5, 6], (4, "ev_2"), (4, "ev_2"))
    made.add("a selection in place of the whole log", made.WHOLE, (1, None), base="selection")


def rewritten_lines(made: Exports) -> None:
    third, last = made.bases["complete"][2], made.bases["complete"][5]
    for name, line in {
        "a blank in a line": third.replace(',"leaf":', ', "leaf":'),
        "a carriage return": third.replace("\n", "\r\n"),
        "an escape in a line": third.replace("It was so", "\\u0049t was so"),
    }.items():
        made.add(name, [1, 2, line, 4, 5, 6], (3, "ev_2"))
    made.add("no line feed at the end", [1, 2, 3, 4, 5, last.removesuffix("\n")], (6, "ev_1"))


def older_checkpoints(made: Exports) -> None:
    data = [line["leaf"].encode() for line in log_lines()]
    hashes = [leaf_hash(leaf) for leaf in data]
    for size in (0, 1, 3, 4, 5):
        name = f"continues a checkpoint of {size} leaves"
        made.add(name, made.WHOLE, since=SIGNER.checkpoint(hashes[:size]))
    exchanged = SIGNER.checkpoint([hashes[1], hashes[0], hashes[2]])
    made.add("an older checkpoint of other leaves", made.WHOLE, (None, None), since=exchanged)
    longer = SIGNER.checkpoint([*hashes, hashes[0]])
    made.add("an older checkpoint of more leaves", made.WHOLE, (None, None), since=longer)
    foreign = OTHER.checkpoint(hashes[:3])
    made.add("an older checkpoint of another log", made.WHOLE, (1, None), since=foreign)


def submitted_records(made: Exports) -> None:
    """Exports of a log that has one submitted record; the leaf and the record must have the same receipt."""
    sealed = Sealed(SUBMITTED)
    payload = {"salt": sealed.salt.hex(), "text": sealed.payload}
    line = {"leaf": sealed.leaf, "record": sealed.record, "payload": payload}
    without = {name: value for name, value in json.loads(sealed.leaf).items() if name != "receipt"}
    fault = (2, sealed.id)
    for name, leaf, faults in (
        ("a submitted record", sealed.leaf, []),
        ("a leaf with another submitter than its record", sealed.leaf.replace('"mia"', '"eve"'), [fault]),
        ("a leaf without the receipt of its record", compact(without), [fault]),
    ):
        made.add(name, written(export_of([line | {"leaf": leaf}])), *faults)
        alone = written(export_of([line | {"leaf": leaf}], "selection"))
        made.add(name, alone, *faults, record=sealed.id)


def written(lines: list[Case]) -> list[str]:
    return [compact(line) + "\n" for line in lines]


def replacing(name: str, old: str, new: str) -> Callable[[Case], None]:
    def change(line: Case) -> None:
        assert old in line[name]
        line[name] = line[name].replace(old, new)

    return change


def withholding(redaction_class: str) -> Callable[[Case], None]:
    def change(line: Case) -> None:
        del line["payload"]
        line["withheld"] = redaction_class

    return change


def forging(line: Case) -> None:
    record = line["record"].replace("It was so", "It was not")
    leaf = json.loads(line["leaf"]) | {"record_sha256": sha256(record.encode()).hex()}
    line["leaf"], line["record"] = compact(leaf), record


def bending(line: Case) -> None:
    line["proof"] = hexes(bent([bytes.fromhex(item) for item in line["proof"]], 1))


def another_root(checkpoint: str) -> str:
    return checkpoint.replace(checkpoint.split("\n")[2], base64_of(EMPTY))


# --- files

FILES: dict[str, Callable[[], Case]] = {
    "exports.json": exports,
    "leaves.json": leaves,
    "notes.json": notes,
    "tree.json": tree,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="write nothing, and fail if a file differs")
    check = parser.parse_args().check
    compare_with_published()
    for name, make in FILES.items():
        file, text = HERE / name, json.dumps(make(), indent=1) + "\n"
        if check and (not file.exists() or file.read_text(encoding="utf-8") != text):
            sys.exit(f"{file}: differs from what make.py writes")
        if not check:
            file.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
