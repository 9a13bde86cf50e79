"""Which statements of a bucket policy let the public in.

A statement is public when it allows, names everyone as its principal, and
nothing in its conditions ties it to a fixed account, network or source.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from fnmatch import fnmatchcase
from typing import Any

from charter_aws import JsonObject

# Condition keys that, held to fixed values, take a statement out of public reach.
_NARROWING_KEYS = frozenset(
    {
        "aws:principalaccount",
        "aws:principalarn",
        "aws:principalorgid",
        "aws:principalorgpaths",
        "aws:sourceaccount",
        "aws:sourcearn",
        "aws:sourceip",
        "aws:sourceowner",
        "aws:sourcevpc",
        "aws:sourcevpce",
        "aws:userid",
        "s3:dataaccesspointaccount",
        "s3:dataaccesspointarn",
    }
)
_ANY_ADDRESS = frozenset({"0.0.0.0/0", "::/0"})
_WRITES = (
    "s3:PutObject",
    "s3:DeleteObject",
    "s3:PutBucketPolicy",
    "s3:PutBucketAcl",
    "s3:PutObjectAcl",
    "s3:DeleteBucket",
)


def _as_list(value: Any) -> list[Any]:
    if value is None:
        return []
    return value if isinstance(value, list) else [value]


def _names_everyone(statement: Mapping[str, Any]) -> bool:
    if "NotPrincipal" in statement:
        return True
    principal = statement.get("Principal")
    if isinstance(principal, dict):
        return "*" in _as_list(principal.get("AWS"))
    return principal == "*"


def _is_fixed(value: Any) -> bool:
    text = str(value)
    return text not in _ANY_ADDRESS and "*" not in text and "?" not in text


def _is_narrowed(statement: Mapping[str, Any]) -> bool:
    for operator, keys in (statement.get("Condition") or {}).items():
        name = operator.lower().rpartition(":")[2]
        if "not" in name or name == "null" or name.endswith("ifexists"):
            continue
        for key, values in keys.items():
            fixed = _as_list(values)
            if key.lower() in _NARROWING_KEYS and fixed and all(map(_is_fixed, fixed)):
                return True
    return False


def _may_write(statement: Mapping[str, Any]) -> bool:
    if "NotAction" in statement:
        return True
    patterns = [str(action).lower() for action in _as_list(statement.get("Action"))]
    return any(fnmatchcase(write.lower(), pattern) for write in _WRITES for pattern in patterns)


def public_statements(policy: str) -> list[JsonObject]:
    """The statements of a policy document that grant to everyone, in its own order."""
    found = []
    for position, statement in enumerate(_as_list(json.loads(policy).get("Statement"))):
        if statement.get("Effect") != "Allow" or not _names_everyone(statement):
            continue
        if _is_narrowed(statement):
            continue
        found.append(
            {
                "statement": statement.get("Sid") or f"#{position + 1}",
                "actions": sorted(map(str, _as_list(statement.get("Action")))),
                "allows_write": _may_write(statement),
            }
        )
    return found
