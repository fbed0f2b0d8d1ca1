//! Several ways to one goal, the next begun when the one before is slow or has failed (RFC 8305, "happy
//! eyeballs"). The first that arrives wins, the others are given up.

use std::{
    future::{Future, poll_fn},
    pin::{Pin, pin},
    task::Poll,
    time::Duration,
};

use tokio::time::{Instant, sleep_until};

/// RFC 8305 section 5: long enough for a good address to answer, short enough not to be felt.
const HEAD_START: Duration = Duration::from_millis(250);

/// `None` without attempts; when all fail, the failure that came last.
pub async fn race<T, E, F>(attempts: Vec<F>) -> Option<Result<T, E>>
where
    F: Future<Output = Result<T, E>>,
{
    let mut waiting = attempts.into_iter();
    let mut running: Vec<Pin<Box<F>>> = Vec::new();
    let mut failure = None;
    let mut next = pin!(sleep_until(Instant::now()));
    poll_fn(|cx| {
        loop {
            let mut failed = false;
            let mut place = 0;
            while let Some(attempt) = running.get_mut(place) {
                match attempt.as_mut().poll(cx) {
                    Poll::Ready(Ok(arrived)) => return Poll::Ready(Some(Ok(arrived))),
                    Poll::Ready(Err(reason)) => {
                        (failure, failed) = (Some(reason), true);
                        drop(running.swap_remove(place));
                    }
                    Poll::Pending => place += 1,
                }
            }
            if !failed && next.as_mut().poll(cx).is_pending() {
                return Poll::Pending;
            }
            match waiting.next() {
                Some(attempt) => {
                    running.push(Box::pin(attempt));
                    next.as_mut().reset(Instant::now() + HEAD_START);
                }
                None if running.is_empty() => return Poll::Ready(failure.take().map(Err)),
                None => return Poll::Pending,
            }
        }
    })
    .await
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ends after so many milliseconds.
    async fn attempt(after: u64, outcome: Result<u32, u32>) -> Result<u32, u32> {
        tokio::time::sleep(Duration::from_millis(after)).await;
        outcome
    }

    async fn check(attempts: &[(u64, Result<u32, u32>)], expected: Result<u32, u32>) {
        let began = Instant::now();
        let attempts = attempts.iter().map(|(after, outcome)| attempt(*after, *outcome)).collect();
        assert_eq!(race(attempts).await, Some(expected));
        assert!(began.elapsed() < Duration::from_secs(30), "a dead way is not waited for");
    }

    #[tokio::test]
    async fn the_first_to_arrive_wins_and_a_dead_way_is_not_waited_for() {
        check(&[(60_000, Err(1)), (10, Ok(2))], Ok(2)).await;
        check(&[(5, Err(1)), (10, Ok(2))], Ok(2)).await;
        check(&[(30, Ok(1)), (10, Ok(2))], Ok(1)).await;
        check(&[(20, Err(1)), (10, Err(2))], Err(2)).await;
        assert_eq!(race(Vec::<std::future::Ready<Result<(), ()>>>::new()).await, None);
    }
}
