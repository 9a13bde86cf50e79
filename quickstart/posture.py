"""Fill the simulated account further, with good and bad settings of eight services.

`estate.py` makes what the internet reaches; this script adds buckets, disks, instances, identities,
databases, keys, trails and functions, each once as it should be and once as it should not. Everything is found
again by its name, so a second run adds nothing. Like `estate.py` it refuses any endpoint that is not on the loopback
interface.
"""

from __future__ import annotations

import base64
import io
import json
import random
import string
import zipfile
from collections.abc import Callable, Iterable
from datetime import UTC, datetime, timedelta
from typing import Any

import boto3
from botocore.config import Config
from botocore.exceptions import ClientError
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from estate import OTHER_REGION, require_loopback
from simulated_region import ALL_SWITCHES, MAIN_REGION, Region, rule

ACCOUNT = "123456789012"
PASSWORD = "Correct-Horse-7-Battery"


def key_pair() -> str:
    """Shell lines that export an access key. It is drawn here, so that no file has a text that looks like one."""
    draw = random.Random(38)
    identifier = "".join(draw.choices(string.ascii_uppercase + "234567", k=16))
    secret = "".join(draw.choices(string.ascii_letters + string.digits + "/+", k=40))
    return f"export AWS_ACCESS_KEY_ID=AKIA{identifier}\nexport AWS_SECRET_ACCESS_KEY={secret}\n"


def once(create: Callable[..., Any], *taken: str, **arguments: Any) -> Any:
    """The answer of a creation; nothing where the resource is there already."""
    try:
        return create(**arguments)
    except ClientError as error:
        if error.response["Error"]["Code"] not in taken:
            raise
        return None


def allow(action: Any, resource: Any = "*", **more: Any) -> str:
    """A policy document of one statement that allows."""
    statement = {"Effect": "Allow", "Action": action, "Resource": resource} | more
    return json.dumps({"Version": "2012-10-17", "Statement": [statement]})


def trust(principal: Any, **more: Any) -> str:
    """A trust policy."""
    statement = {"Effect": "Allow", "Principal": principal, "Action": "sts:AssumeRole"} | more
    return json.dumps({"Version": "2012-10-17", "Statement": [statement]})


def tls_only(bucket: str, actions: Any = "s3:*") -> str:
    """A bucket policy that denies requests without TLS."""
    statement = {
        "Sid": "TlsOnly",
        "Effect": "Deny",
        "Principal": "*",
        "Action": actions,
        "Resource": [f"arn:aws:s3:::{bucket}", f"arn:aws:s3:::{bucket}/*"],
        "Condition": {"Bool": {"aws:SecureTransport": "false"}},
    }
    return json.dumps({"Version": "2012-10-17", "Statement": [statement]})


class Posture:
    """The clients of one region, and what each kind of resource needs of others."""

    def __init__(self, session: boto3.Session, name: str) -> None:
        self.name = name
        self.region = Region(session, name)

        def client(service: str) -> Any:
            by_name: Any = session  # services are named at run time
            return by_name.client(service, region_name=name)

        self.ec2, self.iam, self.rds, self.kms = (client(service) for service in ("ec2", "iam", "rds", "kms"))
        self.cloudtrail, self.functions = client("cloudtrail"), client("lambda")
        self.logs, self.sqs = client("logs"), client("sqs")
        self.s3: Any = session.client("s3", region_name=name, config=Config(s3={"addressing_style": "path"}))

    def key(self, name: str, **options: Any) -> str:
        """A key's id, by its alias."""
        alias = f"alias/{name}"
        for found in self.kms.list_aliases()["Aliases"]:
            if found["AliasName"] == alias:
                return str(found["TargetKeyId"])
        made = str(self.kms.create_key(Description=name, **options)["KeyMetadata"]["KeyId"])
        self.kms.create_alias(AliasName=alias, TargetKeyId=made)
        return made


def buckets(place: Posture) -> None:
    """A bucket with every protection, and buckets that lack some of them."""
    s3, key = place.s3, place.key("posture-data")
    known = {item["Name"] for item in s3.list_buckets()["Buckets"]}

    def make(name: str, **options: Any) -> str:
        bucket = f"posture-{name}"
        if bucket not in known:
            s3.create_bucket(Bucket=bucket, **options)
        return bucket

    logs = make("logs")
    s3.put_bucket_acl(Bucket=logs, ACL="log-delivery-write")
    safe = make("safe", ObjectLockEnabledForBucket=True)
    s3.put_public_access_block(Bucket=safe, PublicAccessBlockConfiguration=dict.fromkeys(ALL_SWITCHES, True))
    s3.put_bucket_policy(Bucket=safe, Policy=tls_only(safe))
    s3.put_bucket_versioning(
        Bucket=safe, VersioningConfiguration={"Status": "Enabled", "MFADelete": "Enabled"}, MFA="arn:aws:iam::1:mfa 1"
    )
    s3.put_bucket_logging(
        Bucket=safe, BucketLoggingStatus={"LoggingEnabled": {"TargetBucket": logs, "TargetPrefix": "safe/"}}
    )
    s3.put_bucket_ownership_controls(
        Bucket=safe, OwnershipControls={"Rules": [{"ObjectOwnership": "BucketOwnerEnforced"}]}
    )
    rule = {"ID": "tidy", "Status": "Enabled", "Filter": {"Prefix": ""}, "Expiration": {"Days": 365}}
    s3.put_bucket_lifecycle_configuration(Bucket=safe, LifecycleConfiguration={"Rules": [rule]})
    encrypt(s3, safe, "aws:kms", key)
    plain = make("aes")
    encrypt(s3, plain, "AES256")
    s3.put_bucket_ownership_controls(
        Bucket=plain, OwnershipControls={"Rules": [{"ObjectOwnership": "BucketOwnerPreferred"}]}
    )
    s3.put_bucket_lifecycle_configuration(
        Bucket=plain, LifecycleConfiguration={"Rules": [rule | {"Status": "Disabled"}]}
    )
    half = make("half-tls")
    s3.put_bucket_policy(Bucket=half, Policy=tls_only(half, "s3:PutObject"))
    suspended = make("suspended")
    s3.put_bucket_versioning(Bucket=suspended, VersioningConfiguration={"Status": "Suspended"})
    make("bare")
    reading = {"Effect": "Allow", "Principal": "*", "Action": "s3:GetObject"}
    for name, narrowed in (
        ("org-only", {"Condition": {"StringEquals": {"aws:PrincipalOrgID": "o-a1b2c3d4e5"}}}),
        ("any-address", {"Condition": {"IpAddress": {"aws:SourceIp": "0.0.0.0/0"}}}),
        ("half-the-world", {"Condition": {"IpAddress": {"aws:SourceIp": ["0.0.0.0/1", "128.0.0.0/1"]}}}),
        ("one-account", {"Principal": {"AWS": "arn:aws:iam::111122223333:root"}}),
        ("all-but-one", {"NotPrincipal": {"AWS": "arn:aws:iam::111122223333:root"}}),
    ):
        bucket = make(name)
        statement = reading | {"Resource": f"arn:aws:s3:::{bucket}/*"} | narrowed
        if "NotPrincipal" in statement:
            del statement["Principal"]
        s3.put_bucket_policy(Bucket=bucket, Policy=json.dumps({"Version": "2012-10-17", "Statement": [statement]}))


def encrypt(s3: Any, bucket: str, algorithm: str, key: str | None = None) -> None:
    """Sets a bucket's default encryption."""
    applied = {"SSEAlgorithm": algorithm} | ({"KMSMasterKeyID": key} if key else {})
    s3.put_bucket_encryption(
        Bucket=bucket,
        ServerSideEncryptionConfiguration={"Rules": [{"ApplyServerSideEncryptionByDefault": applied}]},
    )


def disks(place: Posture) -> None:
    """Volumes and snapshots, encrypted and not; one snapshot is shared with everyone, one with an account."""
    region, ec2 = place.region, place.ec2
    encrypted = region.volume("posture-encrypted", "gp3", 8, Encrypted=True)
    plain = region.volume("posture-plain", "gp3", 8)
    region.snapshot("posture-encrypted", encrypted)
    region.snapshot("posture-public", plain)
    region.snapshot("posture-shared", plain)
    for name, permission in (
        ("posture-public", {"GroupNames": ["all"]}),
        ("posture-shared", {"UserIds": ["111122223333"]}),
    ):
        found = region.named("describe_snapshots", "Snapshots", name)
        if found is not None:
            ec2.modify_snapshot_attribute(
                SnapshotId=found["SnapshotId"],
                Attribute="createVolumePermission",
                OperationType="add",
                **permission,
            )
    region.volume("posture-forgotten", "gp3", 8)


def instances(place: Posture, subnet: str, group: str) -> None:
    """Instances, templates and images, sound and not."""
    ec2, iam = place.ec2, place.iam
    once(
        iam.create_role,
        "EntityAlreadyExists",
        RoleName="posture-machine",
        AssumeRolePolicyDocument=trust({"Service": "ec2.amazonaws.com"}),
    )
    if once(iam.create_instance_profile, "EntityAlreadyExists", InstanceProfileName="posture-machine"):
        iam.add_role_to_instance_profile(InstanceProfileName="posture-machine", RoleName="posture-machine")
    image = place.region.image("posture-image")
    public = place.region.image("posture-public-image")
    ec2.modify_image_attribute(ImageId=public, LaunchPermission={"Add": [{"Group": "all"}]})
    filters = [{"Name": "instance-state-name", "Values": ["running", "stopped"]}]
    running = ec2.describe_instances(Filters=filters)["Reservations"]
    known = {
        tag["Value"]
        for item in running
        for one in item["Instances"]
        for tag in one.get("Tags", [])
        if tag["Key"] == "Name"
    }

    def run(name: str, **options: Any) -> None:
        if name in known:
            return
        common: dict[str, Any] = {"ImageId": image, "InstanceType": "t3.micro", "MinCount": 1, "MaxCount": 1}
        tags = [{"ResourceType": "instance", "Tags": [{"Key": "Name", "Value": name}]}]
        ec2.run_instances(**common, TagSpecifications=tags, **options)

    interface = {"DeviceIndex": 0, "SubnetId": subnet, "Groups": [group]}
    required = {"HttpTokens": "required", "HttpEndpoint": "enabled"}
    run(
        "posture-sound",
        NetworkInterfaces=[interface | {"AssociatePublicIpAddress": False}],
        MetadataOptions=required,
        IamInstanceProfile={"Name": "posture-machine"},
        Monitoring={"Enabled": True},
        UserData="#!/bin/sh\necho ready\n",
    )
    run(
        "posture-weak",
        NetworkInterfaces=[interface | {"AssociatePublicIpAddress": True}],
        UserData=f"#!/bin/sh\n{key_pair()}",
    )
    run(
        "posture-without-metadata",
        NetworkInterfaces=[interface],
        MetadataOptions={"HttpEndpoint": "disabled"},
    )
    for name, data in (
        ("posture-sound", {"MetadataOptions": required}),
        (
            "posture-weak",
            {
                "MetadataOptions": {"HttpTokens": "optional", "HttpEndpoint": "enabled"},
                "NetworkInterfaces": [{"DeviceIndex": 0, "AssociatePublicIpAddress": True}],
                "UserData": base64.b64encode(key_pair().encode()).decode(),
            },
        ),
    ):
        once(
            ec2.create_launch_template,
            "InvalidLaunchTemplateName.AlreadyExistsException",
            LaunchTemplateName=name,
            LaunchTemplateData=data,
        )


def template_of_two_versions(ec2: Any) -> None:
    """A launch template whose second version is sound, and whose default is the first."""
    made = once(
        ec2.create_launch_template,
        "InvalidLaunchTemplateName.AlreadyExistsException",
        LaunchTemplateName="posture-two-versions",
        LaunchTemplateData={"MetadataOptions": {"HttpTokens": "optional", "HttpEndpoint": "enabled"}},
    )
    if made is not None:
        ec2.create_launch_template_version(
            LaunchTemplateName="posture-two-versions",
            LaunchTemplateData={"MetadataOptions": {"HttpTokens": "required", "HttpEndpoint": "enabled"}},
        )


def expired_certificate() -> tuple[str, str]:
    """A self-signed certificate of last year with its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "old.example.com")])
    now = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(7)
        .not_valid_before(now - timedelta(days=400))
        .not_valid_after(now - timedelta(days=35))
        .sign(key, hashes.SHA256())
    )
    pem = serialization.Encoding.PEM
    private = key.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    return certificate.public_bytes(pem).decode(), private.decode()


def identities(iam: Any) -> None:
    """Users, groups, roles and policies, narrow and broad, and a weak password policy."""
    taken = "EntityAlreadyExists"

    def policy(name: str, document: str) -> str:
        once(iam.create_policy, taken, PolicyName=name, PolicyDocument=document)
        return f"arn:aws:iam::{ACCOUNT}:policy/{name}"

    reading = policy("posture-reading", allow(["s3:GetObject"], "arn:aws:s3:::posture-safe/*"))
    everything = policy("posture-everything", allow("*"))
    trails = policy("posture-trails", allow("cloudtrail:*"))
    keys = policy("posture-keys", allow(["kms:*"]))
    roles = policy("posture-roles", allow("sts:AssumeRole"))
    not_iam = json.dumps(
        {"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "NotAction": "iam:*", "Resource": "*"}]}
    )
    all_but_iam = policy("posture-all-but-iam", not_iam)
    with_mfa = policy("posture-with-mfa", allow("*", Condition={"Bool": {"aws:MultiFactorAuthPresent": "true"}}))
    one_role = policy("posture-one-role", allow("sts:AssumeRole", f"arn:aws:iam::{ACCOUNT}:role/posture-support"))
    for name, principal, attached in (
        ("posture-support", {"AWS": f"arn:aws:iam::{ACCOUNT}:root"}, ["arn:aws:iam::aws:policy/AWSSupportAccess"]),
        ("posture-admin", {"AWS": f"arn:aws:iam::{ACCOUNT}:root"}, ["arn:aws:iam::aws:policy/AdministratorAccess"]),
        ("posture-anyone", {"AWS": "*"}, [reading]),
        (
            "posture-worker",
            {"Service": "lambda.amazonaws.com"},
            [reading, trails, keys, roles, one_role, everything, all_but_iam, with_mfa],
        ),
    ):
        once(iam.create_role, taken, RoleName=name, AssumeRolePolicyDocument=trust(principal))
        for arn in attached:
            iam.attach_role_policy(RoleName=name, PolicyArn=arn)
    iam.put_role_policy(RoleName="posture-worker", PolicyName="all", PolicyDocument=allow("*"))
    iam.put_role_policy(RoleName="posture-worker", PolicyName="some", PolicyDocument=allow("s3:GetObject"))
    for name in ("posture-admins", "posture-readers"):
        once(iam.create_group, taken, GroupName=name)
    iam.attach_group_policy(GroupName="posture-admins", PolicyArn="arn:aws:iam::aws:policy/AdministratorAccess")
    iam.attach_group_policy(GroupName="posture-readers", PolicyArn=reading)
    users(iam, reading)
    iam.update_account_password_policy(
        MinimumPasswordLength=10, RequireLowercaseCharacters=True, RequireNumbers=True, PasswordReusePrevention=5
    )
    if not iam.list_server_certificates()["ServerCertificateMetadataList"]:
        body, private = expired_certificate()
        iam.upload_server_certificate(ServerCertificateName="posture-old", CertificateBody=body, PrivateKey=private)


def users(iam: Any, reading: str) -> None:
    """A user with MFA, one without, one who is an administrator, and one with keys alone."""
    taken = "EntityAlreadyExists"
    for name, console, keys in (
        ("posture-ann", True, 0),
        ("posture-bob", True, 2),
        ("posture-carol", False, 1),
        ("posture-robot", False, 1),
    ):
        if once(iam.create_user, taken, UserName=name) is None:
            continue
        if console:
            iam.create_login_profile(UserName=name, Password=PASSWORD)
        for _ in range(keys):
            iam.create_access_key(UserName=name)
    if not iam.list_mfa_devices(UserName="posture-ann")["MFADevices"]:
        device = iam.create_virtual_mfa_device(VirtualMFADeviceName="posture-ann")["VirtualMFADevice"]
        iam.enable_mfa_device(
            UserName="posture-ann",
            SerialNumber=device["SerialNumber"],
            AuthenticationCode1="123456",
            AuthenticationCode2="654321",
        )
    iam.add_user_to_group(GroupName="posture-readers", UserName="posture-ann")
    iam.attach_user_policy(UserName="posture-carol", PolicyArn="arn:aws:iam::aws:policy/AdministratorAccess")
    iam.attach_user_policy(UserName="posture-bob", PolicyArn=reading)
    iam.put_user_policy(UserName="posture-robot", PolicyName="own", PolicyDocument=allow("s3:GetObject"))


def databases(place: Posture) -> None:
    """Instances, clusters and snapshots, protected and not."""
    rds = place.rds
    common: dict[str, Any] = {"DBInstanceClass": "db.t3.micro", "AllocatedStorage": 20, "MasterUserPassword": PASSWORD}
    sound: dict[str, Any] = {
        "StorageEncrypted": True,
        "BackupRetentionPeriod": 14,
        "DeletionProtection": True,
        "MultiAZ": True,
        "EnableIAMDatabaseAuthentication": True,
        "EnableCloudwatchLogsExports": ["postgresql"],
        "CopyTagsToSnapshot": True,
    }
    taken = "DBInstanceAlreadyExists"
    for name, options in (
        (
            "posture-sound",
            sound
            | {
                "Engine": "postgres",
                "MasterUsername": "ledger",
                "PubliclyAccessible": False,
                "AutoMinorVersionUpgrade": True,
                "MonitoringInterval": 60,
                "MonitoringRoleArn": f"arn:aws:iam::{ACCOUNT}:role/posture-worker",
            },
        ),
        (
            "posture-weak",
            {
                "Engine": "mysql",
                "MasterUsername": "admin",
                "PubliclyAccessible": True,
                "AutoMinorVersionUpgrade": False,
                "BackupRetentionPeriod": 0,
            },
        ),
    ):
        once(rds.create_db_instance, taken, DBInstanceIdentifier=name, **common, **options)
    known = {item["DBClusterIdentifier"] for item in rds.describe_db_clusters()["DBClusters"]}
    for name, options in (
        ("posture-cluster", sound | {"MasterUsername": "ledger"}),
        ("posture-weak-cluster", {"MasterUsername": "postgres"}),
    ):
        options = {key: value for key, value in options.items() if key != "MultiAZ"}
        if name not in known:
            rds.create_db_cluster(
                DBClusterIdentifier=name, Engine="aurora-postgresql", MasterUserPassword=PASSWORD, **options
            )
    for cluster in ("posture-cluster", "posture-weak-cluster"):
        once(
            rds.create_db_instance,
            taken,
            DBInstanceIdentifier=f"{cluster}-member",
            DBClusterIdentifier=cluster,
            DBInstanceClass="db.r6g.large",
            Engine="aurora-postgresql",
        )
    for source, name in (("posture-sound", "posture-private"), ("posture-weak", "posture-public")):
        once(rds.create_db_snapshot, "DBSnapshotAlreadyExists", DBInstanceIdentifier=source, DBSnapshotIdentifier=name)
    rds.modify_db_snapshot_attribute(
        DBSnapshotIdentifier="posture-public", AttributeName="restore", ValuesToAdd=["all"]
    )
    once(
        rds.create_db_cluster_snapshot,
        "DBClusterSnapshotAlreadyExistsFault",
        DBClusterIdentifier="posture-weak-cluster",
        DBClusterSnapshotIdentifier="posture-cluster-copy",
    )


def keys(place: Posture) -> None:
    """Keys that are rotated and not, open to everyone, disabled, and about to be deleted."""
    kms = place.kms
    kms.enable_key_rotation(KeyId=place.key("posture-data"))
    place.key("posture-unrotated")
    everyone = {"Effect": "Allow", "Principal": {"AWS": "*"}, "Action": "kms:*", "Resource": "*"}
    open_key = place.key("posture-open")
    kms.put_key_policy(
        KeyId=open_key, PolicyName="default", Policy=json.dumps({"Version": "2012-10-17", "Statement": [everyone]})
    )
    narrowed = place.key("posture-narrowed")
    condition = {"StringEquals": {"kms:CallerAccount": ACCOUNT}}
    statement = everyone | {"Condition": condition}
    kms.put_key_policy(
        KeyId=narrowed, PolicyName="default", Policy=json.dumps({"Version": "2012-10-17", "Statement": [statement]})
    )
    shared = everyone | {"Principal": {"AWS": "arn:aws:iam::111122223333:root"}}
    kms.put_key_policy(
        KeyId=place.key("posture-shared"),
        PolicyName="default",
        Policy=json.dumps({"Version": "2012-10-17", "Statement": [shared]}),
    )
    kms.disable_key(KeyId=place.key("posture-disabled"))
    waiting = place.key("posture-waiting")
    if kms.describe_key(KeyId=waiting)["KeyMetadata"]["KeyState"] != "PendingDeletion":
        kms.schedule_key_deletion(KeyId=waiting, PendingWindowInDays=30)
    place.key("posture-everywhere", MultiRegion=True)
    place.key("posture-signing", KeySpec="RSA_2048", KeyUsage="SIGN_VERIFY")


def trails(main: Posture, other: Posture) -> None:
    """A trail with every protection in one region, and a weak one, which is stopped, in the other."""
    key = main.kms.describe_key(KeyId=main.key("posture-data"))["KeyMetadata"]["Arn"]
    once(main.logs.create_log_group, "ResourceAlreadyExistsException", logGroupName="posture-trail")
    made = once(
        main.cloudtrail.create_trail,
        "TrailAlreadyExistsException",
        Name="posture-audit",
        S3BucketName="posture-safe",
        EnableLogFileValidation=True,
        KmsKeyId=key,
        IncludeGlobalServiceEvents=True,
        CloudWatchLogsLogGroupArn=f"arn:aws:logs:{main.name}:{ACCOUNT}:log-group:posture-trail:*",
        CloudWatchLogsRoleArn=f"arn:aws:iam::{ACCOUNT}:role/posture-worker",
    )
    if made is not None:
        main.cloudtrail.start_logging(Name="posture-audit")
    main.cloudtrail.put_event_selectors(
        TrailName="posture-audit",
        EventSelectors=[
            {
                "ReadWriteType": "All",
                "IncludeManagementEvents": True,
                "DataResources": [{"Type": "AWS::S3::Object", "Values": ["arn:aws:s3"]}],
            }
        ],
    )
    main.cloudtrail.put_insight_selectors(
        TrailName="posture-audit", InsightSelectors=[{"InsightType": "ApiCallRateInsight"}]
    )
    for place, name, bucket in (
        (other, "posture-stopped", "charter-demo-eu-files"),
        (main, "posture-plain", "posture-bare"),
    ):
        made = once(place.cloudtrail.create_trail, "TrailAlreadyExistsException", Name=name, S3BucketName=bucket)
        if made is not None and place is main:
            place.cloudtrail.start_logging(Name=name)


def package_of_code() -> bytes:
    """A deployment package."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("handler.py", "def handle(event, context):\n    return event\n")
    return packed.getvalue()


def functions(place: Posture, subnets: list[str], group: str) -> None:
    """Functions that are protected, open, and in one zone."""
    client, key = place.functions, place.kms.describe_key(KeyId=place.key("posture-data"))["KeyMetadata"]["Arn"]
    queue = place.sqs.create_queue(QueueName="posture-failed")["QueueUrl"]
    arn = place.sqs.get_queue_attributes(QueueUrl=queue, AttributeNames=["QueueArn"])["Attributes"]["QueueArn"]
    taken = ("ResourceConflictException", "ResourceConflictError")

    def make(name: str, runtime: str, **options: Any) -> None:
        once(
            client.create_function,
            *taken,
            FunctionName=name,
            Runtime=runtime,
            Role=f"arn:aws:iam::{ACCOUNT}:role/posture-worker",
            Handler="handler.handle",
            Code={"ZipFile": package_of_code()},
            **options,
        )

    make(
        "posture-sound",
        "python3.12",
        VpcConfig={"SubnetIds": subnets[:2], "SecurityGroupIds": [group]},
        DeadLetterConfig={"TargetArn": arn},
        TracingConfig={"Mode": "Active"},
        Environment={"Variables": {"STAGE": "test"}},
        KMSKeyArn=key,
    )
    make("posture-one-zone", "python3.13", VpcConfig={"SubnetIds": subnets[:1], "SecurityGroupIds": [group]})
    make("posture-open", "python3.8", Environment={"Variables": {"DB_PASSWORD": "xK9#mQ2$vL7pRt4w"}})
    make("posture-bucket", "python3.12")
    make("posture-any-bucket", "python3.12")
    for name, principal, more in (
        ("posture-open", "*", {}),
        ("posture-any-bucket", "s3.amazonaws.com", {"SourceArn": "arn:aws:s3:::posture-safe"}),
        ("posture-bucket", "s3.amazonaws.com", {"SourceAccount": ACCOUNT, "SourceArn": "arn:aws:s3:::posture-safe"}),
    ):
        if once(client.get_policy, "ResourceNotFoundException", FunctionName=name) is None:
            client.add_permission(
                FunctionName=name, StatementId="caller", Action="lambda:InvokeFunction", Principal=principal, **more
            )
    for name, kind, origins in (("posture-open", "NONE", ["*"]), ("posture-sound", "AWS_IAM", ["https://example.com"])):
        once(
            client.create_function_url_config, *taken, FunctionName=name, AuthType=kind, Cors={"AllowOrigins": origins}
        )


def close_default_groups(ec2: Any) -> None:
    """Takes every rule away from the default security groups of a region."""
    filters = [{"Name": "group-name", "Values": ["default"]}]
    for group in ec2.describe_security_groups(Filters=filters)["SecurityGroups"]:
        for key, revoke in (
            ("IpPermissions", ec2.revoke_security_group_ingress),
            ("IpPermissionsEgress", ec2.revoke_security_group_egress),
        ):
            if group[key]:
                revoke(GroupId=group["GroupId"], IpPermissions=group[key])


def ids_of(place: Posture, names: Iterable[str]) -> list[str]:
    """The estate's subnets by name."""
    found = (place.region.named("describe_subnets", "Subnets", name) for name in names)
    return [str(subnet["SubnetId"]) for subnet in found if subnet is not None]


def build(session: boto3.Session) -> None:
    """Everything, over the estate's network."""
    main, other = Posture(session, MAIN_REGION), Posture(session, OTHER_REGION)
    subnets = ids_of(main, (f"demo-subnet-{zone}" for zone in "abc"))
    group = main.region.named("describe_security_groups", "SecurityGroups", "demo-internal")
    if not subnets or group is None:
        raise SystemExit("posture: run estate.py first")
    identities(main.iam)
    keys(main)
    buckets(main)
    disks(main)
    instances(main, subnets[0], group["GroupId"])
    template_of_two_versions(main.ec2)
    halves = [rule("tcp", 22, 22, "0.0.0.0/1", "128.0.0.0/1")]
    main.region.security_group(group["VpcId"], "posture-halves", "SSH for both halves of the world", halves)
    databases(main)
    trails(main, other)
    functions(main, subnets, group["GroupId"])
    other.ec2.enable_ebs_encryption_by_default()
    close_default_groups(other.ec2)


def main() -> None:
    """Build with credentials that only a simulator accepts."""
    require_loopback()
    build(boto3.Session(aws_access_key_id="simulated", aws_secret_access_key="simulated"))
    print("posture: ready")


if __name__ == "__main__":
    main()
