//! The gate: what it refuses is excluded without a request, from the moment it refuses.

use std::{
    net::IpAddr,
    sync::{Arc, Mutex},
};

use model::{CrawlUrl, Gate, Refusal, Resolution, SiteKey, Spent};

use super::{
    Excluded, Options, Step, Workbench,
    tests::{START, address, answer, at, lease, page, rules},
};

/// Refuses URLs that contain a text, or an address.
#[derive(Debug, Default)]
struct Shut {
    text: Mutex<Option<&'static str>>,
    address: Mutex<Option<IpAddr>>,
}

impl Gate for Shut {
    fn refuses_url(&self, url: &CrawlUrl) -> Option<Refusal> {
        let text = (*self.text.lock().unwrap())?;
        url.as_str().contains(text).then(|| Refusal::blocked(text))
    }

    fn refuses_address(&self, address: IpAddr) -> Option<Refusal> {
        let shut = *self.address.lock().unwrap();
        (shut == Some(address)).then(|| Refusal::blocked(&address.to_string()))
    }
}

fn bench(robots: bool) -> (Workbench, Arc<Shut>) {
    let gate = Arc::new(Shut::default());
    let mut bench = Workbench::new(Options::default(), Spent::default()).with_gate(gate.clone());
    let pages = ["/a", "/b", "/c"].map(|path| page(&format!("http://x.example{path}"), 0));
    let copies = robots.then(|| rules("http://x.example", "")).into_iter().collect();
    bench.add(lease("x.example", pages.to_vec(), copies), START);
    (bench, gate)
}

fn resolve(bench: &mut Workbench, site: &SiteKey, addresses: Vec<IpAddr>) {
    bench.resolved(site, Ok(Resolution { addresses, expires: at(1_000_000_000) }), START);
}

fn excluded(step: Step) -> Excluded {
    match step {
        Step::Exclude(excluded) => *excluded,
        step => panic!("not excluded but {step:?}"),
    }
}

#[test]
fn neither_name_nor_robots_is_asked_for_a_host_that_is_refused() {
    let (mut bench, gate) = bench(false);
    *gate.text.lock().unwrap() = Some("x.example");
    for _ in 0..3 {
        assert_eq!(excluded(bench.acquire(START)).refusal.rule, "block: x.example");
    }
    assert!(matches!(bench.acquire(START), Step::Idle));
}

#[test]
fn without_a_robots_txt_that_may_be_asked_for_no_page_is_visited() {
    let (mut bench, gate) = bench(false);
    *gate.text.lock().unwrap() = Some("/robots.txt");
    assert_eq!(excluded(bench.acquire(START)).refusal.rule, "block: /robots.txt");
}

#[test]
fn pages_that_wait_are_excluded_when_the_gate_shuts_and_none_before() {
    let (mut bench, gate) = bench(true);
    let Step::Resolve(site) = bench.acquire(START) else { panic!("no name asked for") };
    resolve(&mut bench, &site, vec![address(1)]);
    let Step::Visit(first) = bench.acquire(START) else { panic!("no visit") };
    let exchange = answer(&first, 200, START);
    bench.release(first.id, Ok(&exchange), START);
    bench.gathered(&first.site.key, first.url.fingerprint(), START);
    *gate.text.lock().unwrap() = Some("x.example");
    let later = at(3_600_000);
    assert_eq!(excluded(bench.acquire(later)).page.level, 0);
    excluded(bench.acquire(later));
    assert!(matches!(bench.acquire(later), Step::Idle));
}

#[test]
fn a_host_is_left_alone_only_when_all_its_addresses_are_refused() {
    for (addresses, alone) in [(vec![address(1)], true), (vec![address(1), address(2)], false)] {
        let (mut bench, gate) = bench(false);
        *gate.address.lock().unwrap() = Some(address(1));
        let Step::Resolve(site) = bench.acquire(START) else { panic!("no name asked for") };
        resolve(&mut bench, &site, addresses.clone());
        let step = bench.acquire(START);
        assert_eq!(matches!(step, Step::Exclude(_)), alone, "{addresses:?}: {step:?}");
    }
}
