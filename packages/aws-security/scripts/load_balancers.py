"""Load balancers with their listeners, web ACL and the ranges that reach them.

Two tools read load balancers this way, so the reading stands here once.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from botocore.exceptions import ClientError
from charter_aws import Aws, JsonObject, error_code, sorted_by, tags_of

# What DescribeTags accepts in one call.
TAGS_PER_CALL = 20

_DENIED = frozenset({"AccessDenied", "AccessDeniedException"})


def _web_acl(wafv2: Any, balancer: Mapping[str, Any]) -> JsonObject:
    """Which web ACL guards a balancer; only application balancers can have one."""
    if balancer["Type"] != "application":
        return {"status": "unsupported", "arn": None}
    try:
        answer = wafv2.get_web_acl_for_resource(ResourceArn=balancer["LoadBalancerArn"])
    except ClientError as error:
        if error_code(error) not in _DENIED:
            raise
        return {"status": "unknown", "arn": None}
    web_acl = answer.get("WebACL")
    if web_acl:
        return {"status": "associated", "arn": web_acl["ARN"]}
    return {"status": "none", "arn": None}


def admits(permission: Mapping[str, Any], port: int) -> bool:
    """Whether a security group permission covers a TCP port."""
    protocol = str(permission["IpProtocol"])
    if protocol == "-1":
        return True
    low, high = permission.get("FromPort"), permission.get("ToPort")
    return protocol == "tcp" and low is not None and high is not None and low <= port <= high


def _ranges(permissions: list[JsonObject], port: int) -> list[str]:
    found: set[str] = set()
    for permission in permissions:
        if admits(permission, port):
            found.update(entry["CidrIp"] for entry in permission.get("IpRanges", []))
            found.update(entry["CidrIpv6"] for entry in permission.get("Ipv6Ranges", []))
    return sorted(found)


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
        listeners.append(
            {
                "port": listener["Port"],
                "protocol": listener["Protocol"],
                # Without a security group nothing narrows who may connect.
                "cidrs": _ranges(reachable, listener["Port"]) if groups else ["0.0.0.0/0"],
            }
        )
    return sorted(listeners, key=lambda item: (item["port"], item["protocol"]))


def _tags(elbv2: Any, arns: list[str]) -> dict[str, dict[str, str]]:
    found: dict[str, dict[str, str]] = {}
    for start in range(0, len(arns), TAGS_PER_CALL):
        answer = elbv2.describe_tags(ResourceArns=arns[start : start + TAGS_PER_CALL])
        for description in answer["TagDescriptions"]:
            found[description["ResourceArn"]] = tags_of(description)
    return found


def read_load_balancers(aws: Aws, security_groups: list[JsonObject]) -> list[JsonObject]:
    """All balancers of the region, ordered by ARN.

    ``security_groups`` are the region's groups as EC2 returns them; they say
    which ranges reach a listener.
    """
    permissions = {group["GroupId"]: group["IpPermissions"] for group in security_groups}
    elbv2, wafv2 = aws.client("elbv2"), aws.client("wafv2")
    balancers = aws.pages("elbv2", "describe_load_balancers", "LoadBalancers")
    tags = _tags(elbv2, [balancer["LoadBalancerArn"] for balancer in balancers])
    result = []
    for balancer in sorted_by(balancers, "LoadBalancerArn"):
        arn = balancer["LoadBalancerArn"]
        result.append(
            {
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
        )
    return result
