//! Building blocks of pages, made once per web: sentences of each language, scripts, styles, comments.
//!
//! Pages are put together from these by copying slices, which costs a microsecond or two a page. Words are
//! drawn by Zipf's law over 3,000 of them; that and the hexadecimal tokens in the scripts set how
//! well pages compress (the tests hold the ratio).

use std::sync::OnceLock;

use crate::{
    dice::{Dice, mix},
    words::{Language, WordList},
};

/// Sentences per language: two pages of 100 sentences share about two of them.
const SENTENCES: usize = 6_000;
const VOCABULARY: usize = 3_000;
/// Turns of phrase that come again and again, as they do in people's texts.
const PHRASES: usize = 250;
const FILLERS: usize = 1_500;

pub(crate) struct Prose {
    seed: u64,
    sentences: [OnceLock<Blocks>; 5],
    titles: [OnceLock<Vec<String>>; 5],
    pub fillers: Blocks,
}

impl Prose {
    pub fn new(seed: u64) -> Prose {
        Prose {
            seed,
            sentences: Default::default(),
            titles: Default::default(),
            fillers: fillers(mix(seed, 0xF111)),
        }
    }

    pub fn sentences(&self, language: Language) -> &Blocks {
        self.sentences[language as usize].get_or_init(|| sentences(self.seed, language.list()))
    }

    /// Two or three words for a title or an anchor.
    pub fn title(&self, language: Language, hash: u64) -> &str {
        let titles = self.titles[language as usize].get_or_init(|| titles(language.list()));
        &titles[(hash % titles.len() as u64) as usize]
    }
}

/// Many small texts in one piece of memory.
#[derive(Default)]
pub(crate) struct Blocks {
    bytes: Vec<u8>,
    ends: Vec<u32>,
}

impl Blocks {
    pub fn get(&self, hash: u64) -> &[u8] {
        let k = ((u128::from(hash) * self.ends.len() as u128) >> 64) as usize;
        let start = if k == 0 { 0 } else { self.ends[k - 1] as usize };
        &self.bytes[start..self.ends[k] as usize]
    }

    fn push(&mut self, text: &str) {
        self.bytes.extend_from_slice(text.as_bytes());
        self.ends.push(self.bytes.len() as u32);
    }
}

fn titles(list: &WordList) -> Vec<String> {
    let nouns: Vec<&str> = list.nouns.split_whitespace().collect();
    let mut titles = Vec::with_capacity(nouns.len() * nouns.len());
    for (i, first) in nouns.iter().enumerate() {
        for (j, second) in nouns.iter().enumerate().filter(|(j, _)| *j != i) {
            let mut title = format!("{first} {} {second}", list.joints[(i + j) % 4]);
            capitalise(&mut title);
            titles.push(title);
        }
    }
    titles
}

fn sentences(seed: u64, list: &WordList) -> Blocks {
    let mut dice = Dice::new(mix(seed, list.function.len() as u64));
    let words = vocabulary(list, &mut dice);
    let ranks = zipf(words.len());
    let mut blocks = Blocks::default();
    let phrases: Vec<String> = (0..PHRASES)
        .map(|_| [0; 4].map(|_| words[draw(&ranks, &mut dice)].as_str()).join(" "))
        .collect();
    for _ in 0..SENTENCES {
        blocks.push(&sentence(&words, &phrases, &ranks, &mut dice));
    }
    blocks
}

fn sentence(words: &[String], phrases: &[String], ranks: &[f64], dice: &mut Dice) -> String {
    let count = 5 + dice.below(10);
    let mut text = String::with_capacity(count * 8);
    for k in 0..count {
        if k > 0 {
            text.push_str(match dice.below(60) {
                0..=4 => ", ",
                5 => " &amp; ",
                6 => "&nbsp;",
                7 => " &ndash; ",
                _ => " ",
            });
        }
        let word = &words[draw(ranks, dice)];
        match dice.below(120) {
            0 => text.push_str(&format!("&quot;{word}&quot;")),
            1 => text.push_str(&format!("<em>{word}</em>")),
            2 => text.push_str(&(dice.below(2000)).to_string()),
            3..=26 => text.push_str(&phrases[dice.below(phrases.len())]),
            _ => text.push_str(word),
        }
    }
    capitalise(&mut text);
    text.push_str(if dice.chance(0.1) { "? " } else { ". " });
    text
}

/// The frequent words, the nouns, and a tail of invented ones, by falling frequency.
fn vocabulary(list: &WordList, dice: &mut Dice) -> Vec<String> {
    let starts: Vec<&str> = list.starts.split_whitespace().collect();
    let endings: Vec<&str> = list.endings.split_whitespace().collect();
    let mut words: Vec<String> = list.function.split_whitespace().map(str::to_owned).collect();
    words.extend(list.nouns.split_whitespace().map(str::to_owned));
    while words.len() < VOCABULARY {
        let mut word = String::new();
        for _ in 0..1 + dice.below(3) {
            word.push_str(starts[dice.below(starts.len())]);
        }
        word.push_str(endings[dice.below(endings.len())]);
        words.push(word);
    }
    words
}

/// Cumulated shares of the ranks (Zipf and Mandelbrot, offset 2.7).
fn zipf(count: usize) -> Vec<f64> {
    let mut sum = 0.0;
    let mut ranks: Vec<f64> = (0..count)
        .map(|rank| {
            sum += 1.0 / (rank as f64 + 2.7);
            sum
        })
        .collect();
    ranks.iter_mut().for_each(|share| *share /= sum);
    ranks
}

fn draw(ranks: &[f64], dice: &mut Dice) -> usize {
    let at = dice.unit();
    ranks.partition_point(|share| *share < at).min(ranks.len() - 1)
}

fn capitalise(text: &mut String) {
    if let Some(first) = text.chars().next() {
        let upper: String = first.to_uppercase().collect();
        text.replace_range(..first.len_utf8(), &upper);
    }
}

/// What a page holds besides text: about 250 bytes each.
fn fillers(seed: u64) -> Blocks {
    let mut dice = Dice::new(seed);
    let mut blocks = Blocks::default();
    for k in 0..FILLERS {
        let filler = match k % 8 {
            0..=2 => script(&mut dice),
            3 => style(&mut dice),
            4 => comment(&mut dice),
            5 => data(&mut dice),
            _ => markup(&mut dice),
        };
        blocks.push(&filler);
    }
    blocks
}

fn script(dice: &mut Dice) -> String {
    let name = identifier(dice);
    let other = identifier(dice);
    format!(
        "<script>(function(w,d){{var {name}=d.getElementById(\"{other}\");if(!{name}){{return;}}\
         {name}.addEventListener(\"click\",function(e){{w.{other}&&w.{other}({},\"{:x}\");\
         if({name}.size<{}){{e.preventDefault();}}}});}})(window,document);</script>\n",
        dice.below(10_000),
        dice.next() >> 16,
        dice.below(100),
    )
}

fn style(dice: &mut Dice) -> String {
    let class = identifier(dice);
    format!(
        "<style>.{class}{{margin:{}px {}px;padding:0 {}em;color:#{:06x};background:#{:06x}}}\
         .{class}>li{{display:inline-block;width:{}%;border-top:1px solid #{:06x}}}</style>\n",
        dice.below(40),
        dice.below(40),
        dice.below(9),
        dice.below(1 << 24),
        dice.below(1 << 24),
        dice.below(100),
        dice.below(1 << 24),
    )
}

fn comment(dice: &mut Dice) -> String {
    format!(
        "<!-- {} {}: block {:x}, cached {} s, <a href=\"/not-a-link\"> not shown -->\n",
        identifier(dice),
        identifier(dice),
        dice.next() >> 8,
        dice.below(90_000),
    )
}

fn data(dice: &mut Dice) -> String {
    format!(
        "<script type=\"application/json\">{{\"id\":{},\"key\":\"{:016x}{:016x}\",\
         \"tags\":[\"{}\",\"{}\"],\"weight\":0.{}}}</script>\n",
        dice.below(1_000_000),
        dice.next(),
        dice.next(),
        identifier(dice),
        identifier(dice),
        dice.below(100_000),
    )
}

fn markup(dice: &mut Dice) -> String {
    format!(
        "<div class=\"{} {}\" id=\"n{:x}\" data-track=\"{:x}\" style=\"width:{}px\">\
         <span class=\"icon icon-{}\" aria-hidden=\"true\"></span></div>\n",
        identifier(dice),
        identifier(dice),
        dice.next() >> 36,
        dice.next() >> 20,
        dice.below(900),
        dice.below(60),
    )
}

fn identifier(dice: &mut Dice) -> String {
    const PARTS: [&str; 24] = [
        "nav", "item", "box", "main", "list", "col", "row", "head", "foot", "card", "btn", "link",
        "menu", "tab", "grid", "wrap", "text", "img", "side", "top", "page", "view", "form", "key",
    ];
    format!("{}{}{}", PARTS[dice.below(24)], PARTS[dice.below(24)], dice.below(30))
}
