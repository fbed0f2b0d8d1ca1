//! `simulate`: every policy in the laboratory, with a table, rows or a drawing of how fresh it kept the pages.

use std::{fs, num::NonZero, sync::Arc, thread, time::Duration};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use model::StoreError;
use store::{census::Census, collection::Collection};

use super::Context;
use crate::{
    cli::SimulateArgs,
    laboratory::{
        Case, Contender, Score,
        announce::Announcements,
        contest, curve, limits,
        population::{Law, Population, Recipe},
        recorded, table,
    },
    progress::Mode,
    results::{is_stdout, not_beside_json, write_markup},
    terminal::print,
};
use config::{
    failure::{Exit, Failure, cannot_write},
    units::parse_time,
};
use engine::remark;

const PAGES: usize = 5_000;
const PAGES_FULL: usize = 20_000;
const DAYS: u32 = 100;
const SITE_PAGES: usize = 50;
/// A million pages of a hundred days take a few GB and an hour.
const PAGES_MAX: usize = 1_000_000;
const DAYS_MAX: u32 = 3_650;

/// As many visits a day as changes, times this.
const BUDGETS: [(&str, f64); 3] = [("a", 2.0), ("b", 1.0), ("c", 1.0 / 3.0)];

pub fn run(context: &Context, args: &SimulateArgs) -> Result<Exit, Failure> {
    let contenders = contenders(&args.policy)?;
    let cases = cases(context, args)?;
    if let Some(path) = &args.svg {
        not_beside_json("--svg", path, context.json)?;
    }
    if let Some(path) = args.svg.as_ref().filter(|path| !is_stdout(path)) {
        // Better now than after the work.
        let file = fs::File::options().append(true).create(true).open(path);
        file.map_err(|error| cannot_write(path, &error))?;
    }
    let mut show = Show::new(Mode::choose(context.quiet, context.verbose), &cases);
    let threads = thread::available_parallelism().map_or(1, NonZero::get);
    let scores =
        contest::run(&cases, &contenders, threads, &mut |score, all| show.tell(score, all))
            .map_err(fault)?;
    show.end();
    if let Some(path) = &args.svg {
        write_markup(path, &curve::svg(&cases, &scores))?;
    }
    if context.json {
        print(&format!("{:#}\n", table::json(&cases, &scores)))?;
    } else if !args.svg.as_deref().is_some_and(is_stdout) {
        print(&table::text(&cases, &scores))?;
    }
    Ok(Exit::Done)
}

/// The frontier in memory refused something: a mistake of ours, not of this machine.
fn fault(error: StoreError) -> Failure {
    Failure::fault(
        format!("the simulation broke off: {error}"),
        "please report it with the command line",
    )
}

/// The oracle first: all others are measured by it.
fn contenders(names: &[String]) -> Result<Vec<Contender>, Failure> {
    if names.is_empty() {
        return Ok(Contender::ALL.to_vec());
    }
    let mut chosen = vec![Contender::Oracle];
    for name in names {
        let contender = Contender::from_word(name).ok_or_else(|| {
            let known = Contender::ALL.map(Contender::word).join(", ");
            Failure::usage(
                format!("{name:?} is no policy that can be simulated"),
                format!("give one or more of {known}"),
            )
        })?;
        if !chosen.contains(&contender) {
            chosen.push(contender);
        }
    }
    Ok(chosen)
}

fn cases(context: &Context, args: &SimulateArgs) -> Result<Vec<Case>, Failure> {
    let tick = tick(&args.tick)?;
    let failing = failing(args.failing)?;
    let mut cases = Vec::new();
    for population in populations(context, args)? {
        let population = Arc::new(population);
        let announcements =
            args.signals.then(|| Arc::new(Announcements::generate(&population, args.seed)));
        for (budget, visits_per_day) in budgets(&args.budget, &population)? {
            let limits =
                args.hosts_limited.then(|| limits::draw(&population, visits_per_day, args.seed));
            cases.push(Case {
                population: Arc::clone(&population),
                budget,
                visits_per_day,
                tick,
                seed: args.seed,
                failing,
                limits,
                announcements: announcements.clone(),
            });
        }
    }
    Ok(cases)
}

fn tick(text: &str) -> Result<i64, Failure> {
    let advice = "give a time between 1m and 1d, such as --tick 10m";
    let tick = parse_time(text).map_err(|why| Failure::usage(format!("--tick: {why}"), advice))?;
    if !(Duration::from_secs(60)..=Duration::from_secs(86_400)).contains(&tick) {
        return Err(Failure::usage(format!("{text} is no tick that makes sense"), advice));
    }
    Ok(tick.as_millis() as i64)
}

fn failing(percent: Option<f64>) -> Result<f64, Failure> {
    let percent = percent.unwrap_or(0.0);
    if (0.0..=90.0).contains(&percent) {
        return Ok(percent / 100.0);
    }
    Err(Failure::usage(
        format!("{percent} of a hundred visits cannot fail"),
        "give --failing a number between 0 and 90",
    ))
}

fn budgets(names: &[String], population: &Population) -> Result<Vec<(String, f64)>, Failure> {
    let changes = population.changes_per_day();
    if names.is_empty() {
        return Ok(BUDGETS.map(|(name, share)| (name.to_owned(), share * changes)).to_vec());
    }
    let each = |name: &String| {
        if let Some((_, share)) = BUDGETS.iter().find(|(known, _)| known == name) {
            return Ok((name.clone(), share * changes));
        }
        let visits = name.parse::<f64>().ok().filter(|n| n.is_finite() && *n >= 1.0);
        visits.map(|visits| (name.clone(), visits)).ok_or_else(|| {
            Failure::usage(
                format!("{name:?} is no budget"),
                "give a, b or c, or a number of visits a day",
            )
        })
    };
    names.iter().map(each).collect()
}

fn populations(context: &Context, args: &SimulateArgs) -> Result<Vec<Population>, Failure> {
    if args.history {
        let census = Census::open(&Collection::open(&context.folder)?)?;
        let population = recorded::from_history(&census)?.map_err(|why| {
            Failure::usage(
                format!("the history of {} cannot be simulated: {why}", context.folder.display()),
                "let the collection grow older, or simulate without --history",
            )
        })?;
        return Ok(vec![population]);
    }
    if let Some(path) = &args.csv {
        let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
        let text = fs::read_to_string(path).map_err(|error| {
            let advice = "give a file of lines page,change_time[,importance[,site]]";
            Failure::usage(format!("cannot read {}: {error}", path.display()), advice)
        })?;
        let population = recorded::from_csv(&name, &text).map_err(|why| {
            let advice = "give lines of page,change_time[,importance[,site]]";
            Failure::usage(format!("{}: {why}", path.display()), advice)
        })?;
        return Ok(vec![population]);
    }
    Ok(recipes(args)?.iter().map(Recipe::make).collect())
}

fn recipes(args: &SimulateArgs) -> Result<Vec<Recipe>, Failure> {
    let pages = args.pages.unwrap_or(if args.full { PAGES_FULL } else { PAGES });
    let days = args.days.unwrap_or(DAYS);
    let sites = args.sites.unwrap_or(pages.div_ceil(SITE_PAGES));
    bounded("--pages", pages, 2, PAGES_MAX)?;
    bounded("--days", days as usize, 2, DAYS_MAX as usize)?;
    bounded("--sites", sites, 1, pages)?;
    if !(-1.0..=1.0).contains(&args.correlation) {
        let why = format!("{} is no correlation", args.correlation);
        return Err(Failure::usage(why, "give --correlation a number between -1 and 1"));
    }
    let laws = match args.population.as_slice() {
        [] => Law::ALL.to_vec(),
        names => names.iter().map(|name| law(name)).collect::<Result<_, _>>()?,
    };
    let recipe = |law| Recipe {
        law,
        pages,
        sites,
        days,
        seed: args.seed,
        correlation: args.correlation,
        bursts: args.bursts,
    };
    Ok(laws.into_iter().map(recipe).collect())
}

fn law(name: &str) -> Result<Law, Failure> {
    Law::ALL.into_iter().find(|law| law.word().eq_ignore_ascii_case(name)).ok_or_else(|| {
        Failure::usage(
            format!("{name:?} is no population"),
            "give D1 (classes of Cho & Garcia-Molina) or D2 (lognormal)",
        )
    })
}

fn bounded(flag: &str, value: usize, min: usize, max: usize) -> Result<(), Failure> {
    if (min..=max).contains(&value) {
        return Ok(());
    }
    Err(Failure::usage(
        format!("{flag} {value} cannot be simulated"),
        format!("give a number between {min} and {max}"),
    ))
}

/// Progress on standard error: a bar on a terminal, a line for each case that is done elsewhere.
struct Show {
    mode: Mode,
    bar: ProgressBar,
    names: Vec<String>,
    done: usize,
}

impl Show {
    fn new(mode: Mode, cases: &[Case]) -> Show {
        let bar = match mode {
            Mode::Live => ProgressBar::with_draw_target(Some(1), ProgressDrawTarget::stderr()),
            Mode::Plain | Mode::Nothing => ProgressBar::hidden(),
        };
        let style = ProgressStyle::with_template("{wide_bar} {pos}/{len}  {msg}");
        let bar = bar.with_style(style.unwrap_or(ProgressStyle::default_bar()));
        bar.set_message("drawing the populations");
        bar.tick();
        let name = |case: &Case| format!("{} ({})", case.population.name, case.budget);
        Show { mode, bar, names: cases.iter().map(name).collect(), done: 0 }
    }

    fn tell(&mut self, score: &Score, all: usize) {
        self.done += 1;
        let line = format!("{} {}", self.names[score.case], score.contender.word());
        match self.mode {
            Mode::Nothing => {}
            Mode::Live => {
                self.bar.set_length(all as u64);
                self.bar.set_position(self.done as u64);
                self.bar.set_message(line);
            }
            Mode::Plain => remark(&format!("[{}/{all}] {line}", self.done)),
        }
    }

    fn end(self) {
        self.bar.finish_and_clear();
    }
}
