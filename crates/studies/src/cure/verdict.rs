//! What became of the whole session, and what limits it.

use super::events::Added;
use super::plan::host_beside;
use super::sentence::points;
use super::trials::counted;
use super::{Judgement, MIN_SHARE, Verdict};
use bandscope_recording::cpu_list;
use bandscope_recording::cures::{Cure, Cures, SHAM, TOGETHER};
use bandscope_report::format;

/// Cures that the verdict names.
const MAX_NAMED: usize = 3;

/// `4.9 points` of what a verdict rests on, and that it rests on its own lines where it does.
fn saving(judgement: &Judgement) -> String {
    let saving = judgement.saving().unwrap_or_default();
    let points = points(saving.share.abs(), Some(saving.interval));
    match judgement.rests_on_own_lines() {
        true => points + " on its own lines",
        false => points,
    }
}

/// What a reader who reads no further must know. `judgements` are in the order of a report.
pub(super) fn verdict(cures: &Cures, judgements: &[Judgement]) -> String {
    let of = |verdict: Verdict| -> Vec<&Judgement> {
        let such = judgements.iter();
        such.filter(|one| one.verdict == verdict && one.is_single())
            .collect()
    };
    let (help, worse) = (of(Verdict::Helps), of(Verdict::MakesWorse));
    let open = of(Verdict::Undecided);
    let small = of(Verdict::TooSmall);
    let taken = of(Verdict::WentElsewhere);
    let without_effect = small.len() + taken.len() + of(Verdict::DoesNothing).len();
    let tried = help.len() + worse.len() + open.len() + without_effect;
    let is_unsure = !(open.is_empty() && small.is_empty());
    let cpus = cpu_list::named(&cures.cpus);
    let lost = format::percent(cures.before.lost);
    if tried == 0 {
        return format!("No cure was tried on {cpus}, which lost {lost}.");
    }
    let number = match (help.len(), tried) {
        (0, 1) if is_unsure => "The cure that was tried may help".to_owned(),
        (0, 1) => "The cure that was tried does not help".to_owned(),
        (1, 1) => "The cure that was tried helps".to_owned(),
        (0, _) if is_unsure => format!("None of {tried} cures certainly helps"),
        (0, _) => format!("None of {tried} cures helps"),
        (1, _) => format!("1 of {tried} cures helps"),
        (some, _) => format!("{some} of {tried} cures help"),
    };
    let named = help.iter().take(MAX_NAMED);
    let mut named: Vec<String> = named
        .map(|one| format!("{} saves {}", one.name, saving(one)))
        .collect();
    if let Some(more) = help.len().checked_sub(MAX_NAMED).filter(|more| *more > 0) {
        named.push(format!("{more} more help"));
    }
    let mut text = format!("{number} {cpus}, which lost {lost}");
    if !named.is_empty() {
        text += &format!(": {}", named.join(", "));
    }
    text.push('.');
    if !worse.is_empty() {
        let verb = if worse.len() == 1 { "makes" } else { "make" };
        text += &format!(" {} {verb} it worse.", capitalised(&names(&worse)));
    }
    if !taken.is_empty() {
        text += &format!(" What {} saved went elsewhere.", names(&taken));
    }
    if !open.is_empty() {
        let verb = if open.len() == 1 { "helps" } else { "help" };
        text += &format!(" Whether {} {verb} cannot be told.", names(&open));
    }
    if !small.is_empty() {
        text += &format!(
            " What {} could save is too small to be seen.",
            names(&small)
        );
    }
    text + &together(judgements)
}

fn names(judgements: &[&Judgement]) -> String {
    let names: Vec<&str> = judgements.iter().map(|one| one.name.as_str()).collect();
    names.join(", ")
}

fn together(judgements: &[Judgement]) -> String {
    let Some(one) = judgements.iter().find(|one| one.name == TOGETHER) else {
        return String::new();
    };
    match one.verdict {
        Verdict::Helps => format!(
            " Together they save {}.",
            saving(one).replace(" its ", " their ")
        ),
        Verdict::Undecided => " Whether they help together cannot be told.".to_owned(),
        Verdict::MakesWorse if one.less_work().is_some() => {
            " Together they leave less work in each second.".to_owned()
        }
        Verdict::MakesWorse => format!(" Together they cost {}.", saving(one)),
        Verdict::WentElsewhere => " What they saved together went elsewhere.".to_owned(),
        Verdict::TooSmall | Verdict::DoesNothing => {
            " Together they save nothing that could be seen.".to_owned()
        }
        Verdict::CannotBeTried | Verdict::NotTried => String::new(),
    }
}

/// Names are written as they are typed, but at the beginning of a sentence.
fn capitalised(text: &str) -> String {
    let mut characters = text.chars();
    let first = characters.next().map(|first| first.to_ascii_uppercase());
    first.into_iter().chain(characters).collect()
}

/// Whether the host's way to its own lines takes some of the time.
fn has_host_beside(cure: &Cure) -> bool {
    let pairs = counted(cure);
    let all: f64 = pairs
        .iter()
        .map(|pair| host_beside(&pair.without, &cure.acts_on))
        .sum();
    all >= MIN_SHARE * pairs.len().max(1) as f64
}

/// What limits what was found, in sentences.
pub(super) fn notes(cures: &Cures, added: Added, judgements: &[Judgement]) -> Vec<String> {
    let mut notes = Vec::new();
    if cures.interrupted {
        notes.push("The session was ended early, and what was not measured is not judged.".into());
    }
    if !cures.events {
        notes.push(
            "Kernel events were not recorded, so gaps have no names and cures are judged by all that was lost. As root they are recorded.".into(),
        );
    }
    if added.seconds > 0.0 {
        let longer = format::duration(added.seconds * 1e9);
        notes.push(match added.is_typical {
            true => format!(
                "These trials do not tell how much longer recording kernel events made each interrupt, softirq and task. About what is typical is taken off: {longer}."
            ),
            false => format!(
                "Recording kernel events made each interrupt, softirq and task {longer} longer. All shares and savings are without that."
            ),
        });
    }
    if cures.cures.iter().any(has_host_beside) {
        notes.push(
            "Savings on own lines hold the host's way to what the cure moves, less what its other short stops rise by. Both are on the line host.".into(),
        );
    }
    let slow = judgements.iter();
    let slow: Vec<&Judgement> = slow
        .filter(|one| one.returns_slowly && one.name != SHAM)
        .collect();
    if !slow.is_empty() {
        notes.push(format!(
            "What was moved comes back slowly ({}): the lines acted on took less in trials without the cure that followed one with it. The saving may be larger.",
            names(&slow)
        ));
    }
    let sham = judgements.iter().find(|one| one.name == SHAM);
    let sham = sham.map(|one| one.verdict);
    let found = match sham {
        Some(Verdict::Helps) => "help",
        Some(Verdict::MakesWorse) => "make it worse",
        Some(Verdict::Undecided) => "lower its lines",
        _ => return notes,
    };
    notes.push(format!(
        "The sham changes nothing and was found to {found}. Chance does so in at most 5 of 100 sessions: repeat this one before you trust it."
    ));
    notes
}
