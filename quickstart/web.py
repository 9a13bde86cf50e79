"""A stand-in for a search engine, for missions that may search and have no network.

    web.py [--port N]

It answers ``/search?q=…&format=json`` in the form of SearxNG, over a handful of
pages that are written here. The pages on AWS exist and are summed up in a
sentence; those on the property market are made up, at example.com.
"""

from __future__ import annotations

import argparse
import re

from local_http import Json, Refused, Request, serve

# title, link, a sentence
PAGES = [
    (
        "Control traffic to your AWS resources using security groups",
        "https://docs.aws.amazon.com/vpc/latest/userguide/vpc-security-groups.html",
        "A security group is stateful and denies what no rule allows; open ports 22 and 3389 to the "
        "address ranges that need them, never to 0.0.0.0/0 or ::/0.",
    ),
    (
        "AWS Systems Manager Session Manager",
        "https://docs.aws.amazon.com/systems-manager/latest/userguide/session-manager.html",
        "Remote access to machines of AWS without open inbound ports, bastion hosts or SSH keys.",
    ),
    (
        "Blocking public access to your Amazon S3 storage",
        "https://docs.aws.amazon.com/AmazonS3/latest/userguide/access-control-block-public-access.html",
        "S3 block public access overrides ACLs and policies of buckets; turn on all four settings for the account.",
    ),
    (
        "Waterfront homes in the first quarter of 2026",
        "https://www.example.com/market/waterfront-2026-q1",
        "Prices of premium waterfront homes rose by 4 per cent in the quarter, and supply is down to eleven weeks.",
    ),
    (
        "Payment plans of developers, spring 2026",
        "https://www.example.com/market/payment-plans-2026",
        "Buyers of premium homes are offered 40 per cent on handover; who reserves before June saves the fee.",
    ),
]
MOST = 10


def words(text: str) -> set[str]:
    """What is compared."""
    return {word for word in re.findall(r"[a-z0-9]+", text.lower()) if len(word) > 2}


def search(request: Request) -> Json:
    """The pages that share most words with the query."""
    if request.method != "GET" or request.path != ("search",):
        raise Refused(404, "there is no such page")
    query = request.query.get("q", "")
    wanted = words(query)
    ranked = [(len(wanted & words(f"{title} {said}")), title, url, said) for title, url, said in PAGES]
    best = sorted((page for page in ranked if page[0] > 1), key=lambda page: -page[0])
    results = [
        {"title": title, "url": url, "content": said, "engine": "written here"}
        for _, title, url, said in best[:MOST]
    ]
    return {"query": query, "results": results, "unresponsive_engines": []}


def main() -> None:
    """Serve the pages."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--port", type=int, default=7611)
    serve("the search", parser.parse_args().port, search)


if __name__ == "__main__":
    main()
