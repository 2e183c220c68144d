//! What `doctor` found: what costs something first, with what changes it; what costs nothing in a line at the end.

use super::remedies;
use super::table::{Page, Paint};
use crate::doctor::{FOLDED, SECTIONS};
use crate::{Options, numbers};
use bandscope_report::remedies::{Need, Remedy};
use bandscope_studies::doctor::{Doctor, Entry, Item, State};

/// Lines of the ledger that are named of an item.
const MAX_LINES: usize = 4;
/// Width of the words before what they head.
const HEAD: usize = 9;

/// As text.
pub fn doctor(doctor: &Doctor, options: &Options) -> String {
    let mut page = Page::new(options);
    page.wrapped(("", Paint::Plain), &doctor.verdict, Paint::Bold);
    page.wrapped(("", Paint::Plain), &subject(doctor), Paint::Dim);
    let of = |state: State| -> Vec<&Entry> {
        let entries = doctor.entries.iter();
        entries.filter(|entry| entry.state == state).collect()
    };
    for (state, heading) in SECTIONS {
        match (state, options.all) {
            (State::Free | State::Quiet, false) => {}
            (State::Unknown | State::Quiet, _) => short(heading, of(state), &mut page),
            _ => section(heading, of(state), doctor, &mut page),
        }
    }
    if options.all {
        facts(doctor, &mut page);
    } else {
        page.blank();
        for (state, heading) in &SECTIONS[FOLDED..] {
            list(heading, of(*state), &mut page);
        }
        let more = "All of it, with sources and how to undo: --all";
        page.wrapped(("", Paint::Plain), more, Paint::Dim);
    }
    page.finish()
}

/// What was judged, in one line.
pub(crate) fn subject(doctor: &Doctor) -> String {
    let inputs = doctor.inputs.join(", ");
    let time = numbers::duration(doctor.wall_ns as f64);
    let cpus = bandscope_recording::cpu_list::named(&doctor.cpus);
    let dot = " · ";
    [cpus, time, doctor.started.clone(), inputs].join(dot)
}

/// Its share of the time, as it is written; empty where it is not known.
pub(crate) fn share(entry: &Entry, doctor: &Doctor) -> String {
    entry.cost_ns.map_or(String::new(), |ns| {
        numbers::percent(ns as f64 / doctor.wall_ns.max(1) as f64)
    })
}

/// The title of an item.
fn title(item: Item, doctor: &Doctor) -> &'static str {
    let entry = doctor.entries.iter().find(|entry| entry.item == item);
    entry.map_or("", |entry| entry.title)
}

/// On what an item acts, and with whom; empty where it acts on nothing that took time.
pub(crate) fn acts_on(entry: &Entry, doctor: &Doctor) -> String {
    let lines = entry.lines.iter().take(MAX_LINES);
    let mut words: Vec<String> = lines
        .map(|line| {
            let share = line.ns as f64 / doctor.wall_ns.max(1) as f64;
            format!("{} {}", line.line, numbers::percent(share))
        })
        .collect();
    if let Some(more) = entry
        .lines
        .len()
        .checked_sub(MAX_LINES)
        .filter(|more| *more > 0)
    {
        words.push(format!("{more} more"));
    }
    let mut text = words.join(", ");
    if !entry.together.is_empty() {
        let others: Vec<&str> = entry
            .together
            .iter()
            .map(|item| title(*item, doctor))
            .collect();
        text += &format!("; together with {}", others.join(", "));
    }
    text
}

/// Items with all that is known of each.
fn section(heading: &str, entries: Vec<&Entry>, doctor: &Doctor, page: &mut Page<'_>) {
    if entries.is_empty() {
        return;
    }
    page.blank();
    page.line(&[(heading, Paint::Bold)]);
    let whys: Vec<&str> = entries
        .iter()
        .filter_map(|entry| entry.why.as_deref())
        .collect();
    // One reason for all of them stands once.
    let same = whys.len() == entries.len() && whys.windows(2).all(|pair| pair[0] == pair[1]);
    if let Some(why) = whys.first().filter(|_| same && entries.len() > 1) {
        page.wrapped(("  ", Paint::Plain), &format!("{why}."), Paint::Dim);
    }
    for entry in entries {
        one(entry, doctor, same && whys.len() > 1, page);
    }
}

fn one(entry: &Entry, doctor: &Doctor, is_why_said: bool, page: &mut Page<'_>) {
    let cost = match entry.state {
        State::Costs | State::Open => format!("  {:>8}  ", share(entry, doctor)),
        _ => "  ".to_owned(),
    };
    page.line(&[(&cost, Paint::Loss), (entry.title, Paint::Bold)]);
    let mut line = |head: &str, text: &str| {
        if !text.is_empty() {
            let head = format!("    {head:HEAD$}");
            page.wrapped((&head, Paint::Dim), text, Paint::Plain);
        }
    };
    line("set", entry.found.as_deref().unwrap_or_default());
    line("wanted", entry.wanted.as_deref().unwrap_or_default());
    if [State::Costs, State::Open].contains(&entry.state) {
        line("acts on", &acts_on(entry, doctor));
    }
    if !is_why_said {
        line("why", entry.why.as_deref().unwrap_or_default());
    }
    if let Some(remedy) = &entry.now {
        now(remedy, page);
    }
    if let Some(lasting) = &entry.lasting {
        let place = format!("    {:HEAD$}{}", "at boot", lasting.place.name());
        page.line(&[(&place, Paint::Dim)]);
        // On a line of its own, from where it is copied.
        page.whole(("      ", Paint::Plain), &lasting.line, Paint::Work);
    }
    if page.options.all {
        page.wrapped(
            (&format!("    {:HEAD$}", "source"), Paint::Dim),
            entry.source,
            Paint::Dim,
        );
    }
}

/// What changes it now; a remedy that takes a boot says nothing that the line for the boot does not.
fn now(remedy: &Remedy, page: &mut Page<'_>) {
    let Some(command) = &remedy.command else {
        if !remedy.needs.contains(&Need::Boot) {
            page.wrapped(
                (&format!("    {:HEAD$}", "now"), Paint::Dim),
                &remedy.what,
                Paint::Plain,
            );
        }
        return;
    };
    let (command, as_root) = remedies::as_run(remedy, command, page);
    let head = match (remedy.needs.contains(&Need::Host), as_root) {
        (true, _) => "on host",
        (false, true) => "as root",
        (false, false) => "now",
    };
    page.command(&format!("    {head:HEAD$}"), &command, Paint::Work);
    if let (true, Some(undo)) = (page.options.all, &remedy.undo) {
        let (undo, _) = remedies::as_run(remedy, undo, page);
        page.command(&format!("    {:HEAD$}", "undo"), &undo, Paint::Plain);
    }
}

/// Items with what was found, or why nothing was; those of one reason stand together.
fn short(heading: &str, entries: Vec<&Entry>, page: &mut Page<'_>) {
    if entries.is_empty() {
        return;
    }
    page.blank();
    page.line(&[(heading, Paint::Bold)]);
    let mut reasons: Vec<(&str, Vec<&str>)> = Vec::new();
    for entry in entries {
        let text = entry.why.as_deref().or(entry.found.as_deref());
        let text = text.unwrap_or_default();
        match reasons.iter_mut().find(|reason| reason.0 == text) {
            Some((_, titles)) => titles.push(entry.title),
            None => reasons.push((text, vec![entry.title])),
        }
    }
    for (text, titles) in reasons {
        let text = format!("{}: {text}", titles.join(", "));
        page.wrapped(("  ", Paint::Plain), &text, Paint::Plain);
    }
}

/// Titles alone.
fn list(heading: &str, entries: Vec<&Entry>, page: &mut Page<'_>) {
    if entries.is_empty() {
        return;
    }
    let titles: Vec<&str> = entries.iter().map(|entry| entry.title).collect();
    let text = format!("{heading}: {}.", titles.join(", "));
    page.wrapped(("", Paint::Plain), &text, Paint::Plain);
}

fn facts(doctor: &Doctor, page: &mut Page<'_>) {
    page.blank();
    page.line(&[("Facts", Paint::Bold)]);
    for fact in &doctor.facts {
        let lead = format!("  {:18} ", fact.name);
        page.wrapped((&lead, Paint::Dim), &fact.value, Paint::Plain);
    }
}
