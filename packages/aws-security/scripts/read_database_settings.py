"""aws.read_database_settings: access, encryption and backups of the RDS databases of a region."""

from __future__ import annotations

from typing import Any

from charter_aws import Aws, Call, JsonObject, run, sorted_by, tags_of
from settings import Settings

ACCOUNT, INSTANCE, CLUSTER = "aws.account", "aws.rds.instance", "aws.rds.cluster"
SNAPSHOT, CLUSTER_SNAPSHOT = "aws.rds.snapshot", "aws.rds.cluster_snapshot"
_GONE = {
    "DBClusterNotFoundFault",
    "DBClusterSnapshotNotFoundFault",
    "DBInstanceNotFound",
    "DBSnapshotNotFound",
}
# User names that an installation proposes.
_PROPOSED_USERS = frozenset({"admin", "administrator", "postgres", "root", "sa"})


def _common(database: JsonObject) -> JsonObject:
    """The settings that instances and clusters share."""
    return {
        "engine": database.get("Engine", "unknown"),
        "tags": tags_of(database, "TagList"),
        "encrypted": bool(database.get("StorageEncrypted")),
        "backup_days": int(database.get("BackupRetentionPeriod") or 0),
        "deletion_protection": bool(database.get("DeletionProtection")),
        "multiple_zones": bool(database.get("MultiAZ")),
        "iam_login": bool(database.get("IAMDatabaseAuthenticationEnabled")),
        "exported_logs": sorted(database.get("EnabledCloudwatchLogsExports") or []),
        "proposed_user": str(database.get("MasterUsername", "")).lower() in _PROPOSED_USERS,
        "copies_tags": bool(database.get("CopyTagsToSnapshot")),
    }


def _instance(database: JsonObject) -> JsonObject:
    return _common(database) | {
        "instance_id": database["DBInstanceIdentifier"],
        "arn": database.get("DBInstanceArn"),
        "cluster_id": database.get("DBClusterIdentifier"),
        "public": bool(database.get("PubliclyAccessible")),
        "minor_upgrades": bool(database.get("AutoMinorVersionUpgrade")),
        "enhanced_monitoring": bool(database.get("EnhancedMonitoringResourceArn"))
        or bool(database.get("MonitoringInterval")),
    }


def _cluster(database: JsonObject) -> JsonObject:
    return _common(database) | {
        "cluster_id": database["DBClusterIdentifier"],
        "arn": database.get("DBClusterArn"),
    }


def _shared_with(answer: JsonObject) -> list[str]:
    """The accounts that may restore a snapshot; ``all`` is everyone."""
    attributes = answer.get("DBSnapshotAttributes") or answer.get("DBClusterSnapshotAttributes")
    return sorted(
        value
        for attribute in attributes or []
        if attribute["AttributeName"] == "restore"
        for value in attribute.get("AttributeValues", [])
    )


def read_database_settings(_call: Call, aws: Aws) -> JsonObject:
    """The instances, clusters and own snapshots of the region."""
    settings, rds = Settings(aws, _GONE), aws.client("rds")

    def listed(operation: str, key: str, **arguments: Any) -> list[JsonObject]:
        return settings.pages(ACCOUNT, "rds", operation, key, **arguments)

    def snapshot(item: JsonObject, of_cluster: bool) -> JsonObject:
        key = "DBClusterSnapshotIdentifier" if of_cluster else "DBSnapshotIdentifier"
        name, kind = item[key], CLUSTER_SNAPSHOT if of_cluster else SNAPSHOT

        def sharing() -> list[str]:
            if of_cluster:
                answer = rds.describe_db_cluster_snapshot_attributes(**{key: name})
                return _shared_with(answer["DBClusterSnapshotAttributesResult"])
            answer = rds.describe_db_snapshot_attributes(**{key: name})
            return _shared_with(answer["DBSnapshotAttributesResult"])

        encrypted = item.get("StorageEncrypted" if of_cluster else "Encrypted")
        return {
            "snapshot_id": name,
            "kind": kind,
            "tags": tags_of(item, "TagList"),
            "encrypted": bool(encrypted),
            "shared_with": settings.read(kind, name, "sharing", sharing),
        }

    instances = settings.each(
        INSTANCE, listed("describe_db_instances", "DBInstances"), "DBInstanceIdentifier", _instance
    )
    # Neptune and DocumentDB answer the same operation.
    clusters = settings.each(
        CLUSTER, listed("describe_db_clusters", "DBClusters"), "DBClusterIdentifier", _cluster
    )
    snapshots = settings.each(
        SNAPSHOT,
        listed("describe_db_snapshots", "DBSnapshots"),
        "DBSnapshotIdentifier",
        lambda item: snapshot(item, of_cluster=False),
    )
    snapshots += settings.each(
        CLUSTER_SNAPSHOT,
        listed("describe_db_cluster_snapshots", "DBClusterSnapshots"),
        "DBClusterSnapshotIdentifier",
        lambda item: snapshot(item, of_cluster=True),
    )
    return settings.report(
        instances=sorted_by(instances, "instance_id"),
        clusters=sorted_by(clusters, "cluster_id"),
        snapshots=sorted_by(snapshots, "kind", "snapshot_id"),
    )


if __name__ == "__main__":
    run(read_database_settings)
