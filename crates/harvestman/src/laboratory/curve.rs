//! Freshness by day as a drawing: one panel for each case, one line for each policy, in light and in dark.

use std::fmt::Write;

use super::{Case, Contender, Score, table::title};

/// A panel's plot, and what is around it.
const WIDTH: f64 = 340.0;
const HEIGHT: f64 = 200.0;
const LEFT: f64 = 44.0;
const RIGHT: f64 = 16.0;
const TOP: f64 = 34.0;
const BOTTOM: f64 = 40.0;
/// The legend: the width of an entry, the height of a line of them, and what is left free above and below.
const ENTRY: f64 = 110.0;
const LINE: f64 = 18.0;
const LEGEND: f64 = 26.0;
/// Panels side by side.
const ACROSS: usize = 3;

pub fn svg(cases: &[Case], scores: &[Score]) -> String {
    let across = cases.len().clamp(1, ACROSS);
    let down = cases.len().div_ceil(across).max(1);
    let (wide, high) = (LEFT + WIDTH + RIGHT, TOP + HEIGHT + BOTTOM);
    let width = across as f64 * wide;
    let names = present(scores);
    let in_line = (((width - LEFT) / ENTRY) as usize).max(1);
    let top = down as f64 * high;
    let height = top + LEGEND + names.len().div_ceil(in_line) as f64 * LINE;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" \
         width=\"{width}\" height=\"{height}\" role=\"img\">\n\
         <title>Freshness by day under each policy</title>\n{STYLE}\
         <rect class=\"paper\" width=\"{width}\" height=\"{height}\"/>\n"
    );
    for (at, case) in cases.iter().enumerate() {
        let (x, y) = ((at % across) as f64 * wide + LEFT, (at / across) as f64 * high + TOP);
        let of_case: Vec<&Score> = scores.iter().filter(|score| score.case == at).collect();
        let _ = writeln!(svg, "<g transform=\"translate({x} {y})\">");
        panel(&mut svg, case, &of_case);
        svg.push_str("</g>\n");
    }
    legend(&mut svg, &names, in_line, top);
    svg.push_str("</svg>\n");
    svg
}

/// Colours that people who see few of them can tell apart (after Okabe and Ito), and dashes besides.
const STYLE: &str = "<style>
  :root { --paper: #ffffff; --ink: #222222; --faint: #dddddd; }
  text { font: 11px sans-serif; fill: var(--ink); }
  .paper { fill: var(--paper); }
  .grid { stroke: var(--faint); stroke-width: 1; }
  .axis { stroke: var(--ink); stroke-width: 1; fill: none; }
  .name { font-weight: bold; }
  .line { fill: none; stroke-width: 1.6; stroke-linejoin: round; }
  .oracle { stroke: var(--ink); stroke-dasharray: 5 3; }
  .value { stroke: #d55e00; stroke-width: 2.4; }
  .profit-fast { stroke: #0072b2; }
  .profit { stroke: #56b4e9; stroke-dasharray: 7 2; }
  .frequency { stroke: #009e73; }
  .proportional { stroke: #cc79a7; }
  .uniform { stroke: #e69f00; }
  .fixed { stroke: #999999; stroke-dasharray: 2 2; }
  @media (prefers-color-scheme: dark) {
    :root { --paper: #16181c; --ink: #e6e6e6; --faint: #3a3d44; }
  }
</style>
";

fn panel(svg: &mut String, case: &Case, scores: &[&Score]) {
    let days = f64::from(case.population.days);
    let low = scores.iter().flat_map(|score| &score.outcome.series).copied().fold(1.0, f64::min);
    let low = ((low * 10.0).floor() / 10.0).min(0.9);
    let x = |day: f64| WIDTH * day / days;
    let y = |fresh: f64| HEIGHT * (1.0 - fresh) / (1.0 - low);
    let name = title(case);
    let (head, rest) = name.split_once(": ").unwrap_or((&name, ""));
    let visits = rest.split(", ").nth(2).unwrap_or_default();
    let _ = writeln!(
        svg,
        "<text class=\"name\" y=\"-14\">{}</text><text x=\"{WIDTH}\" y=\"-14\" text-anchor=\"end\">{}</text>",
        escape(head),
        escape(visits)
    );
    let steps = ((1.0 - low) * 10.0).round() as usize;
    for step in 0..=steps {
        let fresh = low + step as f64 / 10.0;
        let _ = writeln!(
            svg,
            "<line class=\"grid\" x2=\"{WIDTH}\" y1=\"{y:.1}\" y2=\"{y:.1}\"/>\
             <text x=\"-6\" y=\"{text:.1}\" text-anchor=\"end\">{fresh:.1}</text>",
            y = y(fresh),
            text = y(fresh) + 4.0,
        );
    }
    for part in 0..=4 {
        let day = days * f64::from(part) / 4.0;
        let _ = writeln!(
            svg,
            "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{day:.0}</text>",
            x(day),
            HEIGHT + 15.0
        );
    }
    let _ = writeln!(svg, "<path class=\"axis\" d=\"M0 0V{HEIGHT}H{WIDTH}\"/>");
    let _ = writeln!(
        svg,
        "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">days</text>",
        WIDTH / 2.0,
        HEIGHT + 30.0
    );
    // The best are drawn last, over the others.
    for score in scores.iter().rev() {
        let _ = write!(svg, "<polyline class=\"line {}\" points=\"", score.contender.word());
        for (day, fresh) in score.outcome.series.iter().enumerate() {
            let _ = write!(svg, "{:.1},{:.1} ", x(day as f64 + 0.5), y(fresh.clamp(low, 1.0)));
        }
        svg.push_str("\"/>\n");
    }
}

fn present(scores: &[Score]) -> Vec<Contender> {
    let is_there = |contender: &Contender| scores.iter().any(|score| score.contender == *contender);
    Contender::ALL.into_iter().filter(is_there).collect()
}

fn legend(svg: &mut String, names: &[Contender], in_line: usize, top: f64) {
    for (at, contender) in names.iter().enumerate() {
        let x = LEFT + (at % in_line) as f64 * ENTRY;
        let y = top + LEGEND / 2.0 + (at / in_line) as f64 * LINE;
        let word = contender.word();
        let _ = writeln!(
            svg,
            "<polyline class=\"line {word}\" points=\"{x:.1},{y:.1} {end:.1},{y:.1}\"/>\
             <text x=\"{text:.1}\" y=\"{base:.1}\">{word}</text>",
            end = x + 20.0,
            text = x + 25.0,
            base = y + 4.0,
        );
    }
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
