"""aws.list_stopped_instances: stopped EC2 instances and the volumes they keep."""

from __future__ import annotations

import re

from charter_aws import Aws, Call, JsonObject, run, sorted_by, tags_of
from list_prices import volume_month_usd

_STOPPED = [{"Name": "instance-state-name", "Values": ["stopped"]}]
# "User initiated (2024-05-01 09:30:00 GMT)"
_TRANSITION = re.compile(r"\((\d{4}-\d\d-\d\d) (\d\d:\d\d:\d\d) (?:GMT|UTC)\)")


def _stopped_since(instance: JsonObject) -> str | None:
    found = _TRANSITION.search(instance.get("StateTransitionReason", ""))
    return f"{found[1]}T{found[2]}Z" if found else None


def _volume_prices(aws: Aws) -> dict[str, float]:
    volumes = aws.pages("ec2", "describe_volumes", "Volumes")
    return {volume["VolumeId"]: volume_month_usd(volume) for volume in volumes}


def list_stopped_instances(_call: Call, aws: Aws) -> JsonObject:
    """Stopped instances; what they cost is what their volumes cost."""
    reservations = aws.pages("ec2", "describe_instances", "Reservations", Filters=_STOPPED)
    prices = _volume_prices(aws)
    instances = []
    for instance in (item for entry in reservations for item in entry["Instances"]):
        volumes = sorted(
            mapping["Ebs"]["VolumeId"]
            for mapping in instance.get("BlockDeviceMappings", [])
            if "Ebs" in mapping
        )
        instances.append(
            {
                "instance_id": instance["InstanceId"],
                "instance_type": instance["InstanceType"],
                "stopped_since": _stopped_since(instance),
                "volume_ids": volumes,
                "tags": tags_of(instance),
                "estimated_monthly_cost_usd": round(
                    sum(prices.get(volume, 0.0) for volume in volumes), 2
                ),
            }
        )
    return {
        "region": aws.region,
        "account_id": aws.account_id,
        "instances": sorted_by(instances, "instance_id"),
    }


if __name__ == "__main__":
    run(list_stopped_instances)
