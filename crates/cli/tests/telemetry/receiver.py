"""Takes OTLP over HTTP with protobuf, on a free port of this machine, until standard input ends: decodes it
by OpenTelemetry's own types and prints one line of JSON for each export. Prints its address first.
"""

import base64
import json
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from google.protobuf.json_format import MessageToDict
from opentelemetry.proto.collector.metrics.v1 import metrics_service_pb2 as metrics
from opentelemetry.proto.collector.trace.v1 import trace_service_pb2 as trace

KINDS = {
    "/v1/traces": (trace.ExportTraceServiceRequest, trace.ExportTraceServiceResponse),
    "/v1/metrics": (metrics.ExportMetricsServiceRequest, metrics.ExportMetricsServiceResponse),
}
IDS = {"traceId", "spanId", "parentSpanId"}
printing = threading.Lock()


def readable(value):
    """Ids as people write them."""
    if isinstance(value, list):
        return [readable(item) for item in value]
    if not isinstance(value, dict):
        return value
    return {
        name: base64.b64decode(member).hex() if name in IDS else readable(member)
        for name, member in value.items()
    }


def say(line):
    with printing:
        print(json.dumps(line), flush=True)


class Receiver(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"]))
        headers = {name.lower(): value for name, value in self.headers.items()}
        took = {"path": self.path, "headers": headers, "raw": body.decode("latin-1")}
        status, answer = 200, b""
        try:
            request, response = KINDS[self.path]
            took["body"] = readable(MessageToDict(request.FromString(body)))
            answer = response().SerializeToString()
        except Exception as error:
            status, took["wrong"] = 400, repr(error)
        say(took)
        self.send_response(status)
        self.send_header("content-type", "application/x-protobuf")
        self.send_header("content-length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *_):
        pass


if __name__ == "__main__":
    server = ThreadingHTTPServer(("127.0.0.1", 0), Receiver)
    say({"address": f"127.0.0.1:{server.server_port}"})
    threading.Thread(target=server.serve_forever, daemon=True).start()
    sys.stdin.read()
