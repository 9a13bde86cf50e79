"""What security.detect_public_ingress must find, computed a second time.

Plain boto3 and plain Python: nothing here comes from the package's scripts or
filters, so that agreement between the two means something. Prints a sorted JSON
list to standard output; reads only.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from typing import Any, NamedTuple

import boto3

EVERYONE = ("0.0.0.0/0", "::/0")
ALL_PORTS = range(65536)
LOGIN_PORTS = {22, 3389}
SENSITIVE_PORTS = {
    23, 445, 1433, 1521, 2049, 2375, 2376, 3306, 5432, 5439, 5900, 5984, 6379, 6443,
    9042, 9200, 9300, 10250, 11211, 27017, 27018, 27019,
}  # fmt: skip
WIDE_RANGE = 1000
PROTOCOL_NAMES = {"-1": "all", "1": "icmp", "6": "tcp", "17": "udp", "58": "icmpv6"}


class Finding(NamedTuple):
    """What is compared; the fields' order is the sort order."""

    rule_id: str
    resource_type: str
    resource_id: str
    protocol: str
    port: str
    cidr: str
    severity: str


def group_severity(protocol: str, ports: range | None, expected: bool) -> str:
    """Severity of an open rule. ``ports`` is None where the protocol has none."""
    if protocol == "all":
        return "critical"
    if protocol.startswith("icmp"):
        return "info"
    if ports is None:
        return "medium"
    if expected and list(ports) in ([80], [443]):
        return "info"
    if len(ports) == 65536 or any(port in ports for port in LOGIN_PORTS):
        return "critical"
    if any(port in ports for port in SENSITIVE_PORTS):
        return "high"
    if list(ports) == [443]:
        return "info"
    if list(ports) == [80]:
        return "low"
    return "high" if len(ports) >= WIDE_RANGE else "medium"


def port_text(protocol: str, ports: range | None) -> str:
    """A port range as findings spell it."""
    if protocol == "all" or (ports is not None and len(ports) == 65536):
        return "all"
    if ports is None:
        return "any"
    return str(ports[0]) if len(ports) == 1 else f"{ports[0]}-{ports[-1]}"


def security_group_findings(ec2: Any) -> Iterator[Finding]:
    """Open rules, read rule by rule rather than from the folded permissions."""
    expected = {
        group["GroupId"]
        for page in ec2.get_paginator("describe_security_groups").paginate()
        for group in page["SecurityGroups"]
        if {"Key": "public-exposure", "Value": "expected"} in group.get("Tags", [])
    }
    for page in ec2.get_paginator("describe_security_group_rules").paginate():
        for rule in page["SecurityGroupRules"]:
            cidr = rule.get("CidrIpv4") or rule.get("CidrIpv6")
            if rule["IsEgress"] or cidr not in EVERYONE:
                continue
            protocol = "all" if rule["IpProtocol"] == "-1" else rule["IpProtocol"]
            ports = None
            if protocol in ("tcp", "udp"):
                ports = range(rule["FromPort"], rule["ToPort"] + 1)
            yield Finding(
                "open_security_group_ingress",
                "aws.ec2.security_group",
                rule["GroupId"],
                protocol,
                port_text(protocol, ports),
                cidr,
                group_severity(protocol, ports, rule["GroupId"] in expected),
            )


def reaching_ranges(ec2: Any, group_ids: list[str], port: int) -> set[str]:
    """The address ranges that any of the groups lets connect to a TCP port."""
    if not group_ids:
        return {"0.0.0.0/0"}
    ranges = set()
    for group in ec2.describe_security_groups(GroupIds=group_ids)["SecurityGroups"]:
        for rule in group["IpPermissions"]:
            every = rule["IpProtocol"] == "-1"
            if every or (
                rule["IpProtocol"] == "tcp" and rule["FromPort"] <= port <= rule["ToPort"]
            ):
                ranges |= {item["CidrIp"] for item in rule["IpRanges"]}
                ranges |= {item["CidrIpv6"] for item in rule["Ipv6Ranges"]}
    return ranges


def load_balancer_findings(ec2: Any, elbv2: Any, wafv2: Any) -> Iterator[Finding]:
    """Internet-facing application balancers that somebody reaches and no web ACL guards."""
    for page in elbv2.get_paginator("describe_load_balancers").paginate():
        for balancer in page["LoadBalancers"]:
            arn = balancer["LoadBalancerArn"]
            if balancer["Type"] != "application" or balancer["Scheme"] != "internet-facing":
                continue
            if wafv2.get_web_acl_for_resource(ResourceArn=arn).get("WebACL"):
                continue
            groups = balancer.get("SecurityGroups", [])
            listeners = elbv2.describe_listeners(LoadBalancerArn=arn)["Listeners"]
            reach = {item["Port"]: reaching_ranges(ec2, groups, item["Port"]) for item in listeners}
            world = {port for port, ranges in reach.items() if ranges & set(EVERYONE)}
            ports = world or {port for port, ranges in reach.items() if ranges}
            if not ports:
                continue
            ranges = set().union(*(reach[port] for port in ports))
            shown = ranges & set(EVERYONE) if world else ranges
            yield Finding(
                "load_balancer_without_web_acl",
                "aws.elasticloadbalancing.loadbalancer",
                arn,
                "tcp",
                ", ".join(sorted(map(str, ports))),
                ", ".join(sorted(shown)),
                "medium" if world else "low",
            )


def entry_ports(entry: dict[str, Any]) -> set[int]:
    """The ports of a network ACL entry; all of them where none are named."""
    named = entry.get("PortRange")
    if entry["Protocol"] in ("6", "17") and named:
        return set(range(named["From"], named["To"] + 1))
    return set(ALL_PORTS)


def icmp_takes_away(deny: dict[str, Any], entry: dict[str, Any]) -> bool:
    """Whether a denied type and code of ICMP are all that an entry allows."""
    denied, allowed = deny.get("IcmpTypeCode", {}), entry.get("IcmpTypeCode", {})
    return all(denied.get(part, -1) in (-1, allowed.get(part, -1)) for part in ("Type", "Code"))


def left_of(entry: dict[str, Any], earlier: list[dict[str, Any]], cidr: str) -> set[int]:
    """The ports that earlier denies for the same addresses leave of an allow, if any."""
    left = entry_ports(entry)
    for deny in earlier:
        if deny["RuleAction"] != "deny" or cidr not in (
            deny.get("CidrBlock"),
            deny.get("Ipv6CidrBlock"),
        ):
            continue
        if deny["Protocol"] == "-1":
            return set()
        if deny["Protocol"] != entry["Protocol"]:
            continue
        if entry["Protocol"] in ("6", "17"):
            left -= entry_ports(deny)
        elif icmp_takes_away(deny, entry):
            return set()
    return left


def runs(ports: set[int]) -> list[range]:
    """Ports as ranges without gaps, in order."""
    found: list[range] = []
    for port in sorted(ports):
        if found and found[-1].stop == port:
            found[-1] = range(found[-1].start, port + 1)
        else:
            found.append(range(port, port + 1))
    return found


def acl_severity(acl: dict[str, Any], protocol: str, ports: set[int]) -> str:
    """Severity of an allow entry of a network ACL."""
    if acl["IsDefault"] or not acl["Associations"]:
        return "info"
    if protocol == "all":
        return "medium"
    if protocol not in ("tcp", "udp"):
        return "low"
    if len(ports) == len(ALL_PORTS):
        return "medium"
    if min(ports) >= 1024 and max(ports) == 65535:
        return "low"
    return "medium" if ports & LOGIN_PORTS else "low"


def network_acl_findings(ec2: Any) -> Iterator[Finding]:
    """Allow entries for every address, as far as earlier denies leave something of them."""
    for page in ec2.get_paginator("describe_network_acls").paginate():
        for acl in page["NetworkAcls"]:
            entries = [item for item in acl["Entries"] if not item["Egress"]]
            entries.sort(key=lambda item: item["RuleNumber"])
            for position, entry in enumerate(entries):
                cidr = entry.get("CidrBlock") or entry.get("Ipv6CidrBlock", "")
                if entry["RuleAction"] != "allow" or cidr not in EVERYONE:
                    continue
                ports = left_of(entry, entries[:position], cidr)
                if not ports:
                    continue
                protocol = PROTOCOL_NAMES.get(entry["Protocol"], entry["Protocol"])
                ported = runs(ports) if protocol in ("tcp", "udp") else [None]
                yield Finding(
                    "open_network_acl_entry",
                    "aws.ec2.network_acl",
                    acl["NetworkAclId"],
                    protocol,
                    ", ".join(port_text(protocol, run) for run in ported),
                    cidr,
                    acl_severity(acl, protocol, ports),
                )


def expected(session: boto3.Session) -> list[dict[str, str]]:
    """Every finding for the session's region, sorted and without repeats."""
    ec2, elbv2, wafv2 = (session.client(name) for name in ("ec2", "elbv2", "wafv2"))
    found = {
        *security_group_findings(ec2),
        *load_balancer_findings(ec2, elbv2, wafv2),
        *network_acl_findings(ec2),
    }
    return [finding._asdict() for finding in sorted(found)]


def main() -> None:
    """Print the findings of one region."""
    parser = argparse.ArgumentParser(description="the findings that Charter must arrive at")
    parser.add_argument("--region", default="us-east-1")
    parser.add_argument("--profile", default=None)
    arguments = parser.parse_args()
    session = boto3.Session(profile_name=arguments.profile, region_name=arguments.region)
    print(json.dumps(expected(session), indent=2))


if __name__ == "__main__":
    main()
