//! TLS by rustls with ring. The server's certificate and name are always checked; a failure includes advice.

use std::error::Error as StdError;
use std::io;
use std::path::Path;
use std::sync::Arc;

use charter_store::StoreError;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{CertificateError, ClientConfig, RootCertStore};
use rustls_platform_verifier::BuilderVerifierExt;
use tokio_postgres::Error;
use tokio_postgres_rustls::MakeRustlsConnect;

use super::options::{PostgresOptions, TrustedRoots};

pub(super) fn connector(options: &PostgresOptions) -> Result<MakeRustlsConnect, StoreError> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|source| failed("setting TLS up", source))?;
    let config = match &options.roots {
        TrustedRoots::Platform => config
            .with_platform_verifier()
            .map_err(|source| failed("reading the platform's certificates", source))?,
        TrustedRoots::File(path) => config.with_root_certificates(roots(path)?),
    };
    Ok(MakeRustlsConnect::new(config.with_no_client_auth()))
}

fn roots(path: &Path) -> Result<RootCertStore, StoreError> {
    const DOING: &str = "reading the database's CA certificates";
    let refused = |detail: String| StoreError::Refused {
        what: "file of certificates",
        id: path.display().to_string(),
        detail,
    };
    let mut roots = RootCertStore::empty();
    let found = CertificateDer::pem_file_iter(path).map_err(|error| refused(error.to_string()))?;
    for certificate in found {
        let certificate = certificate.map_err(|error| refused(error.to_string()))?;
        roots
            .add(certificate)
            .map_err(|source| failed(DOING, source))?;
    }
    if roots.is_empty() {
        return Err(refused("it contains no certificate".to_owned()));
    }
    Ok(roots)
}

fn failed(doing: &'static str, source: rustls::Error) -> StoreError {
    StoreError::Engine {
        doing,
        source: Box::new(source),
    }
}

/// A failed TLS connection: the fault with advice, and the cause.
#[derive(Debug)]
struct Untrusted {
    advice: &'static str,
    source: Error,
}

impl std::fmt::Display for Untrusted {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.advice)
    }
}

impl StdError for Untrusted {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        Some(&self.source)
    }
}

/// Wraps a failure to connect, with advice if TLS failed.
pub(super) fn advised(error: Error) -> Box<dyn StdError + Send + Sync> {
    match error.source().and_then(advice) {
        Some(advice) => Box::new(Untrusted {
            advice,
            source: error,
        }),
        None => Box::new(error),
    }
}

fn advice(cause: &(dyn StdError + 'static)) -> Option<&'static str> {
    // The driver has no other way to identify it.
    if cause.to_string() == "server does not support TLS" {
        return Some(
            "the server does not support TLS: enable it there (ssl = on), or set sslmode=disable in store.url if the \
             network is private",
        );
    }
    let inner = cause.downcast_ref::<io::Error>()?.get_ref()?;
    let rustls::Error::InvalidCertificate(wrong) = inner.downcast_ref()? else {
        return None;
    };
    Some(match wrong {
        CertificateError::Expired | CertificateError::ExpiredContext { .. } => {
            "the server's certificate has expired: give the server a new one"
        }
        CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
            "the server's certificate is not valid yet: compare the clocks of both machines"
        }
        CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
            "the server's certificate is for another name: use its name in store.url, or give the server a \
             certificate for this name"
        }
        CertificateError::UnknownIssuer => {
            "the server's certificate is not signed by a trusted authority: set store.certificates to the file with \
             the authority's certificate"
        }
        _ => "the server's certificate is rejected: give the server another one",
    })
}
