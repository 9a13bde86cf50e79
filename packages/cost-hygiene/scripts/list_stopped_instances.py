"""aws.list_stopped_instances: stopped EC2 instances and the volumes they keep."""

from __future__ import annotations

import re

from charter_aws import Aws, Call, JsonObject, read_each, run, sorted_by, tags_of
from list_prices import volume_month_usd

_STOPPED = [{"Name": "instance-state-name", "Values": ["stopped"]}]
# "User initiated (2024-05-01 09:30:00 GMT)"
_TRANSITION = re.compile(r"\((\d{4}-\d\d-\d\d) (\d\d:\d\d:\d\d) (?:GMT|UTC)\)")


def _stopped_since(instance: JsonObject) -> str | None:
    found = _TRANSITION.search(instance.get("StateTransitionReason", ""))
    return f"{found[1]}T{found[2]}Z" if found else None


def _volume_prices(aws: Aws) -> dict[str, float]:
    volumes = aws.pages("ec2", "describe_volumes", "Volumes")
    priced, _ = read_each(
        volumes, "VolumeId", lambda item: {"id": item["VolumeId"], "usd": volume_month_usd(item)}
    )
    return {volume["id"]: volume["usd"] for volume in priced}


def _described(instance: JsonObject, prices: dict[str, float]) -> JsonObject:
    """A machine with the volumes it keeps. One whose volume has no price cannot be priced."""
    volumes = sorted(
        mapping["Ebs"]["VolumeId"]
        for mapping in instance.get("BlockDeviceMappings", [])
        if "Ebs" in mapping
    )
    return {
        "instance_id": instance["InstanceId"],
        "instance_type": instance["InstanceType"],
        "stopped_since": _stopped_since(instance),
        "volume_ids": volumes,
        "tags": tags_of(instance),
        "estimated_monthly_cost_usd": round(sum(prices[volume] for volume in volumes), 2),
    }


def list_stopped_instances(_call: Call, aws: Aws) -> JsonObject:
    """Stopped instances; what they cost is what their volumes cost."""
    reservations = aws.pages("ec2", "describe_instances", "Reservations", Filters=_STOPPED)
    prices = _volume_prices(aws)
    found = [item for entry in reservations for item in entry.get("Instances", [])]
    instances, unreadable = read_each(found, "InstanceId", lambda item: _described(item, prices))
    return {
        "region": aws.region,
        "account_id": aws.account_id,
        "instances": sorted_by(instances, "instance_id"),
        "unreadable": unreadable,
    }


if __name__ == "__main__":
    run(list_stopped_instances)
