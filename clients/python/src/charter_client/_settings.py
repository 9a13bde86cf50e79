"""Where the server is, with which key, and how long to wait and how often to try.

The variables are those of the command line: `CHARTER_SERVER`, `CHARTER_API_KEY`.
This is the only file that reads the environment.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from importlib.metadata import version

import httpx

SERVER_VARIABLE = "CHARTER_SERVER"
KEY_VARIABLE = "CHARTER_API_KEY"
LOCAL_SERVER = "http://127.0.0.1:7407"
#: A little longer than a server works on one call by itself (120 s), so that its word comes first.
TIMEOUT_S = 130.0
CONNECT_TIMEOUT_S = 10.0


@dataclass(frozen=True)
class Retry:
    """How often a call is sent again that may be, and how long before."""

    #: Further attempts after the first.
    again: int = 2
    #: Before the second attempt, in seconds; twice as long before each further one.
    first_pause_s: float = 0.25
    #: A longer wait than this is not waited for: the failure is raised at once.
    longest_pause_s: float = 20.0


@dataclass(frozen=True)
class Settings:
    """Everything that a client is told at the start. The key is not shown when printed."""

    server: str
    api_key: str | None = field(repr=False)
    timeout_s: float
    retry: Retry

    @classmethod
    def of(cls, server: str | None, api_key: str | None, timeout_s: float, retries: int) -> Settings:
        """The arguments, else the environment, else the server of this machine."""
        server = server or os.environ.get(SERVER_VARIABLE) or LOCAL_SERVER
        if not server.startswith(("http://", "https://")):
            raise ValueError(f"the server's address begins with http:// or https://, not as in {server!r}")
        key = api_key or os.environ.get(KEY_VARIABLE) or None
        return cls(server.rstrip("/"), key, timeout_s, Retry(again=retries))

    def headers(self) -> dict[str, str]:
        """What goes with every call."""
        headers = {"user-agent": f"charter-client/{version('charter-client')}"}
        if self.api_key:
            headers["authorization"] = f"Bearer {self.api_key}"
        return headers

    def timeout(self) -> httpx.Timeout:
        """For one exchange; between two pieces of a stream the same."""
        return httpx.Timeout(self.timeout_s, connect=min(CONNECT_TIMEOUT_S, self.timeout_s))
