"""Keys of the API: who is let in, and what they may do."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from charter_client._operation import Awaiting, Blocking, iteration, operation
from charter_client._wire import Call, Pages, Repeat, paged, part, reading, without_nothing
from charter_client.contract import Key
from charter_client.shown import NewKey

_KEY = reading(Key)
_NEW = reading(NewKey)
_PAGE = paged(Key)


class KeyOperations:
    """Make, rotate and revoke keys; for whoever has the role `admin` and the scopes `admin:read`, `admin:write`."""

    @operation
    def create(
        self,
        name: str,
        *,
        user: str | None = None,
        role: Literal["user", "operator", "admin"] = "user",
        tier: Literal["basic", "advanced"] = "basic",
        catalogue: Literal["viewer", "editor", "admin"] | None = None,
        for_: Literal["person", "agent"] | None = None,
        scopes: Sequence[str] | None = None,
        agent_skills: Sequence[str] | None = None,
        expires_in_s: int | None = None,
    ) -> Call[NewKey]:
        """Makes a key. Its `secret` is shown this once. Without `user` it stands for whoever makes it.

        A key `for_` an agent has the scopes of its maker except `approvals:write`.

        Sent once: when no answer comes, look at `list` and revoke what nobody has the secret of.
        """
        body = without_nothing(
            name=name,
            user=user,
            role=role,
            tier=tier,
            catalogue=catalogue,
            scopes=[*scopes] if scopes is not None else None,
            agent_skills=[*agent_skills] if agent_skills is not None else None,
            expires_in_s=expires_in_s,
            **{"for": for_},
        )
        return Call("POST", "/v1/keys", _NEW, body=body, repeat=Repeat.NEVER)

    @iteration
    def list(self, *, page_size: int = 50) -> Pages[Key]:
        """The tenant's keys, newest first, ended ones too; never a secret."""
        return Pages("/v1/keys", _PAGE, {"limit": page_size})

    @operation
    def get(self, key_id: str) -> Call[Key]:
        """A key without its secret."""
        return Call("GET", f"/v1/keys/{part(key_id)}", _KEY)

    @operation
    def rotate(self, key_id: str, *, overlap_s: int = 0, expires_in_s: int | None = None) -> Call[NewKey]:
        """Puts a new key in the place of one, which still lets in for `overlap_s` seconds."""
        body = without_nothing(overlap_s=overlap_s, expires_in_s=expires_in_s)
        return Call("POST", f"/v1/keys/{part(key_id)}/rotate", _NEW, body=body, repeat=Repeat.NEVER)

    @operation
    def revoke(self, key_id: str) -> Call[Key]:
        """Ends a key at once."""
        return Call("POST", f"/v1/keys/{part(key_id)}/revoke", _KEY, repeat=Repeat.NEVER)


class Keys(KeyOperations, Blocking):
    """Make, rotate and revoke keys."""


class AsyncKeys(KeyOperations, Awaiting):
    """Make, rotate and revoke keys; every operation is awaited."""
