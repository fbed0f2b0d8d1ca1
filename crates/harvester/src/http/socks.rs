//! The client's side of SOCKS 5 (RFC 1928), with user and password (RFC 1929).
//!
//! Every answer is read to its exact length, so that not a byte of what the server behind it sends is
//! lost; none is longer than 262 bytes. What the proxy says of itself is a failure of the proxy, what it
//! says of the server ("unreachable", "refused") is one of the server.

use std::net::{IpAddr, SocketAddr};

use model::FailureKind;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

const VERSION: u8 = 5;
const NO_AUTHENTICATION: u8 = 0;
const USER_AND_PASSWORD: u8 = 2;
const CONNECT: u8 = 1;

/// Where the proxy shall connect to.
#[derive(Clone, Copy, Debug)]
pub enum Target<'a> {
    /// A name, for the proxy to resolve.
    Name(&'a str, u16),
    Address(SocketAddr),
}

/// Whose failure it is, and in words.
pub type Refused = (FailureKind, String);

/// Asks for a connection to `target`; afterwards the stream is the server's. Whoever calls it sets the
/// time it may take.
pub async fn connect<S>(
    stream: &mut S,
    user: Option<(&str, &str)>,
    target: Target<'_>,
) -> Result<(), Refused>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let methods: &[u8] = match user {
        Some(_) => &[NO_AUTHENTICATION, USER_AND_PASSWORD],
        None => &[NO_AUTHENTICATION],
    };
    let mut greeting = vec![VERSION, methods.len() as u8];
    greeting.extend_from_slice(methods);
    send(stream, &greeting).await?;
    let [version, method] = receive(stream).await?;
    if version != VERSION {
        return Err(proxys("does not speak SOCKS 5"));
    }
    match (method, user) {
        (NO_AUTHENTICATION, _) => {}
        (USER_AND_PASSWORD, Some((user, password))) => log_in(stream, user, password).await?,
        (0xff, None) => {
            return Err(proxys("wants a password; write socks5://user:password@host:port"));
        }
        (0xff, Some(_)) => return Err(proxys("takes no password")),
        _ => return Err(proxys("chose a method it was not offered")),
    }
    send(stream, &request(target)?).await?;
    answered(stream).await
}

async fn log_in<S>(stream: &mut S, user: &str, password: &str) -> Result<(), Refused>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let mut message = vec![1];
    for text in [user, password] {
        message.push(length(text)?);
        message.extend_from_slice(text.as_bytes());
    }
    send(stream, &message).await?;
    match receive(stream).await? {
        [_, 0] => Ok(()),
        _ => Err(proxys("refused the user or the password")),
    }
}

fn request(target: Target<'_>) -> Result<Vec<u8>, Refused> {
    let mut message = vec![VERSION, CONNECT, 0];
    let port = match target {
        Target::Name(name, port) => {
            message.extend_from_slice(&[3, length(name)?]);
            message.extend_from_slice(name.as_bytes());
            port
        }
        Target::Address(to) => {
            match to.ip() {
                IpAddr::V4(v4) => {
                    message.push(1);
                    message.extend_from_slice(&v4.octets());
                }
                IpAddr::V6(v6) => {
                    message.push(4);
                    message.extend_from_slice(&v6.octets());
                }
            }
            to.port()
        }
    };
    message.extend_from_slice(&port.to_be_bytes());
    Ok(message)
}

/// The verdict comes before the address: a proxy that refuses may hang up behind it.
async fn answered<S>(stream: &mut S) -> Result<(), Refused>
where
    S: AsyncRead + Unpin,
{
    let [version, verdict] = receive(stream).await?;
    if version != VERSION {
        return Err(proxys("does not speak SOCKS 5"));
    }
    if verdict != 0 {
        return Err(refusal(verdict));
    }
    let [_, kind] = receive(stream).await?;
    match kind {
        1 => drop(receive::<6, S>(stream).await?),
        4 => drop(receive::<18, S>(stream).await?),
        3 => {
            let [length] = receive(stream).await?;
            let mut rest = vec![0; usize::from(length) + 2];
            stream.read_exact(&mut rest).await.map_err(broken)?;
        }
        _ => return Err(proxys("answered with an address of no kind")),
    }
    Ok(())
}

fn refusal(verdict: u8) -> Refused {
    let server = |text: &str| format!("the proxy cannot reach the server: {text}");
    match verdict {
        2 => proxys("does not allow this connection"),
        3 => (FailureKind::ConnectRefused, server("network unreachable")),
        4 => (FailureKind::ConnectRefused, server("host unreachable")),
        5 => (FailureKind::ConnectRefused, server("connection refused")),
        6 => (FailureKind::ConnectTimeout, server("no answer on the way")),
        7 => proxys("does not know the command CONNECT"),
        8 => proxys("does not know this kind of address"),
        other => proxys(&format!("failed without saying why (code {other})")),
    }
}

async fn send<S: AsyncWrite + Unpin>(stream: &mut S, message: &[u8]) -> Result<(), Refused> {
    stream.write_all(message).await.map_err(broken)
}

async fn receive<const N: usize, S>(stream: &mut S) -> Result<[u8; N], Refused>
where
    S: AsyncRead + Unpin,
{
    let mut bytes = [0; N];
    stream.read_exact(&mut bytes).await.map_err(broken)?;
    Ok(bytes)
}

/// RFC 1928 and 1929 count in one byte, and nothing may be empty.
fn length(text: &str) -> Result<u8, Refused> {
    u8::try_from(text.len())
        .ok()
        .filter(|length| *length > 0)
        .ok_or_else(|| proxys("takes names and passwords of 1 to 255 bytes only"))
}

fn broken(error: std::io::Error) -> Refused {
    match error.kind() {
        std::io::ErrorKind::UnexpectedEof => proxys("hung up before it answered"),
        _ => proxys(&format!("broke the connection: {error}")),
    }
}

fn proxys(what: &str) -> Refused {
    (FailureKind::Proxy, format!("the proxy {what}"))
}

#[cfg(test)]
#[path = "socks_tests.rs"]
mod tests;
