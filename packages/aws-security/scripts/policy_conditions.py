"""The meaning of a policy statement's conditions for strangers, anonymous callers among them.

It follows what S3 calls public: a condition keeps strangers out when it ties a key that identifies
an owner (an account, an organisation, a network, a principal) to fixed values. A value is fixed
when the part of it that names the owner has no wildcard and no policy variable.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from ipaddress import IPv4Network, IPv6Network, collapse_addresses, ip_network
from typing import Any

# A range of addresses is fixed up to these sizes; S3 takes broader ones for public.
_BROADEST_V4 = 8
_BROADEST_V6 = 32
# The IPv4 ranges of one condition may cover this much together, in ranges of the broadest size: a
# world that is cut into pieces stays a world. A policy is too small to hold that much of IPv6.
_MOST_TOGETHER = 16

_MAPPED_V4 = IPv6Network("::ffff:0:0/96")
# A wildcard or a variable; ``${*}`` and the like stand for the character itself.
_OPEN = re.compile(r"(?<!\$\{)[*?]|\$\{(?![*?$]\})")
_UNIQUE_ID = re.compile(r"A[A-Z0-9]{20}")

Network = IPv4Network | IPv6Network


def as_list(value: Any) -> list[Any]:
    """The values of a policy element that may be given alone or as a list."""
    if value is None:
        return []
    return value if isinstance(value, list) else [value]


def _until_open(value: str) -> str:
    """The part of a value before its first wildcard or policy variable."""
    mark = _OPEN.search(value)
    return value[: mark.start()] if mark else value


def is_literal(value: str) -> bool:
    """Whether a value has neither a wildcard nor a policy variable."""
    return _until_open(value) == value


def _is_fixed_user(value: str) -> bool:
    """A user id, or a role id with any session name."""
    if is_literal(value):
        return value.lower() != "anonymous"
    owner, colon, _ = value.partition(":")
    if colon:
        return bool(owner) and is_literal(owner)
    return _UNIQUE_ID.match(_until_open(value)) is not None


def is_fixed_arn(value: str) -> bool:
    """An ARN whose account is given, or whose bucket where it has no account."""
    if is_literal(value):
        return True
    parts = value.split(":", 5)
    if len(parts) < 6 or parts[0] != "arn":
        return False
    account, resource = parts[4], parts[5]
    if account:
        return account.isdigit()
    bucket = resource.partition("/")[0]
    return parts[2] == "s3" and bool(bucket) and is_literal(bucket)


def _is_fixed_path(value: str) -> bool:
    """A path of a given organisation, which owns everything below it."""
    organisation, slash, _ = value.partition("/")
    return is_literal(value) or (bool(slash and organisation) and is_literal(organisation))


def _network(value: str) -> Network | None:
    try:
        network = ip_network(value.strip(), strict=False)
    except ValueError:
        return None
    if isinstance(network, IPv6Network) and network.subnet_of(_MAPPED_V4):
        mapped = network.network_address.ipv4_mapped
        return ip_network(f"{mapped}/{network.prefixlen - _MAPPED_V4.prefixlen}")
    return network


def _are_fixed_ranges(values: list[str]) -> bool:
    """Ranges of addresses of which each is narrow, and which cover little of the world together."""
    networks = [_network(value) for value in values]
    four = [network for network in networks if isinstance(network, IPv4Network)]
    six = [network for network in networks if isinstance(network, IPv6Network)]
    if not networks or len(four) + len(six) < len(networks):
        return False
    together = sum(
        2.0 ** (_BROADEST_V4 - network.prefixlen) for network in collapse_addresses(four)
    )
    return (
        all(network.prefixlen >= _BROADEST_V4 for network in four)
        and all(network.prefixlen >= _BROADEST_V6 for network in six)
        and together <= _MOST_TOGETHER
    )


def _each(is_fixed: Callable[[str], bool]) -> Callable[[list[str]], bool]:
    return lambda values: bool(values) and all(map(is_fixed, values))


_ADDRESS = "aws:sourceip"
# Keys that identify an owner, and when values for them are fixed.
_OWNERS: dict[str, Callable[[list[str]], bool]] = (
    {
        _ADDRESS: _are_fixed_ranges,
        "aws:userid": _each(_is_fixed_user),
    }
    | dict.fromkeys(
        (
            "aws:principalaccount",
            "aws:principalorgid",
            "aws:principalservicename",
            "aws:principalservicenameslist",
            "aws:sourceaccount",
            "aws:sourceorgid",
            "aws:sourceowner",
            "aws:sourcevpc",
            "aws:sourcevpce",
            "aws:vpceaccount",
            "aws:vpceorgid",
            "kms:calleraccount",
            "s3:dataaccesspointaccount",
        ),
        _each(is_literal),
    )
    | dict.fromkeys(
        (
            "aws:principalarn",
            "aws:sourcearn",
            "aws:sourcevpcarn",
            "s3:dataaccesspointarn",
            "s3:x-amz-server-side-encryption-aws-kms-key-id",
        ),
        _each(is_fixed_arn),
    )
    | dict.fromkeys(
        ("aws:principalorgpaths", "aws:sourceorgpaths", "aws:vpceorgpaths"),
        _each(_is_fixed_path),
    )
)
_ONE_OF = frozenset(
    {"stringequals", "stringequalsignorecase", "stringlike", "arnequals", "arnlike"}
)
_NONE_OF = frozenset(
    {"stringnotequals", "stringnotequalsignorecase", "stringnotlike", "arnnotequals", "arnnotlike"}
)


@dataclass(frozen=True)
class _Test:
    """One key of one operator of a condition block."""

    key: str
    operator: str
    quantifier: str
    if_exists: bool
    values: list[str]

    @property
    def owners_are_fixed(self) -> bool:
        """Whether the key identifies an owner and the values are fixed ones."""
        fixed = _OWNERS.get(self.key)
        return fixed is not None and fixed(self.values)

    def _is(self, strings: frozenset[str], addresses: str) -> bool:
        return self.operator in strings or (self.operator, self.key) == (addresses, _ADDRESS)

    @property
    def admits_owners_only(self) -> bool:
        """Whether a caller that has the key passes only with one of fixed values."""
        return self._is(_ONE_OF, "ipaddress") and self.owners_are_fixed

    @property
    def passes_without_the_key(self) -> bool:
        """Whether a caller passes that does not have the key."""
        return self.if_exists or self.quantifier == "forallvalues"

    @property
    def meets_every_stranger(self) -> bool:
        """Whether it is true of every stranger: what a denial needs."""
        if self.key == "aws:principalisawsservice":
            return (
                self.operator == "bool"
                and self.if_exists
                and [value.lower() for value in self.values] == ["false"]
            )
        excepts = self._is(_NONE_OF, "notipaddress") and self.owners_are_fixed
        # A negated operator holds for a key that is absent, unless some value has to be there.
        return excepts and self.quantifier != "foranyvalue"


def _tests(condition: Any) -> Iterator[_Test]:
    if not isinstance(condition, Mapping):
        return
    for name, keys in condition.items():
        quantifier, _, operator = str(name).lower().rpartition(":")
        if_exists = operator.endswith("ifexists")
        for key, values in keys.items() if isinstance(keys, Mapping) else ():
            yield _Test(
                key=str(key).lower(),
                operator=operator.removesuffix("ifexists"),
                quantifier=quantifier,
                if_exists=if_exists,
                values=[str(value) for value in as_list(values)],
            )


def _demands_the_key(test: _Test) -> bool:
    return test.operator == "null" and [value.lower() for value in test.values] == ["false"]


def keeps_strangers_out(condition: Any) -> bool:
    """Whether no stranger meets a condition block."""
    tests = list(_tests(condition))
    demanded = {test.key for test in tests if _demands_the_key(test)}
    return any(
        test.admits_owners_only and (not test.passes_without_the_key or test.key in demanded)
        for test in tests
    )


def meets_every_stranger(condition: Any) -> bool:
    """Whether every stranger meets a condition block; an absent one is met by everyone."""
    if condition is not None and not isinstance(condition, Mapping):
        return False
    return all(test.meets_every_stranger for test in _tests(condition))


def is_only_plain_http(condition: Any) -> bool:
    """Whether a condition block is met by every request without TLS."""
    tests = list(_tests(condition))
    return bool(tests) and all(
        test.key == "aws:securetransport"
        and test.operator == "bool"
        and [value.lower() for value in test.values] == ["false"]
        for test in tests
    )
