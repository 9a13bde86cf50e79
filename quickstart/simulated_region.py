"""Finding or making single resources in one region of a simulated account.

Each method looks for a resource by its name and makes it only if it is not
there. What the estate consists of is no concern of this module.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from typing import Any

import boto3
from botocore.config import Config
from botocore.exceptions import ClientError

MAIN_REGION = "us-east-1"

WRITABLE = "writable"
EVERYONE = 'uri="http://acs.amazonaws.com/groups/global/AllUsers"'
ALL_SWITCHES = (
    "BlockPublicAcls",
    "IgnorePublicAcls",
    "BlockPublicPolicy",
    "RestrictPublicBuckets",
)

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

    def vpc(self, name: str, cidr: str) -> str:
        """A VPC's id."""
        made = self.ensure(
            "vpc",
            "describe_vpcs",
            "Vpcs",
            name,
            lambda tags: self.ec2.create_vpc(CidrBlock=cidr, TagSpecifications=tags),
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
        *,
        protocol: str | None = None,
        **tags: str,
    ) -> str:
        """A load balancer's ARN, with one listener for each port, over HTTP or TCP by default."""
        over = protocol or ("HTTP" if kind == "application" else "TCP")
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
                Protocol=over,
                DefaultActions=[self._default_action(kind, name, found[0]["VpcId"], over)],
            )
        return arn

    def _default_action(self, kind: str, name: str, vpc_id: str, over: str) -> dict[str, Any]:
        if kind == "application":
            return {"Type": "fixed-response", "FixedResponseConfig": {"StatusCode": "204"}}
        target = self.elbv2.create_target_group(
            Name=f"{name}-targets", Protocol=over, Port=443, VpcId=vpc_id, TargetType="ip"
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
