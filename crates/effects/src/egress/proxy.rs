//! The forward proxy for scripts' network access: HTTP `CONNECT` and absolute-form requests, filtered by the call's
//! egress list.
//!
//! Must not know tools or processes; callers supply listeners and grants.

use std::collections::HashMap;
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use base64::Engine as _;
use bytes::Bytes;
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt, Empty, Full};
use hyper::body::Incoming;
use hyper::header::{self, HeaderMap, HeaderName, HeaderValue};
use hyper::{Method, Request, Response, StatusCode, Uri};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::time::timeout;
use tokio_util::sync::{CancellationToken, DropGuard};

use super::{EgressPolicy, daemon};

/// Connections that one listener serves at the same time; more wait.
const MAX_CONNECTIONS: usize = 256;
/// Timeout for a request's headers.
const HEADER_TIMEOUT: Duration = Duration::from_secs(30);
/// Timeout for a connection to one address.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// The user name in a shared proxy's URL; the password is the call's token.
const PROXY_USER: &str = "call";

type Body = BoxBody<Bytes, hyper::Error>;

/// The access of one call through a proxy, until the call ends.
#[derive(Debug, Clone)]
pub(crate) struct Grant {
    policy: Arc<EgressPolicy>,
    ended: CancellationToken,
    /// The Unix socket of a daemon that the call may reach.
    daemon: Option<PathBuf>,
}

/// How a proxy assigns a connection to a call.
#[derive(Debug, Clone)]
enum Admission {
    /// The listener is in the call's own network namespace.
    Only(Grant),
    /// By the token in `Proxy-Authorization`.
    ByToken(Arc<Mutex<HashMap<String, Grant>>>),
}

/// A proxy on loopback for scripts that share Charter's network namespace.
#[derive(Debug)]
pub(crate) struct SharedProxy {
    port: u16,
    grants: Arc<Mutex<HashMap<String, Grant>>>,
    _stop: DropGuard,
}

/// A call's right to use the shared proxy; ends when dropped.
#[derive(Debug)]
pub(crate) struct SharedGrant {
    token: String,
    grants: Arc<Mutex<HashMap<String, Grant>>>,
    _ended: DropGuard,
}

impl SharedProxy {
    pub(crate) async fn start() -> io::Result<Self> {
        let listener = TcpListener::bind((std::net::Ipv4Addr::LOCALHOST, 0)).await?;
        let port = listener.local_addr()?.port();
        let grants = Arc::new(Mutex::new(HashMap::new()));
        let stop = CancellationToken::new();
        let admission = Admission::ByToken(Arc::clone(&grants));
        tokio::spawn(accept(listener, admission, stop.clone()));
        Ok(Self {
            port,
            grants,
            _stop: stop.drop_guard(),
        })
    }

    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    pub(crate) fn admit(&self, policy: EgressPolicy) -> SharedGrant {
        let token = uuid::Uuid::new_v4().simple().to_string();
        let ended = CancellationToken::new();
        let grant = Grant {
            policy: Arc::new(policy),
            ended: ended.clone(),
            daemon: None,
        };
        lock(&self.grants).insert(token.clone(), grant);
        SharedGrant {
            token,
            grants: Arc::clone(&self.grants),
            _ended: ended.drop_guard(),
        }
    }

    pub(crate) fn url(&self, grant: &SharedGrant) -> String {
        format!(
            "http://{PROXY_USER}:{}@127.0.0.1:{}",
            grant.token, self.port
        )
    }
}

impl Drop for SharedGrant {
    fn drop(&mut self) {
        lock(&self.grants).remove(&self.token);
    }
}

/// Serves one call on its own listener until the guard is dropped. Requests for paths of this host go to the daemon, if
/// the call may reach one.
pub(crate) fn serve_call(
    listener: TcpListener,
    policy: EgressPolicy,
    daemon: Option<PathBuf>,
) -> DropGuard {
    let ended = CancellationToken::new();
    let grant = Grant {
        policy: Arc::new(policy),
        ended: ended.clone(),
        daemon,
    };
    tokio::spawn(accept(listener, Admission::Only(grant), ended.clone()));
    ended.drop_guard()
}

async fn accept(listener: TcpListener, admission: Admission, stop: CancellationToken) {
    let slots = Arc::new(Semaphore::new(MAX_CONNECTIONS));
    loop {
        let Ok(slot) = Arc::clone(&slots).acquire_owned().await else {
            return;
        };
        let stream = tokio::select! {
            () = stop.cancelled() => return,
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => stream,
                Err(error) => {
                    tracing::warn!(%error, "the egress proxy could not accept a connection");
                    tokio::time::sleep(Duration::from_millis(10)).await;
                    continue;
                }
            },
        };
        let (admission, stop) = (admission.clone(), stop.clone());
        tokio::spawn(async move {
            let _slot = slot;
            tokio::select! {
                () = stop.cancelled() => {}
                () = serve_connection(stream, admission) => {}
            }
        });
    }
}

async fn serve_connection(stream: TcpStream, admission: Admission) {
    if let Admission::Only(Grant {
        daemon: Some(socket),
        ..
    }) = &admission
        && daemon::asks_this_host(&stream).await
    {
        return daemon::relay(stream, socket).await;
    }
    let service = hyper::service::service_fn(move |request| {
        let admission = admission.clone();
        async move { Ok::<_, std::convert::Infallible>(answer(request, &admission).await) }
    });
    let served = hyper::server::conn::http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEADER_TIMEOUT)
        .preserve_header_case(true)
        .serve_connection(TokioIo::new(stream), service)
        .with_upgrades()
        .await;
    if let Err(error) = served {
        tracing::debug!(%error, "a connection to the egress proxy ended early");
    }
}

async fn answer(request: Request<Incoming>, admission: &Admission) -> Response<Body> {
    let Some(grant) = admitted(request.headers(), admission) else {
        let mut response = refusal(StatusCode::PROXY_AUTHENTICATION_REQUIRED, "unknown call");
        let challenge = HeaderValue::from_static("Basic realm=\"charter\"");
        response
            .headers_mut()
            .insert(header::PROXY_AUTHENTICATE, challenge);
        return response;
    };
    let Some((host, port)) = target(request.method(), request.uri()) else {
        return refusal(StatusCode::BAD_REQUEST, "not a proxy request");
    };
    let stream = match connect(&grant.policy, &host, port).await {
        Ok(stream) => stream,
        Err(response) => return response,
    };
    if request.method() == Method::CONNECT {
        tokio::spawn(tunnel(request, stream, grant.ended));
        return Response::new(empty());
    }
    match forward(request, stream, grant.ended).await {
        Ok(response) => response.map(BodyExt::boxed),
        Err(error) => refusal(
            StatusCode::BAD_GATEWAY,
            &format!("forwarding to {host}:{port}: {error}"),
        ),
    }
}

fn admitted(headers: &HeaderMap, admission: &Admission) -> Option<Grant> {
    match admission {
        Admission::Only(grant) => Some(grant.clone()),
        Admission::ByToken(grants) => {
            let value = headers.get(header::PROXY_AUTHORIZATION)?.to_str().ok()?;
            let (scheme, encoded) = value.split_once(' ')?;
            if !scheme.eq_ignore_ascii_case("basic") {
                return None;
            }
            let decoded = base64::engine::general_purpose::STANDARD
                .decode(encoded.trim())
                .ok()?;
            let (user, token) = std::str::from_utf8(&decoded).ok()?.split_once(':')?;
            let grant = lock(grants).get(token).cloned();
            grant.filter(|_| user == PROXY_USER)
        }
    }
}

fn target(method: &Method, uri: &Uri) -> Option<(String, u16)> {
    let host = uri.host()?.to_owned();
    if method == Method::CONNECT {
        return Some((host, uri.port_u16()?));
    }
    (uri.scheme_str() == Some("http")).then(|| (host, uri.port_u16().unwrap_or(80)))
}

async fn connect(
    policy: &EgressPolicy,
    host: &str,
    port: u16,
) -> Result<TcpStream, Response<Body>> {
    let addresses = policy.addresses(host, port).await.map_err(|refused| {
        tracing::info!(%refused, "egress refused");
        refusal(StatusCode::FORBIDDEN, &refused.to_string())
    })?;
    let mut last = io::Error::from(io::ErrorKind::AddrNotAvailable);
    for address in addresses {
        match connect_one(address).await {
            Ok(stream) => return Ok(stream),
            Err(error) => last = error,
        }
    }
    Err(refusal(
        StatusCode::BAD_GATEWAY,
        &format!("connecting to {host}:{port}: {last}"),
    ))
}

async fn connect_one(address: SocketAddr) -> io::Result<TcpStream> {
    timeout(CONNECT_TIMEOUT, TcpStream::connect(address))
        .await
        .map_err(|elapsed| io::Error::new(io::ErrorKind::TimedOut, elapsed))?
}

async fn tunnel(request: Request<Incoming>, mut upstream: TcpStream, ended: CancellationToken) {
    let copy = async {
        let upgraded = hyper::upgrade::on(request)
            .await
            .map_err(io::Error::other)?;
        tokio::io::copy_bidirectional(&mut TokioIo::new(upgraded), &mut upstream).await
    };
    tokio::select! {
        () = ended.cancelled() => {}
        copied = copy => if let Err(error) = copied {
            tracing::debug!(%error, "an egress tunnel ended early");
        }
    }
}

async fn forward(
    mut request: Request<Incoming>,
    stream: TcpStream,
    ended: CancellationToken,
) -> hyper::Result<Response<Incoming>> {
    let (mut sender, connection) = hyper::client::conn::http1::Builder::new()
        .preserve_header_case(true)
        .handshake(TokioIo::new(stream))
        .await?;
    tokio::spawn(async move {
        tokio::select! {
            () = ended.cancelled() => {}
            served = connection => if let Err(error) = served {
                tracing::debug!(%error, "a forwarded connection ended early");
            }
        }
    });
    let uri = request.uri().clone();
    strip_hop_headers(request.headers_mut());
    // The target determines the host, not the script's own header.
    if let Some(host) = host_header(&uri) {
        request.headers_mut().insert(header::HOST, host);
    }
    *request.uri_mut() = uri
        .path_and_query()
        .map_or_else(|| Uri::from_static("/"), |path| Uri::from(path.clone()));
    let mut response = sender.send_request(request).await?;
    strip_hop_headers(response.headers_mut());
    Ok(response)
}

fn host_header(uri: &Uri) -> Option<HeaderValue> {
    let host = uri.host()?;
    let text = match uri.port_u16() {
        Some(port) => format!("{host}:{port}"),
        None => host.to_owned(),
    };
    HeaderValue::from_str(&text).ok()
}

fn strip_hop_headers(headers: &mut HeaderMap) {
    for name in [
        header::CONNECTION,
        header::PROXY_AUTHENTICATE,
        header::PROXY_AUTHORIZATION,
        header::TE,
        header::TRAILER,
        header::UPGRADE,
        HeaderName::from_static("keep-alive"),
        HeaderName::from_static("proxy-connection"),
    ] {
        headers.remove(name);
    }
}

fn refusal(status: StatusCode, reason: &str) -> Response<Body> {
    let text = Bytes::from(format!("charter egress proxy: {reason}\n"));
    let mut response = Response::new(Full::new(text).map_err(|never| match never {}).boxed());
    *response.status_mut() = status;
    response
}

fn empty() -> Body {
    Empty::new().map_err(|never| match never {}).boxed()
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
