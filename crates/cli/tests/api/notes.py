"""A small API of notes that describes itself, as crates/cli/tests/suite/import_api.rs imports it.

Takes the key that each call has to send, if any. Writes its port, and then each call, a line of JSON each.
"""

import http.server
import json
import sys

KEY = sys.argv[1] if len(sys.argv) > 1 else None

notes = {1: {"id": 1, "author": "ann", "text": "water the plants"}}


def say(what):
    print(json.dumps(what), flush=True)


def answers(schema):
    return {"200": {"description": "Done", "content": {"application/json": {"schema": schema}}}}


def document(port):
    note = {
        "type": "object",
        "properties": {"id": {"type": "integer"}, "author": {"type": "string"}, "text": {"type": "string"}},
    }
    one = [{"name": "noteId", "in": "path", "required": True, "schema": {"type": "integer"}}]
    described = {
        "openapi": "3.1.0",
        "info": {"title": "Notes", "version": "1"},
        "servers": [{"url": f"http://127.0.0.1:{port}"}],
        "components": {"schemas": {"note": note}},
        "paths": {
            "/notes": {
                "get": {
                    "operationId": "listNotes",
                    "tags": ["notes"],
                    "summary": "List all notes of the team",
                    "responses": answers({"type": "array", "items": {"$ref": "#/components/schemas/note"}}),
                },
                "post": {
                    "operationId": "createNote",
                    "tags": ["notes"],
                    "summary": "Write a new note for the team",
                    "requestBody": {
                        "required": True,
                        "content": {
                            "application/json": {
                                "schema": {
                                    "type": "object",
                                    "properties": {"text": {"type": "string"}, "author": {"type": "string"}},
                                    "required": ["text"],
                                }
                            }
                        },
                    },
                    "responses": answers({"$ref": "#/components/schemas/note"}),
                },
            },
            "/notes/{noteId}": {
                "parameters": one,
                "get": {
                    "operationId": "getNote",
                    "tags": ["notes"],
                    "summary": "Show one note by its number",
                    "responses": answers({"$ref": "#/components/schemas/note"}),
                },
                "delete": {
                    "operationId": "deleteNote",
                    "tags": ["notes"],
                    "summary": "Throw a note away for good",
                    "responses": {"204": {"description": "Gone"}},
                },
            },
            "/authors": {
                "get": {
                    "operationId": "countAuthors",
                    "tags": ["authors"],
                    "summary": "Count how much each author has written",
                    "responses": answers({"type": "object"}),
                }
            },
            "/health": {
                "get": {
                    "operationId": "getHealth",
                    "tags": ["service"],
                    "summary": "Check whether the service is healthy",
                    "responses": answers({"type": "object"}),
                }
            },
        },
    }
    if KEY:
        scheme = {"type": "apiKey", "in": "header", "name": "x-notes-key"}
        described["components"]["securitySchemes"] = {"key": scheme}
        described["security"] = [{"key": []}]
    return described


class Api(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        if self.path == "/openapi.json":
            return self.answer(200, document(self.server.server_port))
        if not self.admitted(None):
            return None
        if self.path == "/notes":
            return self.answer(200, list(notes.values()))
        if self.path == "/authors":
            written = [note["author"] for note in notes.values()]
            return self.answer(200, {author: written.count(author) for author in written})
        if self.path == "/health":
            return self.answer(200, {"healthy": True})
        found = notes.get(self.number())
        return self.answer(200, found) if found else self.answer(404, {"error": "no such note"})

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        if self.admitted(body):
            note = {"id": max(notes, default=0) + 1, "author": body.get("author", "team"), "text": body["text"]}
            notes[note["id"]] = note
            self.answer(200, note)

    def do_DELETE(self):
        if self.admitted(None):
            gone = notes.pop(self.number(), None)
            self.answer(204 if gone else 404, None)

    def admitted(self, body):
        say({"method": self.command, "path": self.path, "body": body})
        if KEY and self.headers["x-notes-key"] != KEY:
            self.answer(401, {"error": "the key is wrong"})
            return False
        return True

    def number(self):
        last = self.path.rsplit("/", 1)[1]
        return int(last) if last.isdigit() else 0

    def answer(self, status, value):
        content = b"" if value is None else json.dumps(value).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_):
        pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Api)
say({"port": server.server_port})
server.serve_forever()
