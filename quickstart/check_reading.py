"""Checks of what the scripts make of AWS's answers: what is refused or gone is named, and the rest is read.

The clients here answer from tables, because no simulator can be brought to refuse one resource of many.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from contextlib import contextmanager
from datetime import datetime, timezone
from types import SimpleNamespace
from typing import Any

from botocore.exceptions import ClientError, EndpointConnectionError, NoCredentialsError
from package_calls import PACKAGES, Check, Json

REGION = "eu-west-1"
EVERYONE = "http://acs.amazonaws.com/groups/global/AllUsers"
ABSENT = {
    "get_public_access_block": "NoSuchPublicAccessBlockConfiguration",
    "get_bucket_policy": "NoSuchBucketPolicy",
    "get_bucket_tagging": "NoSuchTagSet",
}


def refused(code: str, operation: str) -> ClientError:
    """The error of a call that AWS refuses."""
    return ClientError({"Error": {"Code": code, "Message": "refused"}}, operation)


class S3:
    """Buckets of which some calls fail: ``failing`` has the error of a call for a bucket."""

    def __init__(self, failing: dict[tuple[str, str], Exception]) -> None:
        self._failing = failing

    def __getattr__(self, call: str) -> Callable[..., Json]:
        def answer(Bucket: str) -> Json:  # noqa: N803, as the SDK names it
            if (error := self._failing.get((Bucket, call))) is not None:
                raise error
            if call in ABSENT:
                raise refused(ABSENT[call], call)
            if call == "get_bucket_location":
                return {"LocationConstraint": REGION}
            grants = [{"Grantee": {"URI": EVERYONE}, "Permission": "READ"}, {"Permission": "READ"}]
            return {"Grants": grants if Bucket.startswith("open") else []}

        return answer


class Control:
    """S3 Control, which has or has not an answer on the account's block."""

    def __init__(self, error: Exception | None) -> None:
        self._error = error
        self.meta = SimpleNamespace(events=SimpleNamespace(register_first=lambda *_: None))

    def get_public_access_block(self, **_: Any) -> Json:
        if self._error is not None:
            raise self._error
        return {"PublicAccessBlockConfiguration": {"BlockPublicAcls": True}}


class Account:
    """What scripts use of an AWS session, over clients and lists of this module."""

    region, account_id = REGION, "111122223333"

    def __init__(self, clients: dict[str, Any], lists: dict[str, list[Json]]) -> None:
        self._clients, self._lists = clients, lists

    def client(self, service: str, _region: str | None = None) -> Any:
        return self._clients[service]

    def pages(self, _service: str, operation: str, _key: str, **_: Any) -> list[Json]:
        return [dict(item) for item in self._lists.get(operation, [])]


@contextmanager
def scripts_of(package: str) -> Any:
    """Imports the scripts of a package; two packages may have scripts of one name."""
    folder = str(PACKAGES / package / "scripts")
    sys.path.insert(0, folder)
    known = set(sys.modules)
    try:
        yield importlib.import_module
    finally:
        sys.path.remove(folder)
        for name in set(sys.modules) - known:
            if str(getattr(sys.modules[name], "__file__", "")).startswith(folder):
                del sys.modules[name]


def listed(buckets: list[str], failing: dict[tuple[str, str], Exception], control: Exception | None) -> Json:
    """What the script lists."""
    account = Account(
        {"s3": S3(failing), "s3control": Control(control)},
        {"list_buckets": [{"Name": name} for name in buckets]},
    )
    with scripts_of("aws-security") as script:
        return script("list_public_buckets").list_public_buckets(None, account)


def check_buckets(check: Check) -> None:
    """One bucket that is gone or denied is named; all others are judged."""
    names = ["open-a", "b", "gone", "shut", "moving", "odd", "untagged"]
    failing: dict[tuple[str, str], Exception] = {
        ("gone", "get_bucket_location"): refused("NoSuchBucket", "GetBucketLocation"),
        ("shut", "get_bucket_policy"): refused("AccessDenied", "GetBucketPolicy"),
        ("moving", "get_bucket_acl"): refused("NoSuchBucket", "GetBucketAcl"),
        ("odd", "get_bucket_acl"): EndpointConnectionError(endpoint_url="https://odd"),
        ("untagged", "get_bucket_tagging"): refused("AccessDenied", "GetBucketTagging"),
    }
    found = listed(names, failing, None)
    judged = [(item["name"], item["public_by_acl"]) for item in found["buckets"]]
    check.that("other buckets are judged", judged == [("b", False), ("open-a", True), ("untagged", False)], str(judged))
    named = [(item["kind"], item["name"], item["operation"], item["reason"]) for item in found["unreadable"]]
    wanted = [
        ("bucket", "gone", "GetBucketLocation", "NoSuchBucket"),
        ("bucket", "moving", "GetBucketAcl", "NoSuchBucket"),
        ("bucket", "odd", "reading", "EndpointConnectionError"),
        ("bucket", "shut", "GetBucketPolicy", "AccessDenied"),
    ]
    check.that("unreadable buckets are named", named == wanted, str(named))
    check.that("the buckets that were read are counted", found["buckets_examined"] == len(judged))
    found = listed(["b"], {}, refused("AccessDenied", "GetPublicAccessBlock"))
    named = [(item["kind"], item["reason"]) for item in found["unreadable"]]
    check.that("an account's block that is denied is named", named == [("account", "AccessDenied")], str(named))
    check.that("buckets are judged without it", [item["name"] for item in found["buckets"]] == ["b"])
    for error in (refused("ExpiredToken", "GetBucketAcl"), NoCredentialsError()):
        try:
            listed(["b"], {("b", "get_bucket_acl"): error}, None)
        except type(error) as raised:
            check.that("failing credentials end the call", raised is error)
        else:
            check.that("failing credentials end the call", False)


class Balancing:
    """Elastic load balancing: ``gone`` balancers are refused, alone and among others."""

    def __init__(self, gone: set[str], listeners: dict[str, list[Json]]) -> None:
        self._gone, self._listeners = gone, listeners

    def get_paginator(self, _operation: str) -> Any:
        return self

    def paginate(self, LoadBalancerArn: str) -> list[Json]:  # noqa: N803, as the SDK names it
        if LoadBalancerArn in self._gone:
            raise refused("LoadBalancerNotFound", "DescribeListeners")
        return [{"Listeners": self._listeners.get(LoadBalancerArn, [])}]

    def describe_tags(self, ResourceArns: list[str]) -> Json:  # noqa: N803, as the SDK names it
        if self._gone & set(ResourceArns):
            raise refused("LoadBalancerNotFound", "DescribeTags")
        tags = [{"ResourceArn": arn, "Tags": [{"Key": "Name", "Value": arn}]} for arn in ResourceArns]
        return {"TagDescriptions": tags}


class Firewall:
    """AWS WAF, where nothing is associated."""

    def get_web_acl_for_resource(self, **_: Any) -> Json:
        return {}


def balancer(arn: str, kind: str, *groups: str, family: str = "ipv4") -> Json:
    """A load balancer as AWS describes it."""
    named = {"LoadBalancerArn": arn, "LoadBalancerName": arn, "Type": kind, "IpAddressType": family}
    return named | ({"SecurityGroups": list(groups)} if groups else {})


def opening(protocol: str, low: int | None, high: int | None, *cidrs: str) -> Json:
    """A permission of a security group."""
    ports = {} if low is None else {"FromPort": low, "ToPort": high}
    four = [{"CidrIp": cidr} for cidr in cidrs if ":" not in cidr]
    six = [{"CidrIpv6": cidr} for cidr in cidrs if ":" in cidr]
    return {"IpProtocol": protocol, "IpRanges": four, "Ipv6Ranges": six} | ports


GROUP = {
    "GroupId": "sg-1",
    "IpPermissions": [
        opening("tcp", 443, 443, "0.0.0.0/0"),
        opening("udp", 50, 60, "198.51.100.0/24"),
        opening("udp", 443, 443, "::/0"),
        opening("icmp", 53, -1, "192.0.2.0/24"),
        opening("17", 500, 500, "203.0.113.0/24"),
        opening("tcp", 8443, 8444, "0.0.0.0/1", "192.0.2.0/24"),
        opening("tcp", 8443, 8443, "128.0.0.0/1"),
        opening("udp", 8443, 8443, "8000::/1", "::/1"),
    ],
}
# A listener's protocol and port, and the ranges that reach it through the group.
LISTENERS: list[tuple[str, int, list[str]]] = [
    ("TCP", 443, ["0.0.0.0/0"]),
    ("TLS", 443, ["0.0.0.0/0"]),
    ("HTTPS", 443, ["0.0.0.0/0"]),
    ("QUIC", 443, ["::/0"]),
    ("UDP", 443, ["::/0"]),
    ("TCP_QUIC", 443, ["0.0.0.0/0", "::/0"]),
    ("UDP", 53, ["198.51.100.0/24"]),
    ("TCP", 53, []),
    ("TCP_UDP", 53, ["198.51.100.0/24"]),
    ("TCP_UDP", 443, ["0.0.0.0/0", "::/0"]),
    ("UDP", 500, ["203.0.113.0/24"]),
    ("TCP_UDP", 9, []),
    ("TCP", 8443, ["0.0.0.0/0"]),
    ("TCP", 8444, ["0.0.0.0/1", "192.0.2.0/24"]),
    ("UDP", 8443, ["::/0"]),
]


def check_balancers(check: Check) -> None:
    """Each protocol is reached by its own rules; one balancer that is gone is named, and the others keep their tags."""
    listeners = [{"Protocol": protocol, "Port": port} for protocol, port, _ in LISTENERS]
    balancers = [
        balancer("a", "network", "sg-1"),
        balancer("b", "network", "sg-1"),
        balancer("c", "network"),
        balancer("d", "network", family="dualstack"),
        balancer("e", "application", "sg-gone"),
    ]
    plain = [{"Protocol": "TCP", "Port": 443}]
    elbv2 = Balancing({"b"}, {"a": listeners, "c": plain, "d": plain, "e": plain})
    account = Account(
        {"elbv2": elbv2, "wafv2": Firewall()},
        {"describe_load_balancers": balancers, "describe_security_groups": [GROUP]},
    )
    with scripts_of("aws-security") as script:
        found = script("describe_load_balancers").describe_load_balancers(None, account)
    read = {item["name"]: item for item in found["load_balancers"]}
    named = [(item["name"], item["operation"], item["reason"]) for item in found["unreadable"]]
    gone = [("b", "DescribeListeners", "LoadBalancerNotFound")]
    check.that("a balancer that is gone is named", (sorted(read), named) == (["a", "c", "d", "e"], gone), str(named))
    tags = {name: item["tags"] for name, item in read.items()}
    check.that("the others have their tags", tags == {name: {"Name": name} for name in "acde"}, str(tags))
    seen = {(item["protocol"], item["port"]): item["cidrs"] for item in read["a"]["listeners"]}
    for protocol, port, cidrs in LISTENERS:
        check.that(f"{protocol} {port} is reached", seen[protocol, port] == cidrs, str(seen[protocol, port]))
    open_to = [read[name]["listeners"][0]["cidrs"] for name in "cde"]
    wanted = [["0.0.0.0/0"], ["0.0.0.0/0", "::/0"], []]
    check.that("without a group everyone is admitted", open_to == wanted, str(open_to))


def check_surface(check: Check) -> None:
    """A public address counts where a rule of its family is open."""
    groups = [
        GROUP | {"GroupId": "sg-4", "GroupName": "four", "IpPermissions": [opening("tcp", 22, 22, "7.7.7.7/0")]},
        GROUP | {"GroupId": "sg-6", "GroupName": "six", "IpPermissions": [opening("tcp", 22, 22, "0::/0")]},
        {"GroupId": "sg-7", "IpPermissions": [opening("tcp", 22, 22, "0.0.0.0/0")]},
    ]
    interfaces = [
        {
            "NetworkInterfaceId": "eni-1",
            "Association": {"PublicIp": "198.51.100.9"},
            "Groups": [{"GroupId": "sg-4"}, {"GroupId": "sg-6"}],
        },
        {
            "NetworkInterfaceId": "eni-2",
            "Ipv6Addresses": [{"Ipv6Address": "2001:db8::9"}],
            "Groups": [{"GroupId": "sg-4"}, {"GroupId": "sg-6"}],
        },
    ]
    account = Account(
        {"elbv2": Balancing(set(), {}), "wafv2": Firewall()},
        {"describe_security_groups": groups, "describe_network_interfaces": interfaces},
    )
    with scripts_of("aws-security") as script:
        surface = script("describe_public_ingress_surface")
        found = surface.describe_public_ingress_surface(SimpleNamespace(items=lambda _: []), account)
    seen = [(item["group_id"], item["public_interfaces"]) for item in found["security_groups"]]
    check.that("addresses count by family", seen == [("sg-4", 1), ("sg-6", 1)], str(seen))
    named = [(item["name"], item["reason"]) for item in found["unreadable"]]
    check.that("a group that lacks something is named", named == [("sg-7", "no GroupName")], str(named))


def check_open_rules(check: Check) -> None:
    """Rules that admit every address together are open, each by name, so that locking takes them all."""
    cases = [
        ("halves", [opening("tcp", 22, 22, "128.0.0.0/1", "0.0.0.0/1")], [(22, "0.0.0.0/1"), (22, "128.0.0.0/1")]),
        ("one half", [opening("tcp", 22, 22, "0.0.0.0/1")], []),
        (
            "halves and an office",
            [opening("tcp", 22, 22, "128.0.0.0/1", "0.0.0.0/1", "198.51.100.0/24")],
            [(22, "0.0.0.0/1"), (22, "128.0.0.0/1")],
        ),
        (
            "one half for more ports",
            [opening("6", 0, 65535, "0.0.0.0/1"), opening("tcp", 22, 22, "128.0.0.0/1")],
            [(22, "128.0.0.0/1")],
        ),
        ("halves of other ports", [opening("tcp", 22, 22, "0.0.0.0/1"), opening("tcp", 23, 23, "128.0.0.0/1")], []),
        ("halves of IPv6", [opening("-1", None, None, "::/1", "8000::/1")], [(None, "8000::/1"), (None, "::/1")]),
        ("every address and an office", [opening("udp", 9, 9, "0.0.0.0/0", "198.51.100.0/24")], [(9, "0.0.0.0/0")]),
    ]
    for name, permissions, wanted in cases:
        with scripts_of("aws-security") as script:
            found = script("ingress_rules").open_rules({"GroupId": "sg-1", "IpPermissions": permissions})
        seen = [(rule.from_port, rule.cidr) for rule in found]
        check.that(f"open rules: {name}", seen == wanted, str(seen))


def check_costs(check: Check) -> None:
    """What is described in part is named, and never counted as costing nothing."""
    now = datetime.now(timezone.utc)
    whole = {"VolumeType": "gp3", "Size": 100, "State": "available", "CreateTime": now}
    lists = {
        "describe_volumes": [{"VolumeId": "vol-1"} | whole, {"VolumeId": "vol-2", "VolumeType": "gp3"}],
        "describe_snapshots": [
            {"SnapshotId": "snap-1", "VolumeSize": 8, "StartTime": now},
            {"SnapshotId": "snap-2", "StartTime": now},
        ],
        "describe_instances": [
            {
                "Instances": [
                    {
                        "InstanceId": f"i-{number}",
                        "InstanceType": "t3.nano",
                        "BlockDeviceMappings": [{"Ebs": {"VolumeId": f"vol-{number}"}}],
                    }
                    for number in (1, 2)
                ]
            }
        ],
    }
    addresses = [{"AllocationId": "eipalloc-1", "PublicIp": "198.51.100.1"}, {"PublicIp": "198.51.100.2"}]
    ec2 = SimpleNamespace(describe_addresses=lambda: {"Addresses": addresses})
    account = Account({"ec2": ec2}, lists)
    call = SimpleNamespace(integer=lambda _, default: 0 if default else default)
    for name, key, identifier, kept, missed in (
        ("list_volumes", "volumes", "volume_id", "vol-1", "vol-2"),
        ("list_snapshots", "snapshots", "snapshot_id", "snap-1", "snap-2"),
        ("list_stopped_instances", "instances", "instance_id", "i-1", "i-2"),
        ("list_addresses", "addresses", "allocation_id", "eipalloc-1", "198.51.100.2"),
    ):
        with scripts_of("cost-hygiene") as script:
            found = getattr(script(name), name)(call, account)
        seen = ([item[identifier] for item in found[key]], [item["name"] for item in found["unreadable"]])
        check.that(f"{name} names what is incomplete", seen == ([kept], [missed]), str(seen))


def check_reading(check: Check) -> None:
    """All of it."""
    check_buckets(check)
    check_balancers(check)
    check_surface(check)
    check_open_rules(check)
    check_costs(check)
