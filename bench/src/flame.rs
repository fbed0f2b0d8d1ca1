//! A flame graph of what `perf script` prints: who called whom, and how much of the time each took, as one SVG without
//! scripts. A box is as wide as its part of the samples; below each lies its caller.

use std::{collections::BTreeMap, fmt::Write};

const WIDTH: f64 = 1_600.0;
const ROW: f64 = 16.0;
const HEAD: f64 = 40.0;
/// Narrower boxes are left out: they cannot be read and make most of the file.
const NARROWEST: f64 = 0.8;
/// Of a letter in a box; the font has letters of one width.
const LETTER: f64 = 6.6;
/// What perf cannot name.
const UNKNOWN: &str = "[unknown]";
/// Of the name that shows when a box is pointed at.
const NAME_MAX: usize = 160;

/// A function as called from those below it.
#[derive(Debug, Default)]
pub struct Frame {
    samples: u64,
    calls: BTreeMap<String, Frame>,
}

impl Frame {
    /// Reads `perf script -F comm,tid,ip,sym`: a line for the thread, then a line a function, the innermost first,
    /// then an empty line.
    pub fn read(script: &str) -> Frame {
        let mut all = Frame::default();
        for sample in script.split("\n\n") {
            let mut lines = sample.lines().filter(|line| !line.trim().is_empty());
            let Some(thread) = lines.next() else { continue };
            let mut stack: Vec<String> = lines.map(|line| name(line.trim())).collect();
            // Code without frame pointers is walked through at random: how often it is met there says nothing.
            stack.dedup_by(|one, other| one == UNKNOWN && one == other);
            stack.push(thread_name(thread));
            all.add(stack.into_iter().rev());
        }
        all
    }

    fn add(&mut self, stack: impl Iterator<Item = String>) {
        let mut frame = self;
        frame.samples += 1;
        for name in stack {
            frame = frame.calls.entry(name).or_default();
            frame.samples += 1;
        }
    }

    pub fn samples(&self) -> u64 {
        self.samples
    }

    /// The parts of the time that the threads took, the largest first.
    pub fn threads(&self) -> Vec<(&str, f64)> {
        let part = |frame: &Frame| frame.samples as f64 / self.samples as f64;
        let mut threads: Vec<_> =
            self.calls.iter().map(|(name, frame)| (name.as_str(), part(frame))).collect();
        threads.sort_by(|one, other| other.1.total_cmp(&one.1));
        threads
    }

    /// The parts of the time that functions took themselves, without those they called, the largest first.
    pub fn own(&self) -> Vec<(&str, f64)> {
        let mut sums = BTreeMap::new();
        self.add_own(&mut sums);
        let mut own: Vec<_> = sums
            .into_iter()
            .map(|(name, samples)| (name, samples as f64 / self.samples as f64))
            .collect();
        own.sort_by(|one, other| other.1.total_cmp(&one.1));
        own
    }

    fn add_own<'a>(&'a self, sums: &mut BTreeMap<&'a str, u64>) {
        for (name, frame) in &self.calls {
            let called: u64 = frame.calls.values().map(|frame| frame.samples).sum();
            *sums.entry(name).or_default() += frame.samples - called;
            frame.add_own(sums);
        }
    }

    pub fn svg(&self, title: &str) -> String {
        let depth = self.depth(1.0 / self.samples.max(1) as f64 * WIDTH);
        let height = HEAD + ROW * depth as f64 + 8.0;
        let mut svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{WIDTH}\" height=\"{height}\" viewBox=\"0 0 {WIDTH} \
             {height}\" font-family=\"monospace\" font-size=\"11\">\n<style>g:hover rect{{stroke:#000}}</style>\n\
             <rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n<text x=\"8\" y=\"24\" font-size=\"15\">{}</text>\n",
            escaped(title)
        );
        self.draw(&mut svg, 0.0, height - 8.0, self.samples.max(1) as f64);
        svg + "</svg>\n"
    }

    /// Rows of boxes that are wide enough, where a sample is `unit` wide.
    fn depth(&self, unit: f64) -> usize {
        let wide = self.calls.values().filter(|frame| frame.samples as f64 * unit >= NARROWEST);
        wide.map(|frame| 1 + frame.depth(unit)).max().unwrap_or(0)
    }

    /// What was called, above `bottom` and right of `left`.
    fn draw(&self, svg: &mut String, left: f64, bottom: f64, all: f64) {
        let mut x = left;
        for (name, frame) in &self.calls {
            let width = frame.samples as f64 / all * WIDTH;
            if width >= NARROWEST {
                draw_box(svg, name, frame.samples as f64 / all, (x, bottom - ROW));
                frame.draw(svg, x, bottom - ROW, all);
            }
            x += width;
        }
    }
}

fn draw_box(svg: &mut String, name: &str, part: f64, (x, y): (f64, f64)) {
    let width = part * WIDTH;
    let room = (width / LETTER) as usize;
    let full: String = name.chars().take(NAME_MAX).collect();
    let _ = write!(
        svg,
        "<g><title>{} {:.2} %</title><rect x=\"{x:.1}\" y=\"{y:.0}\" width=\"{width:.1}\" height=\"15\" fill=\"{}\"/>",
        escaped(&full),
        part * 100.0,
        colour(name)
    );
    if room > 3 {
        let short: String = name.chars().take(room).collect();
        let (x, y) = (x + 2.0, y + 11.0);
        let _ = write!(svg, "<text x=\"{x:.1}\" y=\"{y:.0}\">{}</text>", escaped(&short));
    }
    svg.push_str("</g>\n");
}

/// The same for all functions of a crate.
fn colour(name: &str) -> String {
    let krate = name.trim_start_matches('<').split("::").next().unwrap_or_default();
    let hash = krate.bytes().fold(17_u32, |hash, byte| hash.wrapping_mul(31) + u32::from(byte));
    format!("hsl({},60%,72%)", hash % 360)
}

fn thread_name(line: &str) -> String {
    let words: Vec<&str> = line.split_whitespace().collect();
    let name = words.split_last().map_or(line.trim().to_owned(), |(_, name)| name.join(" "));
    format!("thread {name}")
}

/// `ADDRESS SYMBOL` without the address and the hash that the compiler puts behind names.
fn name(line: &str) -> String {
    let symbol = line.split_once(' ').map_or("", |(_, symbol)| symbol).trim();
    let symbol = if symbol.is_empty() { UNKNOWN } else { symbol };
    match symbol.rsplit_once("::h") {
        Some((name, hash)) if hash.len() == 16 && hash.bytes().all(|b| b.is_ascii_hexdigit()) => {
            name.to_owned()
        }
        _ => symbol.to_owned(),
    }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    const SCRIPT: &str = "\
gather 0  9506 \n\t  1019b3 gatherer::gather::h0123456789abcdef\n\t   32f72 main\n\n\
gather 0  9506 \n\t  1019b4 memcpy\n\t  1019b3 gatherer::gather::h0123456789abcdef\n\t   32f72 main\n\n\
writer  9507 \n\t  2222 [unknown]\n\t  2223 [unknown]\n\n";

    #[test]
    fn samples_are_summed_by_thread_and_by_function() {
        let frame = Frame::read(SCRIPT);
        assert_eq!(frame.samples(), 3);
        assert_eq!(frame.threads()[0], ("thread gather 0", 2.0 / 3.0));
        let own: BTreeMap<&str, f64> = frame.own().into_iter().collect();
        assert_eq!(own["gatherer::gather"], 1.0 / 3.0);
        assert_eq!(own["memcpy"], 1.0 / 3.0);
        assert_eq!(own["main"], 0.0);
    }

    #[test]
    fn a_graph_has_a_box_for_each_call_and_harmless_names() {
        let svg = Frame::read(SCRIPT).svg("a < b");
        assert_eq!(svg.matches("<g>").count(), 6);
        assert!(svg.contains("a &lt; b"));
        assert!(svg.contains("<title>gatherer::gather 66.67 %</title>"), "{svg}");
    }
}
