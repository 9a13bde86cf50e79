"""Writes what is made from the server's own sources, so that nobody writes it twice.

    generate.py           write src/charter_client/contract.py and src/charter_client/codes.py
    generate.py --check   compare; exit code 1 when one of them is stale

`contract.py` comes from `schemas/openapi.json` by datamodel-code-generator, `codes.py`
from the table in `crates/contract/src/error_code.rs`.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
PACKAGE = HERE / "src" / "charter_client"
OPENAPI = ROOT / "schemas" / "openapi.json"
CODES = ROOT / "crates" / "contract" / "src" / "error_code.rs"

OPTIONS = (
    "--input-file-type=openapi",
    "--output-model-type=pydantic_v2.BaseModel",
    "--target-python-version=3.11",
    "--base-class=charter_client._base.Wire",
    "--enum-field-as-literal=all",
    "--parent-scoped-naming",
    "--use-standard-collections",
    "--use-union-operator",
    "--use-schema-description",
    "--use-field-description",
    "--use-single-line-docstring",
    "--use-double-quotes",
    "--disable-timestamp",
    "--collapse-root-models",
    "--snake-case-field",
    "--strict-nullable",
    "--formatters=builtin",
)

#: What the server checks. A client that checked it too would refuse what a newer server allows.
CHECKED_BY_SERVER = frozenset(
    {
        "$id", "$schema", "title", "pattern", "minLength", "maxLength", "minimum", "maximum",
        "exclusiveMinimum", "exclusiveMaximum", "minItems", "maxItems", "uniqueItems", "minProperties",
        "maxProperties", "multipleOf", "propertyNames", "not", "if", "then", "else", "dependentRequired",
    }
)  # fmt: skip


def contract() -> str:
    """The models of every schema of the OpenAPI document."""
    document = json.loads(OPENAPI.read_text(encoding="utf-8"))
    components = without_names(document["components"]["schemas"])
    sent = reached([*bodies(document)], document["components"]["schemas"])
    schemas = {}
    for name, schema in components.items():
        # What failures are with which status, and what streams send: classes of errors and words, not of answers.
        if name.startswith("error_") or name.endswith("_stream"):
            continue
        shown = "$id" not in schema and name not in sent
        schemas[name] = loosened(united(opened(schema) if shown else schema, components))
    document = {
        "openapi": document["openapi"],
        "info": document["info"],
        "paths": {},
        "components": {"schemas": schemas},
    }
    header = '"""The types of the contract, made from schemas/openapi.json by generate.py. Do not edit."""\n'
    with tempfile.TemporaryDirectory() as directory:
        given, made = Path(directory, "openapi.json"), Path(directory, "contract.py")
        given.write_text(json.dumps(document), encoding="utf-8")
        command = [sys.executable, "-m", "datamodel_code_generator", f"--input={given}", f"--output={made}", *OPTIONS]
        subprocess.run(command, check=True)
        return header + without_header(made.read_text(encoding="utf-8"))


#: Any JSON object: the document has it under a name, for generators that would make a class of each place.
JSON_OBJECT = {"type": "object", "additionalProperties": True}


def without_names(components: dict[str, Any]) -> dict[str, Any]:
    """The components with a plain object where one refers to any object: a dictionary needs no class."""

    def plain(schema: Any) -> Any:
        if isinstance(schema, list):
            return [plain(part) for part in schema]
        if not isinstance(schema, dict):
            return schema
        made = {name: plain(value) for name, value in schema.items()}
        if made.get("$ref") == "#/components/schemas/json_object":
            del made["$ref"]
            made |= JSON_OBJECT
        return made

    return {name: plain(schema) for name, schema in components.items() if name != "json_object"}


def without_header(text: str) -> str:
    """The generator's own comment names its input file, which lies elsewhere each time."""
    lines = text.splitlines(keepends=True)
    start = next(at for at, line in enumerate(lines) if not line.startswith("#") and line.strip())
    return "\n" + "".join(lines[start:])


def bodies(document: dict[str, Any]) -> Iterator[Any]:
    """What operations are sent."""
    for path in document["paths"].values():
        yield from (operation.get("requestBody") for operation in path.values())


def reached(parts: list[Any], components: dict[str, Any]) -> set[str]:
    """The names of the components that parts refer to, directly or through other components."""
    found: set[str] = set()
    waiting = parts
    while waiting:
        names = re.findall(r'"#/components/schemas/(\w+)"', json.dumps(waiting.pop()))
        new = set(names) - found
        found |= new
        waiting.extend(components[name] for name in new)
    return found


def opened(schema: Any) -> Any:
    """A schema of what the server says, in which a newer server may use further words."""
    if isinstance(schema, list):
        return [opened(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    made = {name: opened(value) for name, value in schema.items()}
    if isinstance(made.get("enum"), list):
        words = {"enum": [word for word in made.pop("enum") if word is not None]}
        types = made.pop("type", "string")
        null = [{"type": "null"}] if "null" in types else []
        made["anyOf"] = [words | {"type": "string"}, {"type": "string"}, *null]
    return made


def united(schema: Any, components: dict[str, Any]) -> Any:
    """A schema in which forms that are told apart by a word are one class with the fields of all.

    `{"state": "failed", "failure": ...}` or `{"state": "pending"}` becomes a class with `state` and perhaps `failure`:
    whoever reads it asks for the field, and a form that a newer server adds is read as well.
    """
    if isinstance(schema, list):
        return [united(part, components) for part in schema]
    if not isinstance(schema, dict):
        return schema
    made = {name: united(value, components) for name, value in schema.items()}
    word = next((word for word in ("oneOf", "anyOf") if word in made), None)
    if word is None or isinstance(made[word], dict):
        return made
    found = [fields_of(form, components) for form in made[word]]
    forms = [form for form in found if form is not None]
    if len(forms) < len(found) or not ("properties" in made or told_apart(forms)):
        return made
    del made[word]
    properties, always = made.setdefault("properties", {}), set.intersection(*(set(needed) for _, needed in forms))
    for name in sorted({name for fields, _ in forms for name in fields}):
        properties[name] = one_of([fields[name] for fields, _ in forms if name in fields])
    made["required"] = sorted(always | set(made.get("required", [])))
    made["type"] = "object"
    return made


Fields = tuple[dict[str, Any], list[str]]


def fields_of(schema: dict[str, Any], components: dict[str, Any]) -> Fields | None:
    """The properties of an object and which of them are always there; nothing for what is no object."""
    if not schema:
        # Anything: a form that says nothing of its own.
        return {}, []
    if "$ref" in schema:
        named = schema["$ref"].rsplit("/", 1)[-1]
        return fields_of(united(components[named], components), components)
    if "properties" not in schema:
        return None
    properties, required = dict(schema["properties"]), list(schema.get("required", []))
    for part in schema.get("allOf", []):
        fields = fields_of(part, components)
        if fields is None:
            return None
        properties |= fields[0]
        required += fields[1]
    return properties, required


def told_apart(forms: list[Fields]) -> bool:
    """Whether one property has a word of its own in each form."""
    return any(all("const" in fields.get(name, {}) for fields, _ in forms) for name in forms[0][0])


def one_of(found: list[dict[str, Any]]) -> Any:
    """A property as several forms have it."""
    words = [word for one in found for word in one.get("enum", [one["const"]] if "const" in one else [])]
    if all("const" in one or "enum" in one for one in found):
        return opened({"type": "string", "enum": sorted(set(words))})
    bare = [{name: value for name, value in one.items() if name != "description"} for one in found]
    return found[0] if all(one == bare[0] for one in bare) else {"description": "It depends on the form."}


def loosened(schema: Any) -> Any:
    """A schema with what a reader has to know: names, types, what is always there."""
    if isinstance(schema, list):
        return [loosened(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    kept = {name: value for name, value in schema.items() if name not in CHECKED_BY_SERVER}
    for values in kept.pop("patternProperties", {}).values():
        kept["additionalProperties"] = values
    if all(set(option) == {"required"} for option in kept.get("oneOf", [{}])):
        del kept["oneOf"]
    if isinstance(kept.get("additionalProperties"), bool) and "properties" in kept:
        del kept["additionalProperties"]
    if kept.get("format") in ("uint", "uint8", "uint16", "uint32", "uint64", "float", "double"):
        del kept["format"]
    if "properties" in kept:
        kept["properties"] = {name: loosened(value) for name, value in kept["properties"].items()}
        return {name: value if name == "properties" else loosened(value) for name, value in kept.items()}
    return {name: loosened(value) for name, value in kept.items()}


ROW = re.compile(r'^\s*(\w+) = "(\w+)", (\w+), (retry|no), "((?:[^"\\]|\\.)*)", "((?:[^"\\]|\\.)*)";', re.MULTILINE)
#: The six types, and what their classes are called.
TYPES = {
    "InputError": ("input_error", "InputFailure", "What was sent is wrong."),
    "ExecutionError": ("execution_error", "ExecutionFailure", "Something that was run failed."),
    "ResourceError": ("resource_error", "ResourceFailure", "Something that is needed is missing or full."),
    "PermissionError": ("permission_error", "PermissionFailure", "It is not allowed."),
    "TimeoutError": ("timeout_error", "TimeoutFailure", "It took too long."),
    "SystemError": ("system_error", "SystemFailure", "The system itself failed."),
}


def codes() -> str:
    """A class for each error code, below that of its type."""
    rows = ROW.findall(CODES.read_text(encoding="utf-8"))
    if len(rows) < 40 or {row[2] for row in rows} != set(TYPES):
        raise SystemExit(f"generate.py: {CODES} is not the table that is expected: {len(rows)} rows")
    parts = ['"""A class for each error code, made from the server\'s table by generate.py. Do not edit."""\n']
    parts.append("from __future__ import annotations\n\nfrom charter_client.errors import ApiError\n")
    for _, name, text in TYPES.values():
        parts.append(f'\nclass {name}(ApiError):\n    """{text}"""\n')
    for variant, code, type_, _, message, hint in rows:
        text = f"{message}\n\n    {hint} See docs/errors/{code}.md.\n    "
        parts.append(f'\nclass {variant}({TYPES[type_][1]}):\n    """{text}"""\n\n    code = "{code}"\n')
    parts.append("\n#: The class of each type.\nBY_TYPE: dict[str, type[ApiError]] = {")
    parts.extend(f'    "{word}": {name},' for word, name, _ in TYPES.values())
    parts.append("}\n\n#: The class of each code.\nBY_CODE: dict[str, type[ApiError]] = {")
    parts.extend(f'    "{code}": {variant},' for variant, code, *_ in rows)
    parts.append("}\n")
    return "\n".join(parts)


def main() -> int:
    """Writes both files, or compares them."""
    check = sys.argv[1:] == ["--check"]
    stale = 0
    for path, made in ((PACKAGE / "codes.py", codes()), (PACKAGE / "contract.py", contract())):
        there = path.read_text(encoding="utf-8") if path.exists() else ""
        if there == made:
            continue
        if check:
            print(f"{path.relative_to(ROOT)} is stale: run clients/python/generate.py", file=sys.stderr)
            stale = 1
        else:
            path.write_text(made, encoding="utf-8")
    return stale


if __name__ == "__main__":
    sys.exit(main())
