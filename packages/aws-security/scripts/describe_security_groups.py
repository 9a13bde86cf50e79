"""aws.describe_security_groups: all security groups of a region with their rules."""

from __future__ import annotations

from charter_aws import Aws, Call, JsonObject, aws_filters, run, sorted_by


def _ordered_rules(permissions: list[JsonObject]) -> list[JsonObject]:
    ordered = []
    for permission in sorted_by(permissions, "IpProtocol", "FromPort", "ToPort"):
        permission["IpRanges"] = sorted_by(permission.get("IpRanges", []), "CidrIp")
        permission["Ipv6Ranges"] = sorted_by(permission.get("Ipv6Ranges", []), "CidrIpv6")
        permission["PrefixListIds"] = sorted_by(permission.get("PrefixListIds", []), "PrefixListId")
        permission["UserIdGroupPairs"] = sorted_by(
            permission.get("UserIdGroupPairs", []), "GroupId", "UserId"
        )
        ordered.append(permission)
    return ordered


def describe_security_groups(call: Call, aws: Aws) -> list[JsonObject]:
    """The groups as EC2 returns them, in a fixed order, each with its region and account."""
    groups = aws.pages(
        "ec2",
        "describe_security_groups",
        "SecurityGroups",
        Filters=aws_filters(call.mapping("filters")),
    )
    for group in groups:
        group["Region"] = aws.region
        group["OwnerId"] = group.get("OwnerId") or aws.account_id
        group["AccountId"] = group["OwnerId"]
        group["IpPermissions"] = _ordered_rules(group.get("IpPermissions", []))
        group["IpPermissionsEgress"] = _ordered_rules(group.get("IpPermissionsEgress", []))
        group["Tags"] = sorted_by(group.get("Tags", []), "Key")
    return sorted_by(groups, "GroupId")


if __name__ == "__main__":
    run(describe_security_groups)
