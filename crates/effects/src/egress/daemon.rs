//! Access of a call to a daemon's Unix socket, over the listener of its proxy: a request for a path of this host, which no
//! request to a proxy has, goes to the socket. Must not know the daemon's protocol, or who granted the access.

use std::path::Path;
use std::time::Duration;

use tokio::net::{TcpStream, UnixStream};
use tokio::time::timeout;

/// Timeout for the beginning of a request.
const HEAD_TIMEOUT: Duration = Duration::from_secs(30);
/// Bytes of a request that contain its method and the beginning of its target.
const HEAD_BYTES: usize = 32;

/// Whether a connection begins with a request for a path of this host (RFC 9112, section 3.2.1). Reads nothing.
pub(super) async fn asks_this_host(stream: &TcpStream) -> bool {
    let mut head = [0; HEAD_BYTES];
    match timeout(HEAD_TIMEOUT, stream.peek(&mut head)).await {
        Ok(Ok(length)) => is_origin_form(&head[..length]),
        Ok(Err(_)) | Err(_) => false,
    }
}

/// Whether the target of a request begins with `/`.
fn is_origin_form(head: &[u8]) -> bool {
    let mut parts = head.splitn(2, |byte| *byte == b' ');
    let method = parts.next().unwrap_or_default();
    let is_method = !method.is_empty() && method.iter().all(u8::is_ascii_uppercase);
    is_method && parts.next().is_some_and(|target| target.starts_with(b"/"))
}

/// Passes a connection on to a socket until either end closes it.
pub(super) async fn relay(mut stream: TcpStream, socket: &Path) {
    let copied = match UnixStream::connect(socket).await {
        Ok(mut daemon) => tokio::io::copy_bidirectional(&mut stream, &mut daemon).await,
        Err(error) => Err(error),
    };
    if let Err(error) = copied {
        tracing::debug!(%error, "a connection to a daemon ended early");
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::{TcpListener, UnixListener};

    use super::*;
    use crate::egress::EgressPolicy;
    use crate::egress::proxy::serve_call;

    #[test]
    fn only_a_request_for_a_path_of_this_host_is_for_the_daemon() {
        for (head, expected) in [
            ("GET /_ping HTTP/1.1\r\n", true),
            ("POST /v1.47/containers/create", true),
            ("GET http://example.com/ HTTP/1.1", false),
            ("CONNECT example.com:443 HTTP/1.1", false),
            ("GET", false),
            (" /", false),
            ("", false),
        ] {
            assert_eq!(is_origin_form(head.as_bytes()), expected, "{head:?}");
        }
    }

    /// The daemon gets the bytes as they are, also after a switch of protocols; other requests stay with the proxy.
    #[tokio::test]
    async fn a_granted_daemon_is_reached_and_other_hosts_are_not() {
        let folder = tempfile::tempdir().unwrap();
        let socket = folder.path().join("docker.sock");
        let daemon = UnixListener::bind(&socket).unwrap();
        tokio::spawn(async move {
            let (mut stream, _) = daemon.accept().await.unwrap();
            let mut head = [0; 25];
            stream.read_exact(&mut head).await.unwrap();
            stream.write_all(&head).await.unwrap();
        });
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let address = listener.local_addr().unwrap();
        let _serving = serve_call(listener, EgressPolicy::new(Vec::new()), Some(socket));
        let answer = async |request: &str| {
            let mut stream = TcpStream::connect(address).await.unwrap();
            stream.write_all(request.as_bytes()).await.unwrap();
            let mut answer = [0; 25];
            stream.read_exact(&mut answer).await.unwrap();
            String::from_utf8_lossy(&answer).into_owned()
        };
        let ping = "GET /_ping HTTP/1.1\r\nA: b\r";
        assert_eq!(answer(ping).await, ping[..25]);
        let refused = answer("GET http://192.0.2.1/ HTTP/1.1\r\nHost: 192.0.2.1\r\n\r\n").await;
        assert!(refused.starts_with("HTTP/1.1 403"), "{refused}");
    }
}
