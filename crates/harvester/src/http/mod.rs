//! Fetching over HTTP/1.1: names, addresses, connections, bodies.
