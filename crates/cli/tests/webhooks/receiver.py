"""A system of record with the official library of Standard Webhooks, as crates/cli/tests/suite/missions/webhooks.rs
uses it.

Takes its secret, and what it answers one after the other: a status, or `hang`. Writes its port, and then what it
was sent, a line of JSON each.
"""

import http.server
import json
import sys
import threading

from standardwebhooks import Webhook, WebhookVerificationError

secret, *answers = sys.argv[1:]
lock = threading.Lock()


def say(what):
    print(json.dumps(what), flush=True)


class Receiver(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"]))
        with lock:
            answer = answers.pop(0)
        try:
            payload = Webhook(secret).verify(body, dict(self.headers))
        except WebhookVerificationError as error:
            payload, answer = {"refused": str(error)}, "401"
        say({"path": self.path, "id": self.headers["webhook-id"], "body": body.decode(), "payload": payload})
        if answer == "hang":
            threading.Event().wait()
        self.send_response(int(answer))
        self.send_header("content-length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Receiver)
say({"port": server.server_port})
server.serve_forever()
