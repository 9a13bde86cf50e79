"""aws.read_instance_settings: metadata, roles, addresses and user data of EC2 instances.

Launch templates, own machine images and the default security groups of VPCs belong to it, because
instances get their settings from them. User data is searched for secrets; only the kind of a
secret leaves this script.
"""

from __future__ import annotations

import base64
import gzip
import io
from typing import Any

from charter_aws import Aws, Call, JsonObject, run, sorted_by, tags_of
from secret_patterns import secrets_in
from settings import Settings

ACCOUNT, INSTANCE = "aws.account", "aws.ec2.instance"
TEMPLATE, IMAGE, GROUP = "aws.ec2.launch_template", "aws.ec2.image", "aws.ec2.security_group"

_GONE = {
    "InvalidAMIID.NotFound",
    "InvalidInstanceID.NotFound",
    "InvalidLaunchTemplateId.NotFound",
}
_GZIP = b"\x1f\x8b"
MAX_USER_DATA_BYTES = 1 << 20


def _text_of(encoded: str | None) -> str:
    """User data as text; packed data is unpacked up to a bound."""
    raw = base64.b64decode(encoded or "")
    if raw.startswith(_GZIP):
        with gzip.GzipFile(fileobj=io.BytesIO(raw)) as packed:
            raw = packed.read(MAX_USER_DATA_BYTES)
    return raw.decode("utf-8", errors="replace")


def _secrets_of_instance(ec2: Any, instance_id: str) -> list[str]:
    answer = ec2.describe_instance_attribute(InstanceId=instance_id, Attribute="userData")
    return secrets_in(_text_of(answer.get("UserData", {}).get("Value")))


def _instance(settings: Settings, ec2: Any, instance: JsonObject) -> JsonObject:
    identifier, tags = instance["InstanceId"], tags_of(instance)
    metadata = instance.get("MetadataOptions", {})
    return {
        "instance_id": identifier,
        "name": tags.get("Name") or identifier,
        "tags": tags,
        "state": instance["State"]["Name"],
        "public_ip": instance.get("PublicIpAddress"),
        "role": instance.get("IamInstanceProfile", {}).get("Arn"),
        "metadata_service": metadata.get("HttpEndpoint", "enabled"),
        "metadata_tokens": metadata.get("HttpTokens", "optional"),
        "detailed_monitoring": instance.get("Monitoring", {}).get("State") == "enabled",
        "interfaces": len(instance.get("NetworkInterfaces", [])),
        "user_data_secrets": settings.read(
            INSTANCE, identifier, "user data", lambda: _secrets_of_instance(ec2, identifier)
        ),
    }


def _template(ec2: Any, template: JsonObject) -> JsonObject:
    """The default version of a launch template: what an instance gets that names no version."""
    identifier = template["LaunchTemplateId"]
    versions = ec2.describe_launch_template_versions(
        LaunchTemplateId=identifier, Versions=["$Default"]
    )["LaunchTemplateVersions"]
    data = versions[0]["LaunchTemplateData"]
    metadata = data.get("MetadataOptions", {})
    return {
        "template_id": identifier,
        "name": template["LaunchTemplateName"],
        "tags": tags_of(template),
        "default_version": template.get("DefaultVersionNumber"),
        "metadata_service": metadata.get("HttpEndpoint", "enabled"),
        "metadata_tokens": metadata.get("HttpTokens", "optional"),
        "public_ip": any(
            bool(item.get("AssociatePublicIpAddress")) for item in data.get("NetworkInterfaces", [])
        ),
        "user_data_secrets": secrets_in(_text_of(data.get("UserData"))),
    }


def _image(image: JsonObject) -> JsonObject:
    return {
        "image_id": image["ImageId"],
        "name": image.get("Name") or image["ImageId"],
        "tags": tags_of(image),
        "public": bool(image.get("Public")),
    }


def _default_group(group: JsonObject) -> JsonObject:
    return {
        "group_id": group["GroupId"],
        "vpc_id": group.get("VpcId"),
        "tags": tags_of(group),
        "ingress_rules": len(group.get("IpPermissions", [])),
        "egress_rules": len(group.get("IpPermissionsEgress", [])),
    }


def _metadata_defaults(ec2: Any) -> str:
    level = ec2.get_instance_metadata_defaults().get("AccountLevel", {})
    return str(level.get("HttpTokens", "no-preference"))


def read_instance_settings(_call: Call, aws: Aws) -> JsonObject:
    """The instances of the region, and where they get their settings from."""
    settings, ec2 = Settings(aws, _GONE), aws.client("ec2")
    reservations = settings.pages(ACCOUNT, "ec2", "describe_instances", "Reservations")
    running = [
        instance
        for reservation in reservations
        for instance in reservation.get("Instances", [])
        if instance["State"]["Name"] not in ("terminated", "shutting-down")
    ]
    templates = settings.pages(ACCOUNT, "ec2", "describe_launch_templates", "LaunchTemplates")
    images = settings.pages(ACCOUNT, "ec2", "describe_images", "Images", Owners=["self"])
    groups = settings.pages(
        ACCOUNT,
        "ec2",
        "describe_security_groups",
        "SecurityGroups",
        Filters=[{"Name": "group-name", "Values": ["default"]}],
    )

    def of_account(setting: str, reading: Any) -> str | None:
        return settings.read(ACCOUNT, aws.account_id, setting, reading)

    instances = settings.each(
        INSTANCE, running, "InstanceId", lambda item: _instance(settings, ec2, item)
    )
    read_templates = settings.each(
        TEMPLATE, templates, "LaunchTemplateId", lambda item: _template(ec2, item)
    )
    return settings.report(
        metadata_defaults=of_account("metadata defaults", lambda: _metadata_defaults(ec2)),
        image_sharing=of_account(
            "public sharing of images",
            lambda: str(ec2.get_image_block_public_access_state()["ImageBlockPublicAccessState"]),
        ),
        instances=sorted_by(instances, "instance_id"),
        launch_templates=sorted_by(read_templates, "template_id"),
        images=sorted_by(settings.each(IMAGE, images, "ImageId", _image), "image_id"),
        default_groups=sorted_by(
            settings.each(GROUP, groups, "GroupId", _default_group), "group_id"
        ),
    )


if __name__ == "__main__":
    run(read_instance_settings)
