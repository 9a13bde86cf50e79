"""Takes OTLP over HTTP with protobuf, on a free port of this machine, until standard input ends: decodes it
by OpenTelemetry's own types and prints one line of JSON for each export. Prints its address first.

Where CHARTER_TEST_COLLECTOR names the program that `make check-telemetry` builds, an OpenTelemetry Collector stands
before it: the address is the Collector's, and what is printed is what the Collector understood and sent on.
"""

import base64
import json
import os
import pathlib
import subprocess
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


def behind(collector, address):
    """Starts the Collector, which sends on to `address`; returns it and where it listens. It ends when its standard
    input does, which happens at the latest with this process."""
    config = pathlib.Path(__file__).with_name("collector") / "config.yaml"
    started = subprocess.Popen(
        [collector, "--config", config],
        env={**os.environ, "RECEIVER": f"http://{address}"},
        stdin=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    log, listens = [], None
    for line in started.stderr:
        log.append(line)
        said = json.loads(line) if line.startswith("{") else {}
        if said.get("msg") == "Starting HTTP server":
            listens = said["endpoint"]
        if said.get("msg", "").startswith("Everything is ready"):
            # Somebody has to read on, or the Collector would wait to write.
            threading.Thread(target=sys.stderr.writelines, args=[started.stderr], daemon=True).start()
            return started, listens
    sys.exit(f"the Collector does not start: {''.join(log)}")


if __name__ == "__main__":
    server = ThreadingHTTPServer(("127.0.0.1", 0), Receiver)
    address = f"127.0.0.1:{server.server_port}"
    if collector := os.environ.get("CHARTER_TEST_COLLECTOR"):
        held, address = behind(collector, address)
    say({"address": address})
    threading.Thread(target=server.serve_forever, daemon=True).start()
    sys.stdin.read()
