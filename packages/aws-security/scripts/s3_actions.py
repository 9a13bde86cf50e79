"""The actions of S3 that a bucket policy can grant: what a pattern names, and what only reads.

Names are compared in lower case, as IAM compares them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

_SERVICE = "s3"
# An action of any other beginning writes, deletes, restores or changes permissions.
_READING = ("describe", "get", "head", "list")

# The names of S3's actions on buckets and objects, by their verbs.
_BY_VERB = {
    "abort": "MultipartUpload",
    "bypass": "GovernanceRetention",
    "create": "Bucket BucketMetadataTableConfiguration Session",
    "delete": (
        "Bucket BucketMetadataTableConfiguration BucketOwnershipControls BucketPolicy BucketWebsite"
        " Object ObjectTagging ObjectVersion ObjectVersionTagging"
    ),
    "get": (
        "AccelerateConfiguration AnalyticsConfiguration BucketAcl BucketCORS BucketLocation"
        " BucketLogging BucketNotification BucketObjectLockConfiguration BucketOwnershipControls"
        " BucketPolicy BucketPolicyStatus BucketPublicAccessBlock BucketRequestPayment"
        " BucketTagging BucketVersioning BucketWebsite EncryptionConfiguration"
        " IntelligentTieringConfiguration InventoryConfiguration LifecycleConfiguration"
        " MetricsConfiguration Object ObjectAcl ObjectAttributes ObjectLegalHold ObjectRetention"
        " ObjectTagging ObjectTorrent ObjectVersion ObjectVersionAcl ObjectVersionAttributes"
        " ObjectVersionForReplication ObjectVersionTagging ObjectVersionTorrent"
        " ReplicationConfiguration"
    ),
    "initiate": "Replication",
    "list": (
        "AllMyBuckets Bucket BucketMultipartUploads BucketVersions MultipartUploadParts"
        " TagsForResource"
    ),
    "object": "OwnerOverrideToBucketOwner",
    "pause": "Replication",
    "put": (
        "AccelerateConfiguration AnalyticsConfiguration BucketAcl BucketCORS BucketLogging"
        " BucketNotification BucketObjectLockConfiguration BucketOwnershipControls BucketPolicy"
        " BucketPublicAccessBlock BucketRequestPayment BucketTagging BucketVersioning"
        " BucketWebsite EncryptionConfiguration IntelligentTieringConfiguration"
        " InventoryConfiguration LifecycleConfiguration MetricsConfiguration Object ObjectAcl"
        " ObjectLegalHold ObjectRetention ObjectTagging ObjectVersionAcl ObjectVersionTagging"
        " ReplicationConfiguration"
    ),
    "rename": "Object",
    "replicate": "Delete Object Tags",
    "restore": "Object",
    "tag": "Resource",
    "untag": "Resource",
    "update": "BucketMetadataTableConfiguration ObjectEncryption",
}
KNOWN = frozenset(
    f"{_SERVICE}:{verb}{noun.lower()}" for verb, nouns in _BY_VERB.items() for noun in nouns.split()
)


@lru_cache(maxsize=4096)
def _pattern(glob: str) -> re.Pattern[str]:
    parts = (".*" if char == "*" else "." if char == "?" else re.escape(char) for char in glob)
    return re.compile("".join(parts), re.DOTALL)


def fits(text: str, glob: str) -> bool:
    """Whether a text is one that a pattern with ``*`` and ``?`` stands for."""
    return _pattern(glob).fullmatch(text) is not None


def fits_any(text: str, globs: Iterable[str]) -> bool:
    """Whether a text is one that any of the patterns stands for."""
    return any(fits(text, glob) for glob in globs)


def named_by(patterns: Iterable[str]) -> frozenset[str]:
    """The actions that patterns name; a pattern that no known one fits is one by itself."""
    found: set[str] = set()
    for pattern in patterns:
        found |= {action for action in KNOWN if fits(action, pattern)} or {pattern}
    return frozenset(found)


def all_but(patterns: Iterable[str]) -> frozenset[str]:
    """The known actions that none of the patterns names."""
    excluded = list(patterns)
    return frozenset(action for action in KNOWN if not fits_any(action, excluded))


def changes(action: str) -> bool:
    """Whether an action does more than read."""
    return not action.rpartition(":")[2].startswith(_READING)
