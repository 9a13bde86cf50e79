"""Checks of the rules of skills over tool results that are written here: in what order entries of network ACLs
decide, and what the ports of each protocol mean.
"""

from __future__ import annotations

from package_calls import Check, Json, Package, jq

ANY_V4, ANY_V6 = "0.0.0.0/0", "::/0"
TCP, UDP, ICMP, ICMP_V6, ALL = "6", "17", "1", "58", "-1"


def entry(
    number: int, action: str, protocol: str, low: int | None = None, high: int | None = None, cidr: str = ANY_V4
) -> Json:
    """One ingress entry of a network ACL; ``low`` and ``high`` are type and code for ICMP."""
    made: Json = {"RuleNumber": number, "RuleAction": action, "Protocol": protocol, "Egress": False}
    made["Ipv6CidrBlock" if ":" in cidr else "CidrBlock"] = cidr
    if low is not None and protocol in (ICMP, ICMP_V6):
        made["IcmpTypeCode"] = {"Type": low, "Code": high}
    elif low is not None:
        made["PortRange"] = {"From": low, "To": high}
    return made


def allow(number: int, *more: Json, **named: Json) -> Json:
    return entry(number, "allow", *more, **named)


def deny(number: int, *more: Json, **named: Json) -> Json:
    return entry(number, "deny", *more, **named)


# A name, the entries, and what is found of each allow: its number, protocol, ports, severity.
ACLS: list[tuple[str, list[Json], list[tuple[int, str, str, str]]]] = [
    ("everything", [allow(100, ALL)], [(100, "all", "all", "medium")]),
    ("a port", [allow(100, TCP, 443, 443)], [(100, "tcp", "443", "low")]),
    ("a login", [allow(100, TCP, 22, 22)], [(100, "tcp", "22", "medium")]),
    ("return traffic", [allow(100, TCP, 1024, 65535)], [(100, "tcp", "1024-65535", "low")]),
    ("a range that is not everyone", [allow(100, ALL, cidr="10.0.0.0/8")], []),
    ("denied before", [deny(90, TCP, 22, 22), allow(100, TCP, 22, 22)], []),
    ("denied after", [allow(100, TCP, 22, 22), deny(110, TCP, 22, 22)], [(100, "tcp", "22", "medium")]),
    ("denied before, listed after", [allow(100, TCP, 22, 22), deny(90, ALL)], []),
    ("denied for another protocol", [deny(90, UDP, 22, 22), allow(100, TCP, 22, 22)], [(100, "tcp", "22", "medium")]),
    (
        "denied for another family",
        [deny(90, ALL, cidr=ANY_V6), allow(100, TCP, 22, 22)],
        [(100, "tcp", "22", "medium")],
    ),
    (
        "denied for some addresses",
        [deny(90, ALL, cidr="198.51.100.0/24"), allow(100, TCP, 22, 22)],
        [(100, "tcp", "22", "medium")],
    ),
    ("IPv6", [allow(100, TCP, 22, 22, cidr=ANY_V6)], [(100, "tcp", "22", "medium")]),
    ("IPv6 in another spelling", [deny(90, TCP, 0, 65535, cidr="0::/0"), allow(100, TCP, 22, 22, cidr=ANY_V6)], []),
    ("denied in two pieces", [deny(80, TCP, 0, 1023), deny(90, TCP, 1024, 65535), allow(100, TCP, 0, 65535)], []),
    (
        "logins denied",
        [deny(80, TCP, 22, 22), deny(90, TCP, 3389, 3389), allow(100, TCP, 0, 65535)],
        [(100, "tcp", "0-21, 23-3388, 3390-65535", "low")],
    ),
    (
        "one login denied",
        [deny(80, TCP, 22, 22), allow(100, TCP, 20, 4000)],
        [(100, "tcp", "20-21, 23-4000", "medium")],
    ),
    ("an edge denied", [deny(80, TCP, 400, 443), allow(100, TCP, 443, 444)], [(100, "tcp", "444", "low")]),
    ("ports of everything denied", [deny(80, TCP, 22, 22), allow(100, ALL)], [(100, "all", "all", "medium")]),
    ("ICMP", [allow(100, ICMP, -1, -1)], [(100, "icmp", "any", "low")]),
    ("a type is no port", [allow(100, ICMP, 22, -1)], [(100, "icmp", "any", "low")]),
    ("echo denied, the rest allowed", [deny(90, ICMP, 8, -1), allow(100, ICMP, -1, -1)], [(100, "icmp", "any", "low")]),
    ("echo denied, echo allowed", [deny(90, ICMP, 8, -1), allow(100, ICMP, 8, 0)], []),
    ("echo denied, its answer allowed", [deny(90, ICMP, 8, -1), allow(100, ICMP, 0, 0)], [(100, "icmp", "any", "low")]),
    ("a code denied, the type allowed", [deny(90, ICMP, 3, 4), allow(100, ICMP, 3, -1)], [(100, "icmp", "any", "low")]),
    ("ICMP denied", [deny(90, ICMP, -1, -1), allow(100, ICMP, 3, 4)], []),
    ("ICMP denied, TCP allowed", [deny(90, ICMP, -1, -1), allow(100, TCP, 8, 8)], [(100, "tcp", "8", "low")]),
    (
        "ICMP of IPv6",
        [deny(90, ICMP, -1, -1), allow(100, ICMP_V6, -1, -1, cidr=ANY_V6)],
        [(100, "icmpv6", "any", "low")],
    ),
    ("a protocol without ports", [deny(90, "47"), allow(100, "47"), allow(110, "50")], [(110, "50", "any", "low")]),
]


def check_network_acls(check: Check, package: Package) -> None:
    """Each allow counts for what earlier denies leave of it."""
    rules = package.skills["security.detect_public_ingress"]["analysis"]["findings"]
    [rule] = [rule for rule in rules if rule["rule_id"] == "open_network_acl_entry"]
    for name, entries, wanted in ACLS:
        acl = {
            "NetworkAclId": "acl-1",
            "VpcId": "vpc-1",
            "IsDefault": False,
            "Entries": entries,
            "Associations": [{}],
            "Tags": [],
        }
        found = jq(rule["filter"], {"region": "r", "account_id": "a", "network_acls": [acl]})
        seen = [
            (int(item["rule_type"].split()[-1]), item["protocol"], item["port"], item["severity"]) for item in found
        ]
        check.that(f"network ACL: {name}", seen == wanted, str(seen))


# A name, a rule of a security group (protocol, from, to, range), and what is found: protocol, ports, severity.
GROUPS: list[tuple[str, tuple[str, int | None, int | None, str], tuple[str, str, str] | None]] = [
    ("ICMP of type 22", ("icmp", 22, -1, ANY_V4), ("icmp", "any", "info")),
    ("ICMP of IPv6", ("icmpv6", -1, -1, ANY_V6), ("icmpv6", "any", "info")),
    ("ICMP by its number", ("1", 8, 0, ANY_V4), ("icmp", "any", "info")),
    ("TCP by its number", ("6", 22, 22, ANY_V4), ("tcp", "22", "critical")),
    ("UDP", ("udp", 53, 53, ANY_V4), ("udp", "53", "medium")),
    ("a cache over UDP", ("udp", 11211, 11211, ANY_V6), ("udp", "11211", "high")),
    ("everything", ("-1", None, None, ANY_V6), ("all", "all", "critical")),
    ("the world in another spelling", ("tcp", 22, 22, "0::/0"), ("tcp", "22", "critical")),
    ("a protocol without ports", ("47", None, None, ANY_V4), ("47", "any", "medium")),
    ("an office", ("tcp", 22, 22, "203.0.113.0/24"), None),
]


def check_security_groups(check: Check, package: Package) -> None:
    """What ports mean depends on the protocol; both skills judge alike."""
    ingress, ranking = (
        package.skills[f"security.{name}"]["analysis"]["findings"]
        for name in ("detect_public_ingress", "rank_basic_exposure_findings")
    )
    for name, (protocol, low, high, cidr), wanted in GROUPS:
        six = ":" in cidr
        permission = {"IpProtocol": protocol, "FromPort": low, "ToPort": high}
        permission |= {"IpRanges": [] if six else [{"CidrIp": cidr}], "Ipv6Ranges": [{"CidrIpv6": cidr}] if six else []}
        group = {
            "GroupId": "sg-1",
            "GroupName": "g",
            "VpcId": "v",
            "Region": "r",
            "AccountId": "a",
            "Tags": [],
            "IpPermissions": [permission],
        }
        found = [(item["protocol"], item["port"], item["severity"]) for item in jq(ingress[0]["filter"], [group])]
        check.that(f"security group: {name}", found == ([wanted] if wanted else []), str(found))
        if wanted is None:
            continue
        rule = {"protocol": protocol, "from_port": low, "to_port": high, "cidr": cidr}
        exposed = {"group_id": "sg-1", "group_name": "g", "tags": {}, "open_rules": [rule], "public_interfaces": 0}
        ranked = jq(ranking[0]["filter"], {"region": "r", "account_id": "a", "security_groups": [exposed]})
        check.that(f"ranking: {name}", [item["severity"] for item in ranked] == [wanted[2]], str(ranked))


def check_filters(check: Check, package: Package) -> None:
    """All of it."""
    check_network_acls(check, package)
    check_security_groups(check, package)
