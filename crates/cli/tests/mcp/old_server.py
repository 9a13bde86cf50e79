"""A server of the Model Context Protocol of 2025-11-25, without an SDK, which knows no other request than the three
that it needs, and answers some calls wrongly."""

import json
import sys

READ = {"name": "read", "inputSchema": {"type": "object"}}


def answer(request):
    method, params = request["method"], request.get("params") or {}
    if method == "initialize":
        return {
            "protocolVersion": params["protocolVersion"],
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "old", "version": "1"},
        }
    if method == "tools/list":
        names = ["read", "garbage", "nonsense", "line"]
        return {"tools": [{**READ, "name": name} for name in names]}
    if method == "tools/call" and params["name"] == "garbage":
        return {"what": ["is", "this"]}
    if method == "tools/call" and params["name"] == "nonsense":
        print("no JSON at all \x00", flush=True)
        return {"content": 7}
    if method == "tools/call" and params["name"] == "line":
        sys.stdout.write("x" * (20 << 20))
        sys.stdout.flush()
        return None
    if method == "tools/call":
        return {"content": [{"type": "text", "text": "old but well"}, {"type": "audio", "data": "AAEC", "mimeType": "a/b"}]}
    return None


for line in sys.stdin:
    request = json.loads(line)
    if "id" not in request or "method" not in request:
        continue
    result = answer(request)
    reply = {"jsonrpc": "2.0", "id": request["id"]}
    if result is None:
        reply["error"] = {"code": -32601, "message": "unknown"}
    else:
        reply["result"] = result
    print(json.dumps(reply), flush=True)
