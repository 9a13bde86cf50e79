"""The organization `acme-platform` of the simulated GitHub: shapes of GitHub's REST API, days relative to today."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

OWNER = "acme-platform"
Json = Any


def days_ago(days: int) -> str:
    """A time so many days before now, as GitHub writes it."""
    return (datetime.now(UTC) - timedelta(days=days)).strftime("%Y-%m-%dT%H:%M:%SZ")


def account(login: str, kind: str = "User") -> Json:
    """An account."""
    return {"login": login, "type": kind, "html_url": f"https://github.com/{login}"}


def _item(repository: str, number: int, title: str, login: str, opened: int, updated: int, **more: Json) -> Json:
    kind = "pull" if "pull_request" in more else "issues"
    return {
        "number": number,
        "title": title,
        "state": "open",
        "state_reason": None,
        "locked": False,
        "active_lock_reason": None,
        "user": account(login),
        "labels": [],
        "assignees": [],
        "comments": 0,
        "created_at": days_ago(opened),
        "updated_at": days_ago(updated),
        "html_url": f"https://github.com/{OWNER}/{repository}/{kind}/{number}",
        "repository_url": f"https://api.github.com/repos/{OWNER}/{repository}",
        **more,
    }


def _pull(repository: str, number: int, title: str, login: str, opened: int, **more: Json) -> Json:
    return _item(repository, number, title, login, opened, 0, pull_request={}, draft=False, approved=False) | more


def issues() -> list[Json]:
    """Issues and pull requests. `approved` is the simulation's own: GitHub has reviews in its place."""
    return [
        _item("web-shop", 12, "Checkout is slow in Safari", "mia", 420, 200, labels=[{"name": "performance"}]),
        _item("web-shop", 31, "Ship the new search", "ben", 160, 120, assignees=[account("ben")]),
        _item("billing-api", 7, "Document the rate limits", "cid", 300, 95),
        _item("web-shop", 44, "Dark mode flickers", "ann", 9, 1),
        _item("web-shop", 3, "An old question", "eve", 700, 650, state="closed", state_reason="completed"),
        _item("web-shop", 50, "This argument goes on", "eve", 20, 2, locked=True, active_lock_reason="too heated", comments=81),
        _pull("web-shop", 61, "Rewrite the session cache", "mia", 23, comments=4),
        _pull("billing-api", 19, "Add a health endpoint", "dan", 2),
        _pull("billing-api", 20, "Bump the base image", "dependabot[bot]", 11),
        _pull("web-shop", 62, "Draft: try another font", "ann", 30, draft=True),
        _pull("web-shop", 63, "Fix the footer", "ben", 5, approved=True),
    ]


def runs(repository: str) -> list[Json]:
    """Workflow runs, newest first."""
    if repository != "web-shop":
        return []
    made = [
        (9104, "CI", 501, "main", "failure", 0, "push", "mia", "Rewrite the session cache"),
        (9103, "CI", 501, "main", "success", 1, "push", "ben", "Fix the footer"),
        (9102, "CI", 501, "main", "failure", 2, "push", "ann", "Try another font"),
        (9101, "Nightly load test", 502, "main", "failure", 3, "schedule", "mia", "Nightly load test"),
        (9100, "CI", 501, "session-cache", "failure", 4, "pull_request", "mia", "Rewrite the session cache"),
        (9050, "CI", 501, "main", "failure", 40, "push", "cid", "An old failure"),
    ]
    return [
        {
            "id": run,
            "name": name,
            "workflow_id": workflow,
            "run_number": run - 9000,
            "head_branch": branch,
            "status": "completed",
            "conclusion": conclusion,
            "event": event,
            "actor": account(actor),
            "display_title": title,
            "created_at": days_ago(days),
            "html_url": f"https://github.com/{OWNER}/{repository}/actions/runs/{run}",
        }
        for run, name, workflow, branch, conclusion, days, event, actor, title in made
    ]


def _alert(repository: str, kind: str, number: int, days: int, **more: Json) -> Json:
    return {
        "number": number,
        "state": "open",
        "created_at": days_ago(days),
        "html_url": f"https://github.com/{OWNER}/{repository}/security/{kind}/{number}",
        "repository": {"name": repository, "full_name": f"{OWNER}/{repository}"},
        **more,
    }


def _dependency(repository: str, number: int, days: int, package: tuple[str, str, str], advisory: tuple[str, str | None, str, str], versions: str, patched: str | None) -> Json:
    ecosystem, name, manifest = package
    ghsa, cve, severity, summary = advisory
    return _alert(
        repository,
        "dependabot",
        number,
        days,
        dependency={"package": {"ecosystem": ecosystem, "name": name}, "manifest_path": manifest, "scope": "runtime"},
        security_advisory={"ghsa_id": ghsa, "cve_id": cve, "severity": severity, "summary": summary},
        security_vulnerability={
            "severity": severity,
            "vulnerable_version_range": versions,
            "first_patched_version": {"identifier": patched} if patched else None,
        },
    )


def alerts(kind: str) -> list[Json]:
    """Open and closed security alerts of one kind."""
    match kind:
        case "dependabot":
            return [
                _dependency(
                    "web-shop", 4, 80, ("npm", "tar-reader", "package-lock.json"),
                    ("GHSA-aaaa-bbbb-cccc", "CVE-2026-10001", "critical", "A crafted archive writes outside of its folder."),
                    "< 6.2.1", "6.2.1",
                ),
                _dependency(
                    "billing-api", 2, 12, ("pip", "yaml-lite", "requirements.txt"),
                    ("GHSA-dddd-eeee-ffff", None, "medium", "Deep documents exhaust memory."), "<= 3.0.0", None,
                ),
            ]  # fmt: skip
        case "secret-scanning":
            return [
                _alert(
                    "billing-api", "secret-scanning", 1, 33, secret_type="acme_token", secret_type_display_name="Acme access token",
                    secret="acme_0123456789abcdef", validity="active", publicly_leaked=False, push_protection_bypassed=False,
                ),
                _alert(
                    "web-shop", "secret-scanning", 5, 90, secret_type="ssh_key", secret_type_display_name="SSH private key",
                    secret="-----BEGIN", validity="inactive", publicly_leaked=False, push_protection_bypassed=True,
                ),
            ]  # fmt: skip
        case _:
            return [
                _alert(
                    "web-shop", "code-scanning", 8, 15,
                    rule={"id": "js/xss", "severity": "error", "security_severity_level": "high", "description": "Text of a user reaches the page."},
                    tool={"name": "CodeQL"},
                    most_recent_instance={"ref": "refs/heads/main", "location": {"path": "src/search.ts", "start_line": 41}},
                ),
                _alert(
                    "billing-api", "code-scanning", 3, 4,
                    rule={"id": "py/unused-import", "severity": "note", "security_severity_level": None, "description": "An import is not used."},
                    tool={"name": "CodeQL"},
                    most_recent_instance={"ref": "refs/heads/main", "location": {"path": "api/app.py", "start_line": 3}},
                ),
            ]  # fmt: skip


def protection(repository: str) -> Json | None:
    """The protection rule of a repository's default branch."""
    if repository != "web-shop":
        return None
    url = f"https://api.github.com/repos/{OWNER}/web-shop/branches/main/protection"
    return {
        "url": url,
        "required_status_checks": {"strict": True, "contexts": ["CI"]},
        "required_pull_request_reviews": {"required_approving_review_count": 1},
        "enforce_admins": {"enabled": False},
        "allow_force_pushes": {"enabled": True},
        "allow_deletions": {"enabled": False},
    }


def rules(repository: str) -> list[Json]:
    """The rules of rulesets for a default branch."""
    if repository != "billing-api":
        return []
    return [{"type": "non_fast_forward", "ruleset_id": 42, "ruleset_source": f"{OWNER}/billing-api", "ruleset_source_type": "Repository"}]


def collaborators(repository: str) -> list[Json]:
    """The accounts with a permission on a repository."""
    del repository
    return [
        account("ann") | {"role_name": "admin", "permissions": {"admin": True}},
        account("deploy-bot", "Bot") | {"role_name": "admin", "permissions": {"admin": True}},
        account("mia") | {"role_name": "write", "permissions": {"admin": False}},
    ]


def releases(repository: str) -> list[Json]:
    """Releases, newest first."""
    if repository != "web-shop":
        return []
    made = [("v2.5.0-rc1", "", False, True, 3), ("v2.4.1", "Repairs", False, False, 20), ("v2.4.0", "New search", False, False, 50), ("v2.3.9", "Forgotten", True, False, 70)]
    return [
        {
            "tag_name": tag,
            "name": name or None,
            "draft": draft,
            "prerelease": pre,
            "created_at": days_ago(days),
            "published_at": None if draft else days_ago(days),
            "author": account("ben"),
            "html_url": f"https://github.com/{OWNER}/web-shop/releases/tag/{tag}",
        }
        for tag, name, draft, pre, days in made
    ]


REPOSITORIES = ("web-shop", "billing-api")
