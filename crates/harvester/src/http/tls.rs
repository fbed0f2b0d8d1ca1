//! TLS by rustls: the web's roots and the user's, HTTP/1.1 only, failures in plain words.

use std::{io, path::PathBuf, sync::Arc};

use rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme,
    client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier},
    crypto::{CryptoProvider, aws_lc_rs, verify_tls12_signature, verify_tls13_signature},
    pki_types::{CertificateDer, ServerName, UnixTime, pem::PemObject},
};
use tokio_rustls::TlsConnector;

#[derive(Debug, thiserror::Error)]
pub enum TlsSetupError {
    #[error("cannot read the certificates in {path}: {reason}; give a PEM file")]
    Roots { path: PathBuf, reason: String },
    #[error("{0} holds no certificate; give a PEM file")]
    NoRoots(PathBuf),
    #[error("TLS cannot be set up: {0}")]
    Rustls(#[from] rustls::Error),
}

/// `extra_roots` are PEM files of authorities trusted beside the web's own.
pub fn connector(
    extra_roots: &[PathBuf],
    accept_invalid: bool,
) -> Result<TlsConnector, TlsSetupError> {
    let mut roots = RootCertStore { roots: webpki_roots::TLS_SERVER_ROOTS.to_vec() };
    for path in extra_roots {
        add_roots(&mut roots, path)?;
    }
    let provider = Arc::new(aws_lc_rs::default_provider());
    let builder = ClientConfig::builder_with_provider(provider.clone())
        .with_safe_default_protocol_versions()?;
    let mut config = if accept_invalid {
        let verifier = Arc::new(AcceptAny(provider));
        builder.dangerous().with_custom_certificate_verifier(verifier).with_no_client_auth()
    } else {
        builder.with_root_certificates(roots).with_no_client_auth()
    };
    // HTTP/2 has no bytes on the wire that an archive could keep.
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(TlsConnector::from(Arc::new(config)))
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
