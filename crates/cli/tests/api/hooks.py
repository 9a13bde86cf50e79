"""What schemathesis has to be told of the interface that crates/cli/tests/suite/openapi.rs tests with it."""

import schemathesis


@schemathesis.serializer("application/x-ndjson")
def json_lines(context, value):
    """Bundles of missions: text as it is, anything else as one line."""
    if isinstance(value, bytes):
        return value
    return (value if isinstance(value, str) else str(value)).encode("utf-8", errors="replace")
