//! TLS: trusted, mistrusted and broken servers, directly and through a proxy.

use std::{net::SocketAddr, path::PathBuf, sync::Arc, time::Duration};

use model::{CrawlUrl, FailureKind, Fetch, FetchRequest, SpiderId};
use tokio::{io::AsyncWriteExt, net::TcpListener};
use tokio_rustls::TlsAcceptor;

use super::{
    authority::{Authority, Ways},
    connections::tunnel_to,
    server::{fetcher, fetcher_with, limits, read_head, request},
};
use crate::http::{ClientCertificate, HttpFetcher, HttpOptions, HttpProfile};

/// An https server for `host` that answers everything alike.
async fn serve(acceptor: TlsAcceptor) -> SocketAddr {
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

impl Authority {
    async fn serve(&self, host: &str, expired: bool) -> SocketAddr {
        serve(self.acceptor(host, Ways { expired, ..Ways::default() })).await
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
        let met = failure.met.unwrap();
        assert_eq!(met.hazard, model::Hazard::TlsError);
        let last = met.what.split(' ').next_back().unwrap();
        assert!(failure.detail.ends_with(last), "{}: {}", met.what, failure.detail);
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
                // An alert of TLS 1.0: it does not know what was offered.
                2 => tcp.write_all(&[0x15, 3, 1, 0, 2, 2, 70]).await.unwrap(),
                _ => held.push(tcp),
            }
        }
    });
    let failure = fetcher().fetch(asked("site.test", server)).await.unwrap_err();
    assert_eq!(failure.kind, FailureKind::Tls, "{}", failure.detail);
    let failure = fetcher().fetch(asked("site.test", server)).await.unwrap_err();
    assert_eq!(failure.kind, FailureKind::Tls);
    assert!(failure.detail.contains("hung up"), "{}", failure.detail);
    let failure = fetcher().fetch(asked("site.test", server)).await.unwrap_err();
    assert_eq!((failure.kind, failure.met.unwrap().what), (FailureKind::Tls, "old version"));
    let mut short = asked("site.test", server);
    let mut limits = limits();
    limits.tls = Duration::from_millis(60);
    short.limits = Arc::new(limits);
    let failure = fetcher().fetch(short).await.unwrap_err();
    assert_eq!(failure.kind, FailureKind::ConnectTimeout, "{}", failure.detail);
    assert_eq!(failure.met.unwrap().hazard, model::Hazard::TlsError);
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
        let clock = super::server::ticks();
        HttpFetcher::new(&options, clock).err().map(|e| e.to_string()).unwrap()
    };
    assert!(setup(PathBuf::from("/no/such/file.pem")).contains("/no/such/file.pem"));
    let empty = std::env::temp_dir().join(format!("harvester-{}-empty.pem", std::process::id()));
    std::fs::write(&empty, "nothing").unwrap();
    assert!(setup(empty.clone()).contains("holds no certificate"));
    std::fs::remove_file(empty).unwrap();
}

#[tokio::test]
async fn a_client_certificate_is_shown_by_its_spider_at_its_origins_only() {
    let authority = Authority::new();
    let roots = authority.pem_file("clients");
    let both = authority.client_file("client");
    let wanting = || Ways { wants_client: true, ..Ways::default() };
    let server = serve(authority.acceptor("site.test", wanting())).await;
    let elsewhere = serve(authority.acceptor("site.test", wanting())).await;
    let fetcher = fetcher_with(|options| options.extra_roots = vec![roots.clone()]);
    let at = |host: &str| {
        let origin = CrawlUrl::parse(&format!("https://{host}:{}/", server.port())).unwrap();
        let origins = vec![origin.origin()];
        let certificate =
            ClientCertificate { certificate: both.clone(), key: both.clone(), origins };
        HttpProfile { client_certificates: vec![certificate], ..HttpProfile::default() }
    };
    fetcher.set_profile(SpiderId(2), &at("site.test")).unwrap();
    fetcher.set_profile(SpiderId(3), &at("other.test")).unwrap();
    let mut nowhere = at("site.test");
    nowhere.client_certificates[0].origins.clear();
    fetcher.set_profile(SpiderId(4), &nowhere).unwrap();
    for (spider, server, let_in) in [
        (2, server, true),
        (1, server, false),
        (3, server, false),
        (4, server, false),
        (2, elsewhere, false),
        (2, server, true),
    ] {
        let asked = FetchRequest { spider: SpiderId(spider), ..asked("site.test", server) };
        let answer = fetcher.fetch(asked).await;
        assert_eq!(answer.is_ok(), let_in, "spider {spider}, {server}: {answer:?}");
    }
    for wrong in [roots.clone(), PathBuf::from("/no/such/key.pem")] {
        let mut profile = at("site.test");
        profile.client_certificates[0].key = wrong.clone();
        let error = fetcher.set_profile(SpiderId(5), &profile).unwrap_err().to_string();
        assert!(error.contains(wrong.to_str().unwrap()), "{error}");
    }
    std::fs::remove_file(roots).unwrap();
    std::fs::remove_file(both).unwrap();
}
