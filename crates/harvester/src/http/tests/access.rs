//! How spiders get in: profiles of their own, credentials, SOCKS proxies, posted forms, and what of all
//! that never reaches the archive or another spider.

use std::{
    net::SocketAddr,
    sync::{Arc, Mutex},
};

use bytes::Bytes;
use model::{CrawlUrl, FailureKind, Fetch, FetchRequest, SpiderId};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt, copy_bidirectional},
    net::{TcpListener, TcpStream},
};

use super::server::*;
use crate::http::{AuthScheme, Credential, HttpFetcher, HttpProfile, NamesBy};

const OTHER: SpiderId = SpiderId(2);

fn by(spider: SpiderId, url: &str) -> FetchRequest {
    FetchRequest { spider, ..request(url, limits()) }
}

fn basic_for(url: &str) -> Credential {
    let (user, password) = ("me".to_owned(), "pw".to_owned());
    let origin = CrawlUrl::parse(url).unwrap().origin();
    Credential { origin, scheme: AuthScheme::Basic { user, password } }
}

fn line<'a>(head: &'a str, name: &str) -> Option<&'a str> {
    head.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))
}

#[tokio::test]
async fn each_spider_shows_its_own_profile_and_a_new_one_from_the_next_request_on() {
    let server = Server::always(vec![ok("x")]).await;
    let fetcher = fetcher();
    let named = |name: &str| HttpProfile { user_agent: name.to_owned(), ..HttpProfile::default() };
    fetcher.set_profile(OTHER, &named("second/1")).unwrap();
    for spider in [SpiderId(1), OTHER] {
        fetcher.fetch(by(spider, &server.url())).await.unwrap();
    }
    fetcher.set_profile(OTHER, &named("second/2")).unwrap();
    fetcher.fetch(by(OTHER, &server.url())).await.unwrap();
    fetcher.remove_profile(OTHER);
    fetcher.fetch(by(OTHER, &server.url())).await.unwrap();
    let heads = server.requests();
    let agents: Vec<&str> = heads.iter().map(|head| line(head, "User-Agent").unwrap()).collect();
    let own = HttpProfile::default().user_agent;
    assert_eq!(agents, [&own, "second/1", "second/2", &own]);
    assert_eq!(server.connections(), 1, "a name alone is no reason for another connection");
}

#[tokio::test]
async fn a_profile_that_is_wrong_leaves_the_old_one_in_force() {
    let server = Server::always(vec![ok("x")]).await;
    let fetcher = fetcher();
    let good = HttpProfile { user_agent: "good".to_owned(), ..HttpProfile::default() };
    fetcher.set_profile(OTHER, &good).unwrap();
    let mut bad = HttpProfile { user_agent: "bad".to_owned(), ..HttpProfile::default() };
    let scheme = AuthScheme::Bearer { token: "hush\r\n".to_owned() };
    bad.credentials = vec![Credential { scheme, ..basic_for(&server.url()) }];
    let error = fetcher.set_profile(OTHER, &bad).unwrap_err();
    assert!(error.to_string().contains(&server.address.to_string()), "{error}");
    assert!(!format!("{error} {error:?}").contains("hush"), "{error:?}");
    fetcher.fetch(by(OTHER, &server.url())).await.unwrap();
    assert_eq!(line(&server.requests()[0], "User-Agent"), Some("good"));
}

#[tokio::test]
async fn connections_are_never_shared_across_credentials_or_proxies() {
    let server = Server::always(vec![ok("x")]).await;
    let fetcher = fetcher();
    let profile = HttpProfile { credentials: vec![basic_for(&server.url())], ..Default::default() };
    fetcher.set_profile(OTHER, &profile).unwrap();
    fetcher.set_profile(SpiderId(3), &profile).unwrap();
    for spider in [1, 2, 1, 2, 3] {
        fetcher.fetch(by(SpiderId(spider), &server.url())).await.unwrap();
    }
    assert_eq!((server.connections(), fetcher.idle()), (2, 2), "the same way may be shared");
    fetcher.remove_profile(OTHER);
    assert_eq!(fetcher.idle(), 2, "another spider still goes that way");
    fetcher.remove_profile(SpiderId(3));
    assert_eq!(fetcher.idle(), 1);
}

#[tokio::test]
async fn credentials_go_to_their_origin_only_and_not_into_the_archive() {
    let (home, elsewhere) =
        (Server::always(vec![ok("x")]).await, Server::always(vec![ok("x")]).await);
    let bearer = AuthScheme::Bearer { token: "s3cret".to_owned() };
    let token = Credential { scheme: bearer, ..basic_for("https://far.example/") };
    let fetcher = fetcher_with(|options| {
        let key = |value: &str| {
            let (name, value) = ("X-Api-Key".to_owned(), value.to_owned());
            Credential { scheme: AuthScheme::Header { name, value }, ..basic_for(&home.url()) }
        };
        options.profile.credentials =
            vec![token, basic_for(&home.url()), key("k3y"), key("another")];
    });
    let exchange = get(&fetcher, &home.url()).await.unwrap();
    get(&fetcher, &elsewhere.url()).await.unwrap();
    let name = format!("http://localhost:{}/", home.address.port());
    let mut same_server = request(&name, limits());
    same_server.addresses = vec![home.address.ip()];
    fetcher.fetch(same_server).await.unwrap();
    assert_eq!(line(&home.requests()[0], "Authorization"), Some("Basic bWU6cHc="));
    assert_eq!(line(&home.requests()[0], "X-Api-Key"), Some("k3y"), "the first counts");
    assert_eq!(line(&home.requests()[1], "Authorization"), None, "another name, another origin");
    assert_eq!(line(&home.requests()[1], "X-Api-Key"), None);
    assert_eq!(line(&elsewhere.requests()[0], "X-Api-Key"), None);
    assert_eq!(line(&elsewhere.requests()[0], "Authorization"), None);
    let archived = String::from_utf8(exchange.request_head.to_vec()).unwrap();
    assert_eq!(line(&archived, "Authorization"), Some("[withheld]"));
    assert_eq!(line(&archived, "X-Api-Key"), Some("[withheld]"));
    assert!(archived.ends_with("\r\n\r\n") && archived.starts_with("GET /page HTTP/1.1\r\n"));
    assert!(!format!("{:?}", basic_for(&home.url())).contains("pw"));
}

#[tokio::test]
async fn cookies_of_the_user_are_sent_and_withheld_and_others_kept() {
    let server = Server::always(vec![ok("x")]).await;
    let fetcher = fetcher();
    for (withhold, archived) in [(true, "[withheld]"), (false, "id=7")] {
        let mut asked = request(&server.url(), limits());
        (asked.cookies, asked.withhold_cookies) = (Some("id=7".to_owned()), withhold);
        let head = fetcher.fetch(asked).await.unwrap().request_head;
        let head = String::from_utf8(head.to_vec()).unwrap();
        assert_eq!(line(&head, "Cookie"), Some(archived));
        assert_eq!(line(&server.requests().pop().unwrap(), "Cookie"), Some("id=7"));
    }
}

#[tokio::test]
async fn a_form_is_posted_over_a_fresh_connection_and_its_fields_are_not_kept() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/login", listener.local_addr().unwrap());
    let server = tokio::spawn(async move {
        let (mut tcp, _) = listener.accept().await.unwrap();
        let head = read_head(&mut tcp).await.unwrap();
        let mut body = [0; 10];
        tcp.read_exact(&mut body).await.unwrap();
        tcp.write_all(b"HTTP/1.1 303 Go\r\nContent-Length: 0\r\n\r\n").await.unwrap();
        (head, body)
    });
    let mut asked = request(&url, limits());
    asked.post = Some(Bytes::from_static(b"a=1&pw=xyz"));
    let exchange = fetcher().fetch(asked).await.unwrap();
    let (head, body) = server.await.unwrap();
    assert!(head.starts_with("POST /login HTTP/1.1\r\n"), "{head}");
    assert_eq!(line(&head, "Content-Type"), Some("application/x-www-form-urlencoded"));
    assert_eq!(line(&head, "Content-Length"), Some("10"));
    assert_eq!(&body, b"a=1&pw=xyz");
    assert_eq!((exchange.status, &exchange.request_head[..]), (303, head.as_bytes()));
}

/// A SOCKS proxy with a password that connects everything to one server and notes what it was asked.
async fn socks_to(server: SocketAddr) -> (SocketAddr, Arc<Mutex<Vec<Vec<u8>>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let asked: Arc<Mutex<Vec<Vec<u8>>>> = Arc::default();
    let notes = asked.clone();
    tokio::spawn(async move {
        while let Ok((mut client, _)) = listener.accept().await {
            let notes = notes.clone();
            tokio::spawn(async move {
                let mut greeting = [0; 4];
                client.read_exact(&mut greeting).await.unwrap();
                client.write_all(&[5, 2]).await.unwrap();
                let mut login = [0; 7];
                client.read_exact(&mut login).await.unwrap();
                client.write_all(&[1, 0]).await.unwrap();
                let mut request = vec![0; 512];
                let count = client.read(&mut request).await.unwrap();
                request.truncate(count);
                notes.lock().unwrap().push(request);
                let mut server = TcpStream::connect(server).await.unwrap();
                client.write_all(&[5, 0, 0, 1, 0, 0, 0, 0, 0, 0]).await.unwrap();
                let _ = copy_bidirectional(&mut client, &mut server).await;
            });
        }
    });
    (address, asked)
}

fn through(proxy: &str) -> HttpFetcher {
    fetcher_with(|options| options.profile.proxy = Some(proxy.parse().unwrap()))
}

#[tokio::test]
async fn a_socks_proxy_is_told_names_or_addresses_as_its_scheme_says() {
    let server = Server::always(vec![ok("by socks")]).await;
    let (proxy, asked) = socks_to(server.address).await;
    let names = through(&format!("socks5h://me:pw@{proxy}"));
    assert!(names.names_by(SpiderId(1)) == NamesBy::ProxyAlone);
    let exchange = get(&names, "http://far.example/a").await.unwrap();
    assert_eq!((&exchange.body[..], exchange.address), (&b"by socks"[..], None));
    assert!(server.requests()[0].starts_with("GET /a HTTP/1.1\r\nHost: far.example\r\n"));
    assert_eq!(asked.lock().unwrap()[0][3..], [&[3, 11][..], b"far.example", &[0, 80]].concat());

    let addresses = through(&format!("socks5://me:pw@{proxy}"));
    assert!(addresses.names_by(SpiderId(1)) == NamesBy::Us);
    let mut by_address = request("http://far.example:81/a", limits());
    by_address.addresses = vec!["10.0.0.1".parse().unwrap(), "127.0.0.9".parse().unwrap()];
    let exchange = addresses.fetch(by_address).await.unwrap();
    assert_eq!(exchange.address, Some("127.0.0.9".parse().unwrap()));
    assert_eq!(asked.lock().unwrap()[1][3..], [1, 127, 0, 0, 9, 0, 81]);

    let mut refused = request("http://far.example/", limits());
    refused.addresses = vec!["10.0.0.1".parse().unwrap()];
    let failure = addresses.fetch(refused).await.unwrap_err();
    assert_eq!(failure.kind, FailureKind::AddressRefused);
    let failure = get(&names, "http://10.0.0.1/").await.unwrap_err();
    assert_eq!(failure.kind, FailureKind::AddressRefused);
    assert_eq!(asked.lock().unwrap().len(), 2, "what the guard refuses never reaches the proxy");
}

#[tokio::test]
async fn a_proxy_that_is_down_or_silent_is_said_to_be_down() {
    let gone = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let silent = listener.local_addr().unwrap();
    for scheme in ["http", "socks5", "socks5h"] {
        for address in [gone, silent] {
            let fetcher = through(&format!("{scheme}://{address}"));
            let mut asked = request("https://far.example/", limits());
            asked.addresses = vec!["127.0.0.9".parse().unwrap(), "127.0.0.8".parse().unwrap()];
            let mut short = limits();
            short.connect = std::time::Duration::from_millis(100);
            asked.limits = Arc::new(short);
            let failure = fetcher.fetch(asked).await.unwrap_err();
            assert_eq!((failure.kind, failure.address), (FailureKind::Proxy, None), "{scheme}");
            assert!(failure.detail.contains("is down"), "{}", failure.detail);
        }
    }
}

#[tokio::test]
async fn what_a_proxy_says_of_the_server_is_the_servers_and_407_the_proxys() {
    for (status, kind) in [(502, FailureKind::ConnectRefused), (504, FailureKind::ConnectTimeout)] {
        let proxy = Server::always(vec![send(format!("HTTP/1.1 {status} X\r\n\r\n"))]).await;
        let fetcher = through(&format!("http://{}", proxy.address));
        let failure = get(&fetcher, "https://far.example/").await.unwrap_err();
        assert_eq!(failure.kind, kind, "{}", failure.detail);
    }
    let proxy = Server::always(vec![send("HTTP/1.1 407 Auth\r\nContent-Length: 0\r\n\r\n")]).await;
    let fetcher = through(&format!("http://{}", proxy.address));
    let failure = get(&fetcher, "http://far.example/").await.unwrap_err();
    assert_eq!(failure.kind, FailureKind::Proxy, "not a page that is gone");
    assert!(failure.detail.contains("password"), "{}", failure.detail);
    let proxy = Server::always(vec![Act::Close]).await;
    let fetcher = through(&format!("http://{}", proxy.address));
    let failure = get(&fetcher, "http://far.example/").await.unwrap_err();
    assert_eq!(failure.kind, FailureKind::Proxy, "{}", failure.detail);
}
