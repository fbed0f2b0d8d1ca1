//! TLS by rustls: the web's roots and the user's, client certificates, failures in plain words.

use std::{
    io,
    path::{Path, PathBuf},
    sync::Arc,
};

use model::{CrawlUrl, Origin};

use rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme,
    client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier},
    crypto::{CryptoProvider, aws_lc_rs, verify_tls12_signature, verify_tls13_signature},
    pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime, pem::PemObject},
};
use tokio_rustls::TlsConnector;

use super::profile::{ClientCertificate, origin_of};

#[derive(Debug, thiserror::Error)]
pub enum TlsSetupError {
    #[error("cannot read the certificates in {path}: {reason}; give a PEM file")]
    Roots { path: PathBuf, reason: String },
    #[error("{0} holds no certificate; give a PEM file")]
    NoRoots(PathBuf),
    #[error("cannot read the client certificate in {path}: {reason}; give PEM files")]
    Identity { path: PathBuf, reason: String },
    #[error("TLS cannot be set up: {0}")]
    Rustls(#[from] rustls::Error),
}

/// What all connections have in common: whom to trust.
pub struct TlsGround {
    roots: Arc<RootCertStore>,
    accept_invalid: bool,
    provider: Arc<CryptoProvider>,
}

impl TlsGround {
    /// `extra_roots` are PEM files of authorities trusted beside the web's own.
    pub fn new(extra_roots: &[PathBuf], accept_invalid: bool) -> Result<TlsGround, TlsSetupError> {
        let mut roots = RootCertStore { roots: webpki_roots::TLS_SERVER_ROOTS.to_vec() };
        for path in extra_roots {
            add_roots(&mut roots, path)?;
        }
        let provider = Arc::new(aws_lc_rs::default_provider());
        Ok(TlsGround { roots: Arc::new(roots), accept_invalid, provider })
    }

    pub fn door(&self, identities: &[Identity], http2: bool) -> Result<TlsDoor, TlsSetupError> {
        let free = self.connector(None, http2)?;
        let mut bound = Vec::new();
        for identity in identities {
            let connector = self.connector(Some(identity), http2)?;
            bound.push((identity.origins.clone(), connector));
        }
        Ok(TlsDoor { free, bound })
    }

    fn connector(
        &self,
        identity: Option<&Identity>,
        http2: bool,
    ) -> Result<TlsConnector, TlsSetupError> {
        let builder = ClientConfig::builder_with_provider(self.provider.clone())
            .with_safe_default_protocol_versions()?;
        let builder = if self.accept_invalid {
            let verifier = Arc::new(AcceptAny(self.provider.clone()));
            builder.dangerous().with_custom_certificate_verifier(verifier)
        } else {
            builder.with_root_certificates(self.roots.clone())
        };
        let mut config = match identity {
            None => builder.with_no_client_auth(),
            Some(identity) => builder
                .with_client_auth_cert(identity.chain.clone(), identity.key.clone_key())
                .map_err(|error| unusable(&identity.path, &error))?,
        };
        config.alpn_protocols = match http2 {
            true => vec![b"h2".to_vec(), b"http/1.1".to_vec()],
            false => vec![b"http/1.1".to_vec()],
        };
        Ok(TlsConnector::from(Arc::new(config)))
    }
}

/// The set-ups of one way: which certificate is shown hangs on the origin asked.
pub struct TlsDoor {
    free: TlsConnector,
    bound: Vec<(Vec<Origin>, TlsConnector)>,
}

impl TlsDoor {
    pub fn connector(&self, url: &CrawlUrl) -> &TlsConnector {
        let origin = origin_of(url);
        let is_for = |origins: &[Origin]| origins.iter().any(|o| o.as_str() == origin);
        let own = self.bound.iter().find(|(origins, _)| is_for(origins));
        own.map_or(&self.free, |(_, connector)| connector)
    }
}

/// A client certificate as read from its files.
#[derive(PartialEq)]
pub struct Identity {
    path: PathBuf,
    chain: Vec<CertificateDer<'static>>,
    key: PrivateKeyDer<'static>,
    origins: Vec<Origin>,
}

impl Identity {
    pub fn read(from: &ClientCertificate) -> Result<Identity, TlsSetupError> {
        let read = |path: &Path| std::fs::read(path).map_err(|error| unusable(path, &error));
        let path = from.certificate.clone();
        let chain = CertificateDer::pem_slice_iter(&read(&path)?)
            .collect::<Result<Vec<_>, _>>()
            .map_err(|error| unusable(&path, &error))?;
        if chain.is_empty() {
            return Err(unusable(&path, &"it holds no certificate"));
        }
        let key = PrivateKeyDer::from_pem_slice(&read(&from.key)?)
            .map_err(|error| unusable(&from.key, &error))?;
        Ok(Identity { path, chain, key, origins: from.origins.clone() })
    }
}

fn unusable(path: &Path, reason: &dyn std::fmt::Display) -> TlsSetupError {
    TlsSetupError::Identity { path: path.to_owned(), reason: reason.to_string() }
}

/// What went wrong in a handshake, for people.
pub fn say(error: &io::Error) -> String {
    let inner = error.get_ref().and_then(|e| e.downcast_ref::<rustls::Error>());
    let Some(inner) = inner else {
        return match error.kind() {
            io::ErrorKind::UnexpectedEof | io::ErrorKind::ConnectionReset => {
                "the server hung up during the TLS handshake".to_owned()
            }
            _ => format!("the TLS handshake failed: {error}"),
        };
    };
    match inner {
        rustls::Error::InvalidCertificate(reason) => match reason {
            CertificateError::Expired | CertificateError::ExpiredContext { .. } => {
                "the certificate has expired".to_owned()
            }
            CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
                "the certificate is not valid yet".to_owned()
            }
            CertificateError::UnknownIssuer => {
                "the certificate is from an unknown issuer".to_owned()
            }
            CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
                "the certificate is for another name".to_owned()
            }
            CertificateError::Revoked => "the certificate was revoked".to_owned(),
            other => format!("the certificate is not acceptable: {other}"),
        },
        rustls::Error::AlertReceived(alert) => format!("the server refused TLS: {alert:?}"),
        rustls::Error::InvalidMessage(_) => "the server does not speak TLS there".to_owned(),
        other => format!("the TLS handshake failed: {other}"),
    }
}

/// The same in a word or two, for who counts.
pub fn word(error: &io::Error) -> &'static str {
    let inner = error.get_ref().and_then(|e| e.downcast_ref::<rustls::Error>());
    match inner {
        None => "broken off",
        Some(rustls::Error::InvalidCertificate(reason)) => match reason {
            CertificateError::Expired | CertificateError::ExpiredContext { .. } => "expired",
            CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
                "not valid yet"
            }
            CertificateError::UnknownIssuer => "unknown issuer",
            CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
                "another name"
            }
            CertificateError::Revoked => "revoked",
            _ => "certificate",
        },
        Some(rustls::Error::PeerIncompatible(_)) => "old version",
        Some(rustls::Error::AlertReceived(rustls::AlertDescription::ProtocolVersion)) => {
            "old version"
        }
        Some(rustls::Error::AlertReceived(_)) => "refused",
        Some(rustls::Error::InvalidMessage(_)) => "no TLS",
        Some(_) => "handshake",
    }
}

fn add_roots(roots: &mut RootCertStore, path: &PathBuf) -> Result<(), TlsSetupError> {
    let unreadable = |reason: String| TlsSetupError::Roots { path: path.clone(), reason };
    let pem = std::fs::read(path).map_err(|e| unreadable(e.to_string()))?;
    let mut count = 0;
    for certificate in CertificateDer::pem_slice_iter(&pem) {
        let certificate = certificate.map_err(|e| unreadable(e.to_string()))?;
        roots.add(certificate).map_err(|e| unreadable(e.to_string()))?;
        count += 1;
    }
    if count == 0 { Err(TlsSetupError::NoRoots(path.clone())) } else { Ok(()) }
}

/// Takes whatever certificate comes; only where the user asked for it. The handshake itself is still
/// checked, so the peer holds the key of what it showed.
#[derive(Debug)]
struct AcceptAny(Arc<CryptoProvider>);

impl ServerCertVerifier for AcceptAny {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls12_signature(message, cert, dss, &self.0.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(message, cert, dss, &self.0.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
