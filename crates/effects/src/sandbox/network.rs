//! Network access of a call's script.

use std::os::fd::OwnedFd;

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
            } => {
                let listener = receive::listener(&receive_from).map_err(|error| {
                    Failure::system(format!("taking over the script's network: {error}"))
                })?;
                Ok(Serving::Own {
                    _proxy: proxy::serve_call(listener, policy),
                })
            }
        }
    }
}

impl Sandbox {
    /// Creates the network of a script. Without an egress list a script may not open a socket, so it gets no network.
    pub(super) fn network(
        &self,
        egress: &[crate::HostPattern],
    ) -> Result<PreparedNetwork, Failure> {
        if egress.is_empty() {
            return Ok(PreparedNetwork {
                network: Network::None,
                listener_to: None,
                last_refusal: LastRefusal::default(),
            });
        }
        let policy = EgressPolicy::new(egress.to_vec());
        let last_refusal = policy.last_refusal();
        match &self.proxy {
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
                    },
                    listener_to: Some(listener_to),
                    last_refusal,
                })
            }
        }
    }
}
