"""aws.validate_trail_logs: turn on the log file validation of the named trails."""

from __future__ import annotations

from charter_aws import Aws, Call, JsonObject, run
from protected_settings import LogValidation
from setting_changes import names_of, protect


def validate_trail_logs(call: Call, aws: Aws) -> JsonObject:
    """Protects what the call names."""
    return protect(call, aws, LogValidation(aws), names_of(call, "trail_names"))


if __name__ == "__main__":
    run(validate_trail_logs)
