"""aws.list_addresses: the Elastic IP addresses of a region with a monthly price."""

from __future__ import annotations

from charter_aws import Aws, Call, JsonObject, read_each, run, sorted_by, tags_of
from list_prices import address_month_usd


def _described(address: JsonObject) -> JsonObject:
    return {
        "allocation_id": address["AllocationId"],
        "public_ip": address["PublicIp"],
        "associated_with": address.get("InstanceId") or address.get("NetworkInterfaceId") or None,
        "tags": tags_of(address),
        "estimated_monthly_cost_usd": address_month_usd(),
    }


def list_addresses(_call: Call, aws: Aws) -> JsonObject:
    """Every Elastic IP address and what, if anything, it is associated with."""
    # DescribeAddresses answers in one page; it has no paginator.
    answer = aws.client("ec2").describe_addresses()
    addresses, unreadable = read_each(answer["Addresses"], "PublicIp", _described)
    return {
        "region": aws.region,
        "account_id": aws.account_id,
        "addresses": sorted_by(addresses, "allocation_id"),
        "unreadable": unreadable,
    }


if __name__ == "__main__":
    run(list_addresses)
