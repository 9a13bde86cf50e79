"""aws.read_trail_settings: how CloudTrail records an account, and who may touch the records."""

from __future__ import annotations

from typing import Any

from bucket_exposure import account_block_of, examine, region_of
from charter_aws import Aws, Call, JsonObject, run, sorted_by
from settings import Settings, days_since

ACCOUNT, KIND = "aws.account", "aws.cloudtrail.trail"
_EVERY_OBJECT = frozenset({"arn:aws:s3", "arn:aws:s3:::", "arn:aws:s3:::*/*"})


def _basic(selectors: list[JsonObject]) -> set[str]:
    found = set()
    for selector in selectors:
        kinds = {"All": ("read", "write"), "ReadOnly": ("read",), "WriteOnly": ("write",)}
        recorded = kinds[selector.get("ReadWriteType", "All")]
        if selector.get("IncludeManagementEvents", True):
            found |= {f"management {kind}" for kind in recorded}
        for resource in selector.get("DataResources", []):
            if resource["Type"] == "AWS::S3::Object" and _EVERY_OBJECT & set(resource["Values"]):
                found |= {f"object {kind}" for kind in recorded}
    return found


def _advanced(selectors: list[JsonObject]) -> set[str]:
    found = set()
    for selector in selectors:
        fields = {item["Field"]: item for item in selector.get("FieldSelectors", [])}
        category = fields.get("eventCategory", {}).get("Equals", [])
        read_only = fields.get("readOnly", {}).get("Equals", ["true", "false"])
        recorded = {"read" if value == "true" else "write" for value in read_only}
        # Fields beside these narrow a selector to some events.
        narrowed = set(fields) - {"eventCategory", "readOnly", "resources.type"}
        if narrowed:
            continue
        if "Management" in category:
            found |= {f"management {kind}" for kind in recorded}
        if "AWS::S3::Object" in fields.get("resources.type", {}).get("Equals", []):
            found |= {f"object {kind}" for kind in recorded}
    return found


def _events(trails: Any, arn: str) -> list[str]:
    """The kinds of events that a trail records of every resource."""
    answer = trails.get_event_selectors(TrailName=arn)
    basic = _basic(answer.get("EventSelectors") or [])
    return sorted(basic | _advanced(answer.get("AdvancedEventSelectors") or []))


def _has_insights(trails: Any, arn: str) -> bool:
    return bool(trails.get_insight_selectors(TrailName=arn).get("InsightSelectors"))


def _status(trails: Any, arn: str) -> JsonObject:
    answer = trails.get_trail_status(Name=arn)
    return {
        "logging": bool(answer["IsLogging"]),
        "log_group_days": days_since(answer.get("LatestCloudWatchLogsDeliveryTime")),
    }


class _Buckets:
    """The buckets that trails write to."""

    def __init__(self, aws: Aws) -> None:
        self._home = aws.client("s3")
        block, unread = account_block_of(aws)
        self._block = block
        self.unread = unread

    def read(self, name: str) -> JsonObject:
        """Whether a bucket is public, logs its own access, and needs MFA to delete from it."""
        region = region_of(self._home, {"Name": name})
        exposure = examine(self._home, name, region, self._block)
        return {
            "public": exposure["public_by_acl"] or exposure["public_by_policy"],
            "logs": bool(self._home.get_bucket_logging(Bucket=name).get("LoggingEnabled")),
            "mfa_delete": self._home.get_bucket_versioning(Bucket=name).get("MFADelete")
            == "Enabled",
        }


def read_trail_settings(call: Call, aws: Aws) -> JsonObject:
    """The trails of the account that record the region."""
    settings, trails = Settings(aws, {"TrailNotFoundException"}), aws.client("cloudtrail")
    wanted, buckets = set(call.items("trail_names")), _Buckets(aws)
    for item in buckets.unread:
        settings.note(item | {"kind": ACCOUNT, "setting": "public access block"})

    def read(trail: JsonObject) -> JsonObject:
        arn, name = trail["TrailARN"], trail["Name"]

        def part(setting: str, reading: Any) -> Any:
            return settings.read(KIND, name, setting, reading)

        status = part("status", lambda: _status(trails, arn)) or {}
        bucket = part("bucket", lambda: buckets.read(trail["S3BucketName"])) or {}
        return {
            "name": name,
            "arn": arn,
            "home_region": trail.get("HomeRegion", aws.region),
            "multi_region": bool(trail.get("IsMultiRegionTrail")),
            "validates_logs": bool(trail.get("LogFileValidationEnabled")),
            "kms_key": trail.get("KmsKeyId"),
            "log_group": trail.get("CloudWatchLogsLogGroupArn"),
            "logging": status.get("logging"),
            "log_group_days": status.get("log_group_days"),
            "events": part("event selectors", lambda: _events(trails, arn)),
            "insights": part("insight selectors", lambda: _has_insights(trails, arn)),
            "bucket": trail.get("S3BucketName"),
            "bucket_public": bucket.get("public"),
            "bucket_logs": bucket.get("logs"),
            "bucket_mfa_delete": bucket.get("mfa_delete"),
        }

    described = settings.read(
        ACCOUNT,
        aws.account_id,
        "the list of trails",
        lambda: trails.describe_trails(includeShadowTrails=True)["trailList"],
    )
    listed = [trail for trail in described or [] if not wanted or trail["Name"] in wanted]
    read_trails = settings.each(KIND, listed, "Name", read)
    here = [item for item in read_trails if item["home_region"] == aws.region]
    return settings.report(
        # Without the list nothing is known: then no trail is not the same as no recording.
        trails_known=described is not None and len(read_trails) == len(listed),
        trails=sorted_by(read_trails, "arn"),
        unvalidated_trails=sorted(item["name"] for item in here if not item["validates_logs"]),
    )


if __name__ == "__main__":
    run(read_trail_settings)
