"""Which texts hold a secret in plain sight: only the kind of secret is reported, never the text."""

from __future__ import annotations

import re

_ASSIGNED = re.compile(
    r"(?i)\b[\w.-]*(passwo?r?d|passwd|secret|api[_-]?key|access[_-]?key|auth[_-]?token)[\w.-]*"
    r"[\"']?\s*(?:=|:\s)\s*[\"']?(?!\$|<|\{\{|arn:)[^\s\"'$<{]{6,}"
)
_KINDS = (
    ("an AWS access key", re.compile(r"\b(?:AKIA|ASIA)[0-9A-Z]{16}\b")),
    ("a private key", re.compile(r"-----BEGIN (?:[A-Z]+ )*PRIVATE KEY-----")),
    ("a GitHub token", re.compile(r"\bgh[pousr]_[A-Za-z0-9]{36,}\b")),
    ("a password in a URL", re.compile(r"\b[a-z][a-z0-9+.-]*://[^\s:/@]+:[^\s@/$<{]{4,}@")),
    ("a password or token", _ASSIGNED),
)


def secrets_in(text: str) -> list[str]:
    """The kinds of secrets that a text holds."""
    return [kind for kind, pattern in _KINDS if pattern.search(text)]


def has_secret(name: str, value: str) -> bool:
    """Whether a variable holds a secret, by its name or its value."""
    return bool(secrets_in(value) or secrets_in(f"{name}={value}"))
