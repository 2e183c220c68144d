//! What became of each cure.
//!
//! Each cure that was tried is tested twice, by the signs of its pairs: all that was lost, and the lines on which it acts. All tests of a session
//! share one error rate by Holm's rule. A cure whose own lines fell helps even where other noise hides that less was lost, unless the rest of the
//! ledger rose by half as much or more: then the time only changed its name.

use super::sentence::{self, Told};
use super::trials::{Trials, counted};
use super::{Judgement, LEVEL, Saving, Verdict};
use bandscope_recording::cures::{Cure, Cures};
use bandscope_statistics::holm;
use bandscope_statistics::paired::least_pairs;

/// A rise of the rest by such a part of what its own lines fell undoes it; chosen, not measured.
const UNDOING_PART: f64 = 0.5;
/// The slower pace is the reason for a loss of which it is such a part at least; chosen, not measured.
const REASON_PART: f64 = 0.5;

/// What was found about a cure, before it is worded.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Outcome {
    /// Less was lost.
    Saved,
    /// Its own lines fell, and the rest did not rise.
    OwnFell,
    /// Its own lines fell, and the rest rose by so much.
    RestRose(f64),
    /// More was lost; whether for a slower pace.
    Cost { by_pace: bool },
    /// No change was found.
    Unchanged,
    /// No change was found, and so many pairs would have been needed to find one.
    TooFewPairs(usize),
}

impl Outcome {
    fn verdict(self) -> Verdict {
        match self {
            Outcome::Saved | Outcome::OwnFell => Verdict::Helps,
            Outcome::Cost { .. } => Verdict::MakesWorse,
            Outcome::RestRose(_) | Outcome::Unchanged => Verdict::DoesNothing,
            Outcome::TooFewPairs(_) => Verdict::NotTried,
        }
    }

    fn of(trials: &Trials<'_>, saved: &Saving, own: Option<&Saving>, tests: usize) -> Outcome {
        if saved.rose() {
            let rise = trials.pace_rose().unwrap_or(0.0);
            let gaps = trials.gaps_per_s();
            let more_gaps = gaps.is_clear() && gaps.difference > 0.0;
            let by_pace = !more_gaps && rise >= REASON_PART * -saved.share;
            return Outcome::Cost { by_pace };
        }
        if saved.fell() {
            return Outcome::Saved;
        }
        let least = least_pairs(tests, LEVEL);
        let Some(own) = own.filter(|own| own.fell()) else {
            return match trials.number() < least {
                true => Outcome::TooFewPairs(least),
                false => Outcome::Unchanged,
            };
        };
        let undone = |rise: &f64| *rise >= UNDOING_PART * own.share;
        match trials.rest_rose().filter(undone) {
            Some(rise) => Outcome::RestRose(rise),
            None => Outcome::OwnFell,
        }
    }
}

/// Judges all cures of a session together.
pub(super) fn judgements(cures: &Cures) -> Vec<Judgement> {
    let of = |cure| (cure, Trials::of(cure, cures.events));
    let tried: Vec<(&Cure, Option<Trials<'_>>)> = cures.cures.iter().map(of).collect();
    let chances: Vec<f64> = tried
        .iter()
        .filter_map(|(_, trials)| trials.as_ref())
        .flat_map(Trials::chances)
        .collect();
    let tests = chances.len();
    let mut corrected = holm(&chances).into_iter();
    let mut next = || corrected.next().unwrap_or(1.0);
    let judged = tried.iter().map(|(cure, trials)| match trials {
        Some(trials) => {
            let saved = trials.lost.saving(next(), tests);
            let own = trials.own.as_ref().map(|own| own.saving(next(), tests));
            let outcome = Outcome::of(trials, &saved, own.as_ref(), tests);
            let judgement = Judgement {
                verdict: outcome.verdict(),
                saved: Some(saved),
                own,
                ..compared(trials, begun(cures, cure))
            };
            worded(cures, judgement, &saved, outcome)
        }
        None => untried(cures, cure),
    });
    judged.collect()
}

/// What is known of a cure before it is judged.
fn begun(cures: &Cures, cure: &Cure) -> Judgement {
    Judgement {
        name: cure.name.clone(),
        what: cure.what.clone(),
        acts_on: cure.acts_on.clone(),
        pairs: counted(cure).len(),
        changes: cure.changes.clone(),
        is_kept: cures.kept.contains(&cure.name),
        problems: cure.problems.clone(),
        ..Judgement::default()
    }
}

/// With the figures that are told and not tested.
fn compared(trials: &Trials<'_>, begun: Judgement) -> Judgement {
    Judgement {
        lines: trials.lines(),
        worst_1ms: trials.worst_1ms(),
        longest_gap_s: trials.longest_gap_s(),
        gaps_per_s: Some(trials.gaps_per_s()),
        inherited: trials.inherited(),
        findings: trials.findings(),
        ..begun
    }
}

fn worded(cures: &Cures, judgement: Judgement, saved: &Saving, outcome: Outcome) -> Judgement {
    let told = Told {
        cures,
        judgement: &judgement,
        saved,
    };
    let (effect, reason) = (told.effect(outcome), sentence::reason(outcome));
    Judgement {
        sentence: sentence::beginning(&judgement.name, judgement.verdict) + &effect,
        reason: reason.map(str::to_owned),
        ..judgement
    }
}

/// A cure without pairs to judge, and why.
fn untried(cures: &Cures, cure: &Cure) -> Judgement {
    let mut judgement = begun(cures, cure);
    let needed = least_pairs(1, LEVEL);
    let why = match (&cure.missing, judgement.pairs) {
        (Some(missing), _) => {
            judgement.verdict = Verdict::CannotBeTried;
            missing.clone()
        }
        (None, 0) if cures.interrupted && !cure.out_of_time => {
            "the session was ended before".to_owned()
        }
        (None, 0) => "no time was left".to_owned(),
        (None, pairs) => sentence::too_few(pairs, needed),
    };
    judgement.sentence = sentence::beginning(&cure.name, judgement.verdict) + &why;
    judgement
}
