"""aws.block_bucket_access: turn on the public access block of the named buckets."""

from __future__ import annotations

from charter_aws import Aws, Call, JsonObject, run
from protected_settings import BucketAccess
from setting_changes import names_of, protect


def block_bucket_access(call: Call, aws: Aws) -> JsonObject:
    """Protects what the call names."""
    return protect(call, aws, BucketAccess(aws), names_of(call, "bucket_names"))


if __name__ == "__main__":
    run(block_bucket_access)
