"""Which statements of a resource policy, such as that of a bucket or a key, let the public in.

A statement is public when it allows, names everyone (or a class that anyone may join) as its
principal, has no condition that keeps strangers out, and grants something that no statement of the
same policy denies to every stranger.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from policy_conditions import (
    as_list,
    is_fixed_arn,
    is_only_plain_http,
    keeps_strangers_out,
    meets_every_stranger,
)
from s3_actions import all_but, changes, fits_any, named_by

Statement = Mapping[str, Any]

_EVERYTHING = frozenset({"*", "arn:aws:s3:::*"})


def _texts(value: Any) -> list[str]:
    return [str(item) for item in as_list(value)]


def _names_all(principal: Any) -> bool:
    """Whether a principal is everyone, anonymous callers included."""
    named = principal.get("AWS") if isinstance(principal, Mapping) else principal
    return "*" in _texts(named)


def _names_a_crowd(principal: Any) -> bool:
    """Whether a principal is a class of callers that anyone may join."""
    if not isinstance(principal, Mapping):
        return False
    return (
        any(not is_fixed_arn(arn) for arn in _texts(principal.get("AWS")))
        or any("*" in name for name in _texts(principal.get("CanonicalUser")))
        or any("*" in name for name in _texts(principal.get("Service")))
        # An identity provider of the web is not one of an account.
        or any(not name.startswith("arn:") for name in _texts(principal.get("Federated")))
    )


def _lets_strangers_in(statement: Statement) -> bool:
    if "NotPrincipal" in statement:
        return not _names_all(statement["NotPrincipal"])
    principal = statement.get("Principal")
    return _names_all(principal) or _names_a_crowd(principal)


def _shuts_strangers_out(statement: Statement) -> bool:
    if "NotPrincipal" in statement:
        named = not _names_all(statement["NotPrincipal"])
    else:
        named = _names_all(statement.get("Principal"))
    return named and meets_every_stranger(statement.get("Condition"))


def _action_patterns(statement: Statement, element: str) -> list[str]:
    return [action.lower() for action in _texts(statement.get(element))]


def _actions(statement: Statement) -> frozenset[str]:
    """The actions that a statement is about."""
    if "NotAction" in statement:
        return all_but(_action_patterns(statement, "NotAction"))
    return named_by(_action_patterns(statement, "Action"))


def _are_everything(resources: Iterable[str]) -> bool:
    """Whether resources are all of a bucket: anything, or the bucket and all its objects."""
    named = set(resources)
    return bool(named & _EVERYTHING) or any(f"{name}/*" in named for name in named)


def _resources(statement: Statement) -> list[str]:
    """The resources that a statement is about; all of them where it names exceptions."""
    if "NotResource" in statement:
        return [] if _are_everything(_texts(statement["NotResource"])) else ["*"]
    return _texts(statement.get("Resource", "*"))


@dataclass(frozen=True)
class _Denial:
    """A statement that denies something to every stranger."""

    statement: Statement

    def takes_away(self, action: str, resources: list[str]) -> bool:
        """Whether it denies an action on all of the resources."""
        if "NotResource" in self.statement:
            return False
        denied = _texts(self.statement.get("Resource", "*"))
        if not _are_everything(denied) and not all(fits_any(name, denied) for name in resources):
            return False
        if "NotAction" in self.statement:
            return action in _actions(self.statement)
        return fits_any(action, _action_patterns(self.statement, "Action"))


def _granted(statement: Statement, denials: list[_Denial]) -> set[str]:
    """The actions that a statement really grants to strangers."""
    resources = _resources(statement)
    if not resources:
        return set()
    return {
        action
        for action in _actions(statement)
        if not any(denial.takes_away(action, resources) for denial in denials)
    }


def _shown_actions(statement: Statement) -> list[str]:
    if "NotAction" in statement:
        return [f"all but {', '.join(sorted(_texts(statement['NotAction'])))}"]
    return sorted(_texts(statement.get("Action")))


def _statements_of(policy: str) -> list[Statement]:
    document = json.loads(policy)
    return [item for item in as_list(document.get("Statement")) if isinstance(item, Mapping)]


def _denies_plain_http(statement: Statement) -> bool:
    """Whether a statement denies every request to objects that comes without TLS."""
    if statement.get("Effect") != "Deny" or not is_only_plain_http(statement.get("Condition")):
        return False
    if "NotPrincipal" in statement or not _names_all(statement.get("Principal")):
        return False
    denial = _Denial(statement)
    objects = [name for name in _texts(statement.get("Resource")) if name.endswith("*")]
    return bool(objects) and all(
        denial.takes_away(action, objects) for action in ("s3:getobject", "s3:putobject")
    )


def denies_plain_http(policy: str) -> bool:
    """Whether a bucket policy turns away requests that come without TLS."""
    return any(map(_denies_plain_http, _statements_of(policy)))


def public_statements(policy: str) -> list[dict[str, Any]]:
    """The statements of a policy document that grant to everyone, in its own order."""
    statements = _statements_of(policy)
    denials = [
        _Denial(item)
        for item in statements
        if item.get("Effect") == "Deny" and _shuts_strangers_out(item)
    ]
    found = []
    for position, statement in enumerate(statements, 1):
        if statement.get("Effect") != "Allow" or not _lets_strangers_in(statement):
            continue
        if keeps_strangers_out(statement.get("Condition")):
            continue
        granted = _granted(statement, denials)
        if granted:
            found.append(
                {
                    "statement": statement.get("Sid") or f"#{position}",
                    "actions": _shown_actions(statement),
                    "allows_write": any(map(changes, granted)),
                }
            )
    return found
