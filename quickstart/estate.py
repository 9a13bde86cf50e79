"""Fill a simulated AWS account with a small estate of good and bad resources.

Everything is found again by its name, so a second run adds nothing. The script
refuses any endpoint that is not on the loopback interface: it opens things up
on purpose and must never meet a real account.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterable
from typing import Any
from urllib.parse import urlsplit

import boto3
from botocore.config import Config
from botocore.exceptions import ClientError

MAIN_REGION = "us-east-1"
OTHER_REGION = "eu-west-1"
LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})

ANY_V4, ANY_V6 = "0.0.0.0/0", "::/0"
OFFICE = "203.0.113.0/24"
VPC_CIDR = "10.20.0.0/16"

WRITABLE = "writable"
EVERYONE = 'uri="http://acs.amazonaws.com/groups/global/AllUsers"'

Rule = dict[str, Any]
Tags = dict[str, str]


def rule(protocol: str, low: int | None, high: int | None, *sources: str, note: str = "") -> Rule:
    """An EC2 permission for address ranges, groups (``sg-``) or prefix lists (``pl-``)."""
    text = {"Description": note} if note else {}
    permission: Rule = {"IpProtocol": protocol}
    if low is not None:
        permission |= {"FromPort": low, "ToPort": high}
    for source in sources:
        if source.startswith("sg-"):
            permission.setdefault("UserIdGroupPairs", []).append({"GroupId": source})
        elif source.startswith("pl-"):
            permission.setdefault("PrefixListIds", []).append({"PrefixListId": source})
        elif ":" in source:
            permission.setdefault("Ipv6Ranges", []).append({"CidrIpv6": source} | text)
        else:
            permission.setdefault("IpRanges", []).append({"CidrIp": source} | text)
    return permission


def tag_list(tags: Tags) -> list[dict[str, str]]:
    """Tags in the shape that AWS takes."""
    return [{"Key": key, "Value": value} for key, value in sorted(tags.items())]


class Region:
    """Creates what is missing in one region of the simulated account."""

    def __init__(self, session: boto3.Session, name: str) -> None:
        path_style = Config(s3={"addressing_style": "path"})
        self.name = name
        self.ec2: Any = session.client("ec2", region_name=name)
        self.elbv2: Any = session.client("elbv2", region_name=name)
        self.wafv2: Any = session.client("wafv2", region_name=name)
        self.s3: Any = session.client("s3", region_name=name, config=path_style)

    def named(self, operation: str, key: str, name: str) -> dict[str, Any] | None:
        """The one resource of a kind that carries this Name tag."""
        filters = [{"Name": "tag:Name", "Values": [name]}]
        found = getattr(self.ec2, operation)(Filters=filters)[key]
        return found[0] if found else None

    def ensure(
        self,
        kind: str,
        operation: str,
        key: str,
        name: str,
        create: Callable[[Any], Any],
        **tags: str,
    ) -> dict[str, Any]:
        """The named resource, made by ``create`` with its tags if it is not there."""
        found = self.named(operation, key, name)
        if found is not None:
            return found
        everything = {"Name": name} | tags
        create([{"ResourceType": kind, "Tags": tag_list(everything)}])
        made = self.named(operation, key, name)
        if made is None:
            raise RuntimeError(f"{kind} {name} is missing right after it was made")
        return made

    def vpc(self, name: str) -> str:
        """A VPC's id."""
        made = self.ensure(
            "vpc",
            "describe_vpcs",
            "Vpcs",
            name,
            lambda tags: self.ec2.create_vpc(CidrBlock=VPC_CIDR, TagSpecifications=tags),
        )
        return str(made["VpcId"])

    def subnet(self, name: str, vpc_id: str, cidr: str, zone: str) -> str:
        """A subnet's id."""
        made = self.ensure(
            "subnet",
            "describe_subnets",
            "Subnets",
            name,
            lambda tags: self.ec2.create_subnet(
                VpcId=vpc_id,
                CidrBlock=cidr,
                AvailabilityZone=f"{self.name}{zone}",
                TagSpecifications=tags,
            ),
        )
        return str(made["SubnetId"])

    def security_group(
        self, vpc_id: str, name: str, purpose: str, rules: Iterable[Rule], **tags: str
    ) -> str:
        """A security group's id; rules that are in force already are left alone."""
        made = self.ensure(
            "security-group",
            "describe_security_groups",
            "SecurityGroups",
            name,
            lambda specification: self.ec2.create_security_group(
                GroupName=name,
                Description=purpose,
                VpcId=vpc_id,
                TagSpecifications=specification,
            ),
            **tags,
        )
        for permission in rules:
            try:
                self.ec2.authorize_security_group_ingress(
                    GroupId=made["GroupId"], IpPermissions=[permission]
                )
            except ClientError as error:
                if error.response["Error"]["Code"] != "InvalidPermission.Duplicate":
                    raise
        return str(made["GroupId"])

    def prefix_list(self, name: str, *cidrs: str) -> str:
        """A managed prefix list's id."""
        made = self.ensure(
            "prefix-list",
            "describe_managed_prefix_lists",
            "PrefixLists",
            name,
            lambda tags: self.ec2.create_managed_prefix_list(
                PrefixListName=name,
                MaxEntries=10,
                AddressFamily="IPv4",
                Entries=[{"Cidr": cidr} for cidr in cidrs],
                TagSpecifications=tags,
            ),
        )
        return str(made["PrefixListId"])

    def network_acl(
        self, vpc_id: str, name: str, subnet_id: str | None, entries: Iterable[dict[str, Any]]
    ) -> None:
        """A network ACL with these ingress entries, guarding the subnet if one is given."""
        made = self.ensure(
            "network-acl",
            "describe_network_acls",
            "NetworkAcls",
            name,
            lambda tags: self.ec2.create_network_acl(VpcId=vpc_id, TagSpecifications=tags),
        )
        acl_id = made["NetworkAclId"]
        present = {item["RuleNumber"] for item in made["Entries"] if not item["Egress"]}
        for entry in entries:
            if entry["RuleNumber"] not in present:
                self.ec2.create_network_acl_entry(NetworkAclId=acl_id, Egress=False, **entry)
        if subnet_id is not None:
            self._guard(subnet_id, acl_id)

    def _guard(self, subnet_id: str, acl_id: str) -> None:
        filters = [{"Name": "association.subnet-id", "Values": [subnet_id]}]
        for acl in self.ec2.describe_network_acls(Filters=filters)["NetworkAcls"]:
            for association in acl["Associations"]:
                if association["SubnetId"] == subnet_id and acl["NetworkAclId"] != acl_id:
                    self.ec2.replace_network_acl_association(
                        AssociationId=association["NetworkAclAssociationId"],
                        NetworkAclId=acl_id,
                    )

    def load_balancer(
        self,
        name: str,
        kind: str,
        scheme: str,
        subnets: list[str],
        groups: list[str],
        ports: list[int],
        **tags: str,
    ) -> str:
        """A load balancer's ARN, with one listener for each port."""
        try:
            found = self.elbv2.describe_load_balancers(Names=[name])["LoadBalancers"]
        except ClientError as error:
            if error.response["Error"]["Code"] != "LoadBalancerNotFound":
                raise
            found = []
        if not found:
            arguments: dict[str, Any] = {"SecurityGroups": groups} if groups else {}
            found = self.elbv2.create_load_balancer(
                Name=name,
                Type=kind,
                Scheme=scheme,
                Subnets=subnets,
                Tags=tag_list({"Name": name} | tags),
                **arguments,
            )["LoadBalancers"]
        arn = str(found[0]["LoadBalancerArn"])
        listeners = self.elbv2.describe_listeners(LoadBalancerArn=arn)["Listeners"]
        for port in sorted(set(ports) - {item["Port"] for item in listeners}):
            self.elbv2.create_listener(
                LoadBalancerArn=arn,
                Port=port,
                Protocol="HTTP" if kind == "application" else "TCP",
                DefaultActions=[self._default_action(kind, name, found[0]["VpcId"])],
            )
        return arn

    def _default_action(self, kind: str, name: str, vpc_id: str) -> dict[str, Any]:
        if kind == "application":
            return {"Type": "fixed-response", "FixedResponseConfig": {"StatusCode": "204"}}
        target = self.elbv2.create_target_group(
            Name=f"{name}-targets", Protocol="TCP", Port=443, VpcId=vpc_id, TargetType="ip"
        )
        return {"Type": "forward", "TargetGroupArn": target["TargetGroups"][0]["TargetGroupArn"]}

    def web_acl(self, name: str, resource_arn: str) -> None:
        """A web ACL in front of a resource."""
        if self.wafv2.get_web_acl_for_resource(ResourceArn=resource_arn).get("WebACL"):
            return
        known = self.wafv2.list_web_acls(Scope="REGIONAL")["WebACLs"]
        arns = [item["ARN"] for item in known if item["Name"] == name]
        if not arns:
            visibility = {
                "SampledRequestsEnabled": False,
                "CloudWatchMetricsEnabled": False,
                "MetricName": name,
            }
            made = self.wafv2.create_web_acl(
                Name=name,
                Scope="REGIONAL",
                DefaultAction={"Allow": {}},
                VisibilityConfig=visibility,
                Rules=[],
            )
            arns = [made["Summary"]["ARN"]]
        self.wafv2.associate_web_acl(WebACLArn=arns[0], ResourceArn=resource_arn)

    def bucket(
        self,
        name: str,
        acl: str = "private",
        statement: dict[str, Any] | None = None,
        *,
        blocked: tuple[str, ...] = (),
        **tags: str,
    ) -> None:
        """A bucket with an ACL, perhaps one policy statement, and access block switches.

        ``acl`` is a canned ACL, or ``WRITABLE`` for a grant of writing to everyone.
        """
        place: dict[str, Any] = {}
        if self.name != MAIN_REGION:
            place = {"CreateBucketConfiguration": {"LocationConstraint": self.name}}
        if name not in {item["Name"] for item in self.s3.list_buckets()["Buckets"]}:
            self.s3.create_bucket(Bucket=name, **place)
        self.s3.put_bucket_acl(
            Bucket=name, **({"GrantWrite": EVERYONE} if acl == WRITABLE else {"ACL": acl})
        )
        if statement is not None:
            policy = {"Version": "2012-10-17", "Statement": [statement]}
            self.s3.put_bucket_policy(Bucket=name, Policy=json.dumps(policy))
        if blocked:
            self.s3.put_public_access_block(
                Bucket=name,
                PublicAccessBlockConfiguration={
                    switch: switch in blocked for switch in ALL_SWITCHES
                },
            )
        if tags:
            self.s3.put_bucket_tagging(Bucket=name, Tagging={"TagSet": tag_list(tags)})

    def volume(self, name: str, kind: str, size: int, **extra: Any) -> str:
        """A volume's id; attached to nothing by itself."""
        made = self.ensure(
            "volume",
            "describe_volumes",
            "Volumes",
            name,
            lambda tags: self.ec2.create_volume(
                AvailabilityZone=f"{self.name}a",
                VolumeType=kind,
                Size=size,
                TagSpecifications=tags,
                **extra,
            ),
        )
        return str(made["VolumeId"])

    def image(self, name: str) -> str:
        """A machine image's id."""
        filters = [{"Name": "name", "Values": [name]}]
        found = self.ec2.describe_images(Owners=["self"], Filters=filters)["Images"]
        return str(found[0]["ImageId"] if found else self.ec2.register_image(Name=name)["ImageId"])

    def instance(self, name: str, subnet_id: str, group_id: str) -> str:
        """An instance's id."""
        filters = [
            {"Name": "tag:Name", "Values": [name]},
            {"Name": "instance-state-name", "Values": ["pending", "running", "stopped"]},
        ]
        found = self.ec2.describe_instances(Filters=filters)["Reservations"]
        if found:
            return str(found[0]["Instances"][0]["InstanceId"])
        made = self.ec2.run_instances(
            ImageId=self.image("demo-image"),
            InstanceType="t3.micro",
            MinCount=1,
            MaxCount=1,
            SubnetId=subnet_id,
            SecurityGroupIds=[group_id],
            TagSpecifications=[{"ResourceType": "instance", "Tags": tag_list({"Name": name})}],
        )
        return str(made["Instances"][0]["InstanceId"])

    def address(self, name: str) -> dict[str, Any]:
        """An Elastic IP address."""
        return self.ensure(
            "elastic-ip",
            "describe_addresses",
            "Addresses",
            name,
            lambda tags: self.ec2.allocate_address(Domain="vpc", TagSpecifications=tags),
        )

    def snapshot(self, name: str, volume_id: str) -> None:
        """A snapshot of a volume."""
        self.ensure(
            "snapshot",
            "describe_snapshots",
            "Snapshots",
            name,
            lambda tags: self.ec2.create_snapshot(VolumeId=volume_id, TagSpecifications=tags),
        )


ALL_SWITCHES = (
    "BlockPublicAcls",
    "IgnorePublicAcls",
    "BlockPublicPolicy",
    "RestrictPublicBuckets",
)


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
            "office only",
            [rule("tcp", 443, 443, OFFICE), rule("tcp", 22, 22, OFFICE)],
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
    """One network ACL entry. Protocols are IANA numbers, -1 for all."""
    entry: dict[str, Any] = {"RuleNumber": number, "Protocol": protocol, "RuleAction": action}
    entry["Ipv6CidrBlock" if ":" in cidr else "CidrBlock"] = cidr
    if ports is not None:
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
    vpc_id = main.vpc("demo-vpc")
    subnets = [
        main.subnet(f"demo-subnet-{zone}", vpc_id, f"10.20.{index}.0/24", zone)
        for index, zone in enumerate("abc")
    ]
    groups = security_groups(main, vpc_id)
    network_acls(main, vpc_id, subnets)
    load_balancers(main, subnets, groups)
    buckets(main, other)
    idle_resources(main, subnets[0], groups["bastion"])

    other_vpc = other.vpc("demo-vpc")
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
