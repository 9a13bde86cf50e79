"""Load balancers with their listeners, web ACL and the ranges that reach them.

Two tools read load balancers this way, so the reading stands here once.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from address_ranges import are_everyone, is_anywhere
from charter_aws import (
    ONE_FAILS,
    Aws,
    JsonObject,
    raise_if_of_all,
    read_each,
    sorted_by,
    tags_of,
)

# What DescribeTags accepts in one call.
TAGS_PER_CALL = 20

# How a listener's protocol is carried; one that is not named here may come over either.
_CARRIED_OVER = {
    "HTTP": frozenset({"tcp"}),
    "HTTPS": frozenset({"tcp"}),
    "TCP": frozenset({"tcp"}),
    "TLS": frozenset({"tcp"}),
    "QUIC": frozenset({"udp"}),
    "UDP": frozenset({"udp"}),
}
_EITHER = frozenset({"tcp", "udp"})
# Security groups name a protocol, or its number where EC2 has no name for it.
_NAMES = {"6": "tcp", "17": "udp"}


def _web_acl(wafv2: Any, balancer: Mapping[str, Any]) -> JsonObject:
    """Which web ACL guards a balancer, if that can be read; only application ones can have one."""
    if balancer["Type"] != "application":
        return {"status": "unsupported", "arn": None}
    try:
        answer = wafv2.get_web_acl_for_resource(ResourceArn=balancer["LoadBalancerArn"])
    except ONE_FAILS as error:
        raise_if_of_all(error)
        return {"status": "unknown", "arn": None}
    web_acl = answer.get("WebACL")
    if web_acl:
        return {"status": "associated", "arn": web_acl["ARN"]}
    return {"status": "none", "arn": None}


def admits(permission: Mapping[str, Any], port: int, protocols: frozenset[str] = _EITHER) -> bool:
    """Whether a security group permission covers a port of one of the protocols."""
    protocol = str(permission["IpProtocol"])
    if protocol == "-1":
        return True
    if _NAMES.get(protocol, protocol) not in protocols:
        return False
    low, high = permission.get("FromPort"), permission.get("ToPort")
    # Without ports, or with the port -1, a permission covers them all.
    return low is None or high is None or low < 0 or low <= port <= high


def _ranges(
    permissions: list[JsonObject], port: int, protocols: frozenset[str] = _EITHER
) -> list[str]:
    found: set[str] = set()
    for permission in permissions:
        if admits(permission, port, protocols):
            found.update(entry["CidrIp"] for entry in permission.get("IpRanges", []))
            found.update(entry["CidrIpv6"] for entry in permission.get("Ipv6Ranges", []))
    return _named_everyone(found)


def _named_everyone(ranges: set[str]) -> list[str]:
    """The ranges; those of a family that hold every address together are named as one."""
    four, six = ({cidr for cidr in ranges if (":" in cidr) == is_six} for is_six in (False, True))
    for family, version, everyone in ((four, 4, "0.0.0.0/0"), (six, 6, "::/0")):
        if not any(map(is_anywhere, family)) and are_everyone(family, version):
            family.clear()
            family.add(everyone)
    return sorted(four | six)


def _everyone(balancer: Mapping[str, Any]) -> list[str]:
    """Every address of the families that a balancer answers to."""
    dual = str(balancer.get("IpAddressType", "ipv4")).startswith("dualstack")
    return ["0.0.0.0/0", "::/0"] if dual else ["0.0.0.0/0"]


def _listeners(
    elbv2: Any, balancer: Mapping[str, Any], permissions: Mapping[str, list[JsonObject]]
) -> list[JsonObject]:
    """Each listener with the address ranges that may open a connection to it."""
    groups = balancer.get("SecurityGroups") or []
    pages = elbv2.get_paginator("describe_listeners").paginate(
        LoadBalancerArn=balancer["LoadBalancerArn"]
    )
    listeners = []
    for listener in (item for page in pages for item in page["Listeners"]):
        if "Port" not in listener:  # a gateway balancer listens on every port
            continue
        reachable = [rule for group in groups for rule in permissions.get(group, [])]
        protocols = _CARRIED_OVER.get(listener["Protocol"], _EITHER)
        listeners.append(
            {
                "port": listener["Port"],
                "protocol": listener["Protocol"],
                # Without a security group nothing narrows who may connect.
                "cidrs": _ranges(reachable, listener["Port"], protocols)
                if groups
                else _everyone(balancer),
            }
        )
    return sorted(listeners, key=lambda item: (item["port"], item["protocol"]))


def _tags_of_some(elbv2: Any, arns: list[str]) -> dict[str, dict[str, str]]:
    """The tags of a few balancers, each for itself where AWS refuses them together."""
    try:
        answer = elbv2.describe_tags(ResourceArns=arns)
    except ONE_FAILS as error:
        raise_if_of_all(error)
        if len(arns) == 1:
            return {}
        found: dict[str, dict[str, str]] = {}
        for arn in arns:
            found |= _tags_of_some(elbv2, [arn])
        return found
    return {item["ResourceArn"]: tags_of(item) for item in answer["TagDescriptions"]}


def _tags(elbv2: Any, arns: list[str]) -> dict[str, dict[str, str]]:
    found: dict[str, dict[str, str]] = {}
    for start in range(0, len(arns), TAGS_PER_CALL):
        found |= _tags_of_some(elbv2, arns[start : start + TAGS_PER_CALL])
    return found


def read_load_balancers(
    aws: Aws, security_groups: list[JsonObject]
) -> tuple[list[JsonObject], list[JsonObject]]:
    """All balancers of the region, ordered by ARN, and those that could not be read.

    ``security_groups`` are the region's groups as EC2 returns them; they say
    which ranges reach a listener.
    """
    permissions = {group["GroupId"]: group.get("IpPermissions", []) for group in security_groups}
    elbv2, wafv2 = aws.client("elbv2"), aws.client("wafv2")
    balancers = sorted_by(
        aws.pages("elbv2", "describe_load_balancers", "LoadBalancers"), "LoadBalancerArn"
    )
    tags = _tags(elbv2, [balancer["LoadBalancerArn"] for balancer in balancers])

    def read(balancer: JsonObject) -> JsonObject:
        arn = balancer["LoadBalancerArn"]
        return {
            "arn": arn,
            "name": balancer["LoadBalancerName"],
            "type": balancer["Type"],
            "scheme": balancer.get("Scheme", "internet-facing"),
            "dns_name": balancer.get("DNSName"),
            "vpc_id": balancer.get("VpcId"),
            "security_group_ids": sorted(balancer.get("SecurityGroups") or []),
            "listeners": _listeners(elbv2, balancer, permissions),
            "web_acl": _web_acl(wafv2, balancer),
            "tags": tags.get(arn, {}),
        }

    return read_each(balancers, "LoadBalancerArn", read)
