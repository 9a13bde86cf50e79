"""Bucket policies, and what each means: whether it is public, and whether it lets the public change something."""

from __future__ import annotations

from typing import Any

Policy = dict[str, Any]

ALLOW: Policy = {"Effect": "Allow", "Principal": "*", "Action": "s3:GetObject", "Resource": "*"}
ACCOUNT = "111122223333"
ROLE_ID = "AROAJ2EXAMPLE7ROLE8ID"
KEY = "s3:x-amz-server-side-encryption-aws-kms-key-id"


def under(operator: str, key: str, value: Any, **guard: Any) -> Policy:
    """Everyone reads, under a condition; ``guard`` adds operators."""
    return ALLOW | {"Condition": {operator: {key: value}} | guard}


def by(principal: Any) -> Policy:
    """Another principal reads."""
    return ALLOW | {"Principal": principal}


def doing(*actions: str) -> Policy:
    """Everyone does something else."""
    return ALLOW | {"Action": list(actions)}


def demanded(key: str) -> Policy:
    """The guard that a key is there at all."""
    return {key: "false"}


def denying(statement: Policy, **denial: Any) -> list[Policy]:
    """A statement beside one that denies everyone."""
    deny = {"Effect": "Deny", "Principal": "*", "Action": "s3:*", "Resource": "*"}
    return [statement, deny | denial]


def unless(operator: str, key: str, value: Any) -> Policy:
    """A denial's condition."""
    return {"Condition": {operator: {key: value}}}


# A name, the statements, whether strangers are let in.
READING: list[tuple[str, Policy | list[Policy], bool]] = [
    # Principals.
    ("everyone", ALLOW, True),
    ("everyone by AWS star", by({"AWS": ["*"]}), True),
    ("everyone beside an account", by({"AWS": [f"arn:aws:iam::{ACCOUNT}:root", "*"]}), True),
    ("any account's root", by({"AWS": "arn:aws:iam::*:root"}), True),
    ("an account", by({"AWS": f"arn:aws:iam::{ACCOUNT}:root"}), False),
    ("an account's number", by({"AWS": ACCOUNT}), False),
    ("a service", by({"Service": "cloudtrail.amazonaws.com"}), False),
    ("users of a web identity provider", by({"Federated": "graph.facebook.com"}), True),
    ("users of an account's own provider", by({"Federated": f"arn:aws:iam::{ACCOUNT}:saml-provider/x"}), False),
    (
        "a canonical user",
        by({"CanonicalUser": "79a59df900b949e55d96a1e698fbacedfd6e09d98eacf8f8d5218e7cd47ef2be"}),
        False,
    ),
    (
        "all but one principal",
        {key: ALLOW[key] for key in ("Effect", "Action", "Resource")} | {"NotPrincipal": {"AWS": ACCOUNT}},
        True,
    ),
    ("nobody", {key: ALLOW[key] for key in ("Effect", "Action", "Resource")} | {"NotPrincipal": "*"}, False),
    ("a denial", ALLOW | {"Effect": "Deny"}, False),
    # Addresses.
    ("an office", under("IpAddress", "aws:SourceIp", ["203.0.113.0/24"]), False),
    ("one address", under("IpAddress", "aws:SourceIp", "198.51.100.7"), False),
    ("a network of IPv6", under("IpAddress", "aws:SourceIp", "2001:db8::/32"), False),
    ("two families", under("IpAddress", "aws:SourceIp", ["203.0.113.0/24", "2001:db8:7::/48"]), False),
    (
        "every private address",
        under("IpAddress", "aws:SourceIp", ["10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16"]),
        False,
    ),
    ("every address", under("IpAddress", "aws:SourceIp", "0.0.0.0/0"), True),
    ("every address of IPv6, long", under("IpAddress", "aws:SourceIp", "0:0:0:0:0:0:0:0/0"), True),
    ("every address, with bits set", under("IpAddress", "aws:SourceIp", "9.9.9.9/0"), True),
    ("every address as IPv6", under("IpAddress", "aws:SourceIp", "::ffff:0.0.0.0/96"), True),
    ("every address by its mask", under("IpAddress", "aws:SourceIp", "0.0.0.0/0.0.0.0"), True),
    ("a quarter of the world", under("IpAddress", "aws:SourceIp", "64.0.0.0/2"), True),
    ("just too broad", under("IpAddress", "aws:SourceIp", "12.0.0.0/7"), True),
    ("just narrow enough", under("IpAddress", "aws:SourceIp", "12.0.0.0/8"), False),
    ("just too broad in IPv6", under("IpAddress", "aws:SourceIp", "2a00::/31"), True),
    ("an office and half the world", under("IpAddress", "aws:SourceIp", ["203.0.113.0/24", "128.0.0.0/1"]), True),
    ("the world in pieces", under("IpAddress", "aws:SourceIp", [f"{first}.0.0.0/8" for first in range(1, 224)]), True),
    ("no range at all", under("IpAddress", "aws:SourceIp", "everywhere"), True),
    ("all but one range", under("NotIpAddress", "aws:SourceIp", "10.0.0.0/8"), True),
    # Owners.
    ("one organisation", under("StringEquals", "aws:PrincipalOrgID", "o-abcdef1234"), False),
    ("any organisation", under("StringLike", "aws:PrincipalOrgID", "o-*"), True),
    ("an organisation whatever its case", under("StringEqualsIgnoreCase", "aws:principalorgid", "O-ABCDEF1234"), False),
    (
        "a unit of an organisation",
        under("ForAnyValue:StringLike", "aws:PrincipalOrgPaths", "o-abcdef1234/r-ab12/ou-ab12-*/*"),
        False,
    ),
    ("units of any organisation", under("ForAnyValue:StringLike", "aws:PrincipalOrgPaths", "o-*/r-ab12/*"), True),
    ("the organisation that a service acts for", under("StringEquals", "aws:SourceOrgID", "o-abcdef1234"), False),
    ("paths that a service acts for", under("ForAnyValue:StringLike", "aws:SourceOrgPaths", ["o-abcdef1234/*"]), False),
    ("endpoints of an organisation", under("StringEquals", "aws:VpceOrgID", "o-abcdef1234"), False),
    ("endpoints of an account", under("StringEquals", "aws:VpceAccount", ACCOUNT), False),
    ("an account as a number", under("StringEquals", "aws:PrincipalAccount", 111122223333), False),
    ("accounts by a beginning", under("StringLike", "aws:PrincipalAccount", "1111*"), True),
    ("roles of an account", under("ArnLike", "aws:PrincipalArn", f"arn:aws:iam::{ACCOUNT}:role/*"), False),
    ("a role of any account", under("ArnLike", "aws:PrincipalArn", "arn:aws:iam::*:role/Admin"), True),
    (
        "distributions of an account",
        under("ArnLike", "aws:SourceArn", f"arn:aws:cloudfront::{ACCOUNT}:distribution/*"),
        False,
    ),
    ("any identity of CloudFront", under("ArnLike", "aws:PrincipalArn", "arn:aws:iam::cloudfront:user/*"), True),
    ("another bucket", under("ArnEquals", "aws:SourceArn", "arn:aws:s3:::inventory-source"), False),
    ("any bucket", under("ArnLike", "aws:SourceArn", "arn:aws:s3:::*"), True),
    ("buckets by a beginning", under("ArnLike", "aws:SourceArn", "arn:aws:s3:::inventory-*"), True),
    ("an endpoint", under("StringEquals", "aws:SourceVpce", "vpce-0a1b2c3d"), False),
    ("any endpoint", under("StringLike", "aws:SourceVpce", "vpce-*"), True),
    ("an endpoint or any", under("StringLike", "aws:SourceVpce", ["vpce-0a1b2c3d", "*"]), True),
    ("an account's access points", under("StringEquals", "s3:DataAccessPointAccount", ACCOUNT), False),
    ("access points by ARN", under("ArnLike", "s3:DataAccessPointArn", f"arn:aws:s3:*:{ACCOUNT}:accesspoint/*"), False),
    (
        "access points of anyone",
        under("ArnLike", "s3:DataAccessPointArn", "arn:aws:s3:eu-west-1:*:accesspoint/*"),
        True,
    ),
    ("a key of KMS", under("StringEquals", KEY, f"arn:aws:kms:eu-west-1:{ACCOUNT}:key/0d1e"), False),
    ("a role by its id", under("StringLike", "aws:userid", f"{ROLE_ID}:*"), False),
    ("a role or its account", under("StringLike", "aws:userId", [f"{ROLE_ID}:*", ACCOUNT]), False),
    ("any role", under("StringLike", "aws:userid", "AROA*:*"), True),
    ("a session name of any role", under("StringLike", "aws:userid", "*:build"), True),
    ("anonymous callers", under("StringEquals", "aws:userid", "anonymous"), True),
    # Keys that identify no owner.
    ("encrypted transport", under("Bool", "aws:SecureTransport", "true"), True),
    ("a referer", under("StringLike", "aws:Referer", "https://www.example.com/*"), True),
    ("the bucket's own account", under("StringEquals", "aws:ResourceAccount", ACCOUNT), True),
    ("a tag of the caller", under("StringEquals", "aws:PrincipalTag/team", "core"), True),
    ("a prefix", under("StringLike", "s3:prefix", "public/*"), True),
    # Policy variables.
    ("a variable of the caller", under("StringEquals", "aws:PrincipalAccount", "${aws:PrincipalAccount}"), True),
    ("a variable within", under("StringLike", "aws:SourceVpce", "vpce-${aws:PrincipalTag/vpce}"), True),
    (
        "a variable for a session only",
        under("StringLike", "aws:userid", f"{ROLE_ID}:${{aws:PrincipalTag/name}}"),
        False,
    ),
    ("a star that is one", under("StringEquals", "aws:PrincipalOrgID", "o-${*}"), False),
    # Callers that lack the key.
    ("only if present", under("StringEqualsIfExists", "aws:SourceVpc", "vpc-1"), True),
    ("an office, only if present", under("IpAddressIfExists", "aws:SourceIp", "203.0.113.0/24"), True),
    (
        "an office, if present, which is demanded",
        under("IpAddressIfExists", "aws:SourceIp", "203.0.113.0/24", Null=demanded("aws:SourceIp")),
        False,
    ),
    ("a role, only if present", under("ArnLikeIfExists", "aws:PrincipalArn", f"arn:aws:iam::{ACCOUNT}:role/*"), True),
    (
        "a role, if present, which is demanded",
        under(
            "ArnLikeIfExists", "aws:PrincipalArn", f"arn:aws:iam::{ACCOUNT}:role/*", Null=demanded("aws:PrincipalArn")
        ),
        False,
    ),
    ("all of some, only if present", under("ForAllValues:StringLikeIfExists", "aws:SourceVpce", "vpce-1"), True),
    ("any of some, only if present", under("ForAnyValue:StringLikeIfExists", "aws:SourceVpce", "vpce-1"), True),
    (
        "if present, and it is",
        under("StringEqualsIfExists", "aws:SourceVpc", "vpc-1", Null=demanded("aws:SourceVpc")),
        False,
    ),
    (
        "if present, and it is not",
        under("StringEqualsIfExists", "aws:SourceVpc", "vpc-1", Null={"aws:SourceVpc": "true"}),
        True,
    ),
    (
        "another key is present",
        under("StringEqualsIfExists", "aws:SourceVpc", "vpc-1", Null=demanded("aws:SourceVpce")),
        True,
    ),
    ("all of no values", under("ForAllValues:StringEquals", "aws:PrincipalOrgID", ["o-abcdef1234"]), True),
    (
        "all of some values",
        under(
            "ForAllValues:StringLike",
            "aws:PrincipalOrgPaths",
            ["o-abcdef1234/*"],
            Null=demanded("aws:PrincipalOrgPaths"),
        ),
        False,
    ),
    ("only present", under("Null", "aws:PrincipalOrgID", "false"), True),
    ("negated", under("StringNotEquals", "aws:PrincipalAccount", ACCOUNT), True),
    (
        "two conditions, one of them fixed",
        under("Bool", "aws:SecureTransport", "true", StringEquals={"aws:SourceVpc": "vpc-1"}),
        False,
    ),
    # Denials beside the grant.
    ("denied to everyone", denying(ALLOW), False),
    ("denied elsewhere", denying(ALLOW | {"Resource": "arn:aws:s3:::b/*"}, Resource="arn:aws:s3:::b/private/*"), True),
    (
        "denied outside of an endpoint",
        denying(ALLOW, **unless("StringNotEquals", "aws:SourceVpce", "vpce-0a1b2c3d")),
        False,
    ),
    ("denied outside of an office", denying(ALLOW, **unless("NotIpAddress", "aws:SourceIp", "203.0.113.0/24")), False),
    ("denied outside of the world", denying(ALLOW, **unless("NotIpAddress", "aws:SourceIp", "0.0.0.0/0")), True),
    (
        "denied outside of an organisation, to those in one",
        denying(ALLOW, **unless("ForAnyValue:StringNotEquals", "aws:PrincipalOrgID", "o-abcdef1234")),
        True,
    ),
    ("denied without encryption", denying(ALLOW, **unless("Bool", "aws:SecureTransport", "false")), True),
    ("denied to an account", denying(ALLOW, Principal={"AWS": ACCOUNT}), True),
    (
        "denied to all but an account",
        [ALLOW, {"Effect": "Deny", "NotPrincipal": {"AWS": ACCOUNT}, "Action": "s3:Get*", "Resource": "*"}],
        False,
    ),
    ("denied on the bucket and all objects", denying(ALLOW, Resource=["arn:aws:s3:::b", "arn:aws:s3:::b/*"]), False),
    ("writing is denied", denying(ALLOW, NotAction="s3:Get*"), True),
    ("everything but writing is denied", denying(ALLOW, NotAction="s3:PutObject"), False),
    # What is granted.
    (
        "all actions but those of S3",
        {key: ALLOW[key] for key in ("Effect", "Principal", "Resource")} | {"NotAction": "s3:*"},
        False,
    ),
    (
        "all but all resources",
        {key: ALLOW[key] for key in ("Effect", "Principal", "Action")} | {"NotResource": "*"},
        False,
    ),
    (
        "all but some resources",
        {key: ALLOW[key] for key in ("Effect", "Principal", "Action")} | {"NotResource": "arn:aws:s3:::b/private/*"},
        True,
    ),
]

WITHOUT_ACTION = {key: ALLOW[key] for key in ("Effect", "Principal", "Resource")}
# A name, the statements, whether they let strangers change something. All of them are public.
CHANGING: list[tuple[str, Policy | list[Policy], bool]] = [
    ("reading", ALLOW, False),
    ("listing", doing("s3:ListBucket", "s3:ListBucketVersions"), False),
    ("all reading", doing("s3:Get*", "s3:List*"), False),
    ("reading in lower case", doing("s3:getobject*"), False),
    ("reading with one letter open", doing("s3:?etObject"), False),
    ("writing", doing("s3:PutObject"), True),
    ("writing beside reading", doing("s3:GetObject", "s3:PutObjectTagging"), True),
    ("all writing", doing("s3:Put*"), True),
    ("writing in lower case", doing("S3:PUTOBJECTRETENTION"), True),
    ("deleting", doing("s3:DeleteBucketWebsite"), True),
    ("deleting a bucket", doing("s3:DeleteBucket"), True),
    ("restoring", doing("s3:RestoreObject"), True),
    ("aborting uploads", doing("s3:AbortMultipartUpload"), True),
    ("replicating", doing("s3:ReplicateTags"), True),
    ("taking over", doing("s3:ObjectOwnerOverrideToBucketOwner"), True),
    ("going round a lock", doing("s3:BypassGovernanceRetention"), True),
    ("changing the encryption", doing("s3:PutEncryptionConfiguration"), True),
    ("an action that is not known yet", doing("s3:PutObjectSomehow"), True),
    ("reading that is not known yet", doing("s3:GetObjectSomehow"), False),
    ("everything", doing("*"), True),
    ("everything of S3", doing("s3:*"), True),
    ("everything about objects", doing("s3:*Object*"), True),
    ("everything that ends so", doing("s3:*Acl"), True),
    ("nothing that writes ends so", doing("s3:*Torrent"), False),
    ("all but reading", WITHOUT_ACTION | {"NotAction": ["s3:Get*", "s3:List*"]}, True),
    ("all but an action", WITHOUT_ACTION | {"NotAction": "s3:DeleteBucket"}, True),
    (
        "all but changes",
        WITHOUT_ACTION
        | {
            "NotAction": [
                "s3:Put*",
                "s3:Delete*",
                "s3:Abort*",
                "s3:Bypass*",
                "s3:Create*",
                "s3:Initiate*",
                "s3:Object*",
                "s3:Pause*",
                "s3:Re*",
                "s3:*tag*",
                "s3:Update*",
            ]
        },
        False,
    ),
    (
        "everything, while writing is denied",
        denying(
            doing("s3:*"),
            Action=[
                "s3:Put*",
                "s3:Delete*",
                "s3:Abort*",
                "s3:Bypass*",
                "s3:Create*",
                "s3:Initiate*",
                "s3:Object*",
                "s3:Pause*",
                "s3:Re*",
                "s3:*tagresource",
                "s3:Update*",
            ],
        ),
        False,
    ),
]
