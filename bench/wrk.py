"""GET requests from wrk, which takes little of the processor for itself."""

import json
import subprocess
import tempfile

from release import ROOT

# Installed by the Makefile.
WRK = ROOT / "target" / "wrk" / "bin" / "wrk"
THREADS = 1
SCRIPT = """local paths = {%s}
local requests, at = {}, 0
init = function()
  for i, path in ipairs(paths) do requests[i] = wrk.format("GET", path) end
end
request = function()
  at = at %% #requests + 1
  return requests[at]
end
"""


def rates(ports, paths, connections, seconds):
    """Requests answered per second by each server, all of them asked at once for the paths in turn."""
    with tempfile.NamedTemporaryFile("w", suffix=".lua") as script:
        script.write(SCRIPT % ", ".join(json.dumps(path) for path in paths))
        script.flush()
        command = [WRK, f"-t{THREADS}", f"-c{connections}", f"-d{seconds}s", "-s", script.name]
        asking = [
            subprocess.Popen([*command, f"http://127.0.0.1:{port}"], stdout=subprocess.PIPE, text=True)
            for port in ports
        ]
        return [rate(process.communicate()[0]) for process in asking]


def rate(told):
    if "Requests/sec:" not in told or "Non-2xx" in told or "Socket errors" in told:
        raise RuntimeError(f"wrk saw failures:\n{told}")
    line = next(line for line in told.splitlines() if line.startswith("Requests/sec:"))
    return float(line.split()[1])
