"""Memories: what is remembered beyond a session, in versions of which one is in force."""

from __future__ import annotations

import builtins
from collections.abc import Sequence
from typing import Literal

from charter_client._operation import Awaiting, Blocking, iteration, operation
from charter_client._wire import Call, Pages, Repeat, paged, part, reading, without_nothing
from charter_client.contract import Memory, MemoryHit

_MEMORY = reading(Memory)
_MEMORIES = reading(list[Memory])
_FOUND = reading(list[MemoryHit])
_PAGE = paged(Memory)


class MemoryOperations:
    """Create, search and decide on memories. What the caller may not see raises `NotFound`."""

    @operation
    def create(
        self,
        title: str,
        content: str,
        *,
        tags: Sequence[str],
        source: str = "user_statement",
        importance: int | None = None,
        shared: bool = False,
        agent_id: str | None = None,
    ) -> Call[Memory]:
        """Writes a memory. What an agent writes (`agent_id`), and what a user shares, is a proposal.

        `source` says where it comes from (`user_statement`, `system_observation`), `importance` goes from
        1 to 10. Sent once: when no answer comes, look at `list` first.
        """
        memory = _draft(title, content, tags, source, importance)
        body = without_nothing(memory=memory, visibility="shared" if shared else "private", agent_id=agent_id)
        return Call("POST", "/v1/memories", _MEMORY, body=body, repeat=Repeat.NEVER)

    @iteration
    def list(self, *, proposed: bool = False, page_size: int = 50) -> Pages[Memory]:
        """Memories in force, newest first; or those with a proposal that waits for a decision."""
        return Pages("/v1/memories", _PAGE, {"proposed": proposed, "limit": page_size})

    @operation
    def search(
        self,
        text: str | None = None,
        *,
        tags_all: Sequence[str] = (),
        tags_any: Sequence[str] = (),
        min_importance: int | None = None,
        proposed: bool = False,
        limit: int | None = None,
    ) -> Call[builtins.list[MemoryHit]]:
        """The memories that fit, best first, at most 50."""
        body = without_nothing(
            text=text,
            tags_all=[*tags_all],
            tags_any=[*tags_any],
            min_importance=min_importance,
            proposed=proposed,
            limit=limit,
        )
        return Call("POST", "/v1/memories/search", _FOUND, body=body)

    @operation
    def get(self, memory_id: str) -> Call[Memory]:
        """The version in force, or the newest that the caller may see."""
        return Call("GET", f"/v1/memories/{part(memory_id)}", _MEMORY)

    @operation
    def list_versions(self, memory_id: str) -> Call[builtins.list[Memory]]:
        """All versions, newest first."""
        return Call("GET", f"/v1/memories/{part(memory_id)}/history", _MEMORIES)

    @operation
    def supersede(
        self,
        memory_id: str,
        title: str,
        content: str,
        *,
        tags: Sequence[str],
        expected_version: int | None,
        source: str = "user_statement",
        importance: int | None = None,
        agent_id: str | None = None,
    ) -> Call[Memory]:
        """Writes the next version; raises `VersionConflict` when another than `expected_version` is in force."""
        memory = _draft(title, content, tags, source, importance)
        body = without_nothing(memory=memory, expected_version=expected_version, agent_id=agent_id)
        path = f"/v1/memories/{part(memory_id)}/versions"
        return Call("POST", path, _MEMORY, body=body, repeat=Repeat.NEVER)

    @operation
    def accept(self, memory_id: str, version: int) -> Call[Memory]:
        """Puts a proposed version in force."""
        return _decide(memory_id, version, "accept")

    @operation
    def reject(self, memory_id: str, version: int) -> Call[Memory]:
        """Refuses a proposed version."""
        return _decide(memory_id, version, "reject")

    @operation
    def delete(self, memory_id: str) -> Call[Memory]:
        """Removes the content of all versions; that it existed stays."""
        return Call("DELETE", f"/v1/memories/{part(memory_id)}", _MEMORY, repeat=Repeat.NEVER)


def _draft(title: str, content: str, tags: Sequence[str], source: str, importance: int | None) -> dict[str, object]:
    metadata = without_nothing(importance=importance, source=source)
    return {"title": title, "content": content, "tags": list(tags), "metadata": metadata}


def _decide(memory_id: str, version: int, word: Literal["accept", "reject"]) -> Call[Memory]:
    path = f"/v1/memories/{part(memory_id)}/versions/{version}/{word}"
    return Call("POST", path, _MEMORY, repeat=Repeat.NEVER)


class Memories(MemoryOperations, Blocking):
    """Create, search and decide on memories."""


class AsyncMemories(MemoryOperations, Awaiting):
    """Create, search and decide on memories; every operation is awaited."""
