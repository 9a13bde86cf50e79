"""aws.rotate_keys: turn on the rotation of the named KMS keys."""

from __future__ import annotations

from charter_aws import Aws, Call, JsonObject, run
from protected_settings import KeyRotation
from setting_changes import names_of, protect


def rotate_keys(call: Call, aws: Aws) -> JsonObject:
    """Protects what the call names."""
    return protect(call, aws, KeyRotation(aws), names_of(call, "key_ids"))


if __name__ == "__main__":
    run(rotate_keys)
