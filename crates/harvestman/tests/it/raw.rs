//! A server of a few lines for answers that the simulated web does not give: one closure says it all.

use std::{
    collections::BTreeMap,
    io::{BufRead, BufReader, Read, Write},
    net::{TcpListener, TcpStream},
    sync::{Arc, Mutex},
    time::Instant,
};

/// Lives as long as the test process; each connection has a thread and serves one request.
pub struct Raw {
    pub port: u16,
    asked: Arc<Mutex<Vec<Asked>>>,
}

/// One request, as it came.
#[derive(Clone, Debug)]
pub struct Asked {
    pub at: Instant,
    pub method: String,
    /// `host/path`, the host without its port.
    pub place: String,
    pub head: Vec<String>,
    pub body: String,
}

impl Asked {
    pub fn header(&self, wanted: &str) -> Option<&str> {
        self.head.iter().find_map(|line| {
            let (name, value) = line.split_once(':')?;
            name.eq_ignore_ascii_case(wanted).then(|| value.trim())
        })
    }
}

impl Raw {
    /// `answer` is given `host/path` (the host without its port) and the stream to write to.
    pub fn start(answer: impl Fn(&str, &mut TcpStream) + Send + Sync + 'static) -> Raw {
        Raw::hearing(move |asked, stream| answer(&asked.place, stream))
    }

    /// `answer` is given the whole request.
    pub fn hearing(answer: impl Fn(&Asked, &mut TcpStream) + Send + Sync + 'static) -> Raw {
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
        let mut asked: Vec<String> = self.heard().into_iter().map(|asked| asked.place).collect();
        asked.retain(|place| !place.ends_with("/robots.txt"));
        asked.sort();
        asked
    }

    /// Every request, in the order they came.
    pub fn heard(&self) -> Vec<Asked> {
        self.asked.lock().unwrap().clone()
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
    answer: &(impl Fn(&Asked, &mut TcpStream) + ?Sized),
    noted: &Mutex<Vec<Asked>>,
) {
    let Some(asked) = read_request(&stream) else { return };
    noted.lock().unwrap().push(asked.clone());
    answer(&asked, &mut stream);
}

fn read_request(stream: &TcpStream) -> Option<Asked> {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let lines = reader.by_ref().lines();
    let head: Vec<String> =
        lines.map_while(Result::ok).take_while(|line| !line.is_empty()).collect();
    let mut words = head.first()?.split(' ').map(str::to_owned);
    let (method, target) = (words.next()?, words.next()?);
    let mut asked =
        Asked { at: Instant::now(), method, place: String::new(), head, body: String::new() };
    let host = asked.header("host").and_then(|host| host.split(':').next());
    asked.place = format!("{}{target}", host.unwrap_or_default());
    let length = asked.header("content-length").and_then(|length| length.parse().ok());
    let mut body = vec![0; length.unwrap_or(0)];
    reader.read_exact(&mut body).ok()?;
    asked.body = String::from_utf8_lossy(&body).into_owned();
    Some(asked)
}
