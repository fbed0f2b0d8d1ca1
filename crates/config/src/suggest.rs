//! "Did you mean …": the known word nearest to a mistyped one.

/// The nearest of `known`, if it is near enough to be what was meant: about one slip in three letters.
pub fn nearest<'a>(typed: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let typed = typed.to_lowercase().replace('-', "_");
    known
        .into_iter()
        .map(|word| (distance(&typed, word), word))
        .min()
        .filter(|(slips, word)| *slips <= (word.chars().count() / 3).max(1))
        .map(|(_, word)| word)
}

/// Insertions, deletions, replacements and swaps of neighbours that turn one word into the other.
fn distance(a: &str, b: &str) -> usize {
    let a: Vec<char> = a.chars().take(64).collect();
    let b: Vec<char> = b.chars().take(64).collect();
    let width = b.len() + 1;
    let mut cost: Vec<usize> = (0..(a.len() + 1) * width).map(|i| i % width).collect();
    for i in 1..=a.len() {
        cost[i * width] = i;
        for j in 1..=b.len() {
            let change = usize::from(a[i - 1] != b[j - 1]);
            let mut best = (cost[(i - 1) * width + j] + 1)
                .min(cost[i * width + j - 1] + 1)
                .min(cost[(i - 1) * width + j - 1] + change);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                best = best.min(cost[(i - 2) * width + j - 2] + 1);
            }
            cost[i * width + j] = best;
        }
    }
    cost[a.len() * width + b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slips_of_the_finger_find_the_word_that_was_meant() {
        let known = ["delay", "depth", "site_pages", "pages"];
        assert_eq!(nearest("dealy", known), Some("delay"));
        assert_eq!(nearest("Site-Pages", known), Some("site_pages"));
        assert_eq!(nearest("page", known), Some("pages"));
        assert_eq!(nearest("colour", known), None);
        assert_eq!(nearest("", known), None);
    }

    #[test]
    fn a_swap_of_neighbours_is_one_slip() {
        assert_eq!(distance("abcd", "abdc"), 1);
        assert_eq!(distance("abc", ""), 3);
        assert_eq!(distance("kitten", "sitting"), 3);
    }
}
