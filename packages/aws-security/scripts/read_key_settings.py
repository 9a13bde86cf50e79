"""aws.read_key_settings: rotation, policies and states of a region's customer managed KMS keys."""

from __future__ import annotations

from typing import Any

from bucket_policy import public_statements
from charter_aws import Aws, Call, JsonObject, run, sorted_by
from settings import Settings

KIND = "aws.kms.key"


def _tags(kms: Any, key_id: str) -> dict[str, str]:
    tags = kms.list_resource_tags(KeyId=key_id).get("Tags", [])
    return {tag["TagKey"]: tag.get("TagValue", "") for tag in tags}


def _open_statements(kms: Any, key_id: str) -> list[str]:
    policy = kms.get_key_policy(KeyId=key_id, PolicyName="default")["Policy"]
    return [item["statement"] for item in public_statements(policy)]


def _can_rotate(key: JsonObject) -> bool:
    """Whether AWS can rotate a key's material: symmetric, made by KMS, and in use."""
    return bool(
        key.get("KeySpec", "SYMMETRIC_DEFAULT") == "SYMMETRIC_DEFAULT"
        and key.get("Origin") == "AWS_KMS"
        and key["KeyState"] == "Enabled"
    )


def read_key_settings(call: Call, aws: Aws) -> JsonObject:
    """The keys that the account manages itself; those of AWS services cannot be changed."""
    settings, kms = Settings(aws, {"NotFoundException"}), aws.client("kms")
    wanted = set(call.items("key_ids"))
    aliases: dict[str, str] = {}
    for alias in settings.pages("aws.account", "kms", "list_aliases", "Aliases"):
        aliases.setdefault(alias.get("TargetKeyId", ""), alias["AliasName"])

    def read(item: JsonObject) -> JsonObject:
        key = kms.describe_key(KeyId=item["KeyId"])["KeyMetadata"]
        identifier, rotatable = key["KeyId"], _can_rotate(key)

        def part(setting: str, reading: Any) -> Any:
            return settings.read(KIND, identifier, setting, lambda: reading(kms, identifier))

        own = key.get("KeyManager") == "CUSTOMER"
        return {
            "key_id": identifier,
            "arn": key["Arn"],
            "name": aliases.get(identifier, identifier),
            "customer_managed": own,
            "state": key["KeyState"],
            "multi_region": bool(key.get("MultiRegion")),
            "tags": (part("tags", _tags) if own else None) or {},
            "rotatable": rotatable,
            "rotates": part(
                "rotation",
                lambda kms, name: bool(
                    kms.get_key_rotation_status(KeyId=name)["KeyRotationEnabled"]
                ),
            )
            if own and rotatable
            else None,
            "open_statements": part("policy", _open_statements) if own else None,
        }

    listed = settings.pages("aws.account", "kms", "list_keys", "Keys")
    chosen = [key for key in listed if not wanted or key["KeyId"] in wanted]
    keys = [item for item in settings.each(KIND, chosen, "KeyId", read) if item["customer_managed"]]
    return settings.report(
        keys=sorted_by(keys, "key_id"),
        unrotated_keys=sorted(item["key_id"] for item in keys if item["rotates"] is False),
    )


if __name__ == "__main__":
    run(read_key_settings)
