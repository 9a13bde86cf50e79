"""aws.list_public_buckets: how far each S3 bucket of the account is open to the public."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from bucket_exposure import account_block_of, examine, region_of
from charter_aws import Aws, Call, JsonObject, read_each, run, sorted_by

PARALLEL_BUCKETS = 8


def _examined(
    aws: Aws, located: list[JsonObject], account_block: dict[str, bool]
) -> tuple[list[JsonObject], list[JsonObject]]:
    """The buckets, each asked for in its own region, and those that could not be read."""
    clients = {region: aws.client("s3", region) for region in {item["region"] for item in located}}
    with ThreadPoolExecutor(PARALLEL_BUCKETS) as pool:
        pending = {
            item["name"]: pool.submit(
                examine, clients[item["region"]], item["name"], item["region"], account_block
            )
            for item in located
        }
        return read_each(located, "name", lambda item: pending[item["name"]].result())


def list_public_buckets(_call: Call, aws: Aws) -> JsonObject:
    """Every bucket of the account; those that cannot be read are named apart."""
    account_block, unread_account = account_block_of(aws)
    home = aws.client("s3")
    named = aws.pages("s3", "list_buckets", "Buckets", PaginationConfig={"PageSize": 1000})
    located, not_located = read_each(
        named,
        "Name",
        lambda bucket: {"name": bucket["Name"], "region": region_of(home, bucket)},
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
