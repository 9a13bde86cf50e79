"""The check of exported evidence: on files of the real server, on bent ones, and against the command line's own.

The tree, notes and leaves are tested with the shared vectors (test_evidence_vectors.py).
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from charter_client import AsyncCharter, Charter
from charter_client.errors import CharterError
from charter_client.evidence_log import (
    REWRITTEN,
    Malformed,
    Verdict,
    verify,
    verify_consistency,
)
from conftest import Server

Lines = list[dict[str, Any]]


@pytest.fixture(scope="module")
def exported(server: Server, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An export of everything, with an attachment among the leaves."""
    with Charter(server.address, server.key("ann")) as charter:
        answer = charter.requests.create(
            "Which of my security groups are open to the internet?", {"region": "us-east-1"}
        )
        attached = f"/v1/evidence/{answer.evidence_ids[0]}/attachments"
        charter.send("POST", attached, {"bundle_id": "b1"})
        return charter.evidence.export(tmp_path_factory.mktemp("evidence") / "evidence.jsonl")


def command_line(server: Server, file: Path, *options: str) -> dict[str, Any]:
    """What `charter evidence verify` says of a file."""
    done = server.command("evidence", "verify", str(file), *options, "--output", "json")
    assert done.returncode in (0, 1), done.stderr
    said: dict[str, Any] = json.loads(done.stdout)
    return said


def as_said(verdict: Verdict) -> dict[str, Any]:
    """A verdict in the form of the command line."""
    faults = [vars(fault) for fault in verdict.faults]
    return {**vars(verdict), "faults": faults, "good": verdict.is_good}


def test_a_sound_export_is_good_and_both_implementations_say_the_same(
    server: Server, charter: Charter, exported: Path
) -> None:
    key = charter.evidence.get_key().key
    verdict = verify(exported, key=key)
    assert verdict.faults == [] and verdict.coverage == "complete"
    assert verdict.records == verdict.payloads > 2 and verdict.leaves == verdict.size == verdict.records + 1
    assert as_said(verdict) == command_line(server, exported, "--key", key)
    assert verify(exported.read_text(encoding="utf-8").splitlines()).is_good


def test_a_selection_is_proved_to_be_in_the_log(
    server: Server, charter: Charter, exported: Path, tmp_path: Path
) -> None:
    run_id = charter.requests.create("are any buckets public?", {"region": "us-east-1"}).run_id
    records = list(charter.evidence.list(run_id=run_id))
    file = charter.evidence.export(tmp_path / "run.jsonl", run_id=run_id)
    verdict = verify(file, key=charter.evidence.get_key().key, selection=True)
    assert (verdict.is_good, verdict.coverage, verdict.records) == (True, "selection", len(records))
    assert verdict.size > verdict.leaves
    assert as_said(verdict) == command_line(server, file, "--key", verdict.key, "--selection")
    # A file may only claim to be one.
    (fault,) = (refused := verify(file)).faults
    assert str(fault).startswith("line 1: the export is a selection")
    assert as_said(refused) == command_line(server, file)


@pytest.mark.parametrize(
    "rewrite",
    [
        lambda text: text.replace("\n", "\r\n"),
        lambda text: text.replace(',"leaf":', ', "leaf": '),
        lambda text: text.replace('"complete"', '"\\u0063omplete"'),
        lambda text: text.removesuffix("\n"),
    ],
    ids=["line ends", "blanks", "escapes", "no end"],
)
def test_a_line_that_says_the_same_in_other_characters_is_found_by_both(
    server: Server, exported: Path, tmp_path: Path, rewrite: Callable[[str], str]
) -> None:
    file = tmp_path / "rewritten.jsonl"
    file.write_bytes(rewrite(exported.read_text(encoding="utf-8")).encode())
    verdict = verify(file)
    assert {fault.problem for fault in verdict.faults} == {REWRITTEN}
    assert as_said(verdict) == command_line(server, file)


def test_the_log_is_a_continuation_of_what_it_was(charter: Charter, exported: Path, tmp_path: Path) -> None:
    older = charter.evidence.get_checkpoint()
    charter.requests.create("are any buckets public?", {"region": "eu-west-1"})
    newer = charter.evidence.get_checkpoint()
    assert newer.size > older.size
    key = charter.evidence.get_key().key
    now = charter.evidence.export(tmp_path / "now.jsonl")
    assert verify(now, key=key, since=older.checkpoint).is_good
    assert verify(now, key=key, since=exported).is_good
    (tmp_path / "older.txt").write_text(older.checkpoint, encoding="utf-8")
    assert verify(now, key=key, since=tmp_path / "older.txt").is_good
    assert str(verify(exported, since=newer.checkpoint).faults[0]).startswith("the log has shrunk")

    proved = charter.evidence.get_consistency_proof(older.size, newer.size)
    assert verify_consistency(proved, key)
    bent = proved.model_copy(update={"proof": [*proved.proof[:-1], "0" * 64]})
    assert not verify_consistency(bent, key)


def bend_record(lines: Lines) -> None:
    lines[1]["record"] = lines[1]["record"].replace('"summary":"', '"summary":"Not: ', 1)


def bend_payload(lines: Lines) -> None:
    lines[1]["payload"]["text"] = '{"n":9}'


def bend_salt(lines: Lines) -> None:
    lines[1]["payload"]["salt"] = "9" * 64


def bend_record_and_leaf(lines: Lines) -> None:
    bend_record(lines)
    leaf = json.loads(lines[1]["leaf"])
    leaf["record_sha256"] = hashlib.sha256(lines[1]["record"].encode()).hexdigest()
    lines[1]["leaf"] = json.dumps(leaf, separators=(",", ":"))


def bend_attachment(lines: Lines) -> None:
    at = next(at for at, line in enumerate(lines) if at and '"attachment"' in line["leaf"])
    lines[at]["leaf"] = lines[at]["leaf"].replace('"b1"', '"b2"')


def bend_checkpoint(lines: Lines) -> None:
    origin, size, *rest = lines[0]["checkpoint"].split("\n")
    lines[0]["checkpoint"] = "\n".join([origin, str(int(size) - 1), *rest])


def make_up_a_class(lines: Lines) -> None:
    del lines[1]["payload"]
    lines[1]["withheld"] = "secret"


def drop_payload(lines: Lines) -> None:
    del lines[1]["payload"]


def drop_record(lines: Lines) -> None:
    del lines[1]["record"]


def drop_line(lines: Lines) -> None:
    del lines[2]


def drop_first(lines: Lines) -> None:
    del lines[1]


def drop_end(lines: Lines) -> None:
    del lines[3:]


def swap(lines: Lines) -> None:
    lines[1], lines[2] = lines[2], lines[1]


def swap_with_numbers(lines: Lines) -> None:
    swap(lines)
    lines[1]["index"], lines[2]["index"] = 0, 1


def twice(lines: Lines) -> None:
    lines.insert(2, lines[1])


def another_tenant(lines: Lines) -> None:
    lines[0]["tenant_id"] = "acme"


def another_form(lines: Lines) -> None:
    lines[0]["format"] = "charter-evidence/2"


def no_leaf(lines: Lines) -> None:
    lines[1] = {"index": 0}


BENDS: list[Callable[[Lines], None]] = [
    bend_record, bend_payload, bend_salt, bend_record_and_leaf, bend_attachment, bend_checkpoint, make_up_a_class,
    drop_payload, drop_record, drop_line, drop_first, drop_end, swap, swap_with_numbers, twice, another_tenant,
    another_form, no_leaf,
]  # fmt: skip


def written(line: dict[str, Any]) -> str:
    """A line as an export writes it."""
    return json.dumps(line, ensure_ascii=False, separators=(",", ":")) + "\n"


@pytest.mark.parametrize("bend", BENDS, ids=lambda bend: bend.__name__)
def test_what_was_bent_is_found_by_both_in_the_same_places(
    server: Server, exported: Path, tmp_path: Path, bend: Callable[[Lines], None]
) -> None:
    lines = [json.loads(line) for line in exported.read_text(encoding="utf-8").splitlines()]
    bend(lines)
    bent = tmp_path / "bent.jsonl"
    bent.write_text("".join(written(line) for line in lines), encoding="utf-8")
    verdict, said = verify(bent), command_line(server, bent)
    assert not verdict.is_good and not said["good"]
    places = [(fault.line, fault.evidence_id) for fault in verdict.faults]
    assert places == [(fault["line"], fault["evidence_id"]) for fault in said["faults"]]
    if bend is not no_leaf:
        # In what way it is no leaf is said in the words of the JSON library.
        assert [fault.problem for fault in verdict.faults] == [fault["problem"] for fault in said["faults"]]


def test_an_export_of_another_key_is_not_believed(exported: Path) -> None:
    name = json.loads(exported.read_text(encoding="utf-8").split("\n", 1)[0])["key"].split("+")[0]
    raw = b"\x01" + bytes(range(32))
    id_ = hashlib.sha256(name.encode() + b"\n" + raw).digest()[:4].hex()
    other = f"{name}+{id_}+{base64.b64encode(raw).decode()}"
    (fault,) = verify(exported, key=other).faults
    assert str(fault).startswith(f"line 1: it is signed by {name}+")
    with pytest.raises(Malformed):
        verify(exported, key="no key")
    with pytest.raises(Malformed):
        verify(exported, key=f"{name}+00000000+{base64.b64encode(raw).decode()}")


def signed(server: Server, key: str, text: str, name: str | None = None) -> str:
    """A note as whoever has the server's secret seed could sign one."""
    seed = bytes.fromhex((server.data / "evidence.key").read_text(encoding="ascii").strip())
    name_, id_, _ = key.split("+", 2)
    blob = bytes.fromhex(id_) + Ed25519PrivateKey.from_private_bytes(seed).sign(text.encode())
    return f"{text}\n\u2014 {name or name_} {base64.b64encode(blob).decode()}\n"


def test_a_log_that_its_own_key_rewrote_is_found_out_by_an_older_head(
    server: Server, charter: Charter, exported: Path, tmp_path: Path
) -> None:
    key = charter.evidence.get_key().key
    origin = key.split("+")[0]
    for size, root in ((1, "A" * 43 + "="), (0, "A" * 43 + "=")):
        older = tmp_path / f"older-{size}.txt"
        older.write_text(signed(server, key, f"{origin}\n{size}\n{root}\n"), encoding="utf-8")
        verdict = verify(exported, key=key, since=older)
        assert [fault.problem.split(":")[0] for fault in verdict.faults] == ["the log was rewritten"]
        assert as_said(verdict) == command_line(server, exported, "--key", key, "--since", str(older))


@pytest.mark.parametrize(
    "text",
    [
        "another/evidence/local\n1\n{root}\n",
        "{origin}\n01\n{root}\n",
        "{origin}\n+1\n{root}\n",
        "{origin}\n18446744073709551616\n{root}\n",
        "{origin}\n1\nAAAA\n",
        "{origin}\n1\n{root}\nextension\n",
        "{origin}\n1\n",
    ],
)
def test_a_signed_text_that_is_no_checkpoint_of_the_log_is_refused_by_both(
    server: Server, charter: Charter, exported: Path, tmp_path: Path, text: str
) -> None:
    key = charter.evidence.get_key().key
    head, *rest = exported.read_text(encoding="utf-8").splitlines()
    header = json.loads(head)
    header["checkpoint"] = signed(server, key, text.format(origin=key.split("+")[0], root="A" * 43 + "="))
    bent = tmp_path / "bent.jsonl"
    bent.write_text("\n".join([json.dumps(header), *rest]) + "\n", encoding="utf-8")
    (fault,) = verify(bent, key=key).faults
    (said,) = command_line(server, bent, "--key", key)["faults"]
    assert str(fault).startswith("line 1: the checkpoint: ")
    assert fault.problem.rsplit(":", 1)[0] == said["problem"].rsplit(":", 1)[0]


def test_a_file_that_is_no_export_is_a_fault_and_not_a_crash(tmp_path: Path) -> None:
    file = tmp_path / "none.jsonl"
    for content in (b"", b"{}\n", b"\xff\xfe\n", b'{"format":"charter-evidence/1"}\n'):
        file.write_bytes(content)
        assert str(verify(file).faults[0]).startswith("line 1: not a header of an export")
    with pytest.raises(FileNotFoundError):
        verify(tmp_path / "absent.jsonl")


def test_an_export_that_is_refused_leaves_no_file(charter: Charter, tmp_path: Path) -> None:
    with pytest.raises(CharterError):
        charter.evidence.export(tmp_path / "x.jsonl", type="no_such_type")
    assert list(tmp_path.iterdir()) == []


async def test_an_export_is_awaited(async_charter: AsyncCharter, tmp_path: Path) -> None:
    file = await async_charter.evidence.export(tmp_path / "evidence.jsonl")
    assert verify(file, key=(await async_charter.evidence.get_key()).key).is_good
    assert not (tmp_path / "evidence.jsonl.part").exists()
