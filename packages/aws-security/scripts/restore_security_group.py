"""aws.restore_security_group: put back ingress rules that were revoked."""

from __future__ import annotations

from charter_aws import run
from group_changes import restore

if __name__ == "__main__":
    run(restore)
