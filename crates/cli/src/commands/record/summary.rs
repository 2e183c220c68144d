//! What a run says of itself: before it, and in three lines at its end.

use super::Recorded;
use crate::output;
use bandscope_analysis::caught;
use bandscope_recording::GapKind;
use bandscope_recording::cpu_list;
use bandscope_recording::manifest::{Clock, Manifest, State, Watched};
use bandscope_recording::text::{shell_word, shown};
use bandscope_sampler::Batch;
use bandscope_view::{escape, numbers};
use std::path::Path;

/// What was measured so far, for the summary.
#[derive(Debug, Default)]
pub struct Tally {
    quanta: u64,
    gaps: u64,
    /// In gaps.
    away_ticks: u64,
    measured_ticks: u64,
}

impl Tally {
    /// Counts a batch.
    pub fn add(&mut self, batch: &Batch<'_>) {
        let (quanta, gaps) = (batch.quanta, batch.gaps);
        self.quanta += quanta.len() as u64;
        self.gaps += gaps.iter().filter(|gap| gap.kind == GapKind::Gap).count() as u64;
        self.away_ticks += quanta.gap_ticks.iter().sum::<u64>();
        let spans = quanta.start.iter().zip(&quanta.end);
        self.measured_ticks += spans.map(|(start, end)| end - start).sum::<u64>();
    }

    /// Whether nothing was measured. Kernel events come before the first quantum, and say nothing without one.
    pub fn is_empty(&self) -> bool {
        self.quanta == 0 && self.gaps == 0
    }

    /// Measured time of all CPUs together.
    pub fn seconds(&self, ticks_per_ns: f64) -> f64 {
        self.measured_ticks as f64 / ticks_per_ns / 1e9
    }
}

/// What a flight recorder caught, for the summary.
#[derive(Debug, Default)]
pub struct Caught {
    /// How often a condition was met, and how many of those were kept; `None` where everything was.
    met_and_kept: Option<(u64, u64)>,
    /// The same as words without a full stop: `212 gaps met "gap > 50 us"`.
    met: String,
    condition: String,
    /// The longest gap that was seen, and its cause.
    longest: Option<String>,
    /// Causes that were asked for and were in no gap that was long enough.
    unseen: String,
    stopped_by: String,
}

impl Caught {
    /// Of a run that has ended.
    pub fn of(manifest: &Manifest) -> Caught {
        let sum = |of: fn(&Watched) -> u64| manifest.watched.iter().map(of).sum::<u64>();
        Caught {
            met_and_kept: (manifest.keeps_moments())
                .then(|| (sum(|one| one.met), sum(|one| one.kept))),
            met: caught::met(manifest),
            condition: caught::condition(manifest),
            longest: caught::longest_gap(manifest),
            unseen: caught::unseen(manifest),
            stopped_by: manifest.stopped_by.clone(),
        }
    }

    /// How many moments were kept.
    pub fn kept(&self) -> u64 {
        self.met_and_kept.map_or(0, |(_, kept)| kept)
    }

    /// What was caught, in a sentence; `is_kept` if it went to a recording.
    pub fn sentence(&self, is_kept: bool) -> Option<String> {
        let (number, kept) = self.met_and_kept?;
        if number == 0 {
            let longest = self.longest.iter();
            let longest = longest.map(|longest| format!(" The longest gap took {longest}."));
            let nothing = format!("Nothing met {}.", self.condition);
            return Some(nothing + &longest.collect::<String>() + &self.unseen);
        }
        let (met, kept) = (&self.met, numbers::count(kept));
        Some(match is_kept {
            true => format!("{met}, and what lies around {kept} was kept."),
            false => format!("{met}."),
        })
    }

    /// The same, and what ended the run, where a condition did.
    pub fn sentences(&self, is_kept: bool) -> impl Iterator<Item = String> {
        let by = &self.stopped_by;
        let ended = (!by.is_empty()).then(|| format!("It ended because of \"{by}\"."));
        self.sentence(is_kept).into_iter().chain(ended)
    }
}

/// Three lines: how much was measured, what gaps took of it, and how to read it.
pub fn summarise(recorded: &Recorded) {
    let tally = &recorded.tally;
    let share = tally.away_ticks as f64 / tally.measured_ticks.max(1) as f64;
    output::note(format_args!(
        "{} {} measured for {}: {} quanta.",
        cpu_list::named(&recorded.cpus),
        if recorded.cpus.len() == 1 {
            "was"
        } else {
            "were"
        },
        numbers::duration_round(recorded.duration_s * 1e9),
        numbers::count(tally.quanta),
    ));
    output::note(format_args!(
        "{} took {} of the time.",
        numbers::plural(tally.gaps, "gap", "gaps"),
        numbers::percent(share),
    ));
    for sentence in recorded.caught.sentences(true) {
        output::note(format_args!("{}", escape::visible(&sentence)));
    }
    output::note(format_args!(
        "To read it: bandscope report {}",
        shell_word(&shown(&recorded.path))
    ));
}

/// Says that a clock rate that was given makes the run much longer or shorter: by more than the truncation of old tools does (2.39 to 2).
pub fn say_if_lengthened(clock: &Clock) {
    let Some(measured) = clock.measured_ticks_per_ns else {
        return;
    };
    let ratio = clock.ticks_per_ns / measured;
    if !(0.5..=2.0).contains(&ratio) {
        output::note(format_args!(
            "bandscope: --ticks-per-ns makes each second last {ratio:.3} s: this clock has {measured:.4} ticks per nanosecond"
        ));
    }
}

/// Says of a recording that it is a part.
pub fn say_if_interrupted(manifest: &Manifest, path: &Path) {
    if manifest.state == State::Interrupted {
        output::note(format_args!(
            "bandscope: interrupted; what was measured until then is kept in {}",
            shown(path)
        ));
    }
}
