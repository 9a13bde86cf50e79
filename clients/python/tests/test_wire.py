"""When a call is sent again, and how streams are read: decided without a server."""

from __future__ import annotations

import inspect
import json
from pathlib import Path
from typing import Any

import httpx
import pytest

from charter_client import Charter, NotCharter, Unreachable, codes
from charter_client._settings import Retry, Settings
from charter_client._streams import Event, Reader, Stream, Watch
from charter_client._wire import Attempt, Call, Pause, Repeat, anything, attempts, refusal, told
from charter_client.errors import ApiError
from conftest import Server

GOOD = httpx.Response(200, content=b'{"n": 1}')


def failed(code: str, retryable: bool, **details: object) -> httpx.Response:
    """An answer as the server gives it."""
    action = "system_retry" if retryable else "user_action"
    body = {
        "error_type": "resource_error",
        "error_code": code,
        "user_message": "No.",
        "recommended_actions": [{"description": "Do.", "action_type": action}],
        "technical_details": details,
    }
    return httpx.Response(503, content=json.dumps(body).encode())


def sent(repeat: Repeat, received: list[Any], retry: Retry | None = None) -> tuple[int, list[float], object]:
    """How often a call is sent, with which pauses between, and what comes of it."""
    call: Call[Any] = Call("POST", "/x", anything, repeat=repeat)
    steps, said, pauses, times = attempts(call, retry or Retry()), None, [], 0
    try:
        while True:
            act = steps.send(said)
            if isinstance(act, Pause):
                pauses.append(act.seconds)
                said = None
            else:
                assert isinstance(act, Attempt)
                said, times = received[times], times + 1
    except StopIteration as end:
        return times, pauses, end.value
    except Exception as failure:
        return times, pauses, failure


BUSY = failed("overloaded", True)
BROKE = httpx.ReadError("broke")
UNSENT = httpx.ConnectError("refused")


@pytest.mark.parametrize(
    ("repeat", "received", "times", "came"),
    [
        (Repeat.NEVER, [GOOD], 1, {"n": 1}),
        (Repeat.HARMLESS, [BUSY, GOOD], 2, {"n": 1}),
        (Repeat.NEVER, [BUSY, GOOD], 2, {"n": 1}),
        (Repeat.HARMLESS, [BUSY, BUSY, BUSY, GOOD], 3, codes.Overloaded),
        (Repeat.HARMLESS, [BROKE, UNSENT, GOOD], 3, {"n": 1}),
        (Repeat.NEVER, [BROKE, GOOD], 1, Unreachable),
        (Repeat.NEVER, [UNSENT, GOOD], 2, {"n": 1}),
        (Repeat.HARMLESS, [failed("unavailable", True), GOOD], 2, {"n": 1}),
        (Repeat.NEVER, [failed("unavailable", True), GOOD], 1, codes.Unavailable),
        (Repeat.HARMLESS, [failed("model_failed", True), GOOD], 1, codes.ModelFailed),
        (Repeat.HARMLESS, [failed("overloaded", False), GOOD], 1, codes.Overloaded),
        (Repeat.HARMLESS, [failed("not_found", False), GOOD], 1, codes.NotFound),
        (Repeat.HARMLESS, [httpx.Response(502, content=b"<html>"), GOOD], 1, NotCharter),
        (Repeat.HARMLESS, [httpx.Response(200, content=b"<html>"), GOOD], 1, NotCharter),
    ],
)
def test_a_call_is_sent_again_where_the_server_says_so_and_it_does_no_harm(
    repeat: Repeat, received: list[Any], times: int, came: Any
) -> None:
    sent_times, pauses, result = sent(repeat, received)
    assert sent_times == times and len(pauses) == times - 1
    assert isinstance(result, came) if isinstance(came, type) else result == came


def test_pauses_grow_and_follow_the_server_within_bounds() -> None:
    _, pauses, _ = sent(Repeat.HARMLESS, [BROKE, BROKE, GOOD], Retry(first_pause_s=1.0))
    assert 0.5 <= pauses[0] <= 1.5 and 1.0 <= pauses[1] <= 3.0
    limited = failed("rate_limited", True, wait_ms=3_000)
    assert sent(Repeat.NEVER, [limited, GOOD])[1] == [3.0]
    long = failed("rate_limited", True, wait_ms=60_000)
    times, _, failure = sent(Repeat.NEVER, [long, GOOD])
    assert times == 1 and isinstance(failure, codes.RateLimited) and failure.wait_s == 60.0


def test_every_code_of_the_server_has_its_class_and_its_page() -> None:
    root = Path(__file__).resolve().parents[3]
    pages = {page.stem for page in (root / "docs" / "errors").glob("*.md")} - {"README"}
    assert set(codes.BY_CODE) == pages
    assert all(class_.code == code for code, class_ in codes.BY_CODE.items())
    assert isinstance(told({"error_type": "input_error", "error_code": "of_tomorrow"}), codes.InputFailure)
    assert type(told({"error_type": "of_tomorrow"})) is ApiError
    assert isinstance(refusal(500, b"[]"), NotCharter)


def test_events_are_cut_out_of_any_pieces() -> None:
    text = ': hello\n\nevent: progress\nid: 7\ndata: {"a":\ndata: "ü"}\n\ndata: 1\n\nevent: rest\n'.encode()
    whole = [Event("progress", {"a": "ü"}, "7"), Event("message", 1)]
    for size in range(1, len(text)):
        reader = Reader()
        pieces = [text[at : at + size] for at in range(0, len(text), size)]
        assert [event for piece in pieces for event in reader.feed(piece)] == whole


def watch(**options: Any) -> Watch[int]:
    """A watch of numbers."""
    stream = Stream("GET", "/x", lambda event: int(event.data), lambda event: event.name == "last", **options)
    return Watch(stream, Retry(again=2, first_pause_s=0.0))


def test_a_stream_that_breaks_off_is_taken_up_after_its_last_event() -> None:
    watched = watch(ends=False)
    _, first = watched.opening() or pytest.fail()
    assert "last-event-id" not in first["headers"]
    assert list(watched.feed(b"id: 4\ndata: 1\n\ndata: 2")) == [1]
    watched.broke_off(BROKE)
    _, again = watched.opening() or pytest.fail()
    assert again["headers"]["last-event-id"] == "4"
    assert list(watched.feed(b"id: 5\ndata: 2\n\nevent: last\ndata: 3\n\ndata: 9\n\n")) == [2, 3]
    assert watched.opening() is None


def test_a_stream_that_never_comes_is_given_up() -> None:
    watched = watch(ends=False)
    watched.broke_off(None)
    watched.broke_off(UNSENT)
    with pytest.raises(Unreachable, match="broke off"):
        watched.broke_off(BROKE)
    starting_over = watch(ends=False)
    for _ in range(2):
        assert list(starting_over.feed(b"data: 1\n\n")) == [1]
        starting_over.broke_off(None)
    with pytest.raises(Unreachable, match="the server closed it"):
        starting_over.broke_off(None)
    ending = watch()
    ending.broke_off(None)
    assert ending.opening() is None
    with pytest.raises(codes.NotFound):
        watch().refused(failed("not_found", False))


def test_settings_come_from_arguments_then_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CHARTER_SERVER", raising=False)
    monkeypatch.delenv("CHARTER_API_KEY", raising=False)
    assert Settings.of(None, None, 1.0, 0).server == "http://127.0.0.1:7407"
    monkeypatch.setenv("CHARTER_SERVER", "https://charter.example/")
    monkeypatch.setenv("CHARTER_API_KEY", "a-secret")
    found = Settings.of(None, None, 1.0, 0)
    assert (found.server, found.api_key) == ("https://charter.example", "a-secret")
    assert "a-secret" not in repr(found) and "a-secret" not in repr(Charter())
    assert Settings.of("http://other", "other", 1.0, 0).api_key == "other"
    with pytest.raises(ValueError, match="begins with http"):
        Charter("charter.example")


def test_a_server_that_is_not_there_is_unreachable() -> None:
    with Charter("http://127.0.0.1:1", retries=0) as charter, pytest.raises(Unreachable, match="no answer"):
        charter.routing.route_query("x")


def test_a_wrong_key_is_refused(server: Server) -> None:
    with Charter(server.address, "wrong") as charter, pytest.raises(codes.Unauthenticated):
        charter.routing.route_query("x")


def test_operations_say_what_they_do_on_both_clients(server: Server) -> None:
    with Charter(server.address) as charter:
        assert inspect.getdoc(charter.runs.confirm) == inspect.getdoc(type(charter.runs).confirm)
        assert "plan_digest" in inspect.signature(charter.runs.confirm).parameters
