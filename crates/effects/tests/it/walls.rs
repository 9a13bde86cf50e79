//! Attempts to bypass the sandbox, with and without namespaces, and programs that work within it.

use std::fs::Permissions;
use std::os::fd::OwnedFd;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixDatagram;
use std::path::Path;

use charter_effects::{CapabilityState, Limits, Sandbox, SandboxOptions, ToolRunner};
use rustix::io::Errno;
use rustix::net::{self, AddressFamily, SocketAddrUnix, SocketFlags, SocketType};
use serde_json::{Map, json};
use tokio_util::sync::CancellationToken;

use crate::support::{bash_call, both, output, python, python_call};

/// Creates a packet socket that accepts connections.
fn listener(path: &Path) -> OwnedFd {
    let kind = SocketType::SEQPACKET;
    let listener = net::socket_with(AddressFamily::UNIX, kind, SocketFlags::NONBLOCK, None);
    let listener = listener.unwrap();
    net::bind(&listener, &SocketAddrUnix::new(path).unwrap()).unwrap();
    net::listen(&listener, 1).unwrap();
    listener
}

#[tokio::test]
async fn no_datagram_leaves_a_script() {
    for fixture in both().await {
        let path = |name| fixture.directory.path().join(name);
        let paths = [path("datagrams"), path("packets")];
        let socket = UnixDatagram::bind(&paths[0]).unwrap();
        socket.set_nonblocking(true).unwrap();
        let listener = listener(&paths[1]);
        let mut call = python_call(
            r#"
import json, socket, sys
connected = {}
for path in json.load(sys.stdin)["parameters"]["paths"]:
    for kind in (socket.SOCK_DGRAM, socket.SOCK_SEQPACKET, socket.SOCK_RAW, socket.SOCK_STREAM):
        try: one, other = socket.socketpair(socket.AF_UNIX, kind)
        except OSError: continue
        for end in ("open", "closed"):
            for send in (lambda: one.sendto(b"x", path), lambda: one.sendmsg([b"x"], [], 0, path)):
                try: send()
                except OSError: pass
            try: one.connect(path); connected.setdefault(kind.name, []).append(end)
            except OSError: connected.setdefault(kind.name, [])
            other.close()
print(json.dumps(connected))
"#,
        );
        call.parameters.insert("paths".into(), json!(paths));
        let pairs = json!({"SOCK_SEQPACKET": [], "SOCK_STREAM": []});
        assert_eq!(output(fixture.run(call).await), pairs);
        let received = socket.recv(&mut [0; 8]).map_err(|error| error.kind());
        assert_eq!(received, Err(std::io::ErrorKind::WouldBlock));
        let connection = net::accept(&listener).map(drop);
        assert_eq!(connection, Err(Errno::WOULDBLOCK));
    }
}

#[tokio::test]
async fn asyncio_and_node_child_processes_work() {
    for fixture in both().await {
        let call = python_call(
            r#"
import asyncio, json
async def main():
    child = await asyncio.create_subprocess_exec("cat", stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE)
    return [(await child.communicate(b"one"))[0].decode(), await asyncio.to_thread(lambda: "two")]
print(json.dumps(asyncio.run(main())))
"#,
        );
        assert_eq!(output(fixture.run(call).await), json!(["one", "two"]));
        if !Path::new("/usr/bin/node").exists() {
            continue;
        }
        let mut call = bash_call(
            r#"exec /usr/bin/node -e '
const { spawn, execFileSync } = require("child_process");
const child = spawn("cat");
child.stdout.on("data", (text) => console.log(JSON.stringify([text.toString(), execFileSync("echo", ["two"]).toString().trim()])));
child.stdin.end("one");'"#,
        );
        // Node reserves more addresses than it uses.
        call.limits.memory_bytes = 4 * Limits::MEMORY_BYTES;
        assert_eq!(output(fixture.run(call).await), json!(["one", "two"]));
    }
}

#[tokio::test]
async fn a_script_cannot_make_children_of_the_server() {
    for fixture in both().await {
        let mut call = python_call(
            r#"
import ctypes, json, os, platform, sys
libc = ctypes.CDLL(None, use_errno=True)
# clone, for a child of this process's parent.
made = libc.syscall({"x86_64": 56}.get(platform.machine(), 220), 0x8000 | 17, 0, 0, 0, 0)
if made == 0: os._exit(0)
print(json.dumps([made, ctypes.get_errno()]))
"#,
        );
        call.limits.processes = 8;
        assert_eq!(output(fixture.run(call).await), json!([-1, 1]));
    }
}

#[tokio::test]
async fn private_keys_of_the_system_are_not_read_and_its_certificates_are() {
    for fixture in both().await {
        let call = python_call(
            r#"
import json, os, ssl
found = []
for folder in ("/etc/ssl/private", "/etc/pki/tls/private", "/etc/ssh", "/usr/lib/ssl/private"):
    try: found += os.listdir(folder)
    except (PermissionError, FileNotFoundError): pass
bundle = "/etc/ssl/certs/ca-certificates.crt"
trusted = not os.path.exists(bundle) or len(ssl.create_default_context(cafile=bundle).get_ca_certs()) > 0
print(json.dumps([found, trusted]))
"#,
        );
        assert_eq!(output(fixture.run(call).await), json!([[], true]));
    }
}

/// The server queries the interpreter for its folders, in the server's own environment.
#[tokio::test]
async fn folders_of_the_servers_own_pythonpath_are_not_read() {
    let directory = tempfile::tempdir().unwrap();
    let named = directory.path().join("named");
    std::fs::create_dir(&named).unwrap();
    std::fs::write(named.join("key"), "key").unwrap();
    let launcher = directory.path().join("python");
    let text = format!(
        "#!/bin/sh\nPYTHONPATH={} exec {} \"$@\"\n",
        named.display(),
        python().display()
    );
    std::fs::write(&launcher, text).unwrap();
    std::fs::set_permissions(&launcher, Permissions::from_mode(0o755)).unwrap();
    let mut options = SandboxOptions::new(directory.path().join("sandbox"));
    options.python = launcher;
    let sandbox = Sandbox::new(options).await.unwrap();
    let mut call = python_call(
        r#"
import json, sys
try: print(json.dumps(open(json.load(sys.stdin)["parameters"]["key"]).read()))
except PermissionError: print('"refused"')
"#,
    );
    call.parameters
        .insert("key".into(), json!(named.join("key")));
    let outcome = sandbox.run(call, CancellationToken::new());
    assert_eq!(output(outcome.await), json!("refused"));
}

/// Returns the state of a guarantee.
async fn state(sandbox: &Sandbox, name: &str) -> CapabilityState {
    let capabilities = sandbox.capabilities().await.into_iter();
    let mut named = capabilities.filter(|capability| capability.name == name);
    named.next().unwrap().state
}

const LOOK: &str = r#"
import json, os, sys
def seen(path):
    try: os.stat(path); return "seen"
    except FileNotFoundError: return "gone"
def read(path):
    try: return open(path).read()
    except PermissionError: return "refused"
p = json.load(sys.stdin)["parameters"]
print(json.dumps([[seen(path) for path in p["seen"]], [read(path) for path in p["read"]]]))
"#;

#[tokio::test]
async fn the_servers_data_is_hidden() {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().join("data");
    let (key, granted) = (directory.path().join("evidence.key"), data.join("granted"));
    let left = data.join("sandbox/calls/call-left");
    std::fs::create_dir_all(&left).unwrap();
    for file in [&data.join("charter.db"), &key, &granted] {
        std::fs::write(file, "text").unwrap();
    }
    let mut options = SandboxOptions::new(data.join("sandbox"));
    options.python = python();
    options.hidden = vec![data.clone(), key.clone()];
    let sandbox = Sandbox::new(options).await.unwrap();
    if state(&sandbox, "data").await != CapabilityState::Enforced {
        // This machine has no mount namespaces.
        return;
    }
    let mut call = python_call(LOOK);
    call.readable = vec![granted.clone()];
    let seen = json!([
        data.join("charter.db"),
        left,
        "../../../charter.db",
        data.join("sandbox/rubbish"),
        "scripts/tool"
    ]);
    call.parameters = Map::from_iter([
        ("seen".to_owned(), seen),
        ("read".to_owned(), json!([granted, key])),
    ]);
    let outcome = sandbox.run(call, CancellationToken::new()).await;
    assert_eq!(
        output(outcome),
        json!([
            ["gone", "gone", "gone", "gone", "seen"],
            ["text", "refused"]
        ])
    );
    assert!(left.exists());
}

/// Git fails if it finds a system configuration that it cannot read.
#[tokio::test]
async fn git_works_beside_a_system_configuration_that_cannot_be_read() {
    for fixture in both().await {
        let call = bash_call(
            r#"cd "$HOME" && git init -q made && cd made && echo one > file && git add file &&
git -c user.name=n -c user.email=e@example.com commit -qm one && git status --short && git log --format=%s | sed 's/.*/"&"/'"#,
        );
        assert_eq!(output(fixture.run(call).await), json!("one"));
    }
}
