//! Ports that no web server is asked on: those of other protocols, which a crafted URL could make the crawler speak to.

/// The "bad ports" of the Fetch standard (<https://fetch.spec.whatwg.org/#port-blocking>), in order.
const BAD_PORTS: [u16; 83] = [
    0, 1, 7, 9, 11, 13, 15, 17, 19, 20, 21, 22, 23, 25, 37, 42, 43, 53, 69, 77, 79, 87, 95, 101,
    102, 103, 104, 109, 110, 111, 113, 115, 117, 119, 123, 135, 137, 139, 143, 161, 179, 389, 427,
    465, 512, 513, 514, 515, 526, 530, 531, 532, 540, 548, 554, 556, 563, 587, 601, 636, 989, 990,
    993, 995, 1719, 1720, 1723, 2049, 3659, 4045, 4190, 5060, 5061, 6000, 6566, 6665, 6666, 6667,
    6668, 6669, 6679, 6697, 10080,
];

/// Whether browsers refuse the port.
pub fn is_bad_port(port: u16) -> bool {
    BAD_PORTS.binary_search(&port).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mail_and_chat_are_bad_and_the_webs_own_ports_are_not() {
        assert!(BAD_PORTS.is_sorted());
        assert!([0, 22, 25, 6667, 10080].into_iter().all(is_bad_port));
        assert!(![80, 443, 3000, 8000, 8080, 8443].into_iter().any(is_bad_port));
    }
}
