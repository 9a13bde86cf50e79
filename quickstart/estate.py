"""Fill a simulated AWS account with a small estate of good and bad resources.

Everything is found again by its name, so a second run adds nothing. The script
refuses any endpoint that is not on the loopback interface: it opens things up
on purpose and must never meet a real account.
"""

from __future__ import annotations

import os
import sys
from typing import Any
from urllib.parse import urlsplit

import boto3
from simulated_region import ALL_SWITCHES, MAIN_REGION, WRITABLE, Region, Rule, Tags, rule

OTHER_REGION = "eu-west-1"
LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})

ANY_V4, ANY_V6 = "0.0.0.0/0", "::/0"
OFFICE = "203.0.113.0/24"
VPC_CIDR = "10.20.0.0/16"
ICMP = "1"


def security_groups(region: Region, vpc_id: str) -> dict[str, str]:
    """Groups from sound to wide open, by name."""
    make = region.security_group
    partners = region.prefix_list("demo-partners", "198.51.100.0/24", "192.0.2.0/24")
    groups = {
        "web": make(
            vpc_id,
            "demo-web",
            "public web servers",
            [rule("tcp", 80, 80, ANY_V4), rule("tcp", 443, 443, ANY_V4, ANY_V6)],
            Environment="production",
        ),
        "office": make(
            vpc_id,
            "demo-office",
            "TCP from the office, QUIC from everywhere",
            [
                rule("tcp", 443, 443, OFFICE),
                rule("tcp", 22, 22, OFFICE),
                rule("udp", 443, 443, ANY_V4),
            ],
        ),
    }
    web = groups["web"]
    plan: list[tuple[str, str, list[Rule], Tags]] = [
        (
            "bastion",
            "SSH for everyone",
            [rule("tcp", 22, 22, ANY_V4, ANY_V6, note="temporary")],
            {"Environment": "production"},
        ),
        ("desktop", "RDP for everyone", [rule("tcp", 3389, 3389, ANY_V4)], {}),
        (
            "database",
            "a database in the open",
            [rule("tcp", 5432, 5432, ANY_V4), rule("tcp", 3306, 3306, VPC_CIDR)],
            {"Environment": "production"},
        ),
        ("everything", "all traffic", [rule("-1", None, None, ANY_V4)], {"Environment": "staging"}),
        ("every-tcp", "every TCP port over IPv6", [rule("tcp", 0, 65535, ANY_V6)], {}),
        ("range", "a small port range", [rule("tcp", 8000, 8100, ANY_V4)], {}),
        ("range-over-ssh", "a range that holds SSH", [rule("tcp", 20, 25, ANY_V4)], {}),
        ("wide-range", "a wide UDP range", [rule("udp", 30000, 32767, ANY_V4)], {}),
        ("memcached", "a cache over UDP", [rule("udp", 11211, 11211, ANY_V4)], {}),
        ("ping", "ICMP for everyone", [rule("icmp", -1, -1, ANY_V4)], {}),
        ("names", "names over UDP", [rule("udp", 53, 53, ANY_V4, ANY_V6)], {}),
        (
            "cdn-origin",
            "public on purpose",
            [rule("tcp", 80, 80, ANY_V4), rule("tcp", 8443, 8443, ANY_V4)],
            {"public-exposure": "expected"},
        ),
        (
            "internal",
            "reached through the web group",
            [rule("tcp", 8080, 8080, web), rule("tcp", 9000, 9000, "10.0.0.0/8")],
            {},
        ),
        ("partners", "reached from a prefix list", [rule("tcp", 443, 443, partners)], {}),
        ("egress-only", "nothing comes in", [], {}),
    ]
    for name, purpose, rules, tags in plan:
        groups[name] = make(vpc_id, f"demo-{name}", purpose, rules, **tags)
    return groups


def acl_entry(
    number: int, action: str, protocol: str, ports: tuple[int, int] | None, cidr: str
) -> dict[str, Any]:
    """One network ACL entry. Protocols are IANA numbers, -1 for all; ICMP has type and code."""
    entry: dict[str, Any] = {"RuleNumber": number, "Protocol": protocol, "RuleAction": action}
    entry["Ipv6CidrBlock" if ":" in cidr else "CidrBlock"] = cidr
    if ports is not None and protocol == ICMP:
        entry["IcmpTypeCode"] = {"Type": ports[0], "Code": ports[1]}
    elif ports is not None:
        entry["PortRange"] = {"From": ports[0], "To": ports[1]}
    return entry


def network_acls(region: Region, vpc_id: str, subnets: list[str]) -> None:
    """ACLs that narrow, that admit everything, and that guard nothing."""
    allow, deny, tcp = "allow", "deny", "6"
    make = region.network_acl
    make(vpc_id, "demo-acl-open", subnets[0], [acl_entry(100, allow, "-1", None, ANY_V4)])
    make(
        vpc_id,
        "demo-acl-web",
        subnets[1],
        [
            acl_entry(90, deny, tcp, (22, 22), ANY_V4),
            acl_entry(100, allow, tcp, (443, 443), ANY_V4),
            acl_entry(110, allow, tcp, (1024, 65535), ANY_V4),
            acl_entry(120, allow, tcp, (22, 22), ANY_V4),
            acl_entry(130, allow, tcp, (20, 30), ANY_V6),
            acl_entry(140, deny, ICMP, (8, -1), ANY_V4),
            acl_entry(150, allow, ICMP, (-1, -1), ANY_V4),
            acl_entry(160, deny, tcp, (0, 1023), ANY_V6),
            acl_entry(170, deny, tcp, (1024, 65535), ANY_V6),
            acl_entry(180, allow, tcp, (0, 65535), ANY_V6),
        ],
    )
    make(vpc_id, "demo-acl-private", subnets[2], [acl_entry(100, allow, "-1", None, VPC_CIDR)])
    make(vpc_id, "demo-acl-unused", None, [acl_entry(100, allow, tcp, (3389, 3389), ANY_V4)])


def load_balancers(region: Region, subnets: list[str], groups: dict[str, str]) -> None:
    """Balancers with and without a web ACL, public and internal."""
    public, internal, make = "internet-facing", "internal", region.load_balancer
    guarded = make("demo-guarded", "application", public, subnets[:2], [groups["web"]], [443])
    region.web_acl("demo-web-acl", guarded)
    make(
        "demo-unguarded",
        "application",
        public,
        subnets[:2],
        [groups["web"]],
        [80, 443],
        Environment="production",
    )
    make("demo-office-portal", "application", public, subnets[:2], [groups["office"]], [443])
    make("demo-unreached", "application", public, subnets[:2], [groups["egress-only"]], [443])
    make("demo-backend", "application", internal, subnets[:2], [groups["internal"]], [8080])
    make("demo-passthrough", "network", public, subnets[:1], [], [443])
    make("demo-names", "network", public, subnets[:1], [groups["names"]], [53], protocol="UDP")


def public_read(bucket: str, **condition: Any) -> dict[str, Any]:
    """A policy statement that lets everyone read a bucket's objects."""
    statement: dict[str, Any] = {
        "Sid": "Everyone",
        "Effect": "Allow",
        "Principal": "*",
        "Action": "s3:GetObject",
        "Resource": f"arn:aws:s3:::{bucket}/*",
    }
    return statement | ({"Condition": condition} if condition else {})


def buckets(main: Region, other: Region) -> None:
    """Buckets that are private, public, or public but for an access block."""
    main.bucket("charter-demo-private", blocked=ALL_SWITCHES)
    main.bucket("charter-demo-bare")
    main.bucket("charter-demo-acl-read", "public-read", Environment="production")
    main.bucket("charter-demo-acl-write", WRITABLE)
    main.bucket("charter-demo-policy", statement=public_read("charter-demo-policy"))
    main.bucket(
        "charter-demo-drop-box",
        statement=public_read("charter-demo-drop-box")
        | {"Action": ["s3:GetObject", "s3:Put*"], "Principal": {"AWS": "*"}},
    )
    main.bucket(
        "charter-demo-held-back",
        statement=public_read("charter-demo-held-back"),
        blocked=ALL_SWITCHES,
    )
    main.bucket(
        "charter-demo-vpc-only",
        statement=public_read(
            "charter-demo-vpc-only", StringEquals={"aws:SourceVpce": "vpce-0a1b2c3d"}
        ),
        blocked=("BlockPublicAcls", "IgnorePublicAcls"),
    )
    other.bucket("charter-demo-eu-files", "public-read")


def idle_resources(region: Region, subnet_id: str, group_id: str) -> None:
    """Disks, addresses and machines, used and unused."""
    running = region.instance("demo-running", subnet_id, group_id)
    stopped = region.instance("demo-stopped", subnet_id, group_id)
    region.ec2.stop_instances(InstanceIds=[stopped])
    region.volume("demo-forgotten", "gp3", 500)
    region.volume("demo-forgotten-fast", "io2", 100, Iops=4000)
    old_type = region.volume("demo-old-type", "gp2", 200)
    attached = region.ec2.describe_volumes(VolumeIds=[old_type])["Volumes"][0]["Attachments"]
    if not attached:
        region.ec2.attach_volume(VolumeId=old_type, InstanceId=running, Device="/dev/sdf")
    region.snapshot("demo-snapshot", old_type)
    region.address("demo-spare-address")
    used = region.address("demo-used-address")
    if not used.get("InstanceId"):
        region.ec2.associate_address(InstanceId=running, AllocationId=used["AllocationId"])


def build(session: boto3.Session) -> None:
    """The whole estate: a full region and a nearly tidy one."""
    main, other = Region(session, MAIN_REGION), Region(session, OTHER_REGION)
    vpc_id = main.vpc("demo-vpc", VPC_CIDR)
    subnets = [
        main.subnet(f"demo-subnet-{zone}", vpc_id, f"10.20.{index}.0/24", zone)
        for index, zone in enumerate("abc")
    ]
    groups = security_groups(main, vpc_id)
    network_acls(main, vpc_id, subnets)
    load_balancers(main, subnets, groups)
    buckets(main, other)
    idle_resources(main, subnets[0], groups["bastion"])

    other_vpc = other.vpc("demo-vpc", VPC_CIDR)
    other.security_group(other_vpc, "demo-eu-app", "application", [rule("tcp", 8443, 8443, OFFICE)])
    other.security_group(
        other_vpc,
        "demo-eu-search",
        "a search cluster in the open",
        [rule("tcp", 9200, 9200, ANY_V4)],
    )


def require_loopback() -> None:
    """Leave unless the endpoint is a simulator on this machine."""
    endpoint = os.environ.get("AWS_ENDPOINT_URL", "")
    if urlsplit(endpoint).hostname not in LOOPBACK:
        sys.exit("estate.py opens resources on purpose: set AWS_ENDPOINT_URL to a loopback address")


def main() -> None:
    """Build the estate with credentials that only a simulator accepts."""
    require_loopback()
    build(boto3.Session(aws_access_key_id="simulated", aws_secret_access_key="simulated"))
    print("estate: ready")


if __name__ == "__main__":
    main()
