//! Network access of a call's script.

use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use charter_contract::agentic::error::ErrorType;
use rustix::net::{AddressFamily, SocketFlags, SocketType};
use tokio_util::sync::DropGuard;

use super::child::NAMESPACE_PROXY_PORT;
use super::{Sandbox, receive};
use crate::egress::proxy::{self, SharedGrant};
use crate::egress::{EgressPolicy, LastRefusal};
use crate::outcome::Failure;

/// Network access of a call's script; ends with the call.
pub(super) enum Network {
    None,
    Shared {
        url: String,
        port: u16,
        _grant: SharedGrant,
    },
    Own {
        receive_from: OwnedFd,
        policy: EgressPolicy,
        /// The Unix socket of a daemon that the call may reach.
        daemon: Option<PathBuf>,
    },
}

/// Keeps a call's network alive while the script runs.
pub(super) enum Serving {
    Nothing,
    Shared { _grant: SharedGrant },
    Own { _proxy: DropGuard },
}

/// A process's network before the process starts.
pub(super) struct PreparedNetwork {
    pub(super) network: Network,
    /// The socket over which the process sends its listener, if it has a network namespace of its own.
    pub(super) listener_to: Option<OwnedFd>,
    pub(super) last_refusal: LastRefusal,
}

impl Network {
    pub(super) fn port(&self) -> Option<u16> {
        match self {
            Self::None => None,
            Self::Shared { port, .. } => Some(*port),
            Self::Own { .. } => Some(NAMESPACE_PROXY_PORT),
        }
    }

    pub(super) fn proxy_url(&self) -> Option<String> {
        match self {
            Self::None => None,
            Self::Shared { url, .. } => Some(url.clone()),
            Self::Own { .. } => Some(format!("http://127.0.0.1:{NAMESPACE_PROXY_PORT}")),
        }
    }

    /// Starts the proxy, once the script has its network.
    pub(super) fn serve(self) -> Result<Serving, Failure> {
        match self {
            Self::None => Ok(Serving::Nothing),
            Self::Shared { _grant, .. } => Ok(Serving::Shared { _grant }),
            Self::Own {
                receive_from,
                policy,
                daemon,
            } => {
                let listener = receive::listener(&receive_from).map_err(|error| {
                    Failure::system(format!("taking over the script's network: {error}"))
                })?;
                Ok(Serving::Own {
                    _proxy: proxy::serve_call(listener, policy, daemon),
                })
            }
        }
    }
}

impl Sandbox {
    /// Creates the network of a script. Without an egress list a script may not open a socket, so it gets no network,
    /// unless it may reach a daemon.
    pub(super) fn network(
        &self,
        egress: &[crate::HostPattern],
        daemon: Option<&Path>,
    ) -> Result<PreparedNetwork, Failure> {
        if egress.is_empty() && daemon.is_none() {
            return Ok(PreparedNetwork {
                network: Network::None,
                listener_to: None,
                last_refusal: LastRefusal::default(),
            });
        }
        let policy = EgressPolicy::new(egress.to_vec());
        let last_refusal = policy.last_refusal();
        match &self.proxy {
            Some(_) if daemon.is_some() => {
                let message = "a daemon can be granted only where the kernel allows namespaces, because calls share \
                               the proxy otherwise";
                Err(Failure::new(ErrorType::PermissionError, message))
            }
            Some(proxy) => {
                let grant = proxy.admit(policy);
                let url = proxy.url(&grant);
                Ok(PreparedNetwork {
                    network: Network::Shared {
                        url,
                        port: proxy.port(),
                        _grant: grant,
                    },
                    listener_to: None,
                    last_refusal,
                })
            }
            None => {
                let (receive_from, listener_to) = rustix::net::socketpair(
                    AddressFamily::UNIX,
                    SocketType::STREAM,
                    SocketFlags::CLOEXEC,
                    None,
                )
                .map_err(|error| {
                    Failure::system(format!("preparing the script's network: {error}"))
                })?;
                Ok(PreparedNetwork {
                    network: Network::Own {
                        receive_from,
                        policy,
                        daemon: daemon.map(Path::to_owned),
                    },
                    listener_to: Some(listener_to),
                    last_refusal,
                })
            }
        }
    }
}
