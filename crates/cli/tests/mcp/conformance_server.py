"""A server of the Model Context Protocol of 2026-07-28 over standard input and output, without an SDK, with the test
tools, resources and prompts of the official conformance suite (@modelcontextprotocol/conformance): the suite describes
them in its scenarios. Charter stands between it and the suite, in crates/cli/tests/suite/mcp/conformance.rs.

It takes no input but its messages. Each request is answered in a thread of its own.
"""

import base64
import datetime
import json
import struct
import sys
import threading
import time
import zlib

OUT = threading.Lock()
TASKS = {}
TASKS_EXTENSION = "io.modelcontextprotocol/tasks"
CAPABILITIES = "io.modelcontextprotocol/clientCapabilities"
LOG_LEVEL = "io.modelcontextprotocol/logLevel"


def png():
    """One red pixel."""

    def chunk(kind, data):
        body = kind + data
        return struct.pack(">I", len(data)) + body + struct.pack(">I", zlib.crc32(body))

    header = struct.pack(">IIBBBBB", 1, 1, 8, 2, 0, 0, 0)
    data = zlib.compress(b"\0\xff\0\0")
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", data) + chunk(b"IEND", b"")


def wav():
    """Two silent samples."""
    form = struct.pack("<4sIHHIIHH", b"fmt ", 16, 1, 1, 8000, 8000, 1, 8)
    data = struct.pack("<4sI2s", b"data", 2, b"\x80\x80")
    return struct.pack("<4sI4s", b"RIFF", 4 + len(form) + len(data), b"WAVE") + form + data


PNG = base64.b64encode(png()).decode()
WAV = base64.b64encode(wav()).decode()


class Refused(Exception):
    """An error of the protocol."""

    def __init__(self, code, message, data=None):
        super().__init__(message)
        self.error = {"code": code, "message": message, **({"data": data} if data is not None else {})}


def send(message):
    with OUT:
        sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        sys.stdout.flush()


class Request:
    """A request, and what its client can do."""

    def __init__(self, params):
        self.params = params
        self.meta = params.get("_meta") or {}
        self.arguments = params.get("arguments") or {}
        self.answers = params.get("inputResponses") or {}
        self.state = params.get("requestState")
        self.capabilities = self.meta.get(CAPABILITIES) or {}

    def can(self, capability):
        return capability in self.capabilities

    def takes_tasks(self):
        return TASKS_EXTENSION in (self.capabilities.get("extensions") or {})

    def answer(self, key):
        """The content of an accepted form; None without one."""
        given = self.answers.get(key)
        if not isinstance(given, dict) or given.get("action") != "accept":
            return None
        return given.get("content") or {}

    def progress(self, done, total):
        token = self.meta.get("progressToken")
        if token is not None:
            params = {"progressToken": token, "progress": done, "total": total}
            send({"method": "notifications/progress", "params": params})

    def log(self, text):
        if self.meta.get(LOG_LEVEL):
            params = {"level": "info", "logger": "suite", "data": text}
            send({"method": "notifications/message", "params": params})


def text(said, **more):
    return {"content": [{"type": "text", "text": said}], **more}


def form(message, properties, required):
    schema = {"type": "object", "properties": properties, "required": required}
    params = {"mode": "form", "message": message, "requestedSchema": schema}
    return {"method": "elicitation/create", "params": params}


def sample(prompt, most):
    messages = [{"role": "user", "content": {"type": "text", "text": prompt}}]
    return {"method": "sampling/createMessage", "params": {"messages": messages, "maxTokens": most}}


ROOTS = {"method": "roots/list", "params": {}}
STRING = {"type": "string"}


def asks(questions, state=None):
    result = {"resultType": "input_required", "inputRequests": questions}
    return {**result, "requestState": state} if state else result


def needs(capabilities):
    return Refused(-32021, "the client lacks a capability", {"requiredCapabilities": capabilities})


# Tools that answer at once.


def with_logging(request):
    for said in ("Tool execution started", "Tool processing data", "Tool execution completed"):
        request.log(said)
        time.sleep(0.05)
    return text("logged")


def with_progress(request):
    for done in (0, 50, 100):
        request.progress(done, 100)
        time.sleep(0.05)
    return text("progressed")


def resource(uri, media, said):
    return {"type": "resource", "resource": {"uri": uri, "mimeType": media, "text": said}}


def mixed(_request):
    image = {"type": "image", "data": PNG, "mimeType": "image/png"}
    data = resource("test://mixed-content-resource", "application/json", '{"test":"data","value":123}')
    return {"content": [{"type": "text", "text": "Multiple content types test:"}, image, data]}


# Tools that ask.


def elicits(message, properties, required):
    def call(request):
        if request.answers.get("input") is None:
            if not request.can("elicitation"):
                return text("the client cannot ask its user", isError=True)
            return asks({"input": form(message(request), properties, required)})
        return text(f"Elicitation completed: {json.dumps(request.answers['input'])}")

    return call


def sampling(request):
    if "answer" not in request.answers:
        if not request.can("sampling"):
            return text("the client cannot sample", isError=True)
        return asks({"answer": sample(request.arguments.get("prompt", ""), 100)})
    return text(f"LLM response: {json.dumps(request.answers['answer'].get('content'))}")


NAME_FORM = form("What is your name?", {"name": STRING}, ["name"])
OK_FORM = form("Please confirm", {"ok": {"type": "boolean"}}, ["ok"])


def input_elicitation(request):
    name = request.answer("user_name")
    return asks({"user_name": NAME_FORM}) if name is None else text(f"Hello, {name.get('name')}!")


def input_sampling(request):
    if "capital_question" not in request.answers:
        return asks({"capital_question": sample("What is the capital of France?", 100)})
    return text(json.dumps(request.answers["capital_question"].get("content")))


def input_roots(request):
    if "client_roots" not in request.answers:
        return asks({"client_roots": ROOTS})
    return text(json.dumps(request.answers["client_roots"].get("roots")))


def input_state(request):
    if request.answer("confirm") is None:
        return asks({"confirm": OK_FORM}, "state-of-the-server")
    if request.state != "state-of-the-server":
        raise Refused(-32602, "the requestState is not valid")
    return text("state-ok")


def input_several(request):
    questions = {"user_name": NAME_FORM, "greeting": sample("Generate a greeting", 50), "client_roots": ROOTS}
    if not all(key in request.answers for key in questions):
        return asks(questions, "several")
    return text("all answered")


def input_rounds(request):
    if request.answer("step2") is not None and request.state == "round-2":
        return text(f"Your colour is {request.answer('step2').get('color')}.")
    if request.answer("step1") is not None and request.state == "round-1":
        colour = form("Step 2: What is your favorite color?", {"color": STRING}, ["color"])
        return asks({"step2": colour}, "round-2")
    name = form("Step 1: What is your name?", {"name": STRING}, ["name"])
    return asks({"step1": name}, "round-1")


def input_capabilities(request):
    if request.answers:
        return text("answered")
    questions = {}
    if request.can("elicitation"):
        questions["user_name"] = NAME_FORM
    if request.can("sampling"):
        questions["greeting"] = sample("Generate a greeting", 50)
    return asks(questions) if questions else text("the client can answer nothing")


def missing_capability(request):
    if not request.can("sampling"):
        raise needs({"sampling": {}})
    return text("the client can sample")


# Tools that become tasks.


class Task:
    """Work that ends after some time, or with the answers to its questions."""

    def __init__(self, seconds=0.0, result=None, error=None, questions=None):
        self.id = f"task-{len(TASKS) + 1}"
        self.created = now()
        self.ends = time.monotonic() + seconds
        self.result, self.error = result, error
        self.questions = dict(questions or {})
        self.cancelled = False
        TASKS[self.id] = self

    def fields(self, status):
        times = {"createdAt": self.created, "lastUpdatedAt": now()}
        return {"taskId": self.id, "status": status, **times, "ttlMs": None, "pollIntervalMs": 100}

    def shown(self):
        if self.cancelled:
            return self.fields("cancelled")
        if self.questions:
            return {**self.fields("input_required"), "inputRequests": self.questions}
        if time.monotonic() < self.ends:
            return self.fields("working")
        if self.error:
            return {**self.fields("failed"), "error": self.error}
        return {**self.fields("completed"), "result": {"resultType": "complete", **self.result}}

    def begin(self):
        return {"resultType": "task", **self.fields("working")}


def now():
    return datetime.datetime.now(datetime.timezone.utc).isoformat().replace("+00:00", "Z")


def only_as_task(request):
    if not request.takes_tasks():
        raise needs({"extensions": {TASKS_EXTENSION: {}}})


def slow_compute(request):
    seconds = float(request.arguments.get("seconds", 0))
    result = text(f"computed {request.arguments.get('label', '')}")
    if request.takes_tasks():
        return Task(seconds, result).begin()
    time.sleep(seconds)
    return result


def failing_job(request):
    only_as_task(request)
    return Task(1, text("this job always fails", isError=True)).begin()


def protocol_error_job(request):
    only_as_task(request)
    return Task(0.2, error={"code": -32603, "message": "the job broke"}).begin()


def confirm_delete(request):
    only_as_task(request)
    question = form("Delete it?", {"confirm": {"type": "boolean"}}, ["confirm"])
    return Task(result=text("deleted"), questions={"confirm": question}).begin()


def multi_input(request):
    only_as_task(request)
    confirm = form("Sure?", {"confirm": {"type": "boolean"}}, ["confirm"])
    return Task(result=text("both answered"), questions={"first": NAME_FORM, "second": confirm}).begin()


def tool_with_task(request):
    only_as_task(request)
    name = request.answer("user_name")
    if name is None:
        return asks({"user_name": NAME_FORM})
    return Task(0.2, text(f"Hello, {name.get('name')}!")).begin()


DEFAULTS = {
    "name": {"type": "string", "default": "John Doe"},
    "age": {"type": "integer", "default": 30},
    "score": {"type": "number", "default": 95.5},
    "status": {"type": "string", "enum": ["active", "inactive", "pending"], "default": "active"},
    "verified": {"type": "boolean", "default": True},
}


def titled(names):
    return [{"const": f"value{at}", "title": name} for at, name in enumerate(names, 1)]


OPTIONS = ["option1", "option2", "option3"]
ENUMS = {
    "untitledSingle": {"type": "string", "enum": OPTIONS},
    "titledSingle": {"type": "string", "oneOf": titled(["First Option", "Second Option", "Third Option"])},
    "legacyEnum": {
        "type": "string",
        "enum": ["opt1", "opt2", "opt3"],
        "enumNames": ["Option One", "Option Two", "Option Three"],
    },
    "untitledMulti": {"type": "array", "items": {"type": "string", "enum": OPTIONS}},
    "titledMulti": {"type": "array", "items": {"anyOf": titled(["First Choice", "Second Choice", "Third Choice"])}},
}

SCHEMA_2020_12 = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "$defs": {
        "address": {
            "$anchor": "addressDef",
            "type": "object",
            "properties": {"street": STRING, "city": STRING},
        }
    },
    "properties": {
        "name": STRING,
        "address": {"$ref": "#/$defs/address"},
        "contactMethod": {"type": "string", "enum": ["phone", "email"]},
        "phone": STRING,
        "email": STRING,
    },
    "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
    "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
    "then": {"required": ["phone"]},
    "else": {"required": ["email"]},
    "additionalProperties": False,
}

USER = {
    "username": {"type": "string", "description": "User's response"},
    "email": {"type": "string", "description": "User's email address"},
}


def properties(*required, **fields):
    return {"type": "object", "properties": fields, "required": list(required)}


NOTHING = {"type": "object", "properties": {}}

# Each tool with its schema and its function.
TOOLS = {
    "test_simple_text": (NOTHING, lambda _: text("This is a simple text response for testing.")),
    "test_image_content": (
        NOTHING,
        lambda _: {"content": [{"type": "image", "data": PNG, "mimeType": "image/png"}]},
    ),
    "test_audio_content": (
        NOTHING,
        lambda _: {"content": [{"type": "audio", "data": WAV, "mimeType": "audio/wav"}]},
    ),
    "test_embedded_resource": (
        NOTHING,
        lambda _: {
            "content": [
                resource("test://embedded-resource", "text/plain", "This is an embedded resource content.")
            ]
        },
    ),
    "test_multiple_content_types": (NOTHING, mixed),
    "test_tool_with_logging": (NOTHING, with_logging),
    "test_logging_tool": (NOTHING, with_logging),
    "test_error_handling": (
        NOTHING,
        lambda _: text("This tool intentionally returns an error for testing", isError=True),
    ),
    "test_tool_with_progress": (NOTHING, with_progress),
    "test_sampling": (properties("prompt", prompt=STRING), sampling),
    "test_elicitation": (
        properties("message", message=STRING),
        elicits(lambda request: request.arguments["message"], USER, ["username", "email"]),
    ),
    "test_streaming_elicitation": (NOTHING, input_elicitation),
    "test_elicitation_sep1034_defaults": (NOTHING, elicits(lambda _: "Your data, please", DEFAULTS, [])),
    "test_elicitation_sep1330_enums": (NOTHING, elicits(lambda _: "Choose, please", ENUMS, [])),
    "test_reconnection": (NOTHING, lambda _: text("Reconnected.")),
    "json_schema_2020_12_tool": (SCHEMA_2020_12, lambda _: text("The arguments are valid.")),
    "test_custom_header": (
        properties("value", value={"type": "string", "x-mcp-header": "Value"}),
        lambda request: text(f"The value is {request.arguments['value']}."),
    ),
    "test_missing_capability": (NOTHING, missing_capability),
    "test_input_required_result_elicitation": (NOTHING, input_elicitation),
    "test_input_required_result_sampling": (NOTHING, input_sampling),
    "test_input_required_result_list_roots": (NOTHING, input_roots),
    "test_input_required_result_request_state": (NOTHING, input_state),
    "test_input_required_result_multiple_inputs": (NOTHING, input_several),
    "test_input_required_result_multi_round": (NOTHING, input_rounds),
    "test_input_required_result_tampered_state": (NOTHING, input_state),
    "test_input_required_result_capabilities": (NOTHING, input_capabilities),
    "greet": (properties("name", name=STRING), lambda request: text(f"Hello, {request.arguments['name']}!")),
    "slow_compute": (properties(seconds={"type": "number"}, label=STRING), slow_compute),
    "failing_job": (NOTHING, failing_job),
    "protocol_error_job": (NOTHING, protocol_error_job),
    "confirm_delete": (properties(filename=STRING), confirm_delete),
    "multi_input": (NOTHING, multi_input),
    "test_tool_with_task": (NOTHING, tool_with_task),
}


def user(content):
    return {"role": "user", "content": content}


def input_prompt(request):
    context = request.answer("user_context")
    if context is None:
        question = form("What context should the prompt use?", {"context": STRING}, ["context"])
        return asks({"user_context": question})
    return {"messages": [user({"type": "text", "text": f"Use the context {context.get('context')}."})]}


def prompt_with_arguments(request):
    first, second = request.arguments.get("arg1"), request.arguments.get("arg2")
    said = f"Prompt with arguments: arg1='{first}', arg2='{second}'"
    return {"messages": [user({"type": "text", "text": said})]}


def prompt_with_resource(request):
    embedded = resource(request.arguments["resourceUri"], "text/plain", "Embedded resource content for testing.")
    asked = {"type": "text", "text": "Please process the embedded resource above."}
    return {"messages": [user(embedded), user(asked)]}


def prompt_with_image(_request):
    image = {"type": "image", "data": PNG, "mimeType": "image/png"}
    return {"messages": [user(image), user({"type": "text", "text": "Please analyze the image above."})]}


# Each prompt with the names of its arguments and its function.
PROMPTS = {
    "test_simple_prompt": (
        [],
        lambda _: {"messages": [user({"type": "text", "text": "This is a simple prompt for testing."})]},
    ),
    "test_prompt_with_arguments": (["arg1", "arg2"], prompt_with_arguments),
    "test_prompt_with_embedded_resource": (["resourceUri"], prompt_with_resource),
    "test_prompt_with_image": ([], prompt_with_image),
    "test_input_required_result_prompt": ([], input_prompt),
}

RESOURCES = [
    {"uri": "test://static-text", "name": "static-text", "mimeType": "text/plain"},
    {"uri": "test://static-binary", "name": "static-binary", "mimeType": "image/png"},
]
TEMPLATES = [{"uriTemplate": "test://template/{id}/data", "name": "template", "mimeType": "application/json"}]
FRESH = {"ttlMs": 0, "cacheScope": "private"}


def read(uri):
    if uri == "test://static-text":
        content = {"mimeType": "text/plain", "text": "This is the content of the static text resource."}
    elif uri == "test://static-binary":
        content = {"mimeType": "image/png", "blob": PNG}
    elif uri.startswith("test://template/") and uri.endswith("/data"):
        own = uri.split("/")[3]
        data = {"id": own, "templateTest": True, "data": f"Data for ID: {own}"}
        content = {"mimeType": "application/json", "text": json.dumps(data)}
    else:
        raise Refused(-32602, "there is no such resource", {"uri": uri})
    return {"contents": [{"uri": uri, **content}], **FRESH}


def task_of(params):
    task = TASKS.get(params.get("taskId"))
    if task is None:
        raise Refused(-32602, "there is no such task")
    return task


def discover(_params):
    return {
        "supportedVersions": ["2026-07-28"],
        "capabilities": {
            "tools": {},
            "resources": {},
            "prompts": {},
            "logging": {},
            "extensions": {TASKS_EXTENSION: {}},
        },
        "serverInfo": {"name": "suite", "version": "1.0.0"},
        **FRESH,
    }


def list_tools(_params):
    tools = [
        {"name": name, "description": f"The tool {name} of the suite.", "inputSchema": schema}
        for name, (schema, _) in TOOLS.items()
    ]
    return {"tools": tools, **FRESH}


def list_prompts(_params):
    prompts = [
        {
            "name": name,
            "description": f"The prompt {name} of the suite.",
            "arguments": [{"name": argument, "required": True} for argument in arguments],
        }
        for name, (arguments, _) in PROMPTS.items()
    ]
    return {"prompts": prompts, **FRESH}


def named(table, params):
    if params.get("name") not in table:
        raise Refused(-32602, "there is nothing of this name")
    return table[params["name"]][1](Request(params))


def update(params):
    task = task_of(params)
    for key in params.get("inputResponses") or {}:
        task.questions.pop(key, None)
    return {}


def cancel(params):
    task_of(params).cancelled = True
    return {}


METHODS = {
    "server/discover": discover,
    "tools/list": list_tools,
    "tools/call": lambda params: named(TOOLS, params),
    "prompts/list": list_prompts,
    "prompts/get": lambda params: named(PROMPTS, params),
    "resources/list": lambda _: {"resources": RESOURCES, **FRESH},
    "resources/templates/list": lambda _: {"resourceTemplates": TEMPLATES, **FRESH},
    "resources/read": lambda params: read(params["uri"]),
    "tasks/get": lambda params: task_of(params).shown(),
    "tasks/update": update,
    "tasks/cancel": cancel,
}


def answer(request):
    method, params = request["method"], request.get("params") or {}
    try:
        if method not in METHODS:
            raise Refused(-32601, f"unknown method {method}")
        result = METHODS[method](params)
        send({"id": request["id"], "result": {"resultType": "complete", **result}})
    except Refused as refused:
        send({"id": request["id"], "error": refused.error})


for line in sys.stdin:
    message = json.loads(line)
    if "id" in message and "method" in message:
        threading.Thread(target=answer, args=(message,), daemon=True).start()
