"""aws.list_volumes: the EBS volumes of a region with a monthly price."""

from __future__ import annotations

from charter_aws import Aws, Call, JsonObject, read_each, run, sorted_by, tags_of
from list_prices import as_gp3_month_usd, volume_month_usd


def _described(volume: JsonObject) -> JsonObject:
    return {
        "volume_id": volume["VolumeId"],
        "volume_type": volume["VolumeType"],
        "size_gib": volume["Size"],
        "state": volume["State"],
        "attached_to": sorted(item["InstanceId"] for item in volume.get("Attachments", [])),
        "created_at": volume["CreateTime"],
        "tags": tags_of(volume),
        "estimated_monthly_cost_usd": volume_month_usd(volume),
        "gp3_monthly_cost_usd": as_gp3_month_usd(volume["Size"]),
    }


def list_volumes(_call: Call, aws: Aws) -> JsonObject:
    """Every volume, what it is attached to, and what it costs now and as gp3."""
    found = aws.pages("ec2", "describe_volumes", "Volumes")
    volumes, unreadable = read_each(found, "VolumeId", _described)
    return {
        "region": aws.region,
        "account_id": aws.account_id,
        "volumes": sorted_by(volumes, "volume_id"),
        "unreadable": unreadable,
    }


if __name__ == "__main__":
    run(list_volumes)
