//! An authority of our own, with servers and clients that it vouches for.

use std::{path::PathBuf, sync::Arc};

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use rustls::{RootCertStore, ServerConfig, pki_types::PrivateKeyDer, server::WebPkiClientVerifier};
use tokio_rustls::TlsAcceptor;

pub struct Authority(CertifiedIssuer<'static, KeyPair>);

/// How a server of the authority is.
#[derive(Default)]
pub struct Ways {
    pub expired: bool,
    /// Only clients that the authority vouches for are served.
    pub wants_client: bool,
    pub protocols: Vec<Vec<u8>>,
}

impl Authority {
    pub fn new() -> Authority {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        Authority(CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap())
    }

    pub fn pem_file(&self, name: &str) -> PathBuf {
        file(name, &self.0.pem())
    }

    /// Certificate and key of a client, in one file.
    pub fn client_file(&self, name: &str) -> PathBuf {
        let key = KeyPair::generate().unwrap();
        let params = CertificateParams::new(vec!["client.test".to_owned()]).unwrap();
        let certificate = params.signed_by(&key, &self.0).unwrap();
        file(name, &format!("{}{}", certificate.pem(), key.serialize_pem()))
    }

    pub fn acceptor(&self, host: &str, ways: Ways) -> TlsAcceptor {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::new(vec![host.to_owned()]).unwrap();
        if ways.expired {
            params.not_before = rcgen::date_time_ymd(2001, 1, 1);
            params.not_after = rcgen::date_time_ymd(2002, 1, 1);
        }
        let certificate = params.signed_by(&key, &self.0).unwrap();
        let key = PrivateKeyDer::try_from(key.serialize_der()).unwrap();
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let mut roots = RootCertStore::empty();
        roots.add(self.0.der().clone()).unwrap();
        let clients = WebPkiClientVerifier::builder_with_provider(roots.into(), provider.clone());
        let builder = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap();
        let builder = match ways.wants_client {
            true => builder.with_client_cert_verifier(clients.build().unwrap()),
            false => builder.with_no_client_auth(),
        };
        let mut config = builder.with_single_cert(vec![certificate.der().clone()], key).unwrap();
        config.alpn_protocols = ways.protocols;
        TlsAcceptor::from(Arc::new(config))
    }
}

fn file(name: &str, pem: &str) -> PathBuf {
    let path = std::env::temp_dir().join(format!("harvester-{}-{name}.pem", std::process::id()));
    std::fs::write(&path, pem).unwrap();
    path
}
