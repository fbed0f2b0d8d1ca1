//! A second opinion on robots.txt: RFC 9309 in a few lines, written apart from the crawler's own reading
//! so that one mistake cannot hide in both.

/// The rules of a file for one agent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rules(Vec<(bool, String)>);

impl Rules {
    /// `agent` is a whole User-Agent field; its product name counts.
    pub fn parse(text: &str, agent: &str) -> Rules {
        let product: String = agent
            .chars()
            .take_while(|c| c.is_ascii_alphabetic() || matches!(c, '-' | '_'))
            .collect::<String>()
            .to_ascii_lowercase();
        let groups = groups(text);
        let of = |wanted: &dyn Fn(&str) -> bool| -> Option<Vec<(bool, String)>> {
            let mine: Vec<_> =
                groups.iter().filter(|group| group.agents.iter().any(|a| wanted(a))).collect();
            let rules = mine.iter().flat_map(|group| group.rules.iter().cloned()).collect();
            (!mine.is_empty()).then_some(rules)
        };
        let named = of(&|name| !product.is_empty() && name == product);
        Rules(named.or_else(|| of(&|name| name == "*")).unwrap_or_default())
    }

    /// The longest matching rule decides, `Allow` between equals. `/robots.txt` is always allowed.
    pub fn allows(&self, target: &str) -> bool {
        if target == "/robots.txt" {
            return true;
        }
        let target = &plain_letters(target);
        let matching = self.0.iter().filter(|(_, pattern)| matches(pattern, target));
        matching.max_by_key(|(allow, pattern)| (pattern.len(), *allow)).is_none_or(|rule| rule.0)
    }
}

/// Escapes of letters and digits mean the letters and digits (RFC 9309, 2.2.2).
fn plain_letters(target: &str) -> String {
    let mut parts = target.split('%');
    let mut plain = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let octet = part.get(..2).and_then(|digits| u8::from_str_radix(digits, 16).ok());
        match octet.filter(u8::is_ascii_alphanumeric) {
            Some(octet) => plain.extend([char::from(octet)].into_iter().chain(part[2..].chars())),
            None => plain.extend(["%", part]),
        }
    }
    plain
}

#[derive(Default)]
struct Group {
    agents: Vec<String>,
    rules: Vec<(bool, String)>,
}

fn groups(text: &str) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    let mut naming = false;
    for line in text.lines() {
        let line = line.split('#').next().unwrap_or_default();
        let Some((field, value)) = line.split_once(':') else { continue };
        let value = value.trim();
        match field.trim().to_ascii_lowercase().as_str() {
            "user-agent" => {
                if !naming {
                    groups.push(Group::default());
                }
                naming = true;
                if let Some(group) = groups.last_mut() {
                    group.agents.push(value.to_ascii_lowercase());
                }
            }
            field @ ("allow" | "disallow") => {
                naming = false;
                if let Some(group) = groups.last_mut().filter(|_| !value.is_empty()) {
                    group.rules.push((field == "allow", value.to_owned()));
                }
            }
            _ => {}
        }
    }
    groups
}

/// `*` stands for anything, `$` at the end for the end.
fn matches(pattern: &str, target: &str) -> bool {
    let (pattern, to_the_end) = match pattern.strip_suffix('$') {
        Some(pattern) => (pattern, true),
        None => (pattern, false),
    };
    let mut parts = pattern.split('*');
    let Some(mut rest) = parts.next().and_then(|start| target.strip_prefix(start)) else {
        return false;
    };
    let mut last = None;
    for part in parts {
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
        last = Some(part);
    }
    match last {
        _ if !to_the_end => true,
        // The last part may also occur at the very end.
        Some(part) => target.ends_with(part),
        None => rest.is_empty(),
    }
}

#[cfg(test)]
mod tests {
    use super::Rules;

    #[test]
    fn the_longest_rule_of_the_agents_own_group_decides() {
        let text = "User-agent: *\nDisallow: /\n\nUser-agent: Crawly\nDisallow: /a\nAllow: /a/b\n\
                    Disallow: /*.gif$\nDisallow: /x*y*z\n";
        let rules = Rules::parse(text, "Crawly/1.0 (+http://c.test)");
        let check = |target, allowed| assert_eq!(rules.allows(target), allowed, "{target}");
        check("/", true);
        check("/a", false);
        check("/a/b/c", true);
        check("/p/q.gif", false);
        check("/p/q.gif?x", true);
        check("/x1y2z3", false);
        check("/x1z2y3", true);
        assert!(!Rules::parse(text, "Other/2").allows("/anything"));
        assert!(Rules::parse(text, "Other/2").allows("/robots.txt"));
    }

    #[test]
    fn an_empty_disallow_allows_all() {
        assert!(Rules::parse("User-agent: *\nDisallow:\n", "c").allows("/a"));
        assert!(Rules::parse("", "c").allows("/a"));
    }
}
