"""Compute the date that lies a number of days before today, in UTC."""

import json
import sys
from datetime import UTC, datetime, timedelta

days = json.load(sys.stdin)["parameters"]["days"]
print(json.dumps({"date": (datetime.now(UTC) - timedelta(days=days)).date().isoformat()}))
