"""Monthly list prices in US dollars, for estimates.

They are the public on-demand prices of us-east-1 as of January 2025, taken for
every region: other regions differ by some percent, and agreements by more.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

HOURS_PER_MONTH = 730

# Per GiB and month.
VOLUME_GIB_USD = {
    "gp2": 0.10,
    "gp3": 0.08,
    "io1": 0.125,
    "io2": 0.125,
    "st1": 0.045,
    "sc1": 0.015,
    "standard": 0.05,
}
# Per provisioned operation per second and month; io2 is cheaper above its first tier.
PROVISIONED_IOPS_USD = 0.065
SNAPSHOT_GIB_USD = 0.05
PUBLIC_IPV4_HOUR_USD = 0.005

# What a gp3 volume includes, and what more of it costs.
GP3_INCLUDED_IOPS = 3000
GP3_IOPS_USD = 0.005
GP3_INCLUDED_MIBPS = 125
GP3_MIBPS_USD = 0.04

# How gp2 performs: operations grow with size between two bounds, and volumes
# above a size reach a higher throughput.
GP2_IOPS_PER_GIB = 3
GP2_MAX_IOPS = 16_000
GP2_MAX_MIBPS = 250
GP2_FULL_THROUGHPUT_GIB = 334


def volume_month_usd(volume: Mapping[str, Any]) -> float:
    """What an EBS volume costs in a month, whether or not anything uses it."""
    kind: str = volume["VolumeType"]
    cost: float = volume["Size"] * VOLUME_GIB_USD.get(kind, VOLUME_GIB_USD["gp3"])
    if kind in ("io1", "io2"):
        cost += (volume.get("Iops") or 0) * PROVISIONED_IOPS_USD
    if kind == "gp3":
        cost += _gp3_extras_usd(volume.get("Iops") or 0, volume.get("Throughput") or 0)
    return round(cost, 2)


def _gp3_extras_usd(iops: int, mibps: int) -> float:
    return (
        max(0, iops - GP3_INCLUDED_IOPS) * GP3_IOPS_USD
        + max(0, mibps - GP3_INCLUDED_MIBPS) * GP3_MIBPS_USD
    )


def as_gp3_month_usd(size_gib: int) -> float:
    """What a gp2 volume of this size would cost as a gp3 volume no slower than it."""
    iops = min(size_gib * GP2_IOPS_PER_GIB, GP2_MAX_IOPS)
    mibps = GP2_MAX_MIBPS if size_gib >= GP2_FULL_THROUGHPUT_GIB else GP3_INCLUDED_MIBPS
    return round(size_gib * VOLUME_GIB_USD["gp3"] + _gp3_extras_usd(iops, mibps), 2)


def snapshot_month_usd(size_gib: int) -> float:
    """At most what a snapshot of a volume of this size costs in a month."""
    return round(size_gib * SNAPSHOT_GIB_USD, 2)


def address_month_usd() -> float:
    """What a public IPv4 address costs in a month."""
    return round(PUBLIC_IPV4_HOUR_USD * HOURS_PER_MONTH, 2)
