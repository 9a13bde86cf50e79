"""aws.lock_security_group: revoke the ingress rules that the call names."""

from __future__ import annotations

from charter_aws import run
from group_changes import lock

if __name__ == "__main__":
    run(lock)
