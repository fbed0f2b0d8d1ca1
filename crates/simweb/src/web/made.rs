//! Bodies that take long to make and are always the same, made once in a process: a server that is busy making bombs
//! would be slow for all its sites, and it is not the server that is to be measured.

use std::{
    collections::HashMap,
    sync::{LazyLock, Mutex, PoisonError},
};

use bytes::Bytes;

/// Few: one for each large hazard, and one for each host of those that name their host.
static MADE: LazyLock<Mutex<HashMap<String, Bytes>>> = LazyLock::new(Mutex::default);

/// The body of this name, which says all that it depends on.
pub(super) fn made(name: &str, make: impl FnOnce() -> Vec<u8>) -> Bytes {
    let mut made = MADE.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(body) = made.get(name) {
        return body.clone();
    }
    let body = Bytes::from(make());
    made.insert(name.to_owned(), body.clone());
    body
}
