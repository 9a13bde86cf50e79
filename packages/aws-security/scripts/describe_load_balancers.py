"""aws.describe_load_balancers: application, network and gateway load balancers of a region."""

from __future__ import annotations

from charter_aws import Aws, Call, JsonObject, run
from load_balancers import read_load_balancers


def describe_load_balancers(_call: Call, aws: Aws) -> JsonObject:
    """The balancers with listeners, the ranges that reach them, and their web ACL."""
    groups = aws.pages("ec2", "describe_security_groups", "SecurityGroups")
    balancers, unreadable = read_load_balancers(aws, groups)
    return {
        "region": aws.region,
        "account_id": aws.account_id,
        "load_balancers": balancers,
        "unreadable": unreadable,
    }


if __name__ == "__main__":
    run(describe_load_balancers)
