"""aws.list_snapshots: the account's own EBS snapshots of some age, with a monthly price."""

from __future__ import annotations

from datetime import datetime, timezone

from charter_aws import Aws, Call, JsonObject, read_each, run, sorted_by, tags_of
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


def _described(snapshot: JsonObject, now: datetime) -> JsonObject:
    return {
        "snapshot_id": snapshot["SnapshotId"],
        "volume_id": snapshot.get("VolumeId"),
        "size_gib": snapshot["VolumeSize"],
        "started_at": snapshot["StartTime"],
        "age_days": max(0, (now - snapshot["StartTime"]).days),
        "tags": tags_of(snapshot),
        "estimated_monthly_cost_usd": snapshot_month_usd(snapshot["VolumeSize"]),
    }


def list_snapshots(call: Call, aws: Aws) -> JsonObject:
    """Snapshots old enough to question; those that an image needs are left out."""
    min_age_days = call.integer("min_age_days", DEFAULT_MIN_AGE_DAYS)
    needed, now = _in_images(aws), datetime.now(timezone.utc)
    found = aws.pages("ec2", "describe_snapshots", "Snapshots", OwnerIds=["self"])
    described, unreadable = read_each(found, "SnapshotId", lambda item: _described(item, now))
    snapshots = [
        snapshot
        for snapshot in described
        if snapshot["age_days"] >= min_age_days and snapshot["snapshot_id"] not in needed
    ]
    return {
        "region": aws.region,
        "account_id": aws.account_id,
        "min_age_days": min_age_days,
        "snapshots": sorted_by(snapshots, "snapshot_id"),
        "unreadable": unreadable,
    }


if __name__ == "__main__":
    run(list_snapshots)
