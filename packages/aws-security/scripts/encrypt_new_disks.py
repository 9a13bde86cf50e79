"""aws.encrypt_new_disks: have new EBS volumes of a region encrypted by default."""

from __future__ import annotations

from charter_aws import Aws, Call, JsonObject, run
from protected_settings import DiskEncryption
from setting_changes import protect


def encrypt_new_disks(call: Call, aws: Aws) -> JsonObject:
    """Protects what the call names."""
    return protect(call, aws, DiskEncryption(aws), [aws.region])


if __name__ == "__main__":
    run(encrypt_new_disks)
