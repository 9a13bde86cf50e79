"""aws.describe_network_acls: the network ACLs of a region, entries in evaluation order."""

from __future__ import annotations

from charter_aws import Aws, Call, JsonObject, aws_filters, run, sorted_by


def describe_network_acls(call: Call, aws: Aws) -> JsonObject:
    """Every network ACL with its entries ordered as AWS evaluates them: lowest number first."""
    acls = aws.pages(
        "ec2",
        "describe_network_acls",
        "NetworkAcls",
        Filters=aws_filters(call.mapping("filters")),
    )
    for acl in acls:
        acl["Entries"] = sorted(
            acl.get("Entries", []),
            key=lambda entry: (
                entry.get("Egress", False),
                entry.get("RuleNumber", 0),
                entry.get("CidrBlock", ""),
                entry.get("Ipv6CidrBlock", ""),
            ),
        )
        acl["Associations"] = sorted_by(acl.get("Associations", []), "SubnetId")
        acl["Tags"] = sorted_by(acl.get("Tags", []), "Key")
    return {
        "region": aws.region,
        "account_id": aws.account_id,
        "network_acls": sorted_by(acls, "NetworkAclId"),
    }


if __name__ == "__main__":
    run(describe_network_acls)
