"""Reference pages made from what the code generates: REST, the contracts, the configuration.

A page is a table for each object, with the fields of nested objects in tables of their own. Must not know the site's
other pages, or Sphinx.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

METHODS = ["get", "post", "put", "patch", "delete"]
BODY = "#/components/schemas/"
FAILURE = "[`agent_error`](../contracts/agent_error.md)"

# An operation that needs no caller, or whose need depends on what it is asked for.
NEEDS = {"Nobody": "none, and no credential", "Caller": "those of the method that it carries"}

# Formats of strings that are types of their own for a reader.
PATHS = ("path", "program")

CONTRACTS = """# Contracts

Every document, request and message has a contract: a JSON Schema, made from the type that reads it.
`charter package validate FILE` checks a file against its own.

"""

REST = """# REST

JSON over HTTP, in UTF-8. A caller presents `Authorization: Bearer …` ([keys, levels, scopes](../operate/identity.md)); a
failure is an [`agent_error`](../contracts/agent_error.md) with one of [these codes](../errors/index.md). Slashes at the end of an
address make no difference. A server shows its own reference at `/reference`, and the
[OpenAPI document](../files/schemas/openapi.json) at `/v1/openapi.json`. Bodies that are no contract are on
[a page of their own](bodies.md).

"""

CONFIGURATION = """# Configuration

One TOML file; `CHARTER_CONFIG` or `--config` names it. A setting may also come from a variable, with two underscores
between parts: `[tools] concurrency` is `CHARTER_TOOLS__CONCURRENCY`. Flags come before variables, variables before the
file. `charter config show` prints what is in force, `charter config schema` this page's source.

A path in the file is relative to the directory of the file, whatever directory a command is run in. A path in a variable
or a flag is relative to the working directory. A program without `/` in its name is not a path: `tools.python` is then
looked up on the `PATH`, and other settings refuse it.
"""


def cell(text: object) -> str:
    """A text as a cell of a table."""
    return " ".join(str(text).split()).replace("|", "\\|")


def table(head: list[str], rows: list[list[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n"


def code(value: object) -> str:
    return f"`{value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)}`"


@dataclass
class Schema:
    """A JSON Schema with the definitions that it may refer to."""

    node: dict
    definitions: dict

    def at(self, node: object) -> "Schema":
        """A part of it, where a reference leads."""
        node = node if isinstance(node, dict) else {}
        while reference := node.get("$ref"):
            named = self.definitions.get(reference.rsplit("/", 1)[1], {})
            node = named | {key: value for key, value in node.items() if key != "$ref"}
        return Schema(node, self.definitions)

    def branches(self) -> list["Schema"]:
        """What it may be, one of several; absent and null are no branch."""
        several = self.node.get("anyOf") or self.node.get("oneOf") or []
        found = [self.at(branch) for branch in several]
        return [branch for branch in found if branch.node.get("type") != "null" and branch.kind() != "any"]

    def kind(self) -> str:
        """Its type in words."""
        node = self.node
        if "const" in node:
            return code(node["const"])
        if "enum" in node:
            return ", ".join(code(value) for value in node["enum"] if value is not None)
        kinds = node.get("type", [])
        kinds = [kind for kind in ([kinds] if isinstance(kinds, str) else kinds) if kind != "null"]
        if kinds == ["array"]:
            return f"list of {self.at(node.get('items')).kind()}"
        if kinds == ["string"] and node.get("format") in PATHS:
            return node["format"]
        if kinds:
            return " or ".join(kinds)
        if "properties" in node:
            return "object"
        return " or ".join(dict.fromkeys(branch.kind() for branch in self.branches())) or "any"

    def bounds(self) -> list[str]:
        """What else is asked of a value."""
        words = {
            "minimum": "at least",
            "maximum": "at most",
            "minLength": "length at least",
            "maxLength": "length at most",
            "minItems": "items at least",
            "maxItems": "items at most",
            "pattern": "matches",
        }
        unsaid = {"maximum": 2**53 - 1}
        said = [
            f"{word} {code(self.node[key])}"
            for key, word in words.items()
            if key in self.node and self.node[key] != unsaid.get(key) and "e+38" not in str(self.node[key])
        ]
        default = self.node.get("default")
        if default not in (None, "", []) and not isinstance(default, dict):
            said.insert(0, f"default {code(default)}")
        return said

    def meaning(self) -> str:
        """What it is for, and what else is asked of a value."""
        said = self.node.get("description", "").strip().removesuffix(".")
        bounds = "; ".join(self.bounds())
        whole = f"{said} ({bounds})" if said and bounds else said or bounds
        return cell(f"{whole}." if whole else "")

    def variant(self) -> str:
        """By which value one of several objects is told from the others."""
        for name, value in self.node.get("properties", {}).items():
            fixed = [value["const"]] if "const" in value else value.get("enum", [])
            if len(fixed) == 1:
                return f" where {code(name)} is {code(fixed[0])}"
        return ""

    def objects(self, path: str = "", depth: int = 0) -> Iterator[tuple[str, "Schema"]]:
        """Every object in it with its path, this one first."""
        if "properties" in self.node:
            yield path, self
        if depth > 12:
            return
        for name, value in self.node.get("properties", {}).items():
            yield from self.at(value).objects(f"{path}.{name}".lstrip("."), depth + 1)
        if isinstance(items := self.node.get("items"), dict):
            yield from self.at(items).objects(f"{path}[]", depth + 1)
        if isinstance(values := self.node.get("additionalProperties"), dict):
            yield from self.at(values).objects(f"{path}.*".lstrip("."), depth + 1)
        for branch in self.branches():
            yield from branch.objects(path, depth + 1)


def fields(schema: Schema) -> str:
    """The fields of one object as a table; those that storage sets come last."""
    required = set(schema.node.get("required", []))
    rows = []
    for name, value in sorted(
        schema.node["properties"].items(), key=lambda field: (field[0] not in required, field[0][0] == "_")
    ):
        of = schema.at(value)
        rows.append([code(name), cell(of.kind()), "yes" if name in required else "", of.meaning()])
    return table(["Field", "Type", "Required", "Meaning"], rows)


def alternatives(schema: Schema) -> str:
    """Fields of which one has to be there."""
    said = []
    for rule in [schema.node, *schema.node.get("allOf", [])]:
        choices = [choice.get("required", []) for choice in rule.get("anyOf", []) if isinstance(choice, dict)]
        if choices and all(len(choice) == 1 for choice in choices):
            said.append(f"One of {', '.join(code(choice[0]) for choice in choices)} is required.\n")
    return "\n".join(said)


def described(schema: Schema, level: int) -> str:
    """Tables of an object and of all objects in it."""
    parts = []
    seen: dict[str, int] = {}
    for path, part in schema.objects():
        if path:
            name = code(path) + part.variant()
            seen[name] = seen.get(name, 0) + 1
            again = f", {seen[name]}" if seen[name] > 1 else ""
            parts.append(f"{'#' * level} {name}{again}\n")
            parts.append(part.node.get("description", "") + "\n")
        parts += [alternatives(part), fields(part)]
    return "\n".join(part for part in parts if part.strip())


def contract_pages(schemas: Path) -> dict[str, str]:
    """A page for each contract, and one that lists them."""
    pages, rows = {}, []
    for file in sorted(schemas.glob("*.json")):
        if file.stem == "openapi":
            continue
        node = json.loads(file.read_text())
        # The schema of a file of a package takes a document of the contract, or a list of them.
        node = node.get("$defs", {}).get(file.stem, node)
        schema = Schema(node, node.get("$defs", {}))
        said = node.get("description", "")
        pages[file.stem] = (
            f"# `{file.stem}`\n\n{said}\n\n"
            + (
                f"`charter schema show {file.stem}` prints its [JSON Schema](../files/schemas/{file.name}); "
                f"a server has it at `/v1/schemas/{file.stem}`.\n\n"
            )
            + described(schema, 2)
        )
        rows.append([f"[`{file.stem}`]({file.stem}.md)", cell(said.split("\n\n")[0])])
    pages["index"] = CONTRACTS + table(["Contract", "What it is"], rows)
    return pages


def scopes(operations: str) -> dict[str, str]:
    """What each operation needs, from the table that decides on it."""
    groups = dict(re.findall(r"const ([A-Z]+): Need = Scopes\(&\[([^\]]*)\]\);", operations))
    found = {}
    for name, need in re.findall(r'\(\s*"([^"]+)",\s*((?:Scopes\(&\[[^\]]*\]\)|[\w:]+)),?\s*\)', operations):
        need = need.removeprefix("Need::")
        words = groups.get(need, need)
        words = re.sub(r"Scopes\(&\[|\]\)", "", words)
        if need == "Edit":
            found[name] = "`catalogue:write`, and the role in the catalogue `editor`; `admin` for what is global"
        else:
            named = [re.sub(r"(?<!^)(?=[A-Z])", ":", word.strip()).lower() for word in words.split(",") if word.strip()]
            found[name] = NEEDS.get(need) or ", ".join(code(scope) for scope in named)
    return found


@dataclass
class Rest:
    """The OpenAPI document, and what its operations need."""

    document: dict
    needs: dict[str, str]
    contracts: set[str]

    def body(self, content: dict) -> str:
        """The types of a body in words, with a link where it has a page."""
        said = []
        for media, value in content.items():
            reference = value.get("schema", {}).get("$ref", "")
            name = reference.removeprefix(BODY)
            if name in self.contracts:
                said.append(f"[`{name}`](../contracts/{name}.md)")
            elif name:
                said.append(f"[`{name}`](bodies.md#{name})")
            else:
                kind = Schema(value.get("schema", {}), {}).kind()
                said.append("JSON" if media == "application/json" else f"{kind} (`{media}`)")
        return ", ".join(said)

    def operation(self, method: str, path: str, operation: dict) -> str:
        name = operation["operationId"]
        parts = [
            f"## `{method.upper()} {path}`\n",
            f"{operation.get('summary', '')}\n",
            f"{operation.get('description', '')}\n",
        ]
        parts.append(f"Operation `{name}` · scopes: {self.needs[name]}\n")
        if given := operation.get("parameters"):
            rows = []
            for parameter in given:
                named = self.document["components"]["schemas"]
                schema = Schema({}, named).at(parameter.get("schema", {}))
                meaning = Schema(schema.node | {"description": parameter.get("description", "")}, named).meaning()
                required = "yes" if parameter.get("required") else ""
                rows.append([code(parameter["name"]), parameter["in"], cell(schema.kind()), required, meaning])
            parts.append(table(["Parameter", "In", "Type", "Required", "Meaning"], rows))
        if body := operation.get("requestBody"):
            parts.append(
                f"Body: {self.body(body['content'])}{'' if body.get('required', True) else ', may be left out'}.\n"
            )
        rows, failures = [], []
        for status, answer in sorted(operation["responses"].items()):
            said, body = cell(answer.get("description", "")), self.body(answer.get("content", {}))
            if body == FAILURE:
                own = f" ({said})" if said != self.usual.get(status) else ""
                failures.append(f"`{status}`{own}")
            else:
                rows.append([status, said, body])
        parts.append(table(["Status", "When", "Body"], rows))
        if failures:
            parts.append(f"[Failures](index.md#failures): {', '.join(failures)}.\n")
        return "\n".join(part for part in parts if part.strip())

    @cached_property
    def usual(self) -> dict[str, str]:
        """What each status of a failure means where an operation says nothing of its own."""
        said: dict[str, list[str]] = {}
        for item in self.document["paths"].values():
            for operation in (item[method] for method in METHODS if method in item):
                for status, answer in operation["responses"].items():
                    if self.body(answer.get("content", {})) == FAILURE:
                        said.setdefault(status, []).append(cell(answer.get("description", "")))
        return {status: max(texts, key=texts.count) for status, texts in sorted(said.items())}

    def pages(self) -> dict[str, str]:
        """A page for each group of operations, one for bodies that are no contracts, and one that lists."""
        groups: dict[str, list[tuple[str, str, dict]]] = {}
        for path, item in self.document["paths"].items():
            for method in METHODS:
                if operation := item.get(method):
                    groups.setdefault(operation["tags"][0], []).append((method, path, operation))
        pages = {}
        listed = []
        for group, operations in sorted(groups.items()):
            name = group.replace(" ", "-")
            pages[name] = f"# {group[0].upper() + group[1:]}\n\n" + "\n".join(
                self.operation(*found) for found in operations
            )
            rows = [
                [
                    f"[`{method.upper()} {path}`]({name}.md#{anchor(f'{method} {path}')})",
                    cell(operation.get("summary", "")),
                    self.needs[operation["operationId"]],
                ]
                for method, path, operation in operations
            ]
            listed.append(
                f"## [{group[0].upper() + group[1:]}]({name}.md)\n\n"
                + table(["Operation", "What it does", "Scopes"], rows)
            )
        pages["bodies"] = self.bodies()
        failures = table(
            ["Status", "Unless the operation says otherwise"],
            [[code(status), said] for status, said in self.usual.items()],
        )
        pages["index"] = REST + "\n".join(listed) + f"\n## Failures\n\nThe body is an {FAILURE}.\n\n{failures}"
        return pages

    def bodies(self) -> str:
        """Bodies that are of this interface alone."""
        parts = ["# Bodies\n", "What operations take and answer with that is no [contract](../contracts/index.md).\n"]
        for name, node in sorted(self.document["components"]["schemas"].items()):
            if name in self.contracts:
                continue
            schema = Schema(node, node.get("$defs", {}) | self.document["components"]["schemas"])
            parts += [f"## `{name}`\n", node.get("description", "") + "\n", described(schema, 3)]
        return "\n".join(parts)


def anchor(heading: str) -> str:
    """The anchor of a heading, as code hosts make it."""
    kept = re.sub(r"[^\w\- ]", "", heading.lower())
    return kept.replace(" ", "-")


def configuration_page(schema: dict) -> str:
    """The configuration: a table for each section of the file."""
    root = Schema(schema, schema.get("$defs", {}) | schema.get("definitions", {}))
    parts = [CONFIGURATION]
    for path, part in root.objects():
        if path:
            parts.append(f"## `[{path}]`\n" if not path.endswith("[]") else f"## `[[{path.removesuffix('[]')}]]`\n")
            parts.append(part.node.get("description", "") + "\n")
        parts.append(fields(part))
    return "\n".join(parts)
