"""A JSON server on the loopback interface, for the quickstart's stand-ins.

What is answered is the caller's: a function from a request to a status and a
JSON value. The server says where it listens on its first line of output, and
ends with its process.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

HOST = "127.0.0.1"
MAX_BODY_BYTES = 64 << 10

Json = Any


@dataclass(frozen=True)
class Request:
    """One request; header names in lower case, path segments decoded."""

    method: str
    path: tuple[str, ...]
    query: dict[str, str]
    headers: dict[str, str]
    body: Json


class Refused(Exception):
    """A request that is answered with a failure; `body` replaces `{"error": message}`."""

    def __init__(self, status: int, message: str, body: Json = None) -> None:
        super().__init__(message)
        self.status = status
        self.body = {"error": message} if body is None else body


@dataclass(frozen=True)
class Reply:
    """An answer with a status of its own; without a body for 204."""

    status: int
    body: Json = None


Answer = Callable[[Request], Json]


def _handler(answer: Answer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def _request(self) -> Request:
            url = urlsplit(self.path)
            length = int(self.headers.get("content-length") or 0)
            if length > MAX_BODY_BYTES:
                raise Refused(413, f"a body has at most {MAX_BODY_BYTES} bytes")
            try:
                body = json.loads(self.rfile.read(length)) if length else None
            except ValueError as error:
                raise Refused(400, f"the body is no JSON: {error}") from error
            return Request(
                method=self.command,
                path=tuple(unquote(part) for part in url.path.split("/") if part),
                query=dict(parse_qsl(url.query)),
                headers={name.lower(): value for name, value in self.headers.items()},
                body=body,
            )

        def _serve(self) -> None:
            try:
                found = answer(self._request())
                reply = found if isinstance(found, Reply) else Reply(200, found)
            except Refused as refused:
                reply = Reply(refused.status, refused.body)
            payload = b"" if reply.status == 204 else json.dumps(reply.body).encode()
            self.send_response(reply.status)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(payload)))
            self.end_headers()
            self.wfile.write(payload)

        do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = _serve  # noqa: N815

        def log_message(self, format: str, *args: object) -> None:
            """The first line of output is all that is said."""

    return Handler


def serve(name: str, port: int, answer: Answer) -> None:
    """Serve until the process ends; port 0 takes a free one."""
    with ThreadingHTTPServer((HOST, port), _handler(answer)) as server:
        print(f"{name} is listening on http://{HOST}:{server.server_address[1]}", flush=True)
        server.serve_forever()
