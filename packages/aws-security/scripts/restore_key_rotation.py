"""aws.restore_key_rotation: put back the rotation of KMS keys."""

from __future__ import annotations

from charter_aws import Aws, Call, JsonObject, run
from protected_settings import KeyRotation
from setting_changes import restore


def restore_key_rotation(call: Call, aws: Aws) -> JsonObject:
    """Restores the states that a change replaced."""
    return restore(call, aws, KeyRotation(aws))


if __name__ == "__main__":
    run(restore_key_rotation)
