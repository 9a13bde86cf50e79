"""Single ingress rules of security groups: finding, matching and shaping them.

EC2 folds rules of one protocol and port range into one permission. The tools
that change rules work on single rules instead: one group, one port range, one
address range.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from address_ranges import are_everyone, is_anywhere, lies_within
from charter_aws import JsonObject, ToolError

# What stays open when a group is locked: plain web traffic and ICMP.
_WEB_PORTS = frozenset({80, 443})
_PORTED = frozenset({"tcp", "6", "udp", "17"})
_ICMP = frozenset({"icmp", "1", "icmpv6", "58"})
_NUMBERS = {"icmp": "1", "tcp": "6", "udp": "17", "icmpv6": "58"}

MAX_RULES = 500

# Group, protocol, ports, and address range.
Identity = tuple[str, str, int, int, str]


@dataclass(frozen=True, order=True)
class IngressRule:
    """One ingress rule. Ports are ``None`` where the protocol has none."""

    group_id: str
    protocol: str
    from_port: int | None
    to_port: int | None
    cidr: str
    description: str | None = None

    @property
    def identity(self) -> Identity:
        """What makes it the same rule to EC2; the description does not."""
        none = -2
        low = none if self.from_port is None else self.from_port
        high = none if self.to_port is None else self.to_port
        return (self.group_id, self.protocol, low, high, self.cidr)

    @property
    def opens_only_web_or_icmp(self) -> bool:
        """Whether the rule admits nothing but port 80, port 443 or ICMP."""
        if self.protocol in _ICMP:
            return True
        return (
            self.protocol in _PORTED
            and self.from_port == self.to_port
            and self.from_port in _WEB_PORTS
        )

    def covers(self, other: IngressRule) -> bool:
        """Whether it admits all that another rule does, addresses aside."""
        if self.protocol == "-1":
            return True
        if _NUMBERS.get(self.protocol, self.protocol) != _NUMBERS.get(
            other.protocol, other.protocol
        ):
            return False
        low, high = (-1 if port is None else port for port in (self.from_port, self.to_port))
        other_low, other_high = (
            -1 if port is None else port for port in (other.from_port, other.to_port)
        )
        if self.protocol in _PORTED:
            # Without ports, a rule admits them all.
            return low < 0 or (low <= other_low and high >= other_high)
        # The ports of ICMP are type and code, of which -1 is every one.
        return low in (-1, other_low) and high in (-1, other_high)

    def permission(self, *, described: bool) -> JsonObject:
        """The rule as EC2's IpPermission; revoking takes no description."""
        is_v6 = ":" in self.cidr
        entry: JsonObject = {"CidrIpv6" if is_v6 else "CidrIp": self.cidr}
        if described and self.description:
            entry["Description"] = self.description
        permission: JsonObject = {
            "IpProtocol": self.protocol,
            "Ipv6Ranges" if is_v6 else "IpRanges": [entry],
        }
        if self.from_port is not None and self.to_port is not None:
            permission |= {"FromPort": self.from_port, "ToPort": self.to_port}
        return permission

    def as_json(self) -> JsonObject:
        """The rule as the tools exchange it."""
        return asdict(self)


def rules_of(group: Mapping[str, Any]) -> list[IngressRule]:
    """Every address-range rule of a security group, ordered; references are left out."""
    rules = []
    for permission in group.get("IpPermissions", []):
        entries = [(item["CidrIp"], item) for item in permission.get("IpRanges", [])]
        entries += [(item["CidrIpv6"], item) for item in permission.get("Ipv6Ranges", [])]
        for cidr, entry in entries:
            rules.append(
                IngressRule(
                    group_id=group["GroupId"],
                    protocol=str(permission["IpProtocol"]),
                    from_port=permission.get("FromPort"),
                    to_port=permission.get("ToPort"),
                    cidr=cidr,
                    description=entry.get("Description"),
                )
            )
    return sorted(rules, key=lambda rule: rule.identity)


def _is_piece(rule: IngressRule, narrower: list[IngressRule]) -> bool:
    """Whether a rule admits every address together with others of its ports or more."""
    version = 6 if ":" in rule.cidr else 4
    together = [other.cidr for other in narrower if other.covers(rule)]
    return not any(lies_within(rule.cidr, other) for other in together) and are_everyone(
        together, version
    )


def open_rules(group: Mapping[str, Any]) -> list[IngressRule]:
    """The rules of a group that admit every address, alone or together."""
    rules = rules_of(group)
    narrower = [rule for rule in rules if not is_anywhere(rule.cidr)]
    return [rule for rule in rules if is_anywhere(rule.cidr) or _is_piece(rule, narrower)]


def _optional(value: Any, kind: type, name: str) -> Any:
    if value is not None and (not isinstance(value, kind) or isinstance(value, bool)):
        raise ToolError("input_error", f"a rule's {name} has the wrong type")
    return value


def parse_rules(values: Iterable[Any]) -> list[IngressRule]:
    """Rules from a call's parameters, without repeats, ordered."""
    parsed: dict[Identity, IngressRule] = {}
    for value in values:
        if not isinstance(value, dict):
            raise ToolError("input_error", "each rule must be an object")
        for name in ("group_id", "protocol", "cidr"):
            if not isinstance(value.get(name), str) or not value[name]:
                raise ToolError("input_error", f"each rule needs a {name}")
        rule = IngressRule(
            group_id=value["group_id"],
            protocol=value["protocol"],
            from_port=_optional(value.get("from_port"), int, "from_port"),
            to_port=_optional(value.get("to_port"), int, "to_port"),
            cidr=value["cidr"],
            description=_optional(value.get("description"), str, "description"),
        )
        parsed[rule.identity] = rule
    if not parsed:
        raise ToolError("input_error", "at least one rule is needed")
    if len(parsed) > MAX_RULES:
        raise ToolError("input_error", f"at most {MAX_RULES} rules are taken in one call")
    return sorted(parsed.values(), key=lambda rule: rule.identity)


def group_ids(rules: Iterable[IngressRule]) -> list[str]:
    """The groups that the rules belong to."""
    return sorted({rule.group_id for rule in rules})
