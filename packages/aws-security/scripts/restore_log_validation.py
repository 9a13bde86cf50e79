"""aws.restore_log_validation: put back the log file validation of trails."""

from __future__ import annotations

from charter_aws import Aws, Call, JsonObject, run
from protected_settings import LogValidation
from setting_changes import restore


def restore_log_validation(call: Call, aws: Aws) -> JsonObject:
    """Restores the states that a change replaced."""
    return restore(call, aws, LogValidation(aws))


if __name__ == "__main__":
    run(restore_log_validation)
