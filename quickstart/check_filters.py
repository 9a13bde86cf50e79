"""Checks of the rules of skills over tool results that are written here: in what order entries of network ACLs
decide, what the ports of each protocol mean, which ranges are every address together.
"""

from __future__ import annotations

from typing import NamedTuple

from package_calls import Check, Json, Package, fills_template, jq, rendered

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
    ("any address of any spelling", [deny(90, TCP, 22, 22, cidr="1.2.3.4/0"), allow(100, TCP, 22, 22)], []),
    ("all addresses but in another spelling", [allow(100, UDP, 53, 53, cidr="7.7.7.7/0")], [(100, "udp", "53", "low")]),
    (
        "half the addresses, and the other half",
        [allow(100, TCP, 22, 22, cidr="0.0.0.0/1"), allow(110, TCP, 22, 22, cidr="128.0.0.0/1")],
        [(110, "tcp", "22", "medium")],
    ),
    ("half the addresses", [allow(100, ALL, cidr="128.0.0.0/1")], []),
    (
        "the halves for other ports",
        [allow(100, TCP, 22, 22, cidr="0.0.0.0/1"), allow(110, TCP, 23, 23, cidr="128.0.0.0/1")],
        [],
    ),
    (
        "one half for more ports",
        [allow(100, TCP, 20, 30, cidr="0.0.0.0/1"), allow(110, TCP, 22, 22, cidr="128.0.0.0/1")],
        [(110, "tcp", "22", "medium")],
    ),
    (
        "halves of IPv6",
        [allow(100, ALL, cidr="::/1"), allow(110, ALL, cidr="8000::/1")],
        [(110, "all", "all", "medium")],
    ),
    (
        "denied in halves",
        [deny(80, ALL, cidr="0.0.0.0/1"), deny(90, TCP, 0, 65535, cidr="128.0.0.0/1"), allow(100, TCP, 22, 22)],
        [],
    ),
    (
        "denied for half",
        [deny(80, ALL, cidr="0.0.0.0/1"), allow(100, TCP, 22, 22)],
        [(100, "tcp", "22", "medium")],
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


def group_of(*rules: tuple[str, int | None, int | None, list[str]]) -> Json:
    """A security group with a permission for each rule: protocol, from, to, ranges."""
    permissions = [
        {
            "IpProtocol": protocol,
            "FromPort": low,
            "ToPort": high,
            "IpRanges": [{"CidrIp": cidr} for cidr in cidrs if ":" not in cidr],
            "Ipv6Ranges": [{"CidrIpv6": cidr} for cidr in cidrs if ":" in cidr],
        }
        for protocol, low, high, cidrs in rules
    ]
    named = {"GroupId": "sg-1", "GroupName": "g", "VpcId": "v", "Region": "r", "AccountId": "a", "Tags": []}
    return named | {"IpPermissions": permissions}


HALVES = ["0.0.0.0/1", "128.0.0.0/1"]
# A name, the rules of one security group, and what is found: ports, ranges, severity.
TOGETHER: list[tuple[str, list[tuple[str, int | None, int | None, list[str]]], list[tuple[str, str, str]]]] = [
    ("halves", [("tcp", 22, 22, HALVES)], [("22", "0.0.0.0/1, 128.0.0.0/1", "critical")]),
    (
        "halves in two permissions",
        [("tcp", 22, 22, HALVES[:1]), ("tcp", 22, 22, HALVES[1:])],
        [("22", "0.0.0.0/1, 128.0.0.0/1", "critical")],
    ),
    (
        "quarters, one of them cut again, and an office",
        [("tcp", 443, 443, ["64.0.0.0/2", "0.0.0.0/3", "32.0.0.0/3", "192.0.0.0/2", "128.0.0.0/2", "198.51.100.0/24"])],
        [("443", "0.0.0.0/3, 128.0.0.0/2, 192.0.0.0/2, 32.0.0.0/3, 64.0.0.0/2", "info")],
    ),
    ("one half", [("tcp", 22, 22, HALVES[1:])], []),
    ("all but a sliver", [("tcp", 22, 22, [f"{1 << bit}.0.0.0/{8 - bit}" for bit in range(8)])], []),
    ("many ranges that overlap", [("tcp", 22, 22, ["0.0.0.0/1", "64.0.0.0/2", "0.0.0.0/2", "32.0.0.0/3"])], []),
    ("halves of two families", [("tcp", 22, 22, ["0.0.0.0/1", "8000::/1"])], []),
    ("halves of IPv6", [("-1", None, None, ["::/1", "8000::/1"])], [("all", "8000::/1, ::/1", "critical")]),
    (
        "pieces of IPv6",
        [("tcp", 22, 22, ["::/2", "4000:0:0:0:0:0:0:0/2", "8000::0/2", "C000::/2", "2001:db8::/32"])],
        [("22", "4000:0:0:0:0:0:0:0/2, 8000::0/2, ::/2, C000::/2", "critical")],
    ),
    ("halves for different ports", [("tcp", 22, 22, HALVES[:1]), ("tcp", 3389, 3389, HALVES[1:])], []),
    ("halves for different protocols", [("tcp", 53, 53, HALVES[:1]), ("udp", 53, 53, HALVES[1:])], []),
    (
        "one half for more ports",
        [("-1", None, None, HALVES[:1]), ("tcp", 22, 22, HALVES[1:])],
        [("22", "0.0.0.0/1, 128.0.0.0/1", "critical")],
    ),
    (
        "halves for more ports, and an office",
        [("tcp", 0, 65535, HALVES), ("tcp", 22, 22, ["198.51.100.0/24"])],
        [("all", "0.0.0.0/1, 128.0.0.0/1", "critical")],
    ),
    (
        "halves beside every address",
        [("tcp", 22, 22, ["0.0.0.0/0", *HALVES])],
        [("22", "0.0.0.0/0", "critical"), ("22", "0.0.0.0/1, 128.0.0.0/1", "critical")],
    ),
]


def check_ranges_together(check: Check, package: Package) -> None:
    """Narrower ranges that hold every address together are as open as 0.0.0.0/0."""
    [rule] = (
        rule
        for rule in package.skills["security.detect_public_ingress"]["analysis"]["findings"]
        if rule["rule_id"] == "open_security_group_ingress"
    )
    for name, rules, wanted in TOGETHER:
        found = sorted(
            (item["port"], item["cidr"], item["severity"]) for item in jq(rule["filter"], [group_of(*rules)])
        )
        check.that(f"ranges together: {name}", found == wanted, str(found))


class Unread(NamedTuple):
    """A rule about what could not be read, what of its tool's list it is given, and the resources that it names."""

    skill: str
    rule: str
    given: list[Json]
    found: list[tuple[str, str]]


def gone(name: str, reason: str = "AccessDenied", **more: str) -> Json:
    """What could not be read, as tools name it."""
    return {"name": name, "operation": "DescribeIt", "reason": reason} | more


BUCKETS = [gone("b", kind="bucket"), gone("a", kind="account")]
BUCKETS_FOUND = [("aws.s3.bucket", "b"), ("aws.account", "a")]
UNREAD = [
    Unread("security.detect_public_storage_access", "bucket_not_readable", BUCKETS, BUCKETS_FOUND),
    Unread(
        "security.rank_basic_exposure_findings",
        "bucket_not_readable",
        [*BUCKETS, gone("c", "NoSuchBucket", kind="bucket")],
        BUCKETS_FOUND,
    ),
    Unread(
        "security.detect_public_ingress",
        "load_balancer_not_readable",
        [gone("arn:1"), gone("arn:2", "LoadBalancerNotFound")],
        [("aws.elasticloadbalancing.loadbalancer", "arn:1")],
    ),
    Unread(
        "security.rank_basic_exposure_findings",
        "surface_not_readable",
        [gone("sg-1", "no GroupName"), gone("arn:1"), gone("arn:2", "LoadBalancerNotFound")],
        [("aws.ec2.security_group", "sg-1"), ("aws.elasticloadbalancing.loadbalancer", "arn:1")],
    ),
    *(
        Unread("cost.detect_idle_resources", f"{kind}_not_readable", [gone("x")], [(f"aws.ec2.{resource}", "x")])
        for kind, resource in (
            ("volume", "volume"),
            ("address", "elastic_ip"),
            ("snapshot", "snapshot"),
            ("instance", "instance"),
        )
    ),
    Unread("cost.detect_outdated_volume_types", "volume_not_readable", [gone("x")], [("aws.ec2.volume", "x")]),
]


def check_unreadable(check: Check, packages: list[Package]) -> None:
    """What could not be read is a finding, which is in no total and in no count of what was found."""
    for skill_id, rule_id, given, wanted in UNREAD:
        [package] = (package for package in packages if skill_id in package.skills)
        analysis = package.skills[skill_id]["analysis"]
        [rule] = (rule for rule in analysis["findings"] if rule["rule_id"] == rule_id)
        output = {"region": "r", "account_id": "a", "unreadable": given}
        found = jq(rule["filter"], output)
        seen = [(item["resource_type"], item["resource_id"]) for item in found]
        check.that(f"{skill_id} {rule_id} names what was not read", seen == wanted, str(seen))
        check.that(f"{skill_id} {rule_id} is no alarm", all(item["severity"] == "info" for item in found))
        counted = [item.get(name, 0) for item in found for name in ("score", "monthly_cost_usd", "monthly_saving_usd")]
        check.that(f"{skill_id} {rule_id} counts for nothing", not any(counted), str(counted))
        nothing = jq(rule["filter"], output | {"unreadable": []})
        check.that(f"{skill_id} {rule_id} is silent where all was read", not nothing, str(nothing))
        findings = [made_finding(rule_id, item) for item in found]
        fills_template(check, package, skill_id, [item["fields"] | item for item in findings])
        [text] = rendered(analysis["summary"], [{"findings": findings}])
        check.that(f"{skill_id} {rule_id} is in the summary", SUMMARIES[skill_id](len(found)) == text, text)


def made_finding(rule_id: str, emitted: Json) -> Json:
    """A finding as summaries read it: fields of the rule lie under ``fields``."""
    common = ("severity", "resource_type", "resource_id", "region")
    return {"rule_id": rule_id, "fields": emitted} | {name: emitted[name] for name in common}


# What each summary answers where nothing was found and some resources could not be read.
SUMMARIES = {
    "security.detect_public_storage_access": lambda count: (
        f"No bucket that could be read is public. {count} findings in all."
    ),
    "security.rank_basic_exposure_findings": lambda count: (
        "Nothing exposed was found among what could be read, so there is nothing to rank. "
        f"Not ranked, because reading failed: {count}."
    ),
    "security.detect_public_ingress": lambda _: (
        "No security group, network ACL or load balancer that could be read admits every address. "
        "Not examined, because reading failed: 1 load balancer."
    ),
    "cost.detect_idle_resources": lambda _: (
        "No idle resource was found among those that could be read. "
        "Not examined, because reading failed: 1; their cost is in no total."
    ),
    "cost.detect_outdated_volume_types": lambda _: (
        "No gp2 volume that could be read would be cheaper as gp3. Not examined, because reading failed: 1 volume."
    ),
}


def check_totals(check: Check, packages: list[Package]) -> None:
    """A total holds what was found and no more, and the summary says what it lacks."""
    unread = {"severity": "info", "resource_type": "t", "resource_id": "x", "region": "r"}
    cases = [
        (
            "cost.detect_idle_resources",
            "volume_not_readable",
            "monthly_cost_usd",
            "2 idle resources cost about 5.75 US dollars a month at list prices. "
            "Not examined, because reading failed: 1; their cost is in no total.",
        ),
        (
            "cost.detect_outdated_volume_types",
            "volume_not_readable",
            "monthly_saving_usd",
            "2 gp2 volumes would cost about 5.75 US dollars a month less as gp3. "
            "Not examined, because reading failed: 1 volume.",
        ),
        (
            "security.rank_basic_exposure_findings",
            "bucket_not_readable",
            "score",
            "2 exposed resources. First: 1. b (high, 3.5: why) 2. a (high, 2.25: why). "
            "Not ranked, because reading failed: 1.",
        ),
    ]
    for skill_id, rule_id, field, wanted in cases:
        [summary] = (
            package.skills[skill_id]["analysis"]["summary"] for package in packages if skill_id in package.skills
        )
        found = [
            unread | {"severity": "high", "resource_name": name, "reasons": "why", field: value}
            for name, value in (("a", 2.25), ("b", 3.5))
        ]
        findings = [made_finding("found", item) for item in found]
        findings.append(made_finding(rule_id, unread | {field: 0}))
        [text] = rendered(summary, [{"findings": findings}])
        check.that(f"{skill_id} totals", text == wanted, text)


def check_web_acls(check: Check, package: Package) -> None:
    """A balancer whose web ACL could not be read is ranked, and said to be unknown."""
    rules = package.skills["security.rank_basic_exposure_findings"]["analysis"]["findings"]
    [rule] = (rule for rule in rules if rule["rule_id"] == "ranked_load_balancer")
    balancers = [
        {
            "arn": status,
            "name": status,
            "type": "application",
            "web_acl": {"status": status},
            "listeners": [{"cidrs": [ANY_V4]}],
            "tags": {},
        }
        for status in ("none", "unknown", "associated")
    ]
    found = jq(rule["filter"], {"region": "r", "account_id": "a", "load_balancers": balancers})
    seen = [(item["resource_id"], item["severity"], item["score"]) for item in found]
    check.that("web ACLs are ranked", seen == [("none", "medium", 50), ("unknown", "info", 5)], str(seen))


def check_security_groups(check: Check, package: Package) -> None:
    """What ports mean depends on the protocol; both skills judge alike."""
    ingress, ranking = (
        package.skills[f"security.{name}"]["analysis"]["findings"]
        for name in ("detect_public_ingress", "rank_basic_exposure_findings")
    )
    for name, (protocol, low, high, cidr), wanted in GROUPS:
        group = group_of((protocol, low, high, [cidr]))
        found = [(item["protocol"], item["port"], item["severity"]) for item in jq(ingress[0]["filter"], [group])]
        check.that(f"security group: {name}", found == ([wanted] if wanted else []), str(found))
        if wanted is None:
            continue
        rule = {"protocol": protocol, "from_port": low, "to_port": high, "cidr": cidr}
        exposed = {"group_id": "sg-1", "group_name": "g", "tags": {}, "open_rules": [rule], "public_interfaces": 0}
        ranked = jq(ranking[0]["filter"], {"region": "r", "account_id": "a", "security_groups": [exposed]})
        check.that(f"ranking: {name}", [item["severity"] for item in ranked] == [wanted[2]], str(ranked))


def check_filters(check: Check, security: Package, cost: Package) -> None:
    """All of it."""
    check_network_acls(check, security)
    check_security_groups(check, security)
    check_ranges_together(check, security)
    check_web_acls(check, security)
    check_unreadable(check, [security, cost])
    check_totals(check, [security, cost])
