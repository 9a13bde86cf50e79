"""aws.list_public_buckets: how far each S3 bucket of the account is open to the public.

A bucket is public through its ACL, through its policy, or through both, unless
a public access block of the bucket or the account takes the effect away.
"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from botocore.exceptions import ClientError
from bucket_policy import public_statements
from charter_aws import (
    ONE_FAILS,
    Aws,
    Call,
    JsonObject,
    error_code,
    left_out,
    read_each,
    run,
    sorted_by,
    tags_of,
)

PARALLEL_BUCKETS = 8

_PUBLIC_GRANTEES = {
    "http://acs.amazonaws.com/groups/global/AllUsers": "everyone",
    "http://acs.amazonaws.com/groups/global/AuthenticatedUsers": "any AWS account",
}
_SWITCHES = {
    "BlockPublicAcls": "block_public_acls",
    "IgnorePublicAcls": "ignore_public_acls",
    "BlockPublicPolicy": "block_public_policy",
    "RestrictPublicBuckets": "restrict_public_buckets",
}
# Codes that say a bucket has none of what was asked for.
_ABSENT = frozenset(
    {
        "NoSuchBucketPolicy",
        "NoSuchPublicAccessBlockConfiguration",
        "NoSuchTagSet",
        "NoSuchTagSetError",
    }
)
_DENIED = frozenset({"AccessDenied", "AllAccessDisabled"})


def _answer(operation: Any, *, without: frozenset[str] = _ABSENT, **arguments: Any) -> JsonObject:
    """The answer of a call, empty where its failure has one of the codes ``without``."""
    try:
        answer: JsonObject = operation(**arguments)
    except ClientError as error:
        if error_code(error) in without:
            return {}
        raise
    return answer


def _switches(answer: JsonObject) -> dict[str, bool]:
    configured = answer.get("PublicAccessBlockConfiguration", {})
    return {ours: bool(configured.get(theirs)) for theirs, ours in _SWITCHES.items()}


def _without_account_host(request: Any, **_: Any) -> None:
    account_id = request.headers["x-amz-account-id"]
    request.url = request.url.replace(f"//{account_id}.", "//", 1)


def _account_block(aws: Aws) -> tuple[dict[str, bool], list[JsonObject]]:
    """The account's own switches. One that may not be read counts as off and is named."""
    control = aws.client("s3control")
    if os.environ.get("AWS_ENDPOINT_URL"):
        # S3 Control puts the account in front of the host, which a private
        # endpoint does not answer to; the account travels in a header as well.
        control.meta.events.register_first("request-created.s3-control", _without_account_host)
    try:
        answer = _answer(control.get_public_access_block, AccountId=aws.account_id)
    except ONE_FAILS as error:
        return _switches({}), [left_out(aws.account_id, error) | {"kind": "account"}]
    return _switches(answer), []


def _public_grants(acl: JsonObject) -> list[JsonObject]:
    grants = [
        {"grantee": _PUBLIC_GRANTEES[uri], "permission": grant["Permission"]}
        for grant in acl.get("Grants", [])
        if (uri := grant.get("Grantee", {}).get("URI")) in _PUBLIC_GRANTEES
    ]
    return sorted_by(grants, "grantee", "permission")


def _examine(s3: Any, name: str, region: str, account_block: dict[str, bool]) -> JsonObject:
    """Everything that decides whether one bucket is public."""
    own = _switches(_answer(s3.get_public_access_block, Bucket=name))
    block = {switch: own[switch] or account_block[switch] for switch in own}
    grants = _public_grants(s3.get_bucket_acl(Bucket=name))
    policy = _answer(s3.get_bucket_policy, Bucket=name).get("Policy")
    statements = public_statements(policy) if policy else []
    # Tags open nothing: a bucket is judged without them where they may not be read.
    tags = _answer(s3.get_bucket_tagging, without=_ABSENT | _DENIED, Bucket=name)
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


def _region_of(s3: Any, bucket: JsonObject) -> str:
    if bucket.get("BucketRegion"):
        return str(bucket["BucketRegion"])
    constraint = s3.get_bucket_location(Bucket=bucket["Name"]).get("LocationConstraint")
    return {None: "us-east-1", "": "us-east-1", "EU": "eu-west-1"}.get(constraint, str(constraint))


def _examined(
    aws: Aws, located: list[JsonObject], account_block: dict[str, bool]
) -> tuple[list[JsonObject], list[JsonObject]]:
    """The buckets, each asked for in its own region, and those that could not be read."""
    clients = {region: aws.client("s3", region) for region in {item["region"] for item in located}}
    with ThreadPoolExecutor(PARALLEL_BUCKETS) as pool:
        pending = {
            item["name"]: pool.submit(
                _examine, clients[item["region"]], item["name"], item["region"], account_block
            )
            for item in located
        }
        return read_each(located, "name", lambda item: pending[item["name"]].result())


def list_public_buckets(_call: Call, aws: Aws) -> JsonObject:
    """Every bucket of the account; those that cannot be read are named apart."""
    account_block, unread_account = _account_block(aws)
    home = aws.client("s3")
    named = aws.pages("s3", "list_buckets", "Buckets", PaginationConfig={"PageSize": 1000})
    located, not_located = read_each(
        named,
        "Name",
        lambda bucket: {"name": bucket["Name"], "region": _region_of(home, bucket)},
    )
    buckets, not_examined = _examined(aws, located, account_block)
    unread_buckets = [item | {"kind": "bucket"} for item in [*not_located, *not_examined]]
    return {
        "region": aws.region,
        "account_id": aws.account_id,
        "account_public_access_block": account_block,
        "buckets_examined": len(buckets),
        "buckets": sorted_by(buckets, "name"),
        "unreadable": sorted_by([*unread_account, *unread_buckets], "name"),
    }


if __name__ == "__main__":
    run(list_public_buckets)
