//! A proxy: everything goes through it, names included.

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

#[test]
fn a_proxy_that_is_not_there_is_told_as_such() {
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let world = World::new(WebOptions::default());
    let through = format!("http://127.0.0.1:{port}");
    let done = world.run(&["crawl", "http://s0.sim.test/", "--delay", "0", "--proxy", &through]);
    done.exits(1).says(&["nothing could be fetched", "proxy"]);
    assert_eq!(world.log(), [], "nobody is asked past the proxy");
}
