//! Certificates made at start: one authority, one certificate for all hosts, and one nobody signed.

use std::{fmt, io, sync::Arc};

use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use rustls::{
    ServerConfig,
    crypto::aws_lc_rs,
    pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer},
    server::{ClientHello, ResolvesServerCert},
    sign::CertifiedKey,
};
use tokio_rustls::TlsAcceptor;

use crate::{Hazard, SimWeb};

pub(super) struct Certificates {
    pub root_pem: String,
    pub acceptor: TlsAcceptor,
}

pub(super) fn certificates(web: Arc<SimWeb>) -> io::Result<Certificates> {
    let domain = web.options().host_suffix.trim_start_matches('.').to_owned();
    let names = vec![format!("*.{domain}"), domain];
    let mut authority = CertificateParams::new(Vec::new()).map_err(io::Error::other)?;
    authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let root_key = KeyPair::generate().map_err(io::Error::other)?;
    let root = authority.self_signed(&root_key).map_err(io::Error::other)?;
    let issuer = Issuer::new(authority, root_key);

    let params = CertificateParams::new(names).map_err(io::Error::other)?;
    let key = KeyPair::generate().map_err(io::Error::other)?;
    let signed = params.signed_by(&key, &issuer).map_err(io::Error::other)?;
    let lonely = params.self_signed(&key).map_err(io::Error::other)?;
    let chooser = Chooser {
        web,
        trusted: certified(signed.der(), &key)?,
        lonely: certified(lonely.der(), &key)?,
    };
    let config = ServerConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(io::Error::other)?
        .with_no_client_auth()
        .with_cert_resolver(Arc::new(chooser));
    Ok(Certificates { root_pem: root.pem(), acceptor: TlsAcceptor::from(Arc::new(config)) })
}

/// Gives the hosts with [`Hazard::SelfSigned`] the certificate nobody signed.
struct Chooser {
    web: Arc<SimWeb>,
    trusted: Arc<CertifiedKey>,
    lonely: Arc<CertifiedKey>,
}

impl ResolvesServerCert for Chooser {
    fn resolve(&self, hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        let hazard = hello.server_name().and_then(|host| self.web.host_hazard(host));
        Some(Arc::clone(match hazard {
            Some(Hazard::SelfSigned) => &self.lonely,
            _ => &self.trusted,
        }))
    }
}

impl fmt::Debug for Chooser {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Chooser")
    }
}

fn certified(der: &CertificateDer<'static>, key: &KeyPair) -> io::Result<Arc<CertifiedKey>> {
    let private = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der()));
    let signer = aws_lc_rs::sign::any_supported_type(&private).map_err(io::Error::other)?;
    Ok(Arc::new(CertifiedKey::new(vec![der.clone()], signer)))
}
