//! What a flight recorder caught: when, how long, what it was, who is behind it, and what the other CPUs did.

use super::table::{Page, Paint};
use crate::escape::visible;
use crate::{numbers, panels};
use bandscope_report::{Moment, Part, Report, Unusual, format};
use std::collections::BTreeSet;

/// Makers, and moments, on one screen.
const MAKERS: usize = 5;
const ON_ONE_SCREEN: usize = 4;
/// Parts that are named of one.
const PARTS: usize = 3;
/// Of a gap, a part below this share is not worth a word.
const LEAST_PART: f64 = 0.02;
/// What takes this share of a gap or a stretch is all of it, in a line.
const WHOLE: f64 = 0.98;
/// Gaps that took so many times what they took of a stretch began before it.
const WORTH_TELLING: f64 = 1.05;
/// Seconds of a day, by which the time of day goes.
const DAY_S: f64 = 86_400.0;

/// Who made them, and the longest ones.
pub(super) fn on_one_screen(report: &Report, page: &mut Page<'_>) {
    makers(report, MAKERS, page);
    // A rare maker of short gaps is not to be hidden by a frequent one of long gaps, as far as there is room.
    let mut known = BTreeSet::new();
    let first = report.moments.iter();
    let first: Vec<&Moment> = first.filter(|one| known.insert(maker(one))).collect();
    match first.len() > 1 {
        true => list("The longest of each", &first, report, MAKERS, page),
        false => all(report, ON_ONE_SCREEN, page),
    }
}

/// All that the report has.
pub(super) fn moments(report: &Report, page: &mut Page<'_>) {
    makers(report, report.moments.len(), page);
    all(report, report.moments.len(), page);
}

/// The longest, whoever made them.
fn all(report: &Report, most: usize, page: &mut Page<'_>) {
    let all: Vec<&Moment> = report.moments.iter().collect();
    list("The longest", &all, report, most, page);
}

/// Moments that the same thing made.
struct Maker {
    name: String,
    number: u64,
    longest_ns: f64,
    all_ns: f64,
}

/// The main cause of a moment, and who is behind that.
fn maker(moment: &Moment) -> String {
    let Some(main) = moment.causes.first() else {
        return String::new();
    };
    let chain = moment.behind.iter().find(|chain| chain.is_of(&main.cause));
    match chain {
        Some(chain) => format::made_by(chain),
        None => visible(&main.cause.to_string()),
    }
}

fn makers(report: &Report, most: usize, page: &mut Page<'_>) {
    if report.moments.is_empty() {
        return;
    }
    let mut makers: Vec<Maker> = Vec::new();
    for moment in &report.moments {
        let name = maker(moment);
        match makers.iter_mut().find(|maker| maker.name == name) {
            Some(maker) => {
                maker.number += 1;
                maker.all_ns += moment.ns;
            }
            None => makers.push(Maker {
                name,
                number: 1,
                longest_ns: moment.ns,
                all_ns: moment.ns,
            }),
        }
    }
    // First who took most, however long the longest was.
    makers.sort_by(|a, b| b.all_ns.total_cmp(&a.all_ns));
    let met: u64 = report.recording.as_ref().map_or(0, |manifest| {
        manifest.watched.iter().map(|watched| watched.met).sum()
    });
    let listed = report.moments.len() as u64;
    let head = match met > listed {
        true => format!("Who made the {} that are listed", numbers::count(listed)),
        false => "Who made them".to_owned(),
    };
    page.blank();
    page.line(&[
        (&head, Paint::Bold),
        ("  how many of them, the longest", Paint::Dim),
    ]);
    for maker in makers.iter().take(most) {
        let number = numbers::count(maker.number);
        let longest = format::duration(maker.longest_ns);
        let lead = format!("  {number:>5}  {longest:>9}  ");
        page.hanging(&[(&lead, Paint::Plain)], &maker.name, Paint::Plain);
    }
    more(makers.len(), most, ("other", "others"), page);
}

/// Says how many are left out.
fn more(all: usize, most: usize, (one, many): (&str, &str), page: &mut Page<'_>) {
    if let Some(more) = all.checked_sub(most).filter(|more| *more > 0) {
        let text = format!("  and {}", numbers::plural(more as u64, one, many));
        page.line(&[(&text, Paint::Dim)]);
    }
}

/// So many of `some`, which are in order.
fn list(head: &str, some: &[&Moment], report: &Report, most: usize, page: &mut Page<'_>) {
    if some.is_empty() {
        return;
    }
    page.blank();
    page.line(&[(head, Paint::Bold)]);
    for moment in some.iter().take(most) {
        one(moment, page);
    }
    let shown = most.min(some.len());
    more(report.moments.len(), shown, ("other", "others"), page);
}

fn one(moment: &Moment, page: &mut Page<'_>) {
    let lead = format!("  {:>9}  ", format::duration(moment.ns));
    let whole = parts(&moment.causes, moment.ns);
    page.hanging(
        &[(&lead, Paint::Loss)],
        &(when(moment) + &whole),
        Paint::Plain,
    );
    let lead = " ".repeat(lead.chars().count());
    for chain in moment.behind.iter().take(PARTS) {
        let times = match chain.number {
            0 | 1 => String::new(),
            many => format!(", {} times", numbers::count(many)),
        };
        let text = format::behind(chain) + &times;
        page.hanging(&[(&lead, Paint::Plain)], &text, Paint::Plain);
    }
    let busy = moment.others.iter().filter(|other| !other.ran.is_empty());
    let others: Vec<String> = busy
        .map(|other| format!("CPU {}: {}", other.cpu, parts(&other.ran, moment.length_ns)))
        .collect();
    if !others.is_empty() {
        let text = format!("meanwhile {}", others.join("; "));
        page.hanging(&[(&lead, Paint::Plain)], &text, Paint::Dim);
    }
    for event in moment.events.iter().take(PARTS) {
        let (sign, ns) = if event.at_ns < 0.0 {
            ("-", -event.at_ns)
        } else {
            ("+", event.at_ns)
        };
        let text = format!(
            "{sign}{} CPU {}: {}",
            format::duration(ns),
            event.cpu,
            visible(&event.text)
        );
        page.hanging(&[(&lead, Paint::Plain)], &text, Paint::Dim);
    }
    if !moment.unusual.is_empty() {
        let main = moment.causes.first().map(|main| &main.cause);
        let main = main.map_or_else(String::new, |main| visible(&main.to_string()));
        let told = (moment.unusual.iter().take(PARTS)).map(|one| unlike_others(one, &main));
        let text = format!("unusual: {}", told.collect::<Vec<_>>().join("; "));
        page.hanging(&[(&lead, Paint::Plain)], &text, Paint::Plain);
    }
    if moment.gaps_ns >= WORTH_TELLING * moment.ns {
        let together = format::duration(moment.gaps_ns);
        let text = format!("the gaps that reach into it took {together} together");
        page.hanging(&[(&lead, Paint::Plain)], &text, Paint::Dim);
    }
}

/// Where and when, and of what it is a part.
fn when(moment: &Moment) -> String {
    let cpu = panels::cpu_name(moment.cpu, None);
    let time = moment
        .unix_s
        .map_or_else(String::new, |unix_s| format!(" ({})", time_of_day(unix_s)));
    let [taken, whole] = [moment.ns, moment.length_ns].map(format::duration);
    let of = match moment.ns < WHOLE * moment.length_ns && taken != whole {
        true => format!(", of {whole}"),
        false => String::new(),
    };
    format!("{cpu}, {:.6} s{time}{of}: ", moment.at_s)
}

/// What hardly any other moment with the same main cause has.
fn unlike_others(unusual: &Unusual, main: &str) -> String {
    format!(
        "{} on CPU {} {}, in {} of the {} others of {main}",
        visible(&unusual.cause),
        unusual.cpu,
        format::duration(unusual.ns),
        match unusual.seen_in {
            0 => "none".to_owned(),
            some => numbers::count(some),
        },
        numbers::count(unusual.others)
    )
}

/// The largest parts, each with its time where there are several, and what the others took together.
fn parts(parts: &[Part], whole_ns: f64) -> String {
    let least = LEAST_PART * whole_ns;
    let (told, rest): (Vec<_>, Vec<_>) =
        (parts.iter().enumerate()).partition(|(place, part)| *place < PARTS && part.ns >= least);
    let named = |(_, part): &(usize, &Part)| {
        let cause = visible(&part.cause.to_string());
        format!("{cause} {}", format::duration(part.ns))
    };
    let mut told: Vec<String> = told.iter().map(named).collect();
    let rest: f64 = rest.iter().map(|(_, part)| part.ns).sum();
    match told.is_empty() {
        true => parts
            .first()
            .map_or_else(String::new, |part| visible(&part.cause.to_string())),
        false => {
            told.extend(
                (rest > 0.0 && rest >= least).then(|| format!("others {}", format::duration(rest))),
            );
            told.join(", ")
        }
    }
}

/// As in `02:13:07.250 UTC`.
fn time_of_day(unix_s: f64) -> String {
    let ms = (unix_s.rem_euclid(DAY_S) * 1e3) as u64;
    let (hours, minutes, seconds) = (ms / 3_600_000, ms / 60_000 % 60, ms / 1000 % 60);
    format!("{hours:02}:{minutes:02}:{seconds:02}.{:03} UTC", ms % 1000)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Options;
    use bandscope_report::Cause;

    #[test]
    fn parts_that_are_not_named_are_counted() {
        let all = [500.0, 200.0, 150.0, 100.0, 15.0, 15.0].map(|ns| Part {
            cause: Cause::Host,
            ns,
        });
        let of = |first: usize| parts(&all[first..], 1_000.0);
        assert_eq!(
            of(0),
            "host 500 ns, host 200 ns, host 150 ns, others 130 ns"
        );
        assert_eq!(of(3), "host 100 ns, others 30 ns");
        assert_eq!(of(4), "host");
    }

    #[test]
    fn a_time_of_day_is_that_of_utc() {
        assert_eq!(time_of_day(1_700_000_000.25), "22:13:20.250 UTC");
        assert_eq!(time_of_day(0.0), "00:00:00.000 UTC");
    }

    /// What is on one screen of moments by these tasks, the longest first.
    fn screen(tasks: &[&str]) -> String {
        let moment = |(place, task): (usize, &&str)| {
            let ns = 1e6 / (1 + place) as f64;
            Moment {
                ns,
                length_ns: ns,
                causes: vec![Part {
                    cause: Cause::Task((*task).into()),
                    ns,
                }],
                ..Moment::default()
            }
        };
        let report = Report {
            moments: tasks.iter().enumerate().map(moment).collect(),
            ..Report::default()
        };
        let options = Options::default();
        let mut page = Page::new(&options);
        on_one_screen(&report, &mut page);
        page.finish()
    }

    #[test]
    fn one_of_each_maker_is_on_the_first_screen() {
        let two = screen(&["often", "often", "often", "often", "often", "rare"]);
        let list = two.split("The longest of each\n").nth(1).unwrap();
        assert_eq!(list.matches("task:often").count(), 1, "{two}");
        assert!(
            list.contains("166.7 µs") && list.contains("task:rare"),
            "{two}"
        );
        assert!(list.ends_with("  and 4 others\n"), "{two}");
        let alone = screen(&["often"; 6]);
        let list = alone.split("The longest\n").nth(1).unwrap();
        assert_eq!(list.matches("task:often").count(), 4, "{alone}");
        assert!(list.ends_with("  and 2 others\n"), "{alone}");
    }
}
