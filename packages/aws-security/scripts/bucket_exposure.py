"""How far a bucket is open to the public: through its ACL, its policy, or both, unless a public
access block of the bucket or the account takes the effect away.

Three tools judge buckets this way.
"""

from __future__ import annotations

import os
from typing import Any

from botocore.exceptions import ClientError
from bucket_policy import public_statements
from charter_aws import ONE_FAILS, Aws, JsonObject, error_code, left_out, sorted_by, tags_of

_PUBLIC_GRANTEES = {
    "http://acs.amazonaws.com/groups/global/AllUsers": "everyone",
    "http://acs.amazonaws.com/groups/global/AuthenticatedUsers": "any AWS account",
}
SWITCHES = {
    "BlockPublicAcls": "block_public_acls",
    "IgnorePublicAcls": "ignore_public_acls",
    "BlockPublicPolicy": "block_public_policy",
    "RestrictPublicBuckets": "restrict_public_buckets",
}
# Codes of a bucket that has no such setting.
ABSENT = frozenset(
    {
        "NoSuchBucketPolicy",
        "NoSuchPublicAccessBlockConfiguration",
        "NoSuchTagSet",
        "NoSuchTagSetError",
    }
)
_DENIED = frozenset({"AccessDenied", "AllAccessDisabled"})


def answer_of(operation: Any, *, without: frozenset[str] = ABSENT, **arguments: Any) -> JsonObject:
    """The answer of a call, empty where its failure has one of the codes ``without``."""
    try:
        answer: JsonObject = operation(**arguments)
    except ClientError as error:
        if error_code(error) in without:
            return {}
        raise
    return answer


def switches(answer: JsonObject) -> dict[str, bool]:
    """The four switches of a public access block; absent ones are off."""
    configured = answer.get("PublicAccessBlockConfiguration", {})
    return {ours: bool(configured.get(theirs)) for theirs, ours in SWITCHES.items()}


def _without_account_host(request: Any, **_: Any) -> None:
    account_id = request.headers["x-amz-account-id"]
    request.url = request.url.replace(f"//{account_id}.", "//", 1)


def account_block_of(aws: Aws) -> tuple[dict[str, bool], list[JsonObject]]:
    """The account's own switches. One that may not be read counts as off and is named."""
    control = aws.client("s3control")
    if os.environ.get("AWS_ENDPOINT_URL"):
        # S3 Control puts the account in front of the host, which a private
        # endpoint does not answer to; the account travels in a header as well.
        control.meta.events.register_first("request-created.s3-control", _without_account_host)
    try:
        answer = answer_of(control.get_public_access_block, AccountId=aws.account_id)
    except ONE_FAILS as error:
        return switches({}), [left_out(aws.account_id, error) | {"kind": "account"}]
    return switches(answer), []


def public_grants(acl: JsonObject) -> list[JsonObject]:
    """The grants of an ACL to everyone or to any AWS account."""
    grants = [
        {"grantee": _PUBLIC_GRANTEES[uri], "permission": grant["Permission"]}
        for grant in acl.get("Grants", [])
        if (uri := grant.get("Grantee", {}).get("URI")) in _PUBLIC_GRANTEES
    ]
    return sorted_by(grants, "grantee", "permission")


def examine(s3: Any, name: str, region: str, account_block: dict[str, bool]) -> JsonObject:
    """Everything that decides whether one bucket is public."""
    own = switches(answer_of(s3.get_public_access_block, Bucket=name))
    block = {switch: own[switch] or account_block[switch] for switch in own}
    grants = public_grants(s3.get_bucket_acl(Bucket=name))
    policy = answer_of(s3.get_bucket_policy, Bucket=name).get("Policy")
    statements = public_statements(policy) if policy else []
    # Tags open nothing: a bucket is judged without them where they may not be read.
    tags = answer_of(s3.get_bucket_tagging, without=ABSENT | _DENIED, Bucket=name)
    return {
        "name": name,
        "arn": f"arn:aws:s3:::{name}",
        "region": region,
        "tags": tags_of(tags, "TagSet"),
        "public_access_block": block,
        "acl_grants": grants,
        "policy_statements": statements,
        "public_by_acl": bool(grants) and not block["ignore_public_acls"],
        "public_by_policy": bool(statements) and not block["restrict_public_buckets"],
    }


def region_of(s3: Any, bucket: JsonObject) -> str:
    """The region of a bucket that was listed."""
    if bucket.get("BucketRegion"):
        return str(bucket["BucketRegion"])
    constraint = s3.get_bucket_location(Bucket=bucket["Name"]).get("LocationConstraint")
    return {None: "us-east-1", "": "us-east-1", "EU": "eu-west-1"}.get(constraint, str(constraint))
