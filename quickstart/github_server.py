"""A part of GitHub's REST API for the package github: one organization, in memory.

    github_server.py [--port N] [--token TOKEN]

It has the operations that the package calls, with the shapes of GitHub's REST
description. Search understands the qualifiers of the package's skills and
refuses any other with 422. Each request needs the token. Changes last as long
as the process.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable

import github_data as data
from local_http import Json, Refused, Reply, Request, serve

LOCK_REASONS = ("off-topic", "too heated", "resolved", "spam")


def failure(status: int, message: str) -> Refused:
    """A failure in GitHub's form."""
    return Refused(status, message, {"message": message, "documentation_url": "https://docs.github.com/rest", "status": str(status)})


def qualifier(word: str) -> Callable[[Json], bool]:
    """The condition of one word of a search."""
    name, _, value = word.partition(":")
    match name, value:
        case "is", "pr":
            return lambda item: "pull_request" in item
        case "is", "issue":
            return lambda item: "pull_request" not in item
        case "is", "open":
            return lambda item: item["state"] == "open"
        case "draft", "false":
            return lambda item: not item.get("draft", False)
        case "-review", "approved":
            return lambda item: not item.get("approved", False)
        case ("archived", "false") | ("user", data.OWNER):
            return lambda _: True
        case "created" | "updated", _ if value.startswith(">="):
            return lambda item: item[f"{name}_at"][:10] >= value[2:]
        case "created" | "updated", _ if value.startswith("<"):
            return lambda item: item[f"{name}_at"][:10] < value[1:]
    raise failure(422, f"Validation Failed: {word} is no known qualifier")


def public(item: Json) -> Json:
    """An issue or pull request without the simulation's own field."""
    return {name: value for name, value in item.items() if name != "approved"}


class GitHub:
    """The organization, with the changes so far."""

    def __init__(self, token: str) -> None:
        self._token = token
        self._issues = data.issues()

    def answer(self, request: Request) -> Json:
        """The answer to one request."""
        if request.headers.get("authorization") != f"Bearer {self._token}":
            raise failure(401, "Bad credentials")
        match request.path:
            case ("search", "issues"):
                return self._search(request)
            case ("orgs", data.OWNER, "dependabot" | "secret-scanning" | "code-scanning" as kind, "alerts"):
                return self._alerts(kind, request)
            case ("repos", data.OWNER, repository, *rest) if repository in data.REPOSITORIES:
                return self._repository(repository, tuple(rest), request)
        raise failure(404, "Not Found")

    def _search(self, request: Request) -> Json:
        conditions = [qualifier(word) for word in request.query.get("q", "").split()]
        found = [item for item in self._issues if all(condition(item) for condition in conditions)]
        field = f"{request.query.get('sort', 'created')}_at"
        found.sort(key=lambda item: item[field], reverse=request.query.get("order") != "asc")
        page = found[: int(request.query.get("per_page", "30"))]
        return {"total_count": len(found), "incomplete_results": False, "items": [public(item) for item in page]}

    def _alerts(self, kind: str, request: Request) -> Json:
        state = request.query.get("state")
        found = [alert for alert in data.alerts(kind) if state in (None, alert["state"])]
        if request.query.get("hide_secret") == "true":
            found = [{name: value for name, value in alert.items() if name != "secret"} for alert in found]
        return sorted(found, key=lambda alert: alert["created_at"])

    def _repository(self, repository: str, rest: tuple[str, ...], request: Request) -> Json:
        name = f"{data.OWNER}/{repository}"
        page = int(request.query.get("per_page", "30"))
        protection = data.protection(repository)
        match (request.method, rest):
            case ("GET", ()):
                return {"full_name": name, "default_branch": "main", "html_url": f"https://github.com/{name}", "private": True, "archived": False}
            case ("GET", ("branches", "main")):
                links = {"html": f"https://github.com/{name}/tree/main"}
                return {"name": "main", "protected": protection is not None, "_links": links}
            case ("GET", ("branches", "main", "protection")):
                if protection is None:
                    raise failure(404, "Branch not protected")
                return protection
            case ("GET", ("rules", "branches", "main")):
                return data.rules(repository)
            case ("GET", ("collaborators",)):
                permission = request.query.get("permission")
                return [one for one in data.collaborators(repository) if permission in (None, one["role_name"])][:page]
            case ("GET", ("releases",)):
                return data.releases(repository)[:page]
            case ("GET", ("actions", "runs")):
                return self._runs(repository, request, page)
            case (method, ("issues", number, *part)) if number.isdecimal():
                return self._issue(repository, int(number), method, tuple(part), request)
        raise failure(404, "Not Found")

    def _runs(self, repository: str, request: Request, page: int) -> Json:
        status, since = request.query.get("status"), request.query.get("created", ">=").removeprefix(">=")
        found = [run for run in data.runs(repository) if status in (None, run["conclusion"]) and run["created_at"][:10] >= since]
        return {"total_count": len(found), "workflow_runs": found[:page]}

    def _issue(self, repository: str, number: int, method: str, part: tuple[str, ...], request: Request) -> Json:
        ending = f"/{repository}"
        found = [item for item in self._issues if item["number"] == number and item["repository_url"].endswith(ending)]
        if not found:
            raise failure(404, "Not Found")
        issue, body = found[0], request.body if isinstance(request.body, dict) else {}
        match (method, part):
            case ("GET", ()):
                return public(issue)
            case ("PATCH", ()):
                if body.get("state") not in ("open", "closed"):
                    raise failure(422, "Validation Failed: state")
                reason = body.get("state_reason") if body["state"] == "closed" else None
                issue |= {"state": body["state"], "state_reason": reason}
                return public(issue)
            case ("POST", ("labels",)):
                known = {label["name"] for label in issue["labels"]}
                issue["labels"] += [{"name": name} for name in body.get("labels", []) if name not in known]
                return issue["labels"]
            case ("DELETE", ("labels", name)):
                if all(label["name"] != name for label in issue["labels"]):
                    raise failure(404, "Label does not exist")
                issue["labels"] = [label for label in issue["labels"] if label["name"] != name]
                return issue["labels"]
            case ("PUT", ("lock",)):
                if body.get("lock_reason") not in (None, *LOCK_REASONS):
                    raise failure(422, "Validation Failed: lock_reason")
                issue |= {"locked": True, "active_lock_reason": body.get("lock_reason")}
                return Reply(204)
            case ("DELETE", ("lock",)):
                issue |= {"locked": False, "active_lock_reason": None}
                return Reply(204)
        raise failure(404, "Not Found")


def main() -> None:
    """Serve the organization."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--port", type=int, default=7620)
    parser.add_argument("--token", default="simulated")
    arguments = parser.parse_args()
    serve("GitHub", arguments.port, GitHub(arguments.token).answer)


if __name__ == "__main__":
    main()
