"""Runs Python that stands in a document, where a program of its own would be a file.

The source is in the file beside this one that ends in `.body`, its placeholders replaced by variables. The file that ends
in `.reads` says which variable has the value of which argument. What a `return` outside of every function gives is the
result, and what is printed then is log; without such a `return` the result is what is printed, or null.
"""

import ast
import io
import json
import os
import shutil
import sys
import tempfile
import types

BODY = "__charter_body__"
NOT_A_FUNCTION = 0x20 | 0x80 | 0x200  # generators, coroutines, asynchronous generators


def main():
    entry = sys.argv[0]
    with open(entry + ".reads", encoding="utf-8") as file:
        told = json.load(file)
    with open(entry + ".body", encoding="utf-8") as file:
        source = file.read()
    sent = sys.stdin.buffer.read()
    # The body may read its input as well.
    sys.stdin = io.TextIOWrapper(io.BytesIO(sent), encoding="utf-8")
    module = types.ModuleType("__main__")
    module.__file__ = entry
    module.__dict__.update(values(told["reads"], json.loads(sent)["parameters"]))
    sys.modules["__main__"] = module
    name = entry + ".body"
    if told["returns"]:
        answer_returned(function_of(source, name), module.__dict__)
    else:
        answer_printed(compile(source, name, "exec"), module.__dict__)


def values(reads, given):
    """The text of each placeholder: another value is written as JSON."""
    for placeholder in reads:
        if placeholder not in given:
            fail("input_error", f"`{placeholder}` has no value: give the parameter, or a default")
    return {variable: written(given[placeholder]) for placeholder, variable in reads.items()}


def written(value):
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def fail(kind, message):
    print(json.dumps({"error_type": kind, "message": message}), file=sys.stderr)
    sys.exit(1)


class WithoutAnnotations(ast.NodeTransformer):
    """Global variables of a function have no annotations."""

    def visit_AnnAssign(self, node):
        if node.value is None:
            return ast.copy_location(ast.Pass(), node)
        return ast.copy_location(ast.Assign([node.target], node.value), node)

    def visit_FunctionDef(self, node):
        return node

    visit_AsyncFunctionDef = visit_ClassDef = visit_Lambda = visit_FunctionDef


def function_of(source, name):
    """The source as a function whose variables are the module's, as those of a module are."""
    tree = ast.parse(source, name)
    head = 0
    while head < len(tree.body) and is_of_head(tree.body[head]):
        head += 1
    function = ast.parse(f"def {BODY}(): pass").body[0]
    function.body = [WithoutAnnotations().visit(node) for node in tree.body[head:]]
    module = ast.Module([*tree.body[:head], function], [])
    code = body_code(module, name)
    if code.co_flags & NOT_A_FUNCTION:
        raise SyntaxError("'yield' and 'await' outside of a function")
    own = [*code.co_varnames, *code.co_cellvars]
    own = sorted({variable for variable in own if variable.isidentifier()})
    if own:
        function.body.insert(0, ast.Global(own))
    body_code(module, name)
    return compile(ast.fix_missing_locations(module), name, "exec")


def is_of_head(node):
    docstring = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    return docstring or (isinstance(node, ast.ImportFrom) and node.module == "__future__")


def body_code(module, name):
    compiled = compile(ast.fix_missing_locations(module), name, "exec")
    found = [code for code in compiled.co_consts if isinstance(code, types.CodeType)]
    return next(code for code in found if code.co_name == BODY)


def answer_returned(code, variables):
    out = os.dup(1)
    sys.stdout.flush()
    os.dup2(2, 1)
    result = None
    try:
        exec(code, variables)
        result = variables[BODY]()
    except SystemExit as end:
        if end.code not in (None, 0):
            raise
    sys.stdout.flush()
    with os.fdopen(out, "w", encoding="utf-8") as answer:
        answer.write(json.dumps(result, ensure_ascii=False, allow_nan=False, default=str))


def answer_printed(code, variables):
    with tempfile.TemporaryFile() as printed:
        out = os.dup(1)
        os.dup2(printed.fileno(), 1)
        ended = False
        try:
            exec(code, variables)
            ended = True
        except SystemExit as end:
            ended = end.code in (None, 0)
            raise
        finally:
            sys.stdout.flush()
            os.dup2(out, 1)
            size = printed.seek(0, os.SEEK_END)
            printed.seek(0)
            with os.fdopen(out, "wb", closefd=False) as answer:
                if size == 0 and ended:
                    answer.write(b"null")
                shutil.copyfileobj(printed, answer)


main()
