"""Revoking and authorising ingress rules, with the state before and after.

Both directions are idempotent: a rule that already is as wanted is reported
and left alone. A dry run reports the state that the change would lead to. A call that fails half way undoes its own part first, so a
failed call leaves the groups as they were.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError
from charter_aws import Aws, Call, JsonObject, ToolError, as_tool_error, error_code
from ingress_rules import IngressRule, group_ids, parse_rules, rules_of

Change = Callable[["Groups", IngressRule], bool]


class Groups:
    """The EC2 calls of one change, each noted as it is made."""

    def __init__(self, aws: Aws) -> None:
        self._aws = aws
        self._ec2: Any = aws.client("ec2")
        self.api_calls: list[JsonObject] = []

    def _note(self, operation: str, group_id: str) -> None:
        self.api_calls.append({"service": "ec2", "operation": operation, "group_id": group_id})

    def state(self, ids: list[str]) -> dict[str, list[JsonObject]]:
        """The address-range ingress rules of each group; an unknown group is an error."""
        groups = self._aws.pages("ec2", "describe_security_groups", "SecurityGroups", GroupIds=ids)
        found = {group["GroupId"]: [rule.as_json() for rule in rules_of(group)] for group in groups}
        missing = sorted(set(ids) - set(found))
        if missing:
            raise ToolError("input_error", f"unknown security groups: {', '.join(missing)}")
        return dict(sorted(found.items()))

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


def _identities(
    state: dict[str, list[JsonObject]],
) -> dict[tuple[str, str, int, int, str], IngressRule]:
    rules = (IngressRule(**rule) for group in state.values() for rule in group)
    return {rule.identity: rule for rule in rules}


def apply_all(
    groups: Groups, rules: list[IngressRule], change: Change, undo: Change
) -> list[IngressRule]:
    """Make each change; returns the rules it really changed, or undoes them and fails."""
    done: list[IngressRule] = []
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


def _wants_dry_run(call: Call) -> bool:
    return call.dry_run or call.parameters.get("dry_run") is True


def lock(call: Call, aws: Aws) -> JsonObject:
    """Revoke the rules named in the call that are in force."""
    wanted = parse_rules(call.items("rules"))
    groups, ids, dry_run = Groups(aws), group_ids(wanted), _wants_dry_run(call)
    before = groups.state(ids)
    present = _identities(before)
    # The rule as it stands, so that a restore brings back its description too.
    planned = [present[rule.identity] for rule in wanted if rule.identity in present]
    absent = [rule for rule in wanted if rule.identity not in present]
    revoked = [] if dry_run else apply_all(groups, planned, Groups.revoke, Groups.authorize)
    after = _without(before, planned) if dry_run else before
    return _report(aws, dry_run, planned) | {
        "revoked": [rule.as_json() for rule in revoked],
        "already_absent": [rule.as_json() for rule in absent],
        "security_group_state_before": before,
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
