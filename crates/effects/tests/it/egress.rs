//! Hosts that scripts can reach, with and without their own network namespace.

use std::net::SocketAddr;

use charter_effects::{CapabilityState, NamespaceUse, ToolCall};
use charter_testkit::http_stub::{HttpStub, Reply};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::support::{both, output, python_call, sandbox_with};

/// Tries one way to the network and prints the result.
const TRY: &str = r#"
import http.client, json, os, socket, sys, urllib.error, urllib.parse, urllib.request
p = json.load(sys.stdin)["parameters"]
def get(url):
    try: return urllib.request.urlopen(url, timeout=5).read().decode()
    except urllib.error.HTTPError as e: return [e.code, e.read().decode()]
    except OSError as e: return type(e).__name__
def tunnel(host, port):
    proxy = urllib.parse.urlsplit(os.environ["HTTPS_PROXY"])
    c = http.client.HTTPConnection(proxy.hostname, proxy.port, timeout=5)
    headers = {}
    if proxy.username:
        import base64
        pair = f"{proxy.username}:{proxy.password}".encode()
        headers["Proxy-Authorization"] = "Basic " + base64.b64encode(pair).decode()
    c.set_tunnel(host, port, headers)
    try: c.request("GET", "/hello"); return c.getresponse().read().decode()
    except OSError as e: return str(e)
def direct(host, port):
    try: socket.create_connection((host, port), timeout=5); return "connected"
    except OSError as e: return type(e).__name__
def fast_open(host, port):
    try: socket.socket().sendto(b"x", 0x20000000, (host, port)); return "sent"
    except OSError as e: return type(e).__name__
def kinds():
    def kind(*a):
        try: socket.socket(*a); return "ok"
        except OSError as e: return type(e).__name__
    return [kind(socket.AF_INET, socket.SOCK_STREAM), kind(socket.AF_INET6, socket.SOCK_STREAM, 6),
            kind(socket.AF_INET, socket.SOCK_DGRAM), kind(socket.AF_INET, socket.SOCK_STREAM, 262),
            kind(socket.AF_UNIX), kind(socket.AF_NETLINK, socket.SOCK_RAW)]
print(json.dumps({name: globals()[name](*args) for name, args in p["tries"].items()}))
"#;

/// A server that replies with the proxy credentials that reached it.
fn serve() -> HttpStub {
    let stub = HttpStub::start(|request, _| match request.path.as_str() {
        "/hello" => {
            let credentials = request.headers.get("proxy-authorization");
            Reply::text(200, format!("hello {credentials:?}"))
        }
        _ => Reply::empty(404),
    });
    stub.unwrap()
}

fn trying(egress: &[String], tries: &Value) -> ToolCall {
    let mut call = python_call(TRY);
    call.parameters.insert("tries".into(), tries.clone());
    call.egress = egress.iter().map(|text| text.parse().unwrap()).collect();
    call
}

#[tokio::test]
async fn a_listed_host_is_reached_only_through_the_proxy() {
    let stub = serve();
    let server = stub.address();
    let port = server.port();
    let tries = json!({
        "get": [format!("http://{server}/hello")], "tunnel": ["127.0.0.1", port], "direct": ["127.0.0.1", port],
        "fast_open": ["127.0.0.1", port], "kinds": [],
    });
    for fixture in both().await {
        assert_eq!(
            output(fixture.run(trying(&[server.to_string()], &tries)).await),
            json!({
                "get": "hello None", "tunnel": "hello None", "direct": "PermissionError", "fast_open": "PermissionError",
                "kinds": ["ok", "ok", "PermissionError", "PermissionError", "PermissionError", "PermissionError"],
            })
        );
    }
}

#[tokio::test]
async fn a_host_outside_the_list_is_refused() {
    let stub = serve();
    let server = stub.address();
    let port = server.port();
    let tries = json!({ "get": [format!("http://{server}/hello")], "tunnel": ["127.0.0.1", port] });
    let other = format!("127.0.0.1:{}", port.wrapping_add(1).max(1));
    let reason =
        format!("charter egress proxy: 127.0.0.1:{port} is not in the tool's egress list\n");
    for fixture in both().await {
        for egress in [other.clone(), "*.amazonaws.com".to_owned()] {
            assert_eq!(
                output(fixture.run(trying(&[egress], &tries)).await),
                json!({ "get": [403, reason], "tunnel": "Tunnel connection failed: 403 Forbidden" })
            );
        }
    }
}

#[tokio::test]
async fn a_name_that_resolves_to_a_private_address_is_refused() {
    let stub = serve();
    let server = stub.address();
    let port = server.port();
    // A spelling of 127.0.0.1 that only the resolver understands: a listed name with a private address.
    let tries = json!({ "get": [format!("http://2130706433:{port}/hello")] });
    let reason = "charter egress proxy: 2130706433 resolves to 127.0.0.1, a private or local address that the \
                  configuration does not grant\n";
    for fixture in both().await {
        let call = trying(&[format!("2130706433:{port}")], &tries);
        assert_eq!(
            output(fixture.run(call).await),
            json!({ "get": [403, reason] })
        );
    }
}

#[tokio::test]
async fn without_an_egress_list_there_is_no_network() {
    let stub = serve();
    let server = stub.address();
    let tries = json!({ "get": [format!("http://{server}/hello")], "kinds": [] });
    for fixture in both().await {
        assert_eq!(
            output(fixture.run(trying(&[], &tries)).await),
            json!({ "get": "URLError", "kinds": vec!["PermissionError"; 6] })
        );
    }
}

/// Python and most libraries use a proxy from the environment; Node.js does if one more variable is set.
#[tokio::test]
async fn node_is_made_to_use_the_proxy_where_there_is_one() {
    let fixture = sandbox_with(NamespaceUse::WhenAvailable).await;
    for (egress, expected) in [(vec!["example.com"], json!("1")), (Vec::new(), json!(null))] {
        let mut call =
            python_call("import os, json; print(json.dumps(os.environ.get('NODE_USE_ENV_PROXY')))");
        call.egress = egress.iter().map(|host| host.parse().unwrap()).collect();
        assert_eq!(output(fixture.run(call).await), expected, "{egress:?}");
    }
}

#[tokio::test]
async fn a_shared_proxy_serves_only_its_call_until_it_ends() {
    let stub = serve();
    let server = stub.address();
    let fixture = sandbox_with(NamespaceUse::Never).await;
    let mut call = python_call("import os, json; print(json.dumps(os.environ['HTTP_PROXY']))");
    call.egress = vec![server.to_string().parse().unwrap()];
    let url = output(fixture.run(call).await);
    let (credentials, address) = url
        .as_str()
        .unwrap()
        .strip_prefix("http://")
        .unwrap()
        .split_once('@')
        .unwrap();
    for credentials in ["", "call:guess", credentials] {
        assert_eq!(
            status(address, credentials, &server).await,
            "HTTP/1.1 407 Proxy Authentication Required"
        );
    }
}

async fn status(proxy: &str, credentials: &str, server: &SocketAddr) -> String {
    use base64::Engine as _;
    let encoded = base64::engine::general_purpose::STANDARD.encode(credentials);
    let mut stream = tokio::net::TcpStream::connect(proxy).await.unwrap();
    let request = format!(
        "GET http://{server}/hello HTTP/1.1\r\nHost: {server}\r\nProxy-Authorization: Basic {encoded}\r\nConnection: close\r\n\r\n"
    );
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    answer.lines().next().unwrap().to_owned()
}

#[tokio::test]
async fn a_missing_network_namespace_is_reported() {
    let fixture = sandbox_with(NamespaceUse::Never).await;
    let egress = fixture
        .sandbox
        .capabilities()
        .await
        .into_iter()
        .find(|c| c.name == "egress")
        .unwrap();
    match egress.state {
        CapabilityState::Partial { gap } => {
            assert!(gap.contains("any host on the one TCP port"), "{gap}");
        }
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn in_a_network_namespace_only_the_proxy_is_reachable() {
    let fixture = sandbox_with(NamespaceUse::Required).await;
    // The port that scripts may connect to, on another address of this machine.
    let elsewhere = tokio::net::TcpListener::bind("127.0.0.77:3128")
        .await
        .unwrap();
    let tries = json!({ "direct": ["127.0.0.77", 3128] });
    let call = trying(&["127.0.0.1:1".to_owned()], &tries);
    assert_eq!(
        output(fixture.run(call).await),
        json!({ "direct": "ConnectionRefusedError" })
    );
    drop(elsewhere);
}
