//! Connections that are kept between requests, and servers that close them, by what the server saw.

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::{TcpListener, TcpStream},
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use serde_json::Value;
use simweb::WebOptions;

use crate::{ask::strings, world::World};

/// What sockets and schedulers of a busy machine may take from a delay.
const SLACK: Duration = Duration::from_millis(400);

/// Answers the first request of every connection, keeps the connection, and closes it when it has read a second.
struct Fickle {
    port: u16,
    seen: Arc<Mutex<Vec<(Instant, String)>>>,
}

impl Fickle {
    fn start() -> Fickle {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let seen = Arc::new(Mutex::new(Vec::new()));
        let noted = Arc::clone(&seen);
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let noted = Arc::clone(&noted);
                std::thread::spawn(move || serve(stream, &noted));
            }
        });
        Fickle { port, seen }
    }

    fn seen(&self) -> Vec<(Instant, String)> {
        self.seen.lock().unwrap().clone()
    }
}

fn serve(mut stream: TcpStream, noted: &Mutex<Vec<(Instant, String)>>) {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    for number in 0..2 {
        let mut head = Vec::new();
        for line in reader.by_ref().lines().map_while(Result::ok) {
            if line.is_empty() {
                break;
            }
            head.push(line);
        }
        let Some(path) = head.first().and_then(|line| line.split(' ').nth(1)) else { return };
        noted.lock().unwrap().push((Instant::now(), path.to_owned()));
        if number == 0 {
            let (status, body) = match path {
                "/" => ("200 OK", "<a href='/a'>a</a> <a href='/b'>b</a>"),
                "/a" | "/b" => ("200 OK", "words of this page alone"),
                _ => ("404 Not Found", "none"),
            };
            let head = format!(
                "HTTP/1.1 {status}\r\nContent-Type: text/html\r\nContent-Length: {}\r\n\r\n{body}",
                body.len()
            );
            let _ = stream.write_all(head.as_bytes());
        }
    }
}

#[test]
fn a_request_lost_with_a_kept_connection_is_repeated_after_the_delay_and_stands_in_the_history() {
    let server = Fickle::start();
    let world = World::new(WebOptions::default());
    let seed = format!("http://127.0.0.1:{}/", server.port);
    let delay = Duration::from_millis(900);
    world.run(&["crawl", &seed, "--delay", "900ms"]).exits(0);
    let seen = server.seen();
    let gaps: Vec<Duration> = seen.windows(2).map(|pair| pair[1].0 - pair[0].0).collect();
    assert!(gaps.iter().all(|gap| *gap + SLACK >= delay), "{gaps:?} {seen:?}");
    let asked = |path: &str| seen.iter().filter(|(_, seen)| seen == path).count();
    assert_eq!((asked("/"), asked("/a"), asked("/b")), (2, 1, 1), "{seen:?}");
    assert_eq!(world.visits_total(), 4, "each request is a visit");
    let pages = world.pages(&["--state", "fetched"]);
    assert_eq!(pages.iter().filter(|page| page["failures"] == 0).count(), 3);
    let runs: Vec<Value> =
        strings(&pages, "url").iter().flat_map(|url| world.history(url)).collect();
    assert_eq!(runs.iter().filter(|run| run["failure"] == "stale-connection").count(), 1);
    assert!(world.sites(&[]).iter().all(|site| site["backoff"] == 0), "nobody is blamed");
}
