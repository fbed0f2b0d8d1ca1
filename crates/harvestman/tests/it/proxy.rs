//! A proxy: everything goes through it, names included.

use std::{
    io::{Read, Write},
    net::{TcpListener, TcpStream},
};

use serde_json::Value;
use simweb::WebOptions;

use crate::{
    raw::{Raw, reply},
    world::World,
};

#[test]
fn with_a_proxy_every_request_goes_to_it_and_no_name_is_looked_up() {
    // The name does not exist: only the proxy can know where it leads.
    let proxy = Raw::start(|place, stream| match place {
        "nowhere.invalidhttp://nowhere.invalid/" => {
            reply(stream, "200 OK", "Content-Type: text/html", b"<a href='/2'>2</a>");
        }
        "nowhere.invalidhttp://nowhere.invalid/2" => {
            reply(stream, "200 OK", "Content-Type: text/html", b"two");
        }
        _ => reply(stream, "404 Not Found", "Content-Type: text/html", b"none"),
    });
    let world = World::new(WebOptions::default());
    let through = format!("http://127.0.0.1:{}", proxy.port);
    let args = ["crawl", "http://nowhere.invalid/", "--delay", "0", "--proxy", &through];
    world.run(&args).exits(0);
    let asked = proxy.asked();
    let wanted = ["http://nowhere.invalid/", "http://nowhere.invalid/2"];
    assert_eq!(asked, wanted.map(|url| format!("nowhere.invalid{url}")));
    assert_eq!(world.status()["pages"]["fetched"], 2);
}

#[track_caller]
fn nobody_is_blamed(world: &World) {
    let pages = world.pages_and_parts();
    let waits = |page: &Value| page["failures"] == 0 && !page["due"].is_null();
    assert!(!pages.is_empty() && pages.iter().all(waits), "no page is to blame: {pages:?}");
    let sites = world.sites(&[]);
    assert!(sites.iter().all(|site| site["backoff"] == 0), "nor is a site: {sites:?}");
}

#[test]
fn a_proxy_that_is_not_there_is_told_as_such() {
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let world = World::new(WebOptions::default());
    let through = format!("http://127.0.0.1:{port}");
    let done = world.run(&["crawl", "http://s0.sim.test/", "--delay", "0", "--proxy", &through]);
    let down = format!("the proxy http://127.0.0.1:{port} is down");
    done.exits(1).says(&["nothing could be fetched", &down]);
    assert_eq!(world.log(), [], "nobody is asked past the proxy");
    nobody_is_blamed(&world);
    assert_eq!(world.visits_total(), 0, "there was no visit");
}

#[test]
fn a_proxy_that_goes_down_leaves_pages_as_they_were_and_is_told_as_such() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    // It answers robots.txt, and is gone when the page is asked for.
    std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        drop(listener);
        std::io::Read::read(&mut stream, &mut [0; 4_096]).unwrap();
        reply(&mut stream, "404 Not Found", "Content-Type: text/plain", b"none");
    });
    let world = World::new(WebOptions::default());
    let through = format!("http://127.0.0.1:{port}");
    let done = world.run(&["crawl", "http://s0.sim.test/", "--delay", "0", "--proxy", &through]);
    done.exits(1).says(&["nothing could be fetched", "is down"]);
    nobody_is_blamed(&world);
}

#[test]
fn a_proxy_that_goes_down_blames_neither_page_nor_site() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let through = format!("http://{}", listener.local_addr().unwrap());
    // robots.txt and the first page come through, then nobody listens any more.
    let proxy = std::thread::spawn(move || {
        for body in ["", "<a href='/2'>2</a>"] {
            let (mut stream, _) = listener.accept().unwrap();
            let _ = stream.read(&mut [0; 4096]).unwrap();
            reply(&mut stream, "200 OK", "Content-Type: text/html", body.as_bytes());
        }
    });
    let world = World::new(WebOptions::default());
    world.run(&["crawl", "http://nowhere.invalid/", "--delay", "0", "--proxy", &through]).exits(0);
    proxy.join().unwrap();
    let status = world.status();
    assert_eq!(status["pages"]["fetched"], 1, "{status}");
    let page = world.page("http://nowhere.invalid/2");
    assert_eq!((&page["state"], &page["failures"]), (&"known".into(), &0.into()), "not failing");
}

#[test]
fn a_socks_proxy_is_told_names_and_carries_the_crawl() {
    let site =
        Raw::pages(&[("nowhere.invalid/", "<a href='/2'>2</a>"), ("nowhere.invalid/2", "two")]);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let through = format!("socks5h://{}", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for client in listener.incoming().map_while(Result::ok) {
            std::thread::spawn(move || socks(client, site.port));
        }
    });
    let world = World::new(WebOptions::default());
    world.run(&["crawl", "http://nowhere.invalid/", "--delay", "0", "--proxy", &through]).exits(0);
    assert_eq!(world.status()["pages"]["fetched"], 2);
}

/// Takes everybody, checks that a name was given, and carries one exchange.
fn socks(mut client: TcpStream, port: u16) {
    let (mut greeting, mut request) = ([0; 3], [0; 22]);
    client.read_exact(&mut greeting).unwrap();
    client.write_all(&[5, 0]).unwrap();
    client.read_exact(&mut request).unwrap();
    assert_eq!(&request[..], [&[5, 1, 0, 3, 15][..], b"nowhere.invalid", &[0, 80]].concat());
    let mut server = TcpStream::connect(("127.0.0.1", port)).unwrap();
    client.write_all(&[5, 0, 0, 1, 0, 0, 0, 0, 0, 0]).unwrap();
    let (mut up, mut down) = (client.try_clone().unwrap(), server.try_clone().unwrap());
    std::thread::spawn(move || std::io::copy(&mut up, &mut server));
    let _ = std::io::copy(&mut down, &mut client);
    let _ = client.shutdown(std::net::Shutdown::Both);
}
