//! TLS: trusted, mistrusted and broken servers, directly and through a proxy.

use std::{net::SocketAddr, path::PathBuf, sync::Arc, time::Duration};

use model::{FailureKind, Fetch};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use rustls::{ServerConfig, pki_types::PrivateKeyDer};
use tokio::{io::AsyncWriteExt, net::TcpListener};
use tokio_rustls::TlsAcceptor;

use super::{
    connections::tunnel_to,
    server::{fetcher, fetcher_with, limits, read_head, request},
};
use crate::http::{HttpFetcher, HttpOptions};

/// An authority of our own.
struct Authority(CertifiedIssuer<'static, KeyPair>);

impl Authority {
    fn new() -> Authority {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        Authority(CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap())
    }

    fn pem_file(&self, name: &str) -> PathBuf {
        let path =
            std::env::temp_dir().join(format!("harvester-{}-{name}.pem", std::process::id()));
        std::fs::write(&path, self.0.pem()).unwrap();
        path
    }

    /// An https server for `host` that answers everything alike.
    async fn serve(&self, host: &str, expired: bool) -> SocketAddr {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::new(vec![host.to_owned()]).unwrap();
        if expired {
            params.not_before = rcgen::date_time_ymd(2001, 1, 1);
            params.not_after = rcgen::date_time_ymd(2002, 1, 1);
        }
        let certificate = params.signed_by(&key, &self.0).unwrap();
        let key = PrivateKeyDer::try_from(key.serialize_der()).unwrap();
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![certificate.der().clone()], key)
            .unwrap();
        let acceptor = TlsAcceptor::from(Arc::new(config));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        tokio::spawn(async move {
            while let Ok((tcp, _)) = listener.accept().await {
                let acceptor = acceptor.clone();
                tokio::spawn(async move {
                    let Ok(mut tls) = acceptor.accept(tcp).await else { return };
                    while read_head(&mut tls).await.is_some() {
                        let answer = b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nsafe";
                        tls.write_all(answer).await.unwrap();
                    }
                });
            }
        });
        address
    }
}

fn asked(host: &str, server: SocketAddr) -> model::FetchRequest {
    let mut asked = request(&format!("https://{host}:{}/", server.port()), limits());
    asked.addresses = vec![server.ip()];
    asked
}

#[tokio::test]
async fn a_trusted_server_is_fetched_and_its_connection_kept() {
    let authority = Authority::new();
    let server = authority.serve("site.test", false).await;
    let roots = authority.pem_file("trusted");
    let fetcher = fetcher_with(|options| options.extra_roots = vec![roots.clone()]);
    for n in 0..3 {
        let exchange = fetcher.fetch(asked("site.test", server)).await.unwrap();
        assert_eq!((&exchange.body[..], exchange.timing.reused), (&b"safe"[..], n > 0));
        assert_eq!(exchange.timing.tls.is_zero(), n > 0);
        assert!(exchange.response_head.starts_with(b"HTTP/1.1 200 OK\r\n"));
    }
    std::fs::remove_file(roots).unwrap();
}

#[tokio::test]
async fn mistrust_is_said_in_plain_words() {
    let authority = Authority::new();
    let roots = authority.pem_file("mistrust");
    let knowing = fetcher_with(|options| options.extra_roots = vec![roots.clone()]);
    let good = authority.serve("site.test", false).await;
    let old = authority.serve("site.test", true).await;
    let say = async |fetcher: &HttpFetcher, host: &str, server| {
        let failure = fetcher.fetch(asked(host, server)).await.unwrap_err();
        assert_eq!(failure.kind, FailureKind::Tls);
        assert_eq!(failure.address, Some(server.ip()));
        failure.detail
    };
    assert_eq!(
        say(&fetcher(), "site.test", good).await,
        "the certificate is from an unknown issuer"
    );
    assert_eq!(say(&knowing, "site.test", old).await, "the certificate has expired");
    assert_eq!(say(&knowing, "other.test", good).await, "the certificate is for another name");
    let lenient = fetcher_with(|options| options.accept_invalid_certificates = true);
    for (host, server) in [("site.test", old), ("other.test", good)] {
        assert_eq!(lenient.fetch(asked(host, server)).await.unwrap().body, "safe".as_bytes());
    }
    std::fs::remove_file(roots).unwrap();
}

#[tokio::test]
async fn what_is_not_tls_is_a_tls_failure_and_a_stalled_handshake_ends_in_time() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let server = listener.local_addr().unwrap();
    tokio::spawn(async move {
        let mut held = Vec::new();
        for n in 0.. {
            let (mut tcp, _) = listener.accept().await.unwrap();
            match n {
                0 => tcp.write_all(b"HTTP/1.1 400 Bad\r\n\r\n").await.unwrap(),
                1 => drop(tcp),
                _ => held.push(tcp),
            }
        }
    });
    let failure = fetcher().fetch(asked("site.test", server)).await.unwrap_err();
    assert_eq!(failure.kind, FailureKind::Tls, "{}", failure.detail);
    let failure = fetcher().fetch(asked("site.test", server)).await.unwrap_err();
    assert_eq!(failure.kind, FailureKind::Tls);
    assert!(failure.detail.contains("hung up"), "{}", failure.detail);
    let mut short = asked("site.test", server);
    let mut limits = limits();
    limits.tls = Duration::from_millis(60);
    short.limits = Arc::new(limits);
    let failure = fetcher().fetch(short).await.unwrap_err();
    assert_eq!(failure.kind, FailureKind::ConnectTimeout, "{}", failure.detail);
}

#[tokio::test]
async fn https_goes_through_a_proxys_tunnel() {
    let authority = Authority::new();
    let server = authority.serve("site.test", false).await;
    let roots = authority.pem_file("tunnel");
    let (proxy, notes) = tunnel_to(server).await;
    let fetcher = fetcher_with(|options| {
        options.extra_roots = vec![roots.clone()];
        options.profile.proxy = Some(format!("http://{proxy}").parse().unwrap());
    });
    let mut asked = asked("site.test", server);
    asked.addresses.clear();
    let exchange = fetcher.fetch(asked).await.unwrap();
    assert_eq!((&exchange.body[..], exchange.address), (&b"safe"[..], None));
    assert!(exchange.request_head.starts_with(b"GET / HTTP/1.1\r\nHost: site.test:"));
    let connect = notes.lock().unwrap().remove(0);
    assert!(
        connect.starts_with(&format!("CONNECT site.test:{} HTTP/1.1\r\n", server.port())),
        "{connect}"
    );
    std::fs::remove_file(roots).unwrap();
}

#[test]
fn roots_that_cannot_be_read_are_named() {
    let setup = |path: PathBuf| {
        let options = HttpOptions { extra_roots: vec![path], ..HttpOptions::default() };
        let clock = Arc::new(super::server::Ticks::default());
        HttpFetcher::new(&options, clock).err().map(|e| e.to_string()).unwrap()
    };
    assert!(setup(PathBuf::from("/no/such/file.pem")).contains("/no/such/file.pem"));
    let empty = std::env::temp_dir().join(format!("harvester-{}-empty.pem", std::process::id()));
    std::fs::write(&empty, "nothing").unwrap();
    assert!(setup(empty.clone()).contains("holds no certificate"));
    std::fs::remove_file(empty).unwrap();
}
