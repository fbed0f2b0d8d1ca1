//! A server of a few lines for answers that the simulated web does not give: one closure says it all.

use std::{
    collections::BTreeMap,
    io::{BufRead, BufReader, Write},
    net::{TcpListener, TcpStream},
    sync::{Arc, Mutex},
};

/// Lives as long as the test process; each connection has a thread and serves one request.
pub struct Raw {
    pub port: u16,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Raw {
    /// `answer` is given `host/path` (the host without its port) and the stream to write to.
    pub fn start(answer: impl Fn(&str, &mut TcpStream) + Send + Sync + 'static) -> Raw {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let asked = Arc::new(Mutex::new(Vec::new()));
        let (answer, noted) = (Arc::new(answer), Arc::clone(&asked));
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let (answer, noted) = (Arc::clone(&answer), Arc::clone(&noted));
                std::thread::spawn(move || serve(stream, &*answer, &noted));
            }
        });
        Raw { port, asked }
    }

    /// Fixed HTML bodies by `host/path`; everything else is 404.
    pub fn pages(pages: &[(&str, &str)]) -> Raw {
        let owned = |(place, body): &(&str, &str)| ((*place).to_owned(), (*body).to_owned());
        let pages: BTreeMap<String, String> = pages.iter().map(owned).collect();
        Raw::start(move |place, stream| match pages.get(place) {
            Some(body) => reply(stream, "200 OK", "Content-Type: text/html", body.as_bytes()),
            None => reply(stream, "404 Not Found", "Content-Type: text/html", b"none"),
        })
    }

    /// What was asked for, robots.txt left out, in order of place.
    pub fn asked(&self) -> Vec<String> {
        let mut asked = self.asked.lock().unwrap().clone();
        asked.retain(|place| !place.ends_with("/robots.txt"));
        asked.sort();
        asked
    }
}

/// A whole answer after which the connection ends; `fields` are header lines joined by `\r\n`.
pub fn reply(stream: &mut TcpStream, status: &str, fields: &str, body: &[u8]) {
    let head = format!(
        "HTTP/1.1 {status}\r\n{fields}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        body.len()
    );
    // A client that has gone is the client's affair.
    let _ = stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(body));
}

fn serve(
    mut stream: TcpStream,
    answer: &(impl Fn(&str, &mut TcpStream) + ?Sized),
    asked: &Mutex<Vec<String>>,
) {
    let lines = BufReader::new(stream.try_clone().unwrap()).lines();
    let head: Vec<String> =
        lines.map_while(Result::ok).take_while(|line| !line.is_empty()).collect();
    let Some(target) = head.first().and_then(|line| line.split(' ').nth(1)) else { return };
    let host = head.iter().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("host")
            .then(|| value.trim().split(':').next().unwrap_or_default())
    });
    let place = format!("{}{target}", host.unwrap_or_default());
    asked.lock().unwrap().push(place.clone());
    answer(&place, &mut stream);
}
