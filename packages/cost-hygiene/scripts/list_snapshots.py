"""aws.list_snapshots: the account's own EBS snapshots of some age, with a monthly price."""

from __future__ import annotations

from datetime import datetime, timezone

from charter_aws import Aws, Call, JsonObject, run, sorted_by, tags_of
from list_prices import snapshot_month_usd

DEFAULT_MIN_AGE_DAYS = 90


def _in_images(aws: Aws) -> set[str]:
    """The snapshots that the account's own machine images are made of."""
    images = aws.pages("ec2", "describe_images", "Images", Owners=["self"])
    return {
        mapping["Ebs"]["SnapshotId"]
        for image in images
        for mapping in image.get("BlockDeviceMappings", [])
        if mapping.get("Ebs", {}).get("SnapshotId")
    }


def list_snapshots(call: Call, aws: Aws) -> JsonObject:
    """Snapshots old enough to question; those that an image needs are left out."""
    min_age_days = call.integer("min_age_days", DEFAULT_MIN_AGE_DAYS)
    needed, now = _in_images(aws), datetime.now(timezone.utc)
    snapshots = []
    for snapshot in aws.pages("ec2", "describe_snapshots", "Snapshots", OwnerIds=["self"]):
        age_days = max(0, (now - snapshot["StartTime"]).days)
        if age_days < min_age_days or snapshot["SnapshotId"] in needed:
            continue
        snapshots.append(
            {
                "snapshot_id": snapshot["SnapshotId"],
                "volume_id": snapshot.get("VolumeId"),
                "size_gib": snapshot["VolumeSize"],
                "started_at": snapshot["StartTime"],
                "age_days": age_days,
                "tags": tags_of(snapshot),
                "estimated_monthly_cost_usd": snapshot_month_usd(snapshot["VolumeSize"]),
            }
        )
    return {
        "region": aws.region,
        "account_id": aws.account_id,
        "min_age_days": min_age_days,
        "snapshots": sorted_by(snapshots, "snapshot_id"),
    }


if __name__ == "__main__":
    run(list_snapshots)
