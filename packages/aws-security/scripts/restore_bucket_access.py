"""aws.restore_bucket_access: put back the public access block of buckets."""

from __future__ import annotations

from charter_aws import Aws, Call, JsonObject, run
from protected_settings import BucketAccess
from setting_changes import restore


def restore_bucket_access(call: Call, aws: Aws) -> JsonObject:
    """Restores the states that a change replaced."""
    return restore(call, aws, BucketAccess(aws))


if __name__ == "__main__":
    run(restore_bucket_access)
