"""The settings that the playbooks of this package change, each in its protected state."""

from __future__ import annotations

from typing import Any, ClassVar

from bucket_exposure import SWITCHES, answer_of, region_of, switches
from charter_aws import Aws, JsonObject, ToolError
from setting_changes import State


class BucketAccess:
    """The public access block of a bucket."""

    service: ClassVar[str] = "s3"
    protected: ClassVar[State] = dict.fromkeys(SWITCHES.values(), True)

    def __init__(self, aws: Aws) -> None:
        self._aws = aws
        self._home = aws.client("s3")

    def _client_for(self, name: str) -> Any:
        return self._aws.client("s3", region_of(self._home, {"Name": name}))

    def read(self, name: str) -> JsonObject:
        """The switches of the bucket itself; one without a block has none on."""
        s3 = self._client_for(name)
        return switches(answer_of(s3.get_public_access_block, Bucket=name))

    def write(self, name: str, state: State) -> str:
        """Sets the switches; with none on, the bucket has no block."""
        s3 = self._client_for(name)
        if not any(state.values()):
            s3.delete_public_access_block(Bucket=name)
            return "DeletePublicAccessBlock"
        configuration = {theirs: bool(state[ours]) for theirs, ours in SWITCHES.items()}
        s3.put_public_access_block(Bucket=name, PublicAccessBlockConfiguration=configuration)
        return "PutPublicAccessBlock"


class DiskEncryption:
    """Whether new EBS volumes of a region are encrypted by default. The name is the region."""

    service: ClassVar[str] = "ec2"
    protected: ClassVar[State] = {"encrypted_by_default": True}

    def __init__(self, aws: Aws) -> None:
        self._region = aws.region
        self._ec2 = aws.client("ec2")

    def _check(self, name: str) -> None:
        if name != self._region:
            raise ToolError("input_error", f"{name!r} is not the region of the call")

    def read(self, name: str) -> JsonObject:
        """The default of the region."""
        self._check(name)
        answer = self._ec2.get_ebs_encryption_by_default()
        return {"encrypted_by_default": bool(answer["EbsEncryptionByDefault"])}

    def write(self, name: str, state: State) -> str:
        """Turns the default on or off."""
        self._check(name)
        if state["encrypted_by_default"]:
            self._ec2.enable_ebs_encryption_by_default()
            return "EnableEbsEncryptionByDefault"
        self._ec2.disable_ebs_encryption_by_default()
        return "DisableEbsEncryptionByDefault"


class KeyRotation:
    """The automatic rotation of a KMS key."""

    service: ClassVar[str] = "kms"
    protected: ClassVar[State] = {"rotates": True}

    def __init__(self, aws: Aws) -> None:
        self._kms = aws.client("kms")

    def read(self, name: str) -> JsonObject:
        """Whether the key is rotated."""
        answer = self._kms.get_key_rotation_status(KeyId=name)
        return {"rotates": bool(answer["KeyRotationEnabled"])}

    def write(self, name: str, state: State) -> str:
        """Turns rotation on or off."""
        if state["rotates"]:
            self._kms.enable_key_rotation(KeyId=name)
            return "EnableKeyRotation"
        self._kms.disable_key_rotation(KeyId=name)
        return "DisableKeyRotation"


class LogValidation:
    """The log file validation of a trail."""

    service: ClassVar[str] = "cloudtrail"
    protected: ClassVar[State] = {"validates_logs": True}

    def __init__(self, aws: Aws) -> None:
        self._trails = aws.client("cloudtrail")

    def read(self, name: str) -> JsonObject:
        """Whether the trail writes digests of its log files."""
        trail = self._trails.get_trail(Name=name)["Trail"]
        return {"validates_logs": bool(trail.get("LogFileValidationEnabled"))}

    def write(self, name: str, state: State) -> str:
        """Turns validation on or off."""
        self._trails.update_trail(Name=name, EnableLogFileValidation=bool(state["validates_logs"]))
        return "UpdateTrail"
