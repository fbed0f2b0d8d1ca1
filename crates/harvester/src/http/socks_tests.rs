//! What is promised of the SOCKS handshake, against a proxy that says exactly what a test tells it to.

use std::time::Duration;

use model::FailureKind;
use proptest::prelude::*;
use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex};

use super::{Target, connect};

const FAR: Target<'static> = Target::Name("far.example", 443);

/// Gives the client everything at once, byte by byte; returns its verdict and what it sent.
async fn talk(
    answers: &[u8],
    user: Option<(&str, &str)>,
    target: Target<'_>,
) -> (Result<(), (FailureKind, String)>, Vec<u8>, Vec<u8>) {
    let (mut client, server) = duplex(4096);
    let (mut reading, mut writing) = tokio::io::split(server);
    let answers = answers.to_vec();
    let feed = tokio::spawn(async move {
        for byte in answers {
            if writing.write_all(&[byte]).await.is_err() {
                break;
            }
            tokio::task::yield_now().await;
        }
        let _ = writing.shutdown().await;
    });
    let verdict = connect(&mut client, user, target).await;
    feed.await.unwrap();
    let mut rest = Vec::new();
    client.read_to_end(&mut rest).await.unwrap();
    drop(client);
    let mut sent = Vec::new();
    reading.read_to_end(&mut sent).await.unwrap();
    (verdict, sent, rest)
}

#[tokio::test]
async fn names_and_addresses_are_asked_for_as_the_rfc_writes_them() {
    let granted = [&[5, 0, 5, 0, 0, 1, 1, 2, 3, 4, 0, 80][..], b"server"].concat();
    let (verdict, sent, rest) = talk(&granted, None, FAR).await;
    verdict.unwrap();
    let expected = [&[5, 1, 0, 5, 1, 0, 3, 11][..], b"far.example", &[1, 187]].concat();
    assert_eq!(sent, expected);
    assert_eq!(rest, b"server", "what the server sends stays in the stream");

    let (_, sent, _) = talk(&granted, None, Target::Address("1.2.3.4:80".parse().unwrap())).await;
    assert_eq!(sent[3..], [5, 1, 0, 1, 1, 2, 3, 4, 0, 80]);
    let (_, sent, _) = talk(&granted, None, Target::Address("[::2]:80".parse().unwrap())).await;
    let six = [&[5, 1, 0, 4][..], &[0; 15], &[2, 0, 80]].concat();
    assert_eq!(sent[3..], six);
}

#[tokio::test]
async fn a_password_is_given_only_when_asked_for() {
    let granted = [5, 2, 1, 0, 5, 0, 0, 3, 2, b'a', b'b', 0, 80];
    let (verdict, sent, _) = talk(&granted, Some(("me", "pw")), FAR).await;
    verdict.unwrap();
    assert_eq!(sent[..4], [5, 2, 0, 2]);
    assert_eq!(sent[4..11], [1, 2, b'm', b'e', 2, b'p', b'w']);
    let open = [&[5, 0, 5, 0, 0, 4][..], &[0; 18]].concat();
    let (verdict, sent, _) = talk(&open, Some(("me", "pw")), FAR).await;
    verdict.unwrap();
    assert!(!sent.windows(2).any(|two| two == b"pw"));
}

#[tokio::test]
async fn each_refusal_is_blamed_on_whom_it_concerns() {
    let long = "x".repeat(256);
    let cases: [(&[u8], FailureKind, &str); 16] = [
        (&[], FailureKind::Proxy, "hung up"),
        (&[5], FailureKind::Proxy, "hung up"),
        (&[4, 0], FailureKind::Proxy, "does not speak SOCKS 5"),
        (b"HTTP/1.1 400", FailureKind::Proxy, "does not speak SOCKS 5"),
        (&[5, 0xff], FailureKind::Proxy, "wants a password"),
        (&[5, 2], FailureKind::Proxy, "not offered"),
        (&[5, 1], FailureKind::Proxy, "not offered"),
        (&[5, 0, 5, 1], FailureKind::Proxy, "without saying why"),
        (&[5, 0, 5, 2], FailureKind::Proxy, "does not allow"),
        (&[5, 0, 5, 3], FailureKind::ConnectRefused, "network unreachable"),
        (&[5, 0, 5, 4, 0, 1, 0, 0, 0, 0, 0, 0], FailureKind::ConnectRefused, "host unreachable"),
        (&[5, 0, 5, 5], FailureKind::ConnectRefused, "refused"),
        (&[5, 0, 5, 6], FailureKind::ConnectTimeout, "no answer on the way"),
        (&[5, 0, 5, 0, 0, 9], FailureKind::Proxy, "address of no kind"),
        (&[5, 0, 5, 0, 0, 3, 255, 1], FailureKind::Proxy, "hung up"),
        (&[5, 0, 5, 0, 0, 1, 1, 2], FailureKind::Proxy, "hung up"),
    ];
    for (answers, kind, words) in cases {
        let (verdict, _, _) = talk(answers, None, FAR).await;
        let (said, detail) = verdict.unwrap_err();
        assert_eq!(said, kind, "{answers:?}");
        assert!(detail.contains(words), "{answers:?}: {detail}");
    }
    let (verdict, _, _) = talk(&[5, 2, 1, 1], Some(("me", "pw")), FAR).await;
    assert!(verdict.unwrap_err().1.contains("refused the user"));
    let (verdict, _, _) = talk(&[5, 0], None, Target::Name(&long, 1)).await;
    assert!(verdict.unwrap_err().1.contains("1 to 255 bytes"));
}

#[tokio::test]
async fn a_silent_proxy_is_left_to_the_callers_time() {
    let (mut client, _server) = duplex(64);
    let asking = connect(&mut client, None, FAR);
    assert!(tokio::time::timeout(Duration::from_millis(20), asking).await.is_err());
}

proptest! {
    #[test]
    fn any_bytes_are_an_answer_or_a_failure(answers in prop::collection::vec(any::<u8>(), 0..40)) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let whole = [&[5u8, 0, 5, 0, 0][..], &answers].concat();
        for answers in [answers, whole] {
            let (verdict, ..) = runtime.block_on(talk(&answers, Some(("u", "p")), FAR));
            if let Err((kind, detail)) = verdict {
                prop_assert!(matches!(kind, FailureKind::Proxy | FailureKind::ConnectRefused
                    | FailureKind::ConnectTimeout));
                prop_assert!(detail.starts_with("the proxy "));
            }
        }
    }
}
