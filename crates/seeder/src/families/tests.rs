//! Families are found, bounded, and worn out when they should be, and different pages make none.

use proptest::prelude::*;

use model::testing::example as url;

use super::*;

/// Far from each other: about half of the bits differ.
fn scattered(n: u64) -> u64 {
    let mut bits = n.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ (bits >> 31)
}

fn like(simhash: u64) -> Likeness {
    Likeness::new(simhash, "Title 1")
}

#[test]
fn pages_that_differ_in_a_few_bits_are_one_family_and_others_none() {
    let (mut loners, mut families) = (Loners::default(), Vec::new());
    let text = 0x0123_4567_89ab_cdef;
    assert_eq!(loners.join(&mut families, like(text), &url("/p/1")), None);
    assert_eq!(loners.join(&mut families, like(!text), &url("/about")), None);
    let first = url("/p/1").fingerprint();
    let near = [text ^ 1, text ^ 0x8000_0000_0000_0101, text ^ (0b111 << 30), text];
    for (n, simhash) in near.into_iter().enumerate() {
        let kin = loners.join(&mut families, like(simhash), &url(&format!("/p/{}", n + 2)));
        let pages = n as u32 + 2;
        assert_eq!(kin, Some(Kinship { first, pages }));
    }
    assert_eq!(loners.join(&mut families, like(text ^ 0b1111), &url("/p/9")), None, "four bits");
    let other = Likeness::new(text, "Another title");
    assert_eq!(loners.join(&mut families, other, &url("/p/10")), None);
    assert_eq!(like(1), Likeness::new(1, "Title 20"), "numbers do not count");
    assert_eq!((families.len(), families[0].pages), (1, 5));
    assert_eq!(family_of(&families, like(text ^ 2), url("/p/3").fingerprint()), Some(first));
    assert_eq!(family_of(&families, like(text), first), None, "it is the first itself");
    assert_eq!(family_of(&families, like(!text), first), None);
}

#[test]
fn a_site_of_many_pages_knows_those_from_when_it_had_few() {
    let mut generation = Generation::default();
    for n in 0..3 * FEW as u64 {
        let fp = url(&format!("/{n}")).fingerprint();
        generation.add(Loner { like: like(scattered(n)), fp });
        for earlier in 0..=n {
            let near = like(scattered(earlier) ^ 0b101);
            let found = generation.find(near).map(|loner| loner.fp);
            assert_eq!(found, Some(url(&format!("/{earlier}")).fingerprint()), "{earlier} of {n}");
        }
        assert!(generation.find(like(scattered(n + 1_000))).is_none());
    }
}

#[test]
fn nothing_grows_without_end() {
    let (mut loners, mut families) = (Loners::default(), Vec::new());
    for n in 0..20_000 {
        assert_eq!(loners.join(&mut families, like(scattered(n)), &url(&format!("/{n}"))), None);
    }
    assert!(loners.young.loners.len() + loners.old.loners.len() <= 2 * LONERS_MAX);
    for n in 0..1_000 {
        for copy in 0..if n < 10 { 3 } else { 2 } {
            let text = like(scattered(1 << 40 | n));
            loners.join(&mut families, text, &url(&format!("/{n}/{copy}/x")));
        }
    }
    assert_eq!(families.len(), FAMILIES_MAX);
    let big = families.iter().filter(|family| family.pages >= 3).count();
    assert_eq!(big, 10, "families with more pages outlast those with fewer");
}

proptest! {
    #[test]
    fn whatever_differs_in_three_bits_is_found_among_many(
        simhash in any::<u64>(),
        flips in prop::collection::vec(0u32..64, 0..=3),
        others in prop::collection::vec(any::<u64>(), 0..300),
    ) {
        let (mut loners, mut families) = (Loners::default(), Vec::new());
        loners.remember(Loner { like: like(simhash), fp: Fingerprint(1) });
        for (n, other) in others.into_iter().enumerate() {
            loners.remember(Loner { like: like(other), fp: Fingerprint(n as u64 + 2) });
        }
        let near = flips.into_iter().fold(simhash, |bits, flip| bits ^ (1 << flip));
        prop_assert!(loners.join(&mut families, like(near), &url("/x")).is_some());
    }
}
