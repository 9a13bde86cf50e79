"""aws.restore_disk_encryption: put back the default encryption of new EBS volumes."""

from __future__ import annotations

from charter_aws import Aws, Call, JsonObject, run
from protected_settings import DiskEncryption
from setting_changes import restore


def restore_disk_encryption(call: Call, aws: Aws) -> JsonObject:
    """Restores the states that a change replaced."""
    return restore(call, aws, DiskEncryption(aws))


if __name__ == "__main__":
    run(restore_disk_encryption)
