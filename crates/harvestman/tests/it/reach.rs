//! Addresses and ports that are refused: said with how to allow them, and tried at once when that is done.

use std::{net::UdpSocket, process::Command};

use simweb::WebOptions;

use crate::{
    raw::{Raw, reply},
    world::{Done, PATIENCE, Running, World},
};

const HTML: &str = "Content-Type: text/html";
const RESOLVE: &str = "*.raw.test=127.0.0.1";

/// Not through the world's own command: that allows all of 127.0.0.0/8.
fn crawl(world: &World, seed: &str, more: &[&str]) -> Done {
    let mut command = Command::new(env!("CARGO_BIN_EXE_harvestman"));
    command.arg("-C").arg(&world.folder).args(["crawl", seed, "--delay", "0"]);
    command.args(["--resolve", RESOLVE]).args(more).current_dir(world.temp.path());
    Running::new(&mut command).wait(PATIENCE)
}

fn explained(world: &World, url: &str) -> String {
    let done = world.run(&["explain", url]);
    done.exits(0);
    done.out
}

#[test]
fn an_address_that_was_refused_is_visited_at_once_when_the_advice_is_followed() {
    let raw = Raw::pages(&[("a.raw.test/", "here")]);
    let world = World::new(WebOptions::default());
    let seed = format!("http://a.raw.test:{}/", raw.port);
    for _ in 0..2 {
        crawl(&world, &seed, &[]).exits(1).says(&[
            "nothing could be fetched",
            "refused: ",
            "failed 0",
            "--allow-address 127.0.0.1",
        ]);
    }
    assert!(raw.heard().is_empty());
    assert_eq!(world.status()["pages"]["waiting"], 0, "a decision, and nothing to wait for");
    assert!(explained(&world, &seed).contains("not crawled"));

    std::fs::write(world.folder.join("harvest.toml"), "[fetch]\nallow_address = ['127.0.0.1']\n")
        .unwrap();
    let lifted = explained(&world, &seed);
    assert!(!lifted.contains("not crawled") && !lifted.contains("refused"), "{lifted}");
    std::fs::remove_file(world.folder.join("harvest.toml")).unwrap();

    let done = crawl(&world, &seed, &["--allow-address", "127.0.0.1"]);
    done.exits(0).says(&["1 page in"]);
    assert!(!done.err.contains("refused:"), "{done}");
    assert_eq!(raw.asked().len(), 1);
    let explained = explained(&world, &seed);
    assert!(!explained.contains("allow-address"), "{explained}");
}

#[test]
fn a_server_that_could_not_be_reached_is_asked_at_once_when_the_way_to_it_is_another() {
    let raw = Raw::pages(&[("a.raw.test/", "here")]);
    let world = World::new(WebOptions::default());
    let (seed, allow) = (format!("http://a.raw.test:{}/", raw.port), "--allow-address");
    // Nobody listens on this one.
    let closed = "a.raw.test=127.0.0.7";
    let away = [allow, "127.0.0.0/8", "--resolve", closed];
    crawl(&world, &seed, &away).exits(1).says(&["nothing could be fetched"]);
    let again = crawl(&world, &seed, &away);
    again.exits(1).says(&["nothing could be fetched: 1 page waits, and the next visit is in"]);
    crawl(&world, &seed, &[allow, "127.0.0.0/8"]).exits(0).says(&["1 page in"]);
}

#[test]
fn a_redirect_to_a_refused_address_is_a_decision_and_is_not_tried_again() {
    let raw = Raw::start(|asked, stream| match asked {
        "127.0.0.1/" => reply(stream, "302 Found", "Location: http://127.0.0.2/inner", b""),
        _ => reply(stream, "404 Not Found", HTML, b"none"),
    });
    let world = World::new(WebOptions::default());
    let seed = format!("http://127.0.0.1:{}/", raw.port);
    let allow = ["--allow-address", "127.0.0.1"];
    crawl(&world, &seed, &allow).exits(0).says(&[
        "all done",
        "address 127.0.0.2, which is in 127.0.0.0/8 (Loopback), such as http://127.0.0.2/inner",
        "allow the address with --allow-address",
    ]);
    assert_eq!(world.status()["pages"]["waiting"], 0);
    let decisions = world.run(&["decisions"]);
    decisions.exits(0);
    assert!(decisions.out.contains("address 127.0.0.2"), "{decisions}");
    let mut due = world.pages_and_parts();
    due.retain(|page| page["url"] == "http://127.0.0.2/inner" && !page["due"].is_null());
    assert!(due.is_empty(), "{due:?}");
    crawl(&world, &seed, &allow).exits(0);
    let refused = world.decisions(&["--reason", "address"]);
    assert_eq!((refused.len(), &refused[0]["count"]), (1, &1.into()));
}

#[test]
fn ports_that_browsers_refuse_are_visited_only_where_they_are_allowed_by_name() {
    let raw = Raw::pages(&[("a.raw.test/", "here")]);
    let world = World::new(WebOptions::default());
    let way = format!("a.raw.test=127.0.0.1:{}", raw.port);
    let crawl = |world: &World| {
        let args = ["crawl", "http://a.raw.test:6667/", "--delay", "0", "--resolve", &way];
        world.run(&args)
    };
    crawl(&world).exits(2).says(&["port 6667, which browsers refuse", "fetch.allow_ports"]);
    assert!(raw.heard().is_empty());
    let world = world.variable("HARVESTMAN_FETCH_ALLOW_PORTS", "[\"6667\"]");
    crawl(&world).exits(0).says(&["1 page in"]);
}

#[test]
fn the_name_servers_of_the_configuration_are_asked_and_none_else() {
    let raw = Raw::pages(&[("only-there.test/", "here")]);
    let world = World::new(WebOptions::default())
        .variable("HARVESTMAN_FETCH_NAME_SERVERS", &name_server([127, 0, 0, 1]));
    let seed = format!("http://only-there.test:{}/", raw.port);
    world.run(&["crawl", &seed, "--delay", "0"]).exits(0).says(&["1 page in"]);
    assert_eq!(raw.asked().len(), 1);
}

#[test]
fn names_that_lead_to_private_addresses_do_not_go_to_a_proxy() {
    let proxy = Raw::start(|_, stream| reply(stream, "200 OK", HTML, b"inside"));
    let world = World::new(WebOptions::default())
        .variable("HARVESTMAN_FETCH_NAME_SERVERS", &name_server([10, 0, 0, 1]));
    let (seed, through) = ("http://inner.test/", format!("http://127.0.0.1:{}", proxy.port));
    let args = ["crawl", seed, "--delay", "0", "--proxy", &through];
    world.run(&args).exits(1).says(&["10.0.0.1 is in 10.0.0.0/8", "--allow-address 10.0.0.1"]);
    assert!(proxy.heard().is_empty());
    let allowed = [&args[..], &["--allow-address", "10.0.0.1"]].concat();
    world.run(&allowed).exits(0).says(&["1 page in"]);
}

/// A DNS server that knows one address for every name, as the configuration names it.
fn name_server(address: [u8; 4]) -> String {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    let at = socket.local_addr().unwrap();
    std::thread::spawn(move || {
        let mut packet = [0; 1500];
        while let Ok((length, from)) = socket.recv_from(&mut packet) {
            let _ = socket.send_to(&dns_answer(&packet[..length], address), from);
        }
    });
    format!("[\"{at}\"]")
}

/// The question with one record for A, and with none for any other type.
fn dns_answer(question: &[u8], address: [u8; 4]) -> Vec<u8> {
    let name = question[12..].iter().position(|byte| *byte == 0).unwrap();
    let end = 12 + name + 5;
    let is_a = question[end - 3] == 1;
    let mut answer = question[..end].to_vec();
    answer[2..12].copy_from_slice(&[0x81, 0x80, 0, 1, 0, u8::from(is_a), 0, 0, 0, 0]);
    if is_a {
        answer.extend([0xc0, 12, 0, 1, 0, 1, 0, 0, 1, 0, 0, 4]);
        answer.extend(address);
    }
    answer
}
