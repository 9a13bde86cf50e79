"""Revoking and authorising ingress rules, with the state before and after.

Both directions are idempotent: a rule that already is as wanted is reported
and left alone. A dry run reports the state that the change would lead to. A
call that fails half way undoes its own part first, so a failed call leaves the
groups as they were.

A lock that is interrupted answers nothing, so its repeat has to report the
rules that it revoked: an undo authorises exactly the reported rules. Before the
first change, a tag of each group therefore records which rules the call revokes.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError
from charter_aws import Aws, Call, JsonObject, ToolError, as_tool_error, error_code, tags_of
from ingress_rules import Identity, IngressRule, group_ids, parse_rules, rules_of

Change = Callable[["Groups", IngressRule], bool]

# The tag of a group that records the last lock: a digest of the call's idempotency key, and the
# rules that the call revokes, as bits of their positions in the call. It stays until the next lock.
LOCK_TAG = "charter:lock"


class Groups:
    """The EC2 calls of one change, each noted as it is made."""

    def __init__(self, aws: Aws) -> None:
        self._aws = aws
        self._ec2: Any = aws.client("ec2")
        self.api_calls: list[JsonObject] = []
        self.lock_tags: dict[str, str] = {}

    def _note(self, operation: str, group_id: str) -> None:
        self.api_calls.append({"service": "ec2", "operation": operation, "group_id": group_id})

    def state(self, ids: list[str]) -> dict[str, list[JsonObject]]:
        """The address-range ingress rules of each group; an unknown group is an error."""
        groups = self._aws.pages("ec2", "describe_security_groups", "SecurityGroups", GroupIds=ids)
        found = {group["GroupId"]: [rule.as_json() for rule in rules_of(group)] for group in groups}
        self.lock_tags = {group["GroupId"]: tags_of(group).get(LOCK_TAG, "") for group in groups}
        missing = sorted(set(ids) - set(found))
        if missing:
            raise ToolError("input_error", f"unknown security groups: {', '.join(missing)}")
        return dict(sorted(found.items()))

    def tag(self, group_id: str, value: str) -> bool:
        """Record a lock at its group. False when the credentials may not."""
        if self.lock_tags.get(group_id) == value:
            return True
        self._note("CreateTags", group_id)
        try:
            self._ec2.create_tags(Resources=[group_id], Tags=[{"Key": LOCK_TAG, "Value": value}])
        except ClientError as error:
            if error_code(error) == "UnauthorizedOperation":
                return False
            raise
        return True

    def revoke(self, rule: IngressRule) -> bool:
        """Take a rule away. False when it was not there."""
        self._note("RevokeSecurityGroupIngress", rule.group_id)
        try:
            self._ec2.revoke_security_group_ingress(
                GroupId=rule.group_id, IpPermissions=[rule.permission(described=False)]
            )
        except ClientError as error:
            if error_code(error) == "InvalidPermission.NotFound":
                return False
            raise
        return True

    def authorize(self, rule: IngressRule) -> bool:
        """Put a rule in place. False when it was there already."""
        self._note("AuthorizeSecurityGroupIngress", rule.group_id)
        try:
            self._ec2.authorize_security_group_ingress(
                GroupId=rule.group_id, IpPermissions=[rule.permission(described=True)]
            )
        except ClientError as error:
            if error_code(error) == "InvalidPermission.Duplicate":
                return False
            raise
        return True


def _undo(groups: Groups, done: list[IngressRule], undo: Change, cause: Exception) -> ToolError:
    """Reverse what was done; the error returned says what, if anything, is left."""
    left = []
    for rule in reversed(done):
        try:
            undo(groups, rule)
        except (BotoCoreError, ClientError):
            left.append(f"{rule.group_id} {rule.protocol} {rule.cidr}")
    known = as_tool_error(cause)
    if left:
        return ToolError("execution_error", f"{known}; not undone: {'; '.join(left)}")
    return ToolError(known.error_type, f"{known}; nothing was changed", retryable=known.retryable)


def _identities(state: dict[str, list[JsonObject]]) -> dict[Identity, IngressRule]:
    rules = (IngressRule(**rule) for group in state.values() for rule in group)
    return {rule.identity: rule for rule in rules}


def apply_all(
    groups: Groups,
    rules: list[IngressRule],
    change: Change,
    undo: Change,
    earlier: list[IngressRule] | None = None,
) -> list[IngressRule]:
    """Make each change; returns the rules it really changed, or undoes them and fails.

    The rules that an earlier attempt of the same call changed count as changed.
    """
    done = list(earlier or [])
    try:
        for rule in rules:
            if change(groups, rule):
                done.append(rule)
    except (BotoCoreError, ClientError) as error:
        raise _undo(groups, done, undo, error) from error
    return done


def _report(aws: Aws, dry_run: bool, planned: list[IngressRule]) -> JsonObject:
    return {
        "region": aws.region,
        "account_id": aws.account_id,
        "dry_run": dry_run,
        "planned": [rule.as_json() for rule in planned],
    }


def _without(
    state: dict[str, list[JsonObject]], planned: list[IngressRule]
) -> dict[str, list[JsonObject]]:
    """The state once the planned rules are revoked."""
    revoked = {rule.identity for rule in planned}
    return {
        group: [rule for rule in rules if IngressRule(**rule).identity not in revoked]
        for group, rules in state.items()
    }


def _with(
    state: dict[str, list[JsonObject]], planned: list[IngressRule]
) -> dict[str, list[JsonObject]]:
    """The state once the planned rules are authorised."""
    after = {group: [IngressRule(**rule) for rule in rules] for group, rules in state.items()}
    for rule in planned:
        after[rule.group_id].append(rule)
    return {
        group: [rule.as_json() for rule in sorted(rules, key=lambda rule: rule.identity)]
        for group, rules in after.items()
    }


def _recorded(call: Call, rules: list[IngressRule], revoked: set[Identity]) -> str:
    """The tag of a group for a call that names these rules of it and revokes some of them."""
    key = hashlib.sha256(call.idempotency_key.encode()).hexdigest()[:32]
    bits = sum(1 << at for at, rule in enumerate(rules) if rule.identity in revoked)
    return f"{key}:{bits:x}"


def _of_earlier_attempts(call: Call, rules: list[IngressRule], tag: str) -> set[Identity]:
    """The rules that earlier attempts of the call recorded in the tag of a group."""
    _, _, bits = tag.partition(":")
    try:
        chosen = int(bits, 16)
    except ValueError:
        return set()
    found = {rule.identity for at, rule in enumerate(rules) if chosen >> at & 1}
    return found if tag == _recorded(call, rules, found) else set()


def _wants_dry_run(call: Call) -> bool:
    return call.dry_run or call.parameters.get("dry_run") is True


def _record(
    groups: Groups,
    call: Call,
    rules: dict[str, list[IngressRule]],
    revoked: set[Identity],
    earlier: list[IngressRule],
) -> bool:
    """Record a call at its groups before the first change. False if a group could not be tagged."""
    if not call.idempotency_key:
        return False
    try:
        tagged = [
            groups.tag(group, _recorded(call, named, revoked)) for group, named in rules.items()
        ]
    except (BotoCoreError, ClientError) as error:
        raise _undo(groups, earlier, Groups.authorize, error) from error
    return all(tagged)


def lock(call: Call, aws: Aws) -> JsonObject:
    """Revoke the rules named in the call that are in force."""
    wanted = parse_rules(call.items("rules"))
    groups, ids, dry_run = Groups(aws), group_ids(wanted), _wants_dry_run(call)
    before = groups.state(ids)
    present = _identities(before)
    # The rule as it is in force, so that a restore brings back its description too.
    planned = [present[rule.identity] for rule in wanted if rule.identity in present]
    rules = {group: [rule for rule in wanted if rule.group_id == group] for group in ids}
    attempted: set[Identity] = set()
    if call.idempotency_key and not dry_run:
        for group, named in rules.items():
            attempted |= _of_earlier_attempts(call, named, groups.lock_tags[group])
    absent = [rule for rule in wanted if rule.identity not in present]
    earlier = [rule for rule in absent if rule.identity in attempted]
    revoked, is_recorded = earlier, False
    if not dry_run and planned:
        is_recorded = _record(groups, call, rules, attempted | set(present), earlier)
        revoked = apply_all(groups, planned, Groups.revoke, Groups.authorize, earlier)
        revoked.sort(key=lambda rule: rule.identity)
    after = _without(before, planned) if dry_run else before
    return _report(aws, dry_run, planned) | {
        "revoked": [rule.as_json() for rule in revoked],
        "already_absent": [rule.as_json() for rule in absent if rule not in earlier],
        "is_recorded": is_recorded or bool(earlier),
        "security_group_state_before": _with(before, earlier),
        "security_group_state_after": groups.state(ids) if revoked else after,
        "api_calls_made": groups.api_calls,
    }


def restore(call: Call, aws: Aws) -> JsonObject:
    """Authorise the rules named in the call that are not in force."""
    wanted = parse_rules(call.items("rules"))
    groups, ids, dry_run = Groups(aws), group_ids(wanted), _wants_dry_run(call)
    before = groups.state(ids)
    present = _identities(before)
    planned = [rule for rule in wanted if rule.identity not in present]
    kept = [present[rule.identity] for rule in wanted if rule.identity in present]
    restored = [] if dry_run else apply_all(groups, planned, Groups.authorize, Groups.revoke)
    after = _with(before, planned) if dry_run else before
    return _report(aws, dry_run, planned) | {
        "restored": [rule.as_json() for rule in restored],
        "already_present": [rule.as_json() for rule in kept],
        "security_group_state_before": before,
        "security_group_state_after": groups.state(ids) if restored else after,
        "api_calls_made": groups.api_calls,
    }
