"""Runs one script of an agent skill on a copy of the skill's files, and answers what it printed and wrote.

The copy is in the private folder of the call, so that a script may write beside itself. The entry of each tool calls
`run` with the path of its script and the program that runs it.
"""

import base64
import json
import os
import shutil
import subprocess
import sys
import tempfile

PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
TEXTS = os.path.join(PACKAGE, "sources", "skill")
BINARIES = os.path.join(PACKAGE, "sources", "binary")
BINARY_ENDING = ".base64"

STDOUT_BYTES = 1 << 20
STDERR_BYTES = 32 << 10
FILE_BYTES = 256 << 10  # a longer file is listed without its content
FILES_BYTES = 4 << 20  # all contents together
FILES_LISTED = 200
MESSAGE_CHARACTERS = 500

# Names that interpreters load as code, beside the names of directories of code.
CODE_ENDINGS = (
    *(".py", ".pyc", ".pyw", ".pyz", ".pth", ".so", ".egg"),
    *(".js", ".mjs", ".cjs", ".node", ".ts", ".wasm"),
    *(".rb", ".pl", ".pm", ".sh", ".bash"),
)
CODE_NAMES = {
    *("scripts", "node_modules", "package.json", "tsconfig.json", "deno.json", "deno.jsonc", "bunfig.toml"),
    *("pyvenv.cfg", "gemfile", "rakefile", "makefile"),
}


def run(script, interpreter):
    request = json.load(sys.stdin.buffer)
    given = request["parameters"]
    arguments = [program(interpreter), script, *given.get("arguments", [])]
    if request["dry_run"]:
        answer({"would_run": [interpreter, *arguments[1:]]})
        return
    folder = tempfile.mkdtemp(prefix="skill-")
    copy_skill(folder)
    for file in given.get("files", []):
        write_given(folder, file)
    before = states(folder)
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        status = called(arguments, given.get("stdin", ""), folder, out, err)
        printed, is_cut = beginning(out, STDOUT_BYTES)
        complaints = end(err, STDERR_BYTES)
    sys.stderr.write(complaints)
    if status != 0:
        fail("execution_error", ended(script, status, complaints))
    answer(
        {
            "stdout": printed,
            "stdout_truncated": is_cut,
            "stderr": complaints,
            "files": written(folder, before),
        }
    )


def program(interpreter):
    if interpreter == "python":
        return sys.executable
    found = shutil.which(interpreter)
    if found is None:
        fail("system_error", f"the program `{interpreter}` is not installed on this machine")
    return found


def copy_skill(folder):
    for path in paths_below(TEXTS):
        with open(os.path.join(TEXTS, path), "rb") as file:
            write(folder, path, file.read())
    for path in paths_below(BINARIES):
        with open(os.path.join(BINARIES, path), "rb") as file:
            write(folder, path.removesuffix(BINARY_ENDING), base64.b64decode(file.read()))


def paths_below(folder):
    for directory, _, names in os.walk(folder):
        for name in names:
            yield os.path.relpath(os.path.join(directory, name), folder)


def write(folder, path, content):
    target = os.path.join(folder, path)
    os.makedirs(os.path.dirname(target), exist_ok=True)
    with open(target, "wb") as file:
        file.write(content)


def write_given(folder, file):
    path = file["path"]
    if not path or any(part in ("", ".", "..") for part in path.split("/")) or "\0" in path:
        fail("input_error", f"the path of a file is not plain and relative: {path!r}")
    if may_be_code(path) or os.path.lexists(os.path.join(folder, path)):
        reason = "a file of a call is data: it replaces no file of the skill, and no interpreter loads it"
        fail("input_error", f"{reason}; choose another path than {path!r}")
    if ("text" in file) == ("base64" in file):
        fail("input_error", f"give `text` or `base64` for the file {path!r}")
    try:
        if "text" in file:
            content = file["text"].encode()
        else:
            content = base64.b64decode(file["base64"], validate=True)
        write(folder, path, content)
    except (ValueError, OSError) as error:
        fail("input_error", f"the file {path!r} cannot be written: {error}")


def may_be_code(path):
    """Whether an interpreter, or a program of the skill, may load a file of this name without being told to."""
    parts = [part.lower() for part in path.split("/")]
    is_code = any(part in CODE_NAMES or part.startswith(".") for part in parts)
    return is_code or any(part.endswith(CODE_ENDINGS) for part in parts)


def called(arguments, given, folder, out, err):
    variables = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    try:
        process = subprocess.run(
            arguments,
            input=given.encode(),
            stdout=out,
            stderr=err,
            cwd=folder,
            env=variables,
            check=False,
        )
    except (OSError, ValueError) as error:
        fail("input_error", f"the script cannot be started: {error}")
    return process.returncode


def states(folder):
    found = {}
    for path in paths_below(folder):
        state = os.lstat(os.path.join(folder, path))
        found[path] = (state.st_size, state.st_mtime_ns, state.st_ino)
    return found


def written(folder, before):
    """The files that are new or changed; the contents of those that are small."""
    after = states(folder)
    changed = sorted(path for path, state in after.items() if before.get(path) != state)
    files = []
    remaining = FILES_BYTES
    for path in changed[:FILES_LISTED]:
        absolute = os.path.join(folder, path)
        size = after[path][0]
        file = {"path": os.fsencode(path).decode(errors="replace"), "bytes": size}
        if os.path.isfile(absolute) and not os.path.islink(absolute) and size <= min(FILE_BYTES, remaining):
            with open(absolute, "rb") as opened:
                file.update(shown(opened.read(FILE_BYTES)))
            remaining -= size
        files.append(file)
    return files


def shown(content):
    try:
        return {"text": content.decode()}
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(content).decode()}


def beginning(file, most):
    file.seek(0)
    content = file.read(most + 1)
    return content[:most].decode(errors="replace"), len(content) > most


def end(file, most):
    size = file.seek(0, os.SEEK_END)
    file.seek(max(0, size - most))
    return file.read().decode(errors="replace")


def ended(script, status, complaints):
    lines = [line for line in complaints.splitlines() if line.strip()]
    reason = f"was killed by signal {-status}" if status < 0 else f"exited with {status}"
    last = f": {lines[-1][:MESSAGE_CHARACTERS]}" if lines else ""
    return f"`{script}` {reason}{last}"


def answer(value):
    json.dump(value, sys.stdout)


def fail(kind, message):
    print(file=sys.stderr)
    print(json.dumps({"error_type": kind, "message": message}), file=sys.stderr)
    sys.exit(1)
