"""Checking exported evidence without a server, and without Charter.

An export is the work of whoever is not trusted. Its form, and what is to be
checked, is in docs/reference/evidence.md; this is a second implementation of it beside
`charter evidence verify`, and says the same in the same words. The tree is that of
RFC 9162 section 2.1 with SHA-256, the head a C2SP checkpoint in a C2SP signed note,
the signature Ed25519.

    from charter_client.evidence_log import verify

    verdict = verify("evidence.jsonl", key="charter/evidence/acme+c74f20a3+ARpc...")
    print(verdict.is_good, verdict.faults)

Signatures need the extra: `pip install charter-client[evidence]`.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from charter_client.contract import Evidence, EvidenceAttachment
from charter_client.errors import CharterError

#: The one form so far.
FORMAT = "charter-evidence/1"
#: Longest line that is read, in bytes.
MAX_LINE = 16 << 20
#: Largest note, in bytes, and most signatures of one.
MAX_NOTE = 64 << 10
MAX_SIGNATURES = 16
#: Faults that are kept; more are counted.
MAX_FAULTS = 1_000
#: Ed25519 among the signature types of C2SP.
ED25519 = 1
#: The fault of a line that has the exported values and not the exported bytes.
REWRITTEN = "the line was rewritten: its content is equal, but its bytes differ from the export"
#: Classes whose payload everybody sees who sees the record.
OPEN_CLASSES = (None, "standard")


class Malformed(CharterError):
    """A key, note or checkpoint that is not sound. The message says in what."""


# --- hashes and proofs: RFC 9162 section 2.1


def leaf_hash(data: bytes) -> bytes:
    """The hash of a leaf: of the byte 0 and its data."""
    return hashlib.sha256(b"\x00" + data).digest()


def node_hash(left: bytes, right: bytes) -> bytes:
    """The hash of an inner node: of the byte 1 and its two sides."""
    return hashlib.sha256(b"\x01" + left + right).digest()


EMPTY = hashlib.sha256(b"").digest()


def includes(index: int, size: int, leaf: bytes, proof: list[bytes], root: bytes) -> bool:
    """Whether the proof shows that the leaf is at `index` of the log of that size and root (2.1.3.2)."""
    if not 0 <= index < size:
        return False
    at, last, node = index, size - 1, leaf
    for sibling in proof:
        if last == 0:
            return False
        if at & 1 or at == last:
            node = node_hash(sibling, node)
            while at and not at & 1:
                at, last = at >> 1, last >> 1
        else:
            node = node_hash(node, sibling)
        at, last = at >> 1, last >> 1
    return last == 0 and node == root


@dataclass(frozen=True)
class Head:
    """A log's number of leaves and its hash."""

    size: int
    root: bytes


def extends(old: Head, new: Head, proof: list[bytes]) -> bool:
    """Whether the proof shows that the old log is the beginning of the new one (2.1.4.2)."""
    if old.size == 0:
        return not proof and old.root == EMPTY
    if old.size >= new.size:
        return not proof and old == new
    # Where the old log is one perfect subtree its root is the first hash of the path.
    path = [old.root, *proof] if old.size & (old.size - 1) == 0 else list(proof)
    if not path:
        return False
    at, last = old.size - 1, new.size - 1
    while at & 1:
        at, last = at >> 1, last >> 1
    old_root = new_root = path[0]
    for node in path[1:]:
        if last == 0:
            return False
        if at & 1 or at == last:
            old_root, new_root = node_hash(node, old_root), node_hash(node, new_root)
            while at and not at & 1:
                at, last = at >> 1, last >> 1
        else:
            new_root = node_hash(new_root, node)
        at, last = at >> 1, last >> 1
    return last == 0 and old_root == old.root and new_root == new.root


class _Frontier:
    """The root of the leaves so far, held as the perfect subtrees that they make."""

    def __init__(self) -> None:
        self.size = 0
        self._subtrees: list[bytes] = []

    def push(self, leaf: bytes) -> None:
        node, ones = leaf, self.size
        while ones & 1:
            node, ones = node_hash(self._subtrees.pop(), node), ones >> 1
        self._subtrees.append(node)
        self.size += 1

    def root(self) -> bytes:
        if not self._subtrees:
            return EMPTY
        *rest, node = self._subtrees
        for left in reversed(rest):
            node = node_hash(left, node)
        return node


# --- signed notes and checkpoints: C2SP signed-note, tlog-checkpoint


@dataclass(frozen=True)
class VerifierKey:
    """A public key with its name, written `name+id+key`."""

    name: str
    id: str
    key: bytes

    @classmethod
    def parse(cls, text: str) -> VerifierKey:
        """Reads a key; raises :class:`Malformed`."""
        # Base64 may hold a `+`, a name may not.
        parts = text.split("+", 2)
        if len(parts) != 3:
            raise Malformed("not a verifier key: expected name, id and key, joined by `+`")
        name, id_, encoded = parts
        key = _base64(encoded)
        if key is None or len(key) != 33 or key[0] != ED25519:
            raise Malformed("not a verifier key: not the base64 of an Ed25519 key")
        _check_name(name)
        if hashlib.sha256(name.encode() + b"\n" + key).digest()[:4].hex() != id_:
            raise Malformed("not a verifier key: the id does not belong to the name and the key")
        return cls(name, id_, key[1:])

    def __str__(self) -> str:
        return f"{self.name}+{self.id}+{base64.b64encode(bytes([ED25519]) + self.key).decode()}"

    def open(self, note: str) -> str:
        """The text of a note that this key signed; signatures by others are not looked at."""
        text, signatures = _parse_note(note)
        shown = f"{self.name} ({self.id})"
        own = next((blob for name, blob in signatures if name == self.name and blob[:4].hex() == self.id), None)
        if own is None:
            raise Malformed(f"the note is not signed by the key {shown}")
        if not _signed(self.key, own[4:], text.encode()):
            raise Malformed(f"the signature by the key {shown} is wrong")
        return text


def _signed(key: bytes, signature: bytes, text: bytes) -> bool:
    try:
        from cryptography.exceptions import InvalidSignature
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
    except ImportError as error:
        raise CharterError("checking signatures needs: pip install 'charter-client[evidence]'") from error
    try:
        Ed25519PublicKey.from_public_bytes(key).verify(signature, text)
    except (InvalidSignature, ValueError):
        return False
    return True


def _check_name(name: str) -> None:
    if not name or any(c.isspace() or c == "+" or not c.isprintable() for c in name):
        raise Malformed("a key's name must not be empty or contain spaces, control characters or `+`")


def _base64(text: str) -> bytes | None:
    try:
        decoded = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return None
    # One text for one value: no stray bits.
    return decoded if base64.b64encode(decoded).decode() == text else None


def _parse_note(note: str) -> tuple[str, list[tuple[str, bytes]]]:
    def refused(what: str) -> Malformed:
        return Malformed(f"not a signed note: {what}")

    if len(note.encode()) > MAX_NOTE:
        raise refused("it is too large")
    at = note.rfind("\n\n")
    if at < 0:
        raise refused("there is no empty line before the signatures")
    text, lines = note[: at + 1], note[at + 2 :]
    if any((ord(c) < 32 and c != "\n") or ord(c) == 127 for c in text):
        raise refused("it has control characters")
    if not lines.endswith("\n"):
        raise refused("the last line does not end")
    signatures = []
    for line in lines[:-1].split("\n"):
        parts = line.split(" ", 2)
        blob = _base64(parts[2]) if len(parts) == 3 and parts[0] == "\u2014" else None
        if blob is None or len(blob) <= 4:
            raise refused("a signature line is not `\u2014 name base64`")
        _check_name(parts[1])
        signatures.append((parts[1], blob))
    if len(signatures) > MAX_SIGNATURES:
        raise refused("it has too many signatures")
    return text, signatures


@dataclass(frozen=True)
class Checkpoint:
    """A log's head under the log's name."""

    origin: str
    head: Head

    @classmethod
    def open(cls, note: str, key: VerifierKey) -> Checkpoint:
        """The checkpoint of a note, when the key signed it and has its name; raises :class:`Malformed`."""

        def refused(what: str) -> Malformed:
            return Malformed(f"the signed text is not a checkpoint: {what}")

        lines = key.open(note).removesuffix("\n").split("\n")
        if len(lines) != 3:
            raise refused("it does not have exactly three lines")
        origin, size, encoded = lines
        if not (size.isascii() and size.isdigit() and str(int(size)) == size and int(size) < 1 << 64):
            raise refused("its size is not written in plain decimal digits")
        root = _base64(encoded)
        if root is None or len(root) != 32:
            raise refused("its hash is not base64 of 32 bytes")
        if origin != key.name:
            raise Malformed(f"the checkpoint is of the log `{origin}`, but the key signs for `{key.name}`")
        return cls(origin, Head(int(size), root))


# --- exports


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class _Header(_Strict):
    format: str
    tenant_id: str
    coverage: Literal["complete", "selection"]
    key: str
    checkpoint: str


class _Payload(_Strict):
    salt: str
    text: str


class _Line(_Strict):
    index: int = Field(ge=0, lt=1 << 64)
    leaf: str
    proof: list[str]
    record: str | None = None
    payload: _Payload | None = None
    withheld: str | None = None


class _Receipt(_Strict):
    received_at: str
    submitted_by: str


class _RecordLeaf(_Strict):
    kind: Literal["record"]
    evidence_id: str
    record_sha256: str
    payload_sha256: str
    receipt: _Receipt | None = None


class _AttachmentLeaf(_Strict):
    kind: Literal["attachment"]
    evidence_id: str
    attached_to: dict[str, Any]
    at: str


class _RemovalLeaf(_Strict):
    kind: Literal["payload_removed"]
    evidence_id: str
    at: str


_Leaf = _RecordLeaf | _AttachmentLeaf | _RemovalLeaf
_LEAF: TypeAdapter[_Leaf] = TypeAdapter(_Leaf)


@dataclass(frozen=True)
class Fault:
    """One thing that is wrong with an export."""

    problem: str
    #: The line of the file, from 1; nothing for what is wrong with the whole.
    line: int | None = None
    evidence_id: str | None = None

    def __str__(self) -> str:
        line = f"line {self.line}: " if self.line is not None else ""
        record = f"{self.evidence_id}: " if self.evidence_id else ""
        return f"{line}{record}{self.problem}"


@dataclass
class Verdict:
    """What checking an export came to."""

    #: The log's name, and the key that signed; empty when the header is not sound.
    origin: str = ""
    key: str = ""
    #: Leaves of the checkpoint, and its hash in hexadecimal.
    size: int = 0
    root: str = ""
    #: `complete` when every leaf of the checkpoint was there to be checked, else `selection`.
    coverage: str = ""
    #: Leaves that were read, records among them, payloads checked, removed and withheld.
    leaves: int = 0
    records: int = 0
    payloads: int = 0
    removed: int = 0
    withheld: int = 0
    faults: list[Fault] = field(default_factory=list)
    #: Faults beyond those that are listed.
    more_faults: int = 0

    @property
    def is_good(self) -> bool:
        """Whether nothing is wrong."""
        return not self.faults


def verify(
    export: str | Path | Iterable[str],
    key: str | None = None,
    since: str | Path | None = None,
    *,
    selection: bool = False,
) -> Verdict:
    """Checks an export: a file, or its lines.

    `key` is the public key that must have signed (`name+id+key`), had by another way than the
    export. Without it the export's own key is believed, which shows that nothing was changed since it
    was signed, and not by whom. `since` is an older checkpoint, as the text of its note or as a file,
    which may also be an older complete export: its log must be the beginning of this one. With
    `selection` the export may hold some records only: what was left out of it is not found.

    Raises :class:`Malformed` for a key that is none, `OSError` for a file that cannot be read.
    """
    pinned = VerifierKey.parse(key.strip()) if key is not None else None
    older = _older(since) if since is not None else None
    lines = _lines(Path(export)) if isinstance(export, (str, Path)) else _ended(export)
    try:
        verifier = Verifier(next(lines, ""), pinned, older, selection)
    except Malformed as error:
        return Verdict(faults=[Fault(str(error), line=1)])
    for number, line in enumerate(lines, start=2):
        verifier.line(number, line)
    return verifier.finish()


def verify_consistency(proved: Any, key: str) -> bool:
    """Whether an answer of `evidence.get_consistency_proof` shows that its first head is the beginning of its second.

    Heads with a checkpoint are taken from it, which `key` must have signed.
    """
    verifier_key = VerifierKey.parse(key.strip())

    def head(shown: Any) -> Head:
        claimed = Head(shown.size, _hash(shown.root))
        if shown.checkpoint is not None and Checkpoint.open(shown.checkpoint, verifier_key).head != claimed:
            raise Malformed("the head is not the one of its checkpoint")
        return claimed

    return extends(head(proved.from_), head(proved.to), [_hash(node) for node in proved.proof])


def _older(since: str | Path) -> str:
    if isinstance(since, str) and "\n" in since:
        return since
    first = next(_lines(Path(since)), "")
    try:
        return _Header.model_validate_json(first).checkpoint
    except ValidationError:
        with Path(since).open("rb") as file:
            return file.read(MAX_NOTE).decode("utf-8", errors="replace")


def _ended(lines: Iterable[str]) -> Iterator[str]:
    """Lines with their ends, which those of a list may lack."""
    return (line if line.endswith("\n") else f"{line}\n" for line in lines)


def _lines(path: Path) -> Iterator[str]:
    """The lines of a file with their ends, each of bounded length. What is not UTF-8 becomes text that no leaf has."""
    with path.open("rb") as file:
        while line := file.readline(MAX_LINE + 1):
            if len(line) > MAX_LINE and not line.endswith(b"\n"):
                raise CharterError(f"{path}: a line is longer than {MAX_LINE} bytes")
            yield line.decode("utf-8", errors="replace")


def _hash(text: str) -> bytes:
    if len(text) != 64 or any(c not in "0123456789abcdef" for c in text):
        raise Malformed("expected 64 lower-case hexadecimal digits")
    return bytes.fromhex(text)


class Verifier:
    """Checks an export line by line, in the memory of its ids."""

    def __init__(self, header: str, pinned: VerifierKey | None, since: str | None, selection: bool) -> None:
        self._header = self._read_header(header)
        try:
            key = VerifierKey.parse(self._header.key)
        except Malformed as error:
            raise Malformed(f"the key: {error}") from error
        if pinned is not None and pinned != key:
            raise Malformed(f"it is signed by {key}, not by {pinned}")
        checkpoint = self._open("the checkpoint", self._header.checkpoint, key)
        if not checkpoint.origin.endswith(f"/evidence/{self._header.tenant_id}"):
            tenant = self._header.tenant_id
            raise Malformed(f"the log `{checkpoint.origin}` does not belong to the tenant `{tenant}`")
        self._since = self._open("the older checkpoint", since, key).head if since is not None else None
        self._head = checkpoint.head
        self._complete = self._header.coverage == "complete"
        self._frontier = _Frontier()
        #: By record: `checked`, `withheld`, `removed`, or the line at which its payload is absent.
        self._payloads: dict[str, str | int] = {}
        self._last: str | None = None
        self._next = 0
        self._verdict = Verdict(
            origin=checkpoint.origin,
            key=self._header.key,
            size=self._head.size,
            root=self._head.root.hex(),
            coverage=self._header.coverage,
        )
        self._look_at_header(header, selection)
        self._compare_with_older()

    def _look_at_header(self, written: str, selection: bool) -> None:
        """What the header says beside its checkpoint."""
        if not self._complete and not selection:
            problem = "the export is a selection, but the whole log is expected: omitted records cannot be verified"
            self._fault(problem, 1)
        if not _is_as_exported(written, self._header):
            self._fault(REWRITTEN, 1)

    @staticmethod
    def _read_header(text: str) -> _Header:
        try:
            header = _Header.model_validate_json(text)
        except ValidationError as error:
            raise Malformed(f"not a header of an export: {_first(error)}") from error
        if header.format != FORMAT:
            raise Malformed(f"the format is `{header.format}`; this version reads `{FORMAT}`")
        return header

    @staticmethod
    def _open(what: str, note: str, key: VerifierKey) -> Checkpoint:
        try:
            return Checkpoint.open(note, key)
        except Malformed as error:
            raise Malformed(f"{what}: {error}") from error

    def line(self, number: int, text: str) -> None:
        """Checks the next line; `number` is its place in the file, from 1."""
        self._verdict.leaves += 1
        try:
            line = _Line.model_validate_json(text)
            proof = [_hash(node) for node in line.proof]
        except (ValidationError, Malformed) as error:
            return self._fault(f"not a leaf: {_first(error)}", number)
        try:
            leaf = _LEAF.validate_json(line.leaf)
        except ValidationError as error:
            self._place(number, line, None)
            return self._fault(f"leaf {line.index} has unknown content: {_first(error)}", number)
        self._place(number, line, leaf.evidence_id)
        if not _is_as_exported(text, line):
            self._fault(REWRITTEN, number, leaf.evidence_id)
        if not includes(line.index, self._head.size, leaf_hash(line.leaf.encode()), proof, self._head.root):
            self._fault(f"leaf {line.index} is not in the log: its proof fails", number, leaf.evidence_id)
        self._entry(number, line, leaf)
        self._last = leaf.evidence_id

    def finish(self) -> Verdict:
        """Ends the export."""
        if self._complete and self._next < self._head.size:
            self._missing(None, self._next, self._head.size, None)
        for id_, state in self._payloads.items():
            if isinstance(state, int):
                self._fault("the payload is missing, and no leaf records its removal", state, id_)
        states = list(self._payloads.values())
        self._verdict.records = len(states)
        self._verdict.payloads = states.count("checked")
        self._verdict.removed = states.count("removed")
        self._verdict.withheld = states.count("withheld")
        return self._verdict

    def _place(self, number: int, line: _Line, id_: str | None) -> None:
        """Whether the line stands where its leaf does."""
        if line.index < self._next:
            problem = f"leaf {line.index} is out of order: leaf {self._next} or a later one belongs here"
            return self._fault(problem, number, id_)
        if self._complete:
            if line.index > self._next:
                self._missing(number, self._next, line.index, id_)
            else:
                self._frontier.push(leaf_hash(line.leaf.encode()))
                self._reach_older()
        self._next = line.index + 1

    def _missing(self, number: int | None, start: int, end: int, before: str | None) -> None:
        leaves = f"leaf {start} was removed" if end - start == 1 else f"leaves {start} to {end - 1} were removed"
        after = f" after {self._last}" if self._last else ""
        self._fault(f"{leaves}{after}{f' before {before}' if before else ''}", number)

    def _entry(self, number: int, line: _Line, leaf: _Leaf) -> None:
        id_ = leaf.evidence_id
        if isinstance(leaf, _RecordLeaf):
            if id_ in self._payloads:
                self._fault("it is duplicated", number, id_)
            redaction_class = self._record(number, line, leaf)
            self._payloads[id_] = self._payload(number, line, leaf, redaction_class)
            return
        if isinstance(leaf, _AttachmentLeaf) and not _names_one_thing(leaf.attached_to):
            self._fault("an attachment must have exactly one target", number, id_)
        # A leaf that is not a record's brings nothing, and comes after the record's.
        if line.record is not None or line.payload is not None or line.withheld is not None:
            self._fault("the line has a record, but its leaf has none", number, id_)
        if id_ not in self._payloads:
            self._fault("its record does not precede it", number, id_)
        elif isinstance(leaf, _RemovalLeaf):
            self._payloads[id_] = "removed"

    def _record(self, number: int, line: _Line, leaf: _RecordLeaf) -> str | None:
        """Checks the record's text; gives its redaction class."""
        id_ = leaf.evidence_id
        if line.record is None:
            self._fault("the record was removed; its leaf is still there", number, id_)
            return None
        try:
            record = Evidence.model_validate_json(line.record)
            document = json.loads(line.record)
        except ValueError as error:
            record, document, problem = None, {}, f"the record violates its contract: {_first(error)}"
        else:
            own = document.get("id", document.get("_id")) == id_
            own = own and document.get("tenant_id") == self._header.tenant_id
            problem = "" if own else "the record has another id or tenant"
            receipt = leaf.receipt.model_dump() if leaf.receipt is not None else None
            if own and document.get("receipt") != receipt:
                problem = "the record has another receipt than its leaf"
        if hashlib.sha256(line.record.encode()).hexdigest() != leaf.record_sha256:
            problem = "the record was changed: it does not match its leaf"
        if problem:
            self._fault(problem, number, id_)
        return record.redaction_class if record is not None else None

    def _payload(self, number: int, line: _Line, leaf: _RecordLeaf, redaction_class: str | None) -> str | int:
        id_, payload = leaf.evidence_id, line.payload
        if payload is None:
            if line.withheld is None:
                return number
            if line.withheld != redaction_class or redaction_class in OPEN_CLASSES:
                problem = f"the payload is withheld as `{line.withheld}`, which is not its redaction class"
                self._fault(problem, number, id_)
            return "withheld"
        if line.withheld is not None:
            self._fault("the payload is marked as withheld but is present", number, id_)
        elif _payload_sha256(payload) != leaf.payload_sha256:
            self._fault("the payload was changed: it does not match its leaf", number, id_)
        elif not _is_object(payload.text):
            self._fault("the payload is not a JSON object", number, id_)
        return "checked"

    def _compare_with_older(self) -> None:
        """What sizes alone say about an older checkpoint."""
        if self._since is None:
            return
        old, new = self._since.size, self._head.size
        if old > new:
            self._fault(f"the log has shrunk: it had {old} leaves and has {new}")
        elif not self._complete:
            self._fault("only a complete export can be compared with an older checkpoint")
        else:
            self._reach_older()

    def _reach_older(self) -> None:
        """Compares the heads once as many leaves were read as the older checkpoint has."""
        older = self._since
        if older is not None and older.size == self._frontier.size and older.root != self._frontier.root():
            problem = f"the log was rewritten: its first {older.size} leaves differ from those of the older checkpoint"
            self._fault(problem)

    def _fault(self, problem: str, line: int | None = None, evidence_id: str | None = None) -> None:
        if len(self._verdict.faults) >= MAX_FAULTS:
            self._verdict.more_faults += 1
        else:
            self._verdict.faults.append(Fault(problem, line, evidence_id))


def _is_as_exported(written: str, line: BaseModel) -> bool:
    """Whether a line is byte for byte what an export writes: no other blanks, escapes or line end."""
    return written == f"{line.model_dump_json(exclude_none=True)}\n"


def _payload_sha256(payload: _Payload) -> str:
    try:
        salt = _hash(payload.salt)
    except Malformed:
        return ""
    return hashlib.sha256(salt + payload.text.encode()).hexdigest()


def _names_one_thing(attached_to: dict[str, Any]) -> bool:
    try:
        EvidenceAttachment.model_validate(attached_to)
    except ValidationError:
        return False
    return sum(value is not None for value in attached_to.values()) == 1


def _is_object(text: str) -> bool:
    try:
        return isinstance(json.loads(text), dict)
    except ValueError:
        return False


def _first(error: Exception) -> str:
    """The first of several complaints, in one line."""
    if isinstance(error, ValidationError):
        first = error.errors()[0]
        place = "/".join(str(part) for part in first["loc"])
        return f"{place}: {first['msg']}" if place else str(first["msg"])
    return str(error)
