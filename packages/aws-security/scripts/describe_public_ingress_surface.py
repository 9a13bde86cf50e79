"""aws.describe_public_ingress_surface: what the internet can reach, and through what.

It joins the rules that admit every address with the network interfaces behind
them, and names the rules that locking would take away.
"""

from __future__ import annotations

from charter_aws import Aws, Call, JsonObject, ToolError, read_each, run, sorted_by, tags_of
from ingress_rules import IngressRule, open_rules
from load_balancers import read_load_balancers


def _interfaces_by_group(aws: Aws) -> dict[str, list[JsonObject]]:
    """Each security group's interfaces, with the public address if there is one."""
    found: dict[str, list[JsonObject]] = {}
    for interface in aws.pages("ec2", "describe_network_interfaces", "NetworkInterfaces"):
        entry = {
            "network_interface_id": interface["NetworkInterfaceId"],
            "public_ip": interface.get("Association", {}).get("PublicIp"),
            "ipv6_addresses": [
                address["Ipv6Address"] for address in interface.get("Ipv6Addresses") or []
            ],
            "instance_id": interface.get("Attachment", {}).get("InstanceId"),
        }
        for group in interface.get("Groups", []):
            found.setdefault(group["GroupId"], []).append(entry)
    return {group: sorted_by(entries, "network_interface_id") for group, entries in found.items()}


def _is_reached(interface: JsonObject, rules: list[IngressRule]) -> bool:
    """Whether an interface has a public address of a family that one of the open rules admits."""
    return any(
        bool(interface["ipv6_addresses"]) if ":" in rule.cidr else bool(interface["public_ip"])
        for rule in rules
    )


def _exposure(group: JsonObject, interfaces: list[JsonObject]) -> JsonObject:
    """A group's open rules, with those that locking would take away, and what is behind them."""
    rules = open_rules(group)
    exposure = {
        "group_id": group["GroupId"],
        "group_name": group["GroupName"],
        "vpc_id": group.get("VpcId"),
        "tags": tags_of(group),
        "open_rules": [rule.as_json() for rule in rules],
        "interfaces": interfaces,
        "public_interfaces": sum(1 for item in interfaces if _is_reached(item, rules)),
    }
    lockable = [rule.as_json() for rule in rules if not rule.opens_only_web_or_icmp]
    return {"exposure": exposure, "lockable": lockable}


def _lockable_group(item: JsonObject) -> JsonObject:
    """A group with the rules that locking it would take away."""
    exposure = item["exposure"]
    names = {name: exposure[name] for name in ("group_id", "group_name")}
    return names | {"rules": item["lockable"]}


def describe_public_ingress_surface(call: Call, aws: Aws) -> JsonObject:
    """Groups with rules open to the world, internet-facing balancers, lockable rules."""
    wanted = call.items("group_ids")
    if not all(isinstance(item, str) for item in wanted):
        raise ToolError("input_error", "parameter 'group_ids' must hold strings")
    groups = aws.pages("ec2", "describe_security_groups", "SecurityGroups")
    unknown = sorted(set(wanted) - {group["GroupId"] for group in groups})
    if unknown:
        raise ToolError("input_error", f"unknown security groups: {', '.join(unknown)}")

    interfaces = _interfaces_by_group(aws)
    chosen = [group for group in groups if not wanted or group["GroupId"] in wanted]
    read, unread_groups = read_each(
        sorted_by(chosen, "GroupId"),
        "GroupId",
        lambda group: _exposure(group, interfaces.get(group["GroupId"], [])),
    )
    open_groups = [item for item in read if item["exposure"]["open_rules"]]
    balancers, unread_balancers = read_load_balancers(aws, groups)
    return {
        "region": aws.region,
        "account_id": aws.account_id,
        "security_groups": [item["exposure"] for item in open_groups],
        "load_balancers": [item for item in balancers if item["scheme"] == "internet-facing"],
        "lockable_rules": [rule for item in open_groups for rule in item["lockable"]],
        "lockable_groups": [_lockable_group(item) for item in open_groups if item["lockable"]],
        "unreadable": [*unread_groups, *unread_balancers],
    }


if __name__ == "__main__":
    run(describe_public_ingress_surface)
