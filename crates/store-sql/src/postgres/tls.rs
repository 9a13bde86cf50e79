//! TLS by rustls with ring. A certificate is always checked, with the server's name.

use std::path::Path;
use std::sync::Arc;

use charter_store::StoreError;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, RootCertStore};
use rustls_platform_verifier::BuilderVerifierExt;
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
    const DOING: &str = "reading the certificates that vouch for the database";
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
        return Err(refused("it holds no certificate".to_owned()));
    }
    Ok(roots)
}

fn failed(doing: &'static str, source: rustls::Error) -> StoreError {
    StoreError::Engine {
        doing,
        source: Box::new(source),
    }
}
