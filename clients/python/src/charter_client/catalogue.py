"""The catalogue: which documents are in force for something, and packages that bring them."""

from __future__ import annotations

import builtins
from base64 import b64encode
from pathlib import Path
from typing import Any, Literal

from charter_client._operation import Awaiting, Blocking, iteration, operation
from charter_client._wire import Call, Pages, Repeat, paged, part, reading, unread
from charter_client.contract import (
    AgentManifestInForce,
    DocumentSummary,
    MissionTypeInForce,
    Package,
    PackageDiff,
    PlaybookInForce,
    PromptTemplateInForce,
    RegistrationReport,
    ResolvedGuardrail,
    ResolvedPolicy,
    ResolvedTemplate,
    SkillInForce,
    ToolInForce,
)
from charter_client.shown import PackageReport

#: Bounds of a package that is read, as the command line has them.
MAX_PACKAGE_BYTES = 15 << 20
MAX_PACKAGE_FILES = 20_000

Scope = Literal["tenant", "global"]

_SKILL = reading(SkillInForce)
_PLAYBOOK = reading(PlaybookInForce)
_AGENT = reading(AgentManifestInForce)
_TOOL = reading(ToolInForce)
_TOOLS = reading(list[ToolInForce])
_MISSION_TYPE = reading(MissionTypeInForce)
_PROMPT_TEMPLATE = reading(PromptTemplateInForce)
_GUARDRAILS = reading(list[ResolvedGuardrail])
_POLICIES = reading(list[ResolvedPolicy])
_TEMPLATE = reading(ResolvedTemplate)
_LISTED = paged(DocumentSummary)
_REPORT = reading(PackageReport)
_DIFF = reading(PackageDiff)
_REGISTERED = reading(RegistrationReport)
_VERSIONS = reading(list[Package])


def resolve(kind: str, id_: str, read: Any) -> Call[Any]:
    """The call that fetches a document by its exact id."""
    return Call("GET", f"/v1/resolve/{kind}/{part(id_)}", read)


class ResolveOperations:
    """Documents in force, and which layer won. What the caller may not see raises `NotFound`."""

    @operation
    def skill(self, skill_id: str) -> Call[SkillInForce]:
        """A skill."""
        return resolve("skill", skill_id, _SKILL)

    @operation
    def playbook(self, playbook_id: str) -> Call[PlaybookInForce]:
        """A playbook."""
        return resolve("playbook", playbook_id, _PLAYBOOK)

    @operation
    def agent(self, agent_id: str) -> Call[AgentManifestInForce]:
        """An agent."""
        return resolve("agent", agent_id, _AGENT)

    @operation
    def tool(self, tool_id: str) -> Call[ToolInForce]:
        """A tool."""
        return resolve("tool", tool_id, _TOOL)

    @operation
    def tools(
        self, *, tool_class: Literal["readonly", "write"] | None = None, domain: str | None = None
    ) -> Call[builtins.list[ToolInForce]]:
        """The active tools of a class and domain."""
        return Call("GET", "/v1/resolve/tools", _TOOLS, query={"tool_class": tool_class, "domain": domain})

    @operation
    def mission_type(self, mission_type_id: str) -> Call[MissionTypeInForce]:
        """A kind of missions."""
        return resolve("mission_type", mission_type_id, _MISSION_TYPE)

    @operation
    def prompt_template(self, prompt_template_id: str) -> Call[PromptTemplateInForce]:
        """A prompt template."""
        return resolve("prompt_template", prompt_template_id, _PROMPT_TEMPLATE)

    @operation
    def guardrails(
        self,
        *,
        skill_id: str | None = None,
        agent_id: str | None = None,
        domain: str | None = None,
        persona: str | None = None,
    ) -> Call[builtins.list[ResolvedGuardrail]]:
        """Every guardrail that bears on a skill or playbook, an agent, a domain, in the order of asking."""
        query = {"skill_id": skill_id, "agent_id": agent_id, "domain": domain, "persona": persona}
        return Call("GET", "/v1/resolve/guardrails", _GUARDRAILS, query=query)

    @operation
    def policies(self, tool_id: str) -> Call[builtins.list[ResolvedPolicy]]:
        """The policies that govern a tool."""
        return Call("GET", "/v1/resolve/policies", _POLICIES, query={"tool": tool_id})

    @operation
    def template(
        self,
        output_type: str,
        *,
        skill_id: str | None = None,
        agent_id: str | None = None,
        domain: str | None = None,
        persona: str | None = None,
    ) -> Call[ResolvedTemplate]:
        """The template that renders an output for a persona; raises `TemplateMissing` where none does."""
        query = {
            "output_type": output_type,
            "skill_id": skill_id,
            "agent_id": agent_id,
            "domain": domain,
            "persona": persona,
        }
        return Call("GET", "/v1/resolve/template", _TEMPLATE, query=query)


class Resolve(ResolveOperations, Blocking):
    """Documents in force, and which layer won."""


class AsyncResolve(ResolveOperations, Awaiting):
    """Documents in force, and which layer won; every operation is awaited."""


class CatalogueOperations:
    """Documents of the catalogue, whichever layer they come from."""

    @iteration
    def list_documents(self, kind: str, *, page_size: int = 100) -> Pages[DocumentSummary]:
        """The documents of a kind (`skill`, `tool`, `playbook`, `mission_type`, ...) that the caller sees, by id."""
        return Pages(f"/v1/list/{part(kind)}", _LISTED, {"limit": page_size})


class Catalogue(CatalogueOperations, Blocking):
    """Documents of the catalogue."""


class AsyncCatalogue(CatalogueOperations, Awaiting):
    """Documents of the catalogue; every operation is awaited."""


class PackageOperations:
    """Packages: directories of documents, registered in one version at a time (README, "Packages")."""

    @operation
    def validate(self, directory: str | Path) -> Call[PackageReport]:
        """Checks a package; every problem with file and line. Writes nothing."""
        return Call("POST", "/v1/packages/validate", _REPORT, body=read_package(directory))

    @operation
    def diff(self, directory: str | Path) -> Call[PackageDiff]:
        """What registering the package would change. Raises `InvalidDocument` for one that is not sound."""
        return Call("POST", "/v1/packages/diff", _DIFF, body=read_package(directory))

    @operation
    def register(self, directory: str | Path, *, dry_run: bool = False) -> Call[RegistrationReport]:
        """Puts a package in force, whole or not at all. The same content again changes nothing.

        Raises `InvalidDocument` with every problem, `VersionConflict` when the version is there with
        other content, `PermissionDenied` without the role for its scope.
        """
        return Call("POST", "/v1/packages", _REGISTERED, query={"dry_run": dry_run}, body=read_package(directory))

    @operation
    def list(self) -> Call[builtins.list[Package]]:
        """The packages in force: the tenant's, then the global ones."""
        return Call("GET", "/v1/packages", _VERSIONS)

    @operation
    def list_history(self, name: str, *, scope: Scope = "tenant") -> Call[builtins.list[Package]]:
        """Everything that happened to a package, oldest first."""
        return Call("GET", f"/v1/packages/{part(name)}/history", _VERSIONS, query={"scope": scope})

    @operation
    def rollback(self, name: str, version: str, *, scope: Scope = "tenant") -> Call[RegistrationReport]:
        """Puts an earlier version in force again."""
        query = {"version": version, "scope": scope}
        return Call("POST", f"/v1/packages/{part(name)}/rollback", _REGISTERED, query=query, repeat=Repeat.NEVER)

    @operation
    def unregister(self, name: str, *, scope: Scope = "tenant") -> Call[None]:
        """Takes a package out of force. Raises `StillReferenced` while others need it."""
        return Call("DELETE", f"/v1/packages/{part(name)}", unread, query={"scope": scope}, repeat=Repeat.NEVER)


class Packages(PackageOperations, Blocking):
    """Check, compare and register packages."""


class AsyncPackages(PackageOperations, Awaiting):
    """Check, compare and register packages; every operation is awaited."""


def read_package(directory: str | Path) -> dict[str, dict[str, str]]:
    """Every file of a directory, by its path: its text, or the bytes of a PDF in base64.

    Hidden files, caches and links are left out.
    """
    root = Path(directory)
    files: dict[str, str] = {}
    size = 0
    for path in _files(root):
        is_pdf = path.suffix.lower() == ".pdf"
        length = path.stat().st_size
        size += (length + 2) // 3 * 4 if is_pdf else length
        if size > MAX_PACKAGE_BYTES or len(files) >= MAX_PACKAGE_FILES:
            raise ValueError(f"{root} is larger than {MAX_PACKAGE_BYTES} bytes or {MAX_PACKAGE_FILES} files")
        content = path.read_bytes()
        try:
            files[path.relative_to(root).as_posix()] = (b64encode(content) if is_pdf else content).decode()
        except UnicodeDecodeError as error:
            raise ValueError(f"{path} is not valid UTF-8: {error}") from error
    if not files:
        raise ValueError(f"{root} has no files")
    return {"files": files}


def _files(directory: Path) -> builtins.list[Path]:
    found = []
    for path in sorted(directory.iterdir()):
        if path.name.startswith(".") or path.name == "__pycache__" or path.is_symlink():
            continue
        found.extend(_files(path) if path.is_dir() else [path])
    return found
