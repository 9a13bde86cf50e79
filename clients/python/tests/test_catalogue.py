"""What is in force, packages, memories and keys."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from charter_client import AsyncCharter, Charter
from charter_client.codes import InvalidDocument, NotFound, PermissionDenied, Unauthenticated, VersionConflict
from conftest import PACKAGE, Server


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """A copy of a small package, to bend."""
    copy = tmp_path / "cost-hygiene"
    shutil.copytree(PACKAGE.parent / "cost-hygiene", copy)
    return copy


def test_documents_in_force_say_which_layer_won(charter: Charter) -> None:
    skill = charter.resolve.skill("security.detect_public_ingress")
    assert (skill.layer, skill.package) == ("global", "aws-security")
    assert skill.document.skill_id == "security.detect_public_ingress"
    tool = charter.resolve.tool("aws.lock_security_group").document
    assert tool.tool_class == "write"
    readonly = charter.resolve.tools(tool_class="readonly", domain="security")
    assert {found.document.tool_class for found in readonly} == {"readonly"}
    guardrails = charter.resolve.guardrails(skill_id="security.remediate_public_exposure")
    assert all(found.matched for found in guardrails) and guardrails
    policies = charter.resolve.policies("aws.lock_security_group")
    assert [policy.document.policy_id for policy in policies] == ["security.group_changes"]
    template = charter.resolve.template("finding", skill_id="security.detect_public_ingress")
    assert template.document.template_id
    assert charter.resolve.playbook("security.remediate_public_exposure").document.safety.safety_class == "supervised"
    assert charter.resolve.agent("domain.security.exposure").document.agent_id
    assert charter.resolve.mission_type("security.account_brief").document.mission_type
    with pytest.raises(NotFound):
        charter.resolve.skill("no.such_skill")


def test_listings_of_documents_have_all_of_a_kind(charter: Charter) -> None:
    ids = [listed.id for listed in charter.catalogue.list_documents("skill", page_size=2)]
    assert ids == sorted(ids) and "security.detect_public_ingress" in ids
    with pytest.raises(NotFound):
        list(charter.catalogue.list_documents("no_such_kind"))


def test_a_package_is_checked_compared_and_registered(charter: Charter, package: Path) -> None:
    report = charter.packages.validate(package)
    assert report.is_sound and report.package == "cost-hygiene"
    diff = charter.packages.diff(package)
    assert diff.from_ is None and {change.difference for change in diff.changes} == {"added"}
    assert charter.packages.register(package, dry_run=True).unchanged
    registered = charter.packages.register(package)
    assert not registered.unchanged
    assert charter.packages.register(package).unchanged
    assert "cost-hygiene" in [found.package for found in charter.packages.list()]

    manifest = package / "package.yaml"
    manifest.write_text(manifest.read_text(encoding="utf-8") + "# a word\n", encoding="utf-8")
    with pytest.raises(VersionConflict):
        charter.packages.register(package)
    scope = charter.packages.list()[-1].scope
    charter.packages.unregister("cost-hygiene", scope="global" if scope == "global" else "tenant")
    with pytest.raises(InvalidDocument):
        (package / "package.yaml").write_text("name: 7\n", encoding="utf-8")
        charter.packages.register(package)


def test_a_package_with_a_pdf_is_sound(charter: Charter, package: Path) -> None:
    manual = package / "docs" / "manual.PDF"
    manual.parent.mkdir(exist_ok=True)
    manual.write_bytes(b"%PDF-1.7\n\xff\x00")
    assert charter.packages.validate(package).is_sound
    manual.write_bytes(b"\xff\x00")
    problems = charter.packages.validate(package).problems
    assert [problem.file for problem in problems if problem.severity == "error"] == ["docs/manual.PDF"]


def test_problems_of_a_package_have_places(charter: Charter, package: Path) -> None:
    skill = next((package / "skills").iterdir())
    skill.write_text(skill.read_text(encoding="utf-8").replace("output_type:", "outptu_type:"), encoding="utf-8")
    report = charter.packages.validate(package)
    problem = next(problem for problem in report.problems if problem.severity == "error")
    assert not report.is_sound and problem.file == f"skills/{skill.name}" and problem.line > 1
    with pytest.raises(ValueError, match="has no files"):
        (package / "empty").mkdir()
        charter.packages.validate(package / "empty")


def test_a_user_may_not_register(server: Server, package: Path) -> None:
    with Charter(server.address, server.key("uma")) as uma, pytest.raises(PermissionDenied):
        uma.packages.register(package)


def test_memories_are_versioned_found_and_removed(charter: Charter) -> None:
    first = charter.memories.create("Region", "We deploy to eu-west-1.", tags=["aws"], importance=7)
    assert first.version == 1 and first.memory is not None and first.memory.content == "We deploy to eu-west-1."
    second = charter.memories.supersede(
        first.memory_id, "Region", "We deploy to eu-north-1.", tags=["aws"], expected_version=1
    )
    assert second.version == 2
    with pytest.raises(VersionConflict):
        charter.memories.supersede(first.memory_id, "Region", "No.", tags=["aws"], expected_version=1)
    found = charter.memories.search("where do we deploy", tags_all=["aws"])
    assert found[0].memory_id == first.memory_id and found[0].lexical > 0
    assert [version.version for version in charter.memories.list_versions(first.memory_id)] == [2, 1]

    proposed = charter.memories.create("Pager", "Ann has it.", tags=["team"], agent_id="helper")
    assert proposed.state == "proposed"
    assert proposed.memory_id in [memory.memory_id for memory in charter.memories.list(proposed=True)]
    assert charter.memories.accept(proposed.memory_id, 1).state == "accepted"
    assert charter.memories.delete(first.memory_id).memory is None


def test_a_key_is_made_rotated_and_revoked(server: Server, charter: Charter) -> None:
    made = charter.keys.create("ci", user="ci", role="operator", scopes=["catalogue:read"], expires_in_s=3600)
    secret = made.secret.get_secret_value()
    assert secret not in repr(made) and made.state == "live"
    with Charter(server.address, secret) as ci:
        assert ci.routing.route_query("open groups").candidates
        with pytest.raises(PermissionDenied):
            next(ci.runs.list())
    rotated = charter.keys.rotate(made.key_id)
    assert rotated.rotated_from == made.key_id
    assert charter.keys.revoke(rotated.key_id).state == "revoked"
    assert {key.key_id for key in charter.keys.list()} >= {made.key_id, rotated.key_id}
    with Charter(server.address, secret) as ci, pytest.raises(Unauthenticated):
        ci.routing.route_query("open groups")


async def test_the_same_is_awaited(async_charter: AsyncCharter, package: Path) -> None:
    assert (await async_charter.packages.validate(package)).is_sound
    assert (await async_charter.resolve.skill("security.detect_public_ingress")).layer == "global"
    assert [listed async for listed in async_charter.catalogue.list_documents("playbook")]
    memory = await async_charter.memories.create("Async", "It awaits.", tags=["x"])
    assert (await async_charter.memories.delete(memory.memory_id)).memory is None
    assert [key.state async for key in async_charter.keys.list()]
