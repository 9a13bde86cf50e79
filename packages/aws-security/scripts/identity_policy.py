"""What a policy of IAM grants that few identities should have."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from policy_conditions import as_list
from s3_actions import fits

EVERYTHING = "everything"

Document = Mapping[str, Any]


def _texts(value: Any) -> list[str]:
    return [str(item) for item in as_list(value)]


def statements(document: Document) -> Iterator[Mapping[str, Any]]:
    """The statements of a policy document."""
    for statement in as_list(document.get("Statement")):
        if isinstance(statement, Mapping):
            yield statement


def _is_on_everything(statement: Mapping[str, Any]) -> bool:
    return "*" in _texts(statement.get("Resource"))


def _actions(statement: Mapping[str, Any]) -> list[str]:
    return [action.lower() for action in _texts(statement.get("Action"))]


def _allowed_actions(document: Document) -> set[str]:
    """The action patterns that a policy allows on every resource."""
    return {
        action
        for statement in statements(document)
        if statement.get("Effect") == "Allow" and _is_on_everything(statement)
        for action in _actions(statement)
    }


def _denied_actions(document: Document) -> set[str]:
    """The action patterns that a policy denies on every resource, under no condition."""
    return {
        action
        for statement in statements(document)
        if statement.get("Effect") == "Deny"
        and _is_on_everything(statement)
        and not statement.get("Condition")
        for action in _actions(statement)
    }


def _exceptions(document: Document) -> list[list[str]]:
    """Of each statement that allows all but some actions on every resource, the exceptions."""
    return [
        [action.lower() for action in _texts(statement["NotAction"])]
        for statement in statements(document)
        if statement.get("Effect") == "Allow"
        and "NotAction" in statement
        and _is_on_everything(statement)
    ]


def _touches(pattern: str, service: str) -> bool:
    """Whether a pattern of actions names any action of a service."""
    return fits(service, pattern.partition(":")[0])


def _assumes_roles_at_large(document: Document) -> bool:
    """Whether a policy allows to assume roles that it names by a wildcard."""
    return any(
        statement.get("Effect") == "Allow"
        and any("*" in resource for resource in _texts(statement.get("Resource")))
        and any(fits("sts:assumerole", action) for action in _actions(statement))
        for statement in statements(document)
    )


def broad_grants(document: Document) -> list[str]:
    """The grants of a policy that few identities should have, the broadest first."""
    allowed, denied = _allowed_actions(document), _denied_actions(document)
    exceptions = _exceptions(document)

    def all_but_others(service: str) -> bool:
        return any(not any(_touches(item, service) for item in items) for items in exceptions)

    def is_granted(whole: str, service: str) -> bool:
        granting = any(fits(whole, action) for action in allowed) or all_but_others(service)
        return granting and not any(fits(whole, action) for action in denied)

    # A policy of all but some actions grants everything in effect if it leaves IAM in.
    named = [
        (EVERYTHING, "*", "iam"),
        ("all of CloudTrail", "cloudtrail:*", "cloudtrail"),
        ("all of KMS", "kms:*", "kms"),
    ]
    found = [name for name, whole, service in named if is_granted(whole, service)]
    assumes = _assumes_roles_at_large(document) or all_but_others("sts")
    if assumes and not any(fits("sts:assumerole", action) for action in denied):
        found.append("any role")
    return found
