//! TLS to a provider: the authorities that this machine trusts, read once from where its distribution keeps them. Never
//! trusts anything else, and accepts no certificate without them.

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use rustls::{ClientConfig, RootCertStore};

use crate::error::Refusal;

/// The configuration of every connection.
pub(crate) fn configuration() -> Result<Arc<ClientConfig>, Refusal> {
    static MADE: OnceLock<Result<Arc<ClientConfig>, Refusal>> = OnceLock::new();
    MADE.get_or_init(make).clone()
}

fn make() -> Result<Arc<ClientConfig>, Refusal> {
    if !has_instructions() {
        return Err(Refusal::Processor);
    }
    let named = std::env::var_os("SSL_CERT_FILE").map(PathBuf::from);
    let path = match &named {
        Some(path) => path.as_path(),
        None => BUNDLES
            .iter()
            .map(Path::new)
            .find(|path| path.is_file())
            .ok_or(Refusal::NoAuthorities)?,
    };
    let mut roots = RootCertStore::empty();
    let certificates = CertificateDer::pem_file_iter(path).map_err(|_| Refusal::NoAuthorities)?;
    roots.add_parsable_certificates(certificates.filter_map(Result::ok));
    if roots.is_empty() {
        return Err(Refusal::NoAuthorities);
    }
    let provider = Arc::new(rustls_graviola::default_provider());
    let builder =
        ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    let builder = builder.map_err(|error| Refusal::Tls(error.to_string()))?;
    let mut configuration = builder.with_root_certificates(roots).with_no_client_auth();
    configuration.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(Arc::new(configuration))
}

/// What the cryptography is made of. It would end the process on a processor without.
#[cfg(target_arch = "x86_64")]
fn has_instructions() -> bool {
    use std::arch::is_x86_feature_detected as has;
    has!("aes")
        && has!("pclmulqdq")
        && has!("bmi1")
        && has!("bmi2")
        && has!("adx")
        && has!("avx2")
        && has!("ssse3")
}

#[cfg(target_arch = "aarch64")]
fn has_instructions() -> bool {
    use std::arch::is_aarch64_feature_detected as has;
    has!("aes") && has!("pmull") && has!("sha2") && has!("neon")
}

/// Where distributions keep them: Debian and its kin, Fedora and its kin, openSUSE, Alpine.
const BUNDLES: &[&str] = &[
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem",
    "/etc/ssl/cert.pem",
];
