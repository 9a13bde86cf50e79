"""aws.read_disk_settings: encryption and sharing of the EBS volumes and snapshots of a region."""

from __future__ import annotations

from typing import Any

from charter_aws import Aws, Call, JsonObject, run, sorted_by, tags_of
from settings import Settings

VOLUME, SNAPSHOT, ACCOUNT = "aws.ec2.volume", "aws.ec2.snapshot", "aws.account"


def _named(resource: JsonObject, key: str) -> JsonObject:
    tags = tags_of(resource)
    return {"tags": tags, "name": tags.get("Name") or resource[key]}


def _volume(volume: JsonObject, with_snapshot: set[str]) -> JsonObject:
    return _named(volume, "VolumeId") | {
        "volume_id": volume["VolumeId"],
        "state": volume["State"],
        "encrypted": bool(volume.get("Encrypted")),
        "kms_key_id": volume.get("KmsKeyId"),
        "has_snapshot": volume["VolumeId"] in with_snapshot,
    }


def _shared_with(ec2: Any, snapshot_id: str) -> list[str]:
    """The accounts that may restore a snapshot; ``all`` is everyone."""
    answer = ec2.describe_snapshot_attribute(
        SnapshotId=snapshot_id, Attribute="createVolumePermission"
    )
    permissions = answer.get("CreateVolumePermissions", [])
    return sorted(str(item.get("Group") or item.get("UserId")) for item in permissions)


def read_disk_settings(_call: Call, aws: Aws) -> JsonObject:
    """The defaults of the region, and its volumes and snapshots."""
    settings = Settings(aws, gone={"InvalidVolume.NotFound", "InvalidSnapshot.NotFound"})
    ec2 = aws.client("ec2")
    volumes = settings.pages(ACCOUNT, "ec2", "describe_volumes", "Volumes")
    own = settings.pages(ACCOUNT, "ec2", "describe_snapshots", "Snapshots", OwnerIds=["self"])
    with_snapshot = {str(snapshot.get("VolumeId")) for snapshot in own}

    def read_snapshot(snapshot: JsonObject) -> JsonObject:
        identifier = snapshot["SnapshotId"]
        return _named(snapshot, "SnapshotId") | {
            "snapshot_id": identifier,
            "encrypted": bool(snapshot.get("Encrypted")),
            "shared_with": settings.read(
                SNAPSHOT, identifier, "sharing", lambda: _shared_with(ec2, identifier)
            ),
        }

    read = settings.each(VOLUME, volumes, "VolumeId", lambda item: _volume(item, with_snapshot))
    snapshots = settings.each(SNAPSHOT, own, "SnapshotId", read_snapshot)
    return settings.report(
        encrypted_by_default=settings.read(
            ACCOUNT,
            aws.account_id,
            "encryption of new volumes",
            lambda: bool(ec2.get_ebs_encryption_by_default()["EbsEncryptionByDefault"]),
        ),
        snapshot_sharing=settings.read(
            ACCOUNT,
            aws.account_id,
            "public sharing of snapshots",
            lambda: str(ec2.get_snapshot_block_public_access_state()["State"]),
        ),
        volumes=sorted_by(read, "volume_id"),
        snapshots=sorted_by(snapshots, "snapshot_id"),
    )


if __name__ == "__main__":
    run(read_disk_settings)
