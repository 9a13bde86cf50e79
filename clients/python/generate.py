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
    schemas = {name: loosened(schema) for name, schema in document["components"]["schemas"].items()}
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


def without_header(text: str) -> str:
    """The generator's own comment names its input file, which lies elsewhere each time."""
    lines = text.splitlines(keepends=True)
    start = next(at for at, line in enumerate(lines) if not line.startswith("#") and line.strip())
    return "\n" + "".join(lines[start:])


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
        one_name_each(kept)
        return {name: value if name == "properties" else loosened(value) for name, value in kept.items()}
    return {name: loosened(value) for name, value in kept.items()}


def one_name_each(schema: dict[str, Any]) -> None:
    """A document may be written with other names for some fields. The server writes the first."""
    properties, rest = schema["properties"], []
    always = set(schema.get("required", []))
    for name in [name for name in properties if name.startswith("_") and name[1:] in properties]:
        del properties[name]
    for part in schema.pop("allOf", []):
        options = [option["required"] for option in part.get("anyOf", []) if set(option) == {"required"}]
        if not options:
            rest.append(part)
            continue
        first, *others = options
        always.update(first)
        for name in {name for other in others for name in other} & {"id", "_id"}:
            properties.pop(name, None)
    if rest:
        schema["allOf"] = rest
    schema["required"] = sorted(always)


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
