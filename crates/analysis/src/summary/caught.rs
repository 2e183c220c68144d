//! The verdict on what a flight recorder caught: how long it watched, how often a condition was met, and the longest gap or the worst stretch.

use bandscope_recording::manifest::{LostEvents, Trigger, Watched};
use bandscope_recording::{MAX_TICKS, Manifest, cpu_list};
use bandscope_report::Moment;
use bandscope_report::format::{count, duration, duration_round, percent};
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// Causes that are told by their number.
const CAUSES: usize = 3;
/// What takes this share of a gap is the gap, in a sentence.
const WHOLE: f64 = 0.98;
/// Share of the time for which events may be lost without a word: chosen, not measured.
const LOST: f64 = 0.01;
/// Characters of a condition that is repeated.
const LONGEST_CONDITION: usize = 60;
/// One that is not repeated.
const A_CONDITION: &str = "a condition";

/// The sentences.
pub fn sentence(moments: &[Moment], manifest: &Manifest) -> String {
    seen(moments, manifest) + &ended(manifest)
}

/// What was watched and caught.
fn seen(moments: &[Moment], manifest: &Manifest) -> String {
    let cpus = cpu_list::named(&manifest.settings.cpus);
    let verb = if manifest.settings.cpus.len() == 1 {
        "was"
    } else {
        "were"
    };
    let watched = &manifest.watched;
    let ticks = watched.iter().map(|one| one.wall_ticks).max().unwrap_or(0);
    let seconds = length(ticks as f64 / manifest.clock.ticks_per_ns / 1e9);
    let mut said = match (watched.is_empty(), sum(manifest, |one| one.met)) {
        // It was killed, or goes on.
        (true, _) => {
            let moments = number(moments.len() as u64, ("moment was", "moments were"));
            format!("{cpus}: {moments} caught so far.")
        }
        (false, 0) => {
            let nothing = format!(
                "{cpus} {verb} watched for {seconds}, and nothing met {}",
                condition(manifest)
            );
            let Some(longest) = longest_gap(manifest) else {
                return format!("{nothing}: there was no gap.");
            };
            let gaps = number(sum(manifest, |one| one.gaps), ("gap", "gaps"));
            let unseen = unseen(manifest);
            let lost = untold(manifest);
            return format!("{nothing}. The longest of {gaps} took {longest}.{unseen}{lost}");
        }
        (false, _) => {
            let (met, by) = (met(manifest), met_by(moments, manifest));
            let lost = untold(manifest);
            format!("{cpus} {verb} watched for {seconds}: {met}.{lost}{by}")
        }
    };
    if let Some(worst) = moments.first() {
        said += &format!(" {}", worst_moment(worst, manifest));
    }
    said
}

/// The condition that ended the run, if one did, in a sentence after a blank. It is untrusted.
pub fn ended(manifest: &Manifest) -> String {
    match &*manifest.stopped_by {
        "" => String::new(),
        by => format!(" The run ended because of {}.", quoted(by)),
    }
}

/// For how long kernel events were lost, after a blank; of several CPUs on the worst. Nothing if that hardly counts.
fn untold(manifest: &Manifest) -> String {
    let lost = manifest.watched.iter().map(|cpu| {
        let own = manifest
            .events
            .lost
            .iter()
            .filter(|lost| lost.cpu == cpu.cpu);
        // What is lost from somewhere on has no end. Both count from about the start of the run.
        let end = |lost: &LostEvents| match lost.to {
            MAX_TICKS => cpu.wall_ticks,
            to => to,
        };
        let mut spans: Vec<(u64, u64)> = own.map(|lost| (lost.from, end(lost))).collect();
        spans.sort_unstable();
        let (mut sum, mut until) = (0, 0);
        for (from, to) in spans {
            sum += to.saturating_sub(from.max(until));
            until = until.max(to);
        }
        (sum.min(cpu.wall_ticks), cpu)
    });
    let Some((lost, cpu)) = lost.max_by_key(|(lost, _)| *lost) else {
        return String::new();
    };
    if (lost as f64) < LOST * cpu.wall_ticks as f64 || lost == 0 {
        return String::new();
    }
    let on = match manifest.watched.len() {
        1 => String::new(),
        _ => format!(" of CPU {}", cpu.cpu),
    };
    let time = length(lost as f64 / manifest.clock.ticks_per_ns / 1e9);
    let asked = conditions(manifest).any(Trigger::asks_who);
    let missed = if asked {
        ", nor whether it was asked for"
    } else {
        ""
    };
    format!(" Kernel events{on} were lost for {time}: what a gap was then is not known{missed}.")
}

/// Causes that were asked for and had a part in no gap that was long enough, a sentence each, after a blank. They are untrusted.
pub fn unseen(manifest: &Manifest) -> String {
    let is_unseen = |one: &&Trigger| {
        let mut of_cpus = manifest.watched.iter();
        of_cpus.all(|cpu| one.cpu.is_some_and(|of| of != cpu.cpu) || cpu.unseen.contains(&one.text))
    };
    let unseen = conditions(manifest).filter(|one| !one.cause.is_empty());
    let unseen = unseen.filter(is_unseen).map(|one| &one.cause);
    let sentence = |cause| format!(" No gap that was long enough had {cause} in it.");
    unseen.map(sentence).collect()
}

/// How often a condition was met: `212 gaps met "gap > 50 us"`.
pub fn met(manifest: &Manifest) -> String {
    let met = sum(manifest, |one| one.met);
    let number = number(met, Subject::of(manifest).words());
    format!("{number} met {}", condition(manifest))
}

/// The condition in quotes, if there is one only, and as people write them: a hostile one may be of any length.
pub fn condition(manifest: &Manifest) -> String {
    let mut all = conditions(manifest);
    match all.next().filter(|_| all.next().is_none()) {
        Some(only) => quoted(&only.text),
        None => A_CONDITION.to_owned(),
    }
}

fn quoted(condition: &str) -> String {
    let words: Vec<&str> = condition.split_whitespace().collect();
    match words.join(" ") {
        long if long.chars().count() > LONGEST_CONDITION => A_CONDITION.to_owned(),
        words => format!("\"{words}\""),
    }
}

/// How often each main cause met one, the most frequent first, where more met it than are listed; a sentence after a blank. Untrusted.
fn met_by(moments: &[Moment], manifest: &Manifest) -> String {
    let mut of_cause: BTreeMap<&str, u64> = BTreeMap::new();
    let counts = (manifest.watched.iter()).flat_map(|watched| &watched.met_by);
    for (cause, &number) in counts {
        let sum = of_cause.entry(cause).or_default();
        *sum = sum.saturating_add(number);
    }
    let met = sum(manifest, |one| one.met);
    let counted = of_cause
        .values()
        .fold(0, |all: u64, one| all.saturating_add(*one));
    if of_cause.len() < 2 || met <= moments.len() as u64 || counted != met {
        return String::new();
    }
    // Of those that came up late only the kind is known.
    let is_kind = |(cause, _): &(&str, u64)| cause.ends_with(":*");
    let (kinds, mut named): (Vec<_>, Vec<_>) = of_cause.into_iter().partition(is_kind);
    named.sort_by_key(|(_, number)| Reverse(*number));
    let (told, rest) = named.split_at(named.len().min(CAUSES));
    let told = told.iter().map(|(cause, number)| match *cause {
        "" => format!("{} of nobody known", count(*number)),
        cause => format!("{} of {cause}", count(*number)),
    });
    let rest: u64 = rest.iter().chain(&kinds).map(|(_, number)| number).sum();
    let rest = (rest > 0).then(|| format!("{} of others", count(rest)));
    let told: Vec<String> = told.chain(rest).collect();
    format!(" By main cause: {}.", told.join(", "))
}

/// The longest gap that a flight recorder saw, and what took most of it: `1.2 ms: task:make`. The name is untrusted.
pub fn longest_gap(manifest: &Manifest) -> Option<String> {
    let longest = (manifest.watched.iter()).max_by_key(|one| one.longest_ticks)?;
    let ns = longest.longest_ticks as f64 / manifest.clock.ticks_per_ns;
    (longest.gaps > 0).then(|| match &*longest.longest_cause {
        "" => duration(ns),
        cause => format!("{}: {cause}", duration(ns)),
    })
}

fn sum(manifest: &Manifest, of: fn(&Watched) -> u64) -> u64 {
    let numbers = manifest.watched.iter().map(of);
    numbers.fold(0, u64::saturating_add)
}

/// What can meet the conditions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Subject {
    Gaps,
    Stretches,
    Both,
}

impl Subject {
    fn of(manifest: &Manifest) -> Subject {
        let mut all = conditions(manifest);
        let of_stretches = conditions(manifest).any(|one| one.stretch_s().is_some());
        match of_stretches {
            false => Subject::Gaps,
            true if all.all(|one| one.stretch_s().is_some()) => Subject::Stretches,
            true => Subject::Both,
        }
    }

    /// One of it, and many.
    fn words(self) -> (&'static str, &'static str) {
        match self {
            Subject::Gaps => ("gap", "gaps"),
            Subject::Stretches => ("stretch", "stretches"),
            Subject::Both => ("gap or stretch", "gaps and stretches"),
        }
    }
}

fn conditions(manifest: &Manifest) -> impl Iterator<Item = &Trigger> {
    let catch = manifest.settings.catch.iter();
    catch.flat_map(|catch| &catch.conditions)
}

/// How long the longest gap was, or what gaps took of the worst stretch, and what did so.
fn worst_moment(worst: &Moment, manifest: &Manifest) -> String {
    let by = match worst.causes.first().map(|part| &part.cause) {
        Some(cause) if !cause.is_named() => {
            format!(", and who it was is not known ({cause})")
        }
        Some(cause) => format!(": {cause}"),
        None => String::new(),
    };
    let mut met = conditions(manifest).filter(|one| one.text == worst.condition);
    let Some(stretch_s) = met.find_map(Trigger::stretch_s) else {
        let gap = match Subject::of(manifest) {
            Subject::Gaps => "",
            _ => "gap ",
        };
        if worst.ns >= WHOLE * worst.length_ns {
            return format!("The longest {gap}took {}{by}.", duration(worst.ns));
        }
        let (taken, whole) = (duration(worst.ns), duration(worst.length_ns));
        let main = worst.causes.first();
        let by = main.map_or_else(String::new, |main| match main.ns < WHOLE * worst.ns {
            true => format!(", most of it {}", main.cause),
            false => format!(": {}", main.cause),
        });
        return format!("The longest such part was {taken} of a gap of {whole}{by}.");
    };
    let stretch = duration_round(stretch_s * 1e9);
    if worst.ns < worst.length_ns {
        let share = percent(worst.ns / worst.length_ns);
        return format!("Gaps took {share} of the worst {stretch}{by}.");
    }
    match worst.gaps_ns > worst.ns {
        true => {
            let together = duration(worst.gaps_ns);
            format!("Gaps took all of the worst {stretch}{by}. They last {together} together.")
        }
        false => format!("Gaps took all of the worst {stretch}{by}."),
    }
}

fn number(number: u64, (one, many): (&str, &str)) -> String {
    format!("{} {}", count(number), if number == 1 { one } else { many })
}

/// A length of time, as long as a night.
fn length(seconds: f64) -> String {
    let whole = seconds.round() as u64;
    match whole {
        0..=119 => duration(seconds * 1e9),
        120..=7199 => format!("{} min", whole / 60),
        _ => format!("{} h {} min", whole / 3600, whole % 3600 / 60),
    }
}

#[cfg(test)]
mod tests;
