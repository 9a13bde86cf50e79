"""aws.read_bucket_settings: the protective settings of every S3 bucket of the account."""

from __future__ import annotations

from typing import Any

from bucket_exposure import ABSENT, account_block_of, answer_of, region_of, switches
from bucket_policy import denies_plain_http
from charter_aws import Aws, Call, JsonObject, run, sorted_by, tags_of
from settings import Settings

KIND = "aws.s3.bucket"

_PROTECTED = "public-exposure"


def _encryption(s3: Any, bucket: str) -> JsonObject:
    configuration = s3.get_bucket_encryption(Bucket=bucket)["ServerSideEncryptionConfiguration"]
    applied = configuration["Rules"][0]["ApplyServerSideEncryptionByDefault"]
    return {"algorithm": applied["SSEAlgorithm"], "key_id": applied.get("KMSMasterKeyID")}


def _versioning(s3: Any, bucket: str) -> JsonObject:
    answer = s3.get_bucket_versioning(Bucket=bucket)
    return {
        "status": answer.get("Status", "Off").lower(),
        "mfa_delete": answer.get("MFADelete") == "Enabled",
    }


def _logs_to(s3: Any, bucket: str) -> str:
    """The bucket that receives the access logs; empty without logging."""
    answer = s3.get_bucket_logging(Bucket=bucket)
    return str(answer.get("LoggingEnabled", {}).get("TargetBucket", ""))


def _ownership(s3: Any, bucket: str) -> str:
    rules = s3.get_bucket_ownership_controls(Bucket=bucket)["OwnershipControls"]["Rules"]
    return str(rules[0]["ObjectOwnership"])


def _lifecycle_rules(s3: Any, bucket: str) -> int:
    rules = s3.get_bucket_lifecycle_configuration(Bucket=bucket)["Rules"]
    return sum(1 for rule in rules if rule.get("Status") == "Enabled")


def _has_object_lock(s3: Any, bucket: str) -> bool:
    configuration = s3.get_object_lock_configuration(Bucket=bucket)["ObjectLockConfiguration"]
    return bool(configuration.get("ObjectLockEnabled") == "Enabled")


def _denies_plain_http(s3: Any, bucket: str) -> bool:
    policy = answer_of(s3.get_bucket_policy, Bucket=bucket).get("Policy")
    return policy is not None and denies_plain_http(policy)


def _bucket(settings: Settings, s3: Any, name: str, region: str) -> JsonObject:
    def read(setting: str, reading: Any, absent: tuple[str, ...] = (), default: Any = None) -> Any:
        return settings.read(
            KIND, name, setting, lambda: reading(s3, name), absent=absent, default=default
        )

    versioning = read("versioning", _versioning)
    return {
        "name": name,
        "arn": f"arn:aws:s3:::{name}",
        "region": region,
        "tags": read(
            "tags",
            lambda s3, name: tags_of(s3.get_bucket_tagging(Bucket=name), "TagSet"),
            tuple(ABSENT),
            {},
        )
        or {},
        "public_access_block": read(
            "public access block",
            lambda s3, name: switches(answer_of(s3.get_public_access_block, Bucket=name)),
        ),
        "encryption": read(
            "encryption",
            _encryption,
            ("ServerSideEncryptionConfigurationNotFoundError",),
            {"algorithm": "none", "key_id": None},
        ),
        "versioning": versioning and versioning["status"],
        "mfa_delete": versioning and versioning["mfa_delete"],
        "logs_to": read("access logging", _logs_to),
        "denies_plain_http": read("bucket policy", _denies_plain_http),
        # Without ownership controls a bucket still has the ACLs of its time.
        "object_ownership": read(
            "object ownership", _ownership, ("OwnershipControlsNotFoundError",), "ObjectWriter"
        ),
        "lifecycle_rules": read(
            "lifecycle", _lifecycle_rules, ("NoSuchLifecycleConfiguration",), 0
        ),
        "object_lock": read(
            "object lock", _has_object_lock, ("ObjectLockConfigurationNotFoundError",), False
        ),
    }


def _may_be_blocked(bucket: JsonObject) -> bool:
    """Whether a bucket lacks a switch, and is not tagged as public on purpose."""
    block = bucket["public_access_block"]
    return (
        block is not None
        and not all(block.values())
        and bucket["tags"].get(_PROTECTED) != "expected"
    )


def read_bucket_settings(call: Call, aws: Aws) -> JsonObject:
    """Every bucket of the account, each asked for in its own region."""
    settings = Settings(aws, gone={"NoSuchBucket"})
    account_block, unread_account = account_block_of(aws)
    for item in unread_account:
        settings.note(item | {"kind": "aws.account", "setting": "public access block"})
    home = aws.client("s3")
    wanted = set(call.items("bucket_names"))
    named = settings.pages(
        "aws.account", "s3", "list_buckets", "Buckets", PaginationConfig={"PageSize": 1000}
    )
    located = settings.each(
        KIND,
        [bucket for bucket in named if not wanted or bucket["Name"] in wanted],
        "Name",
        lambda bucket: {"name": bucket["Name"], "region": region_of(home, bucket)},
    )
    clients = {region: aws.client("s3", region) for region in {item["region"] for item in located}}
    buckets = settings.each(
        KIND,
        located,
        "name",
        lambda item: _bucket(settings, clients[item["region"]], item["name"], item["region"]),
    )
    return settings.report(
        account_public_access_block=None if unread_account else account_block,
        buckets=sorted_by(buckets, "name"),
        blockable_buckets=sorted(item["name"] for item in buckets if _may_be_blocked(item)),
    )


if __name__ == "__main__":
    run(read_bucket_settings)
