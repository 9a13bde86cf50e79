"""Whether address ranges, alone or together, hold every address of a family.

A security group that admits ``0.0.0.0/1`` and ``128.0.0.0/1`` is as open as one that admits
``0.0.0.0/0``.
"""

from __future__ import annotations

from collections.abc import Iterable
from ipaddress import IPv4Network, IPv6Network, collapse_addresses, ip_network

Network = IPv4Network | IPv6Network


def network_of(cidr: str) -> Network | None:
    """The range, however it is written; ``None`` for a text that is none."""
    try:
        return ip_network(cidr, strict=False)
    except ValueError:
        return None


def is_anywhere(cidr: str) -> bool:
    """Whether a range holds every address of its family, however it is written."""
    network = network_of(cidr)
    return network is not None and network.prefixlen == 0


def are_everyone(cidrs: Iterable[str], version: int) -> bool:
    """Whether ranges hold every address of a family together."""
    networks = [network for network in map(network_of, cidrs) if network is not None]
    if version == 4:
        four = [network for network in networks if isinstance(network, IPv4Network)]
        return any(network.prefixlen == 0 for network in collapse_addresses(four))
    six = [network for network in networks if isinstance(network, IPv6Network)]
    return any(network.prefixlen == 0 for network in collapse_addresses(six))


def lies_within(cidr: str, other: str) -> bool:
    """Whether a range lies within a larger one."""
    inner, outer = network_of(cidr), network_of(other)
    if isinstance(inner, IPv4Network) and isinstance(outer, IPv4Network):
        return inner != outer and inner.subnet_of(outer)
    if isinstance(inner, IPv6Network) and isinstance(outer, IPv6Network):
        return inner != outer and inner.subnet_of(outer)
    return False
