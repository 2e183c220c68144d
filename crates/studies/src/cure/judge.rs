//! What became of each cure.
//!
//! Each cure that was tried is tested twice, by the signs of its pairs: all that was lost, and the lines on which it acts. All tests of single
//! cures share one error rate by Holm's rule. What helps is tried together afterwards, on trials of its own, so these two tests are apart.
//!
//! A cure whose own lines fell helps even where the test of all that was lost is not certain, if the rest of the ledger is known to have risen by
//! less than half as much. If it rose by more, the time only changed its name; if neither is known, the verdict is open.
//!
//! A share is of a trial's own best pace. So a cure that slows the whole CPU loses nothing by it, and the work per second has a veto.

use super::sentence::{self, Told};
use super::trials::{Trials, counted};
use super::{Difference, Judgement, LEVEL, MIN_SHARE, Saving, Verdict};
use bandscope_recording::cures::{Cure, Cures, TOGETHER};
use bandscope_statistics::holm;
use bandscope_statistics::paired::least_pairs;

/// A rise of the rest by such a part of what its own lines fell undoes it; chosen, not measured.
const UNDOING_PART: f64 = 0.5;
/// The slower pace is the reason for a loss of which it is such a part at least; chosen, not measured.
const REASON_PART: f64 = 0.5;
/// A smaller change of the work per second is not told, and no reason against a cure: a part of the work; chosen, not measured.
const MIN_WORK_PART: f64 = 0.01;

/// What was found about a cure, before it is worded.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Outcome {
    /// Less was lost.
    Saved,
    /// Its own lines fell, and the rest did not rise by as much as would undo it.
    OwnFell,
    /// Its own lines fell, and the rest rose by so much.
    RestRose(f64),
    /// Its own lines fell, and whether the rest rose is not known well enough.
    OwnFellRestOpen,
    /// Less was lost, but the work of each second changed by such a part, which is below 0.
    LessWork(f64),
    /// More was lost; whether for a slower pace.
    Cost { by_pace: bool },
    /// No change was found.
    Unchanged,
    /// No change was found, and the time on which it acts is less than a change that would have been found.
    TooSmall,
    /// No change was found, and so many pairs would have been needed to find one.
    TooFewPairs(usize),
}

impl Outcome {
    fn verdict(self) -> Verdict {
        match self {
            Outcome::Saved | Outcome::OwnFell => Verdict::Helps,
            Outcome::Cost { .. } | Outcome::LessWork(_) => Verdict::MakesWorse,
            Outcome::OwnFellRestOpen => Verdict::Undecided,
            Outcome::RestRose(_) => Verdict::WentElsewhere,
            Outcome::Unchanged => Verdict::DoesNothing,
            Outcome::TooSmall => Verdict::TooSmall,
            Outcome::TooFewPairs(_) => Verdict::NotTried,
        }
    }

    /// Of what was lost, unless each second held less work: a cure that costs work never helps.
    fn of(trials: &Trials<'_>, saved: &Saving, own: Option<&Saving>, tests: usize) -> Outcome {
        let outcome = Outcome::of_losses(trials, saved, own, tests);
        let change = trials.work().and_then(|work| part_of_work(&work));
        match change.filter(|change| *change < 0.0) {
            Some(change) if outcome.verdict() == Verdict::Helps => Outcome::LessWork(change),
            _ => outcome,
        }
    }

    fn of_losses(
        trials: &Trials<'_>,
        saved: &Saving,
        own: Option<&Saving>,
        tests: usize,
    ) -> Outcome {
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
        let acted_on = own.unwrap_or(saved);
        let Some(own) = own.filter(|own| own.fell()) else {
            return match trials.number() < least {
                true => Outcome::TooFewPairs(least),
                false if is_too_small(acted_on) => Outcome::TooSmall,
                false => Outcome::Unchanged,
            };
        };
        let (rest, undoing) = (trials.rest(), UNDOING_PART * own.share);
        if rest.is_certain && rest.rise >= undoing {
            return Outcome::RestRose(rest.rise);
        }
        match rest.most < undoing {
            true => Outcome::OwnFell,
            false => Outcome::OwnFellRestOpen,
        }
    }
}

/// Whether a cure that saves all of this time could remain unseen. Where no time went, there is nothing to save.
fn is_too_small(acted_on: &Saving) -> bool {
    (MIN_SHARE..acted_on.detectable).contains(&acted_on.without) && !acted_on.rose()
}

/// A change of the work per second as a part of the work without the cure, if it is certain and large enough.
pub(super) fn part_of_work(work: &Difference) -> Option<f64> {
    let part = work.difference / work.without;
    (work.is_clear() && part.abs() >= MIN_WORK_PART).then_some(part)
}

/// Judges all cures of a session together.
pub(super) fn judgements(cures: &Cures) -> Vec<Judgement> {
    let of = |cure| (cure, Trials::of(cure, cures.events));
    let tried: Vec<(&Cure, Option<Trials<'_>>)> = cures.cures.iter().map(of).collect();
    // What was chosen by the tests of the single cures must not change these.
    let is_together = |cure: &Cure| cure.name == TOGETHER;
    let mut families = [false, true].map(|together| {
        let such = tried.iter().filter(|one| is_together(one.0) == together);
        Family::of(such.filter_map(|(_, trials)| trials.as_ref()))
    });
    let judged = tried.iter().map(|(cure, trials)| match trials {
        Some(trials) => {
            let family = &mut families[usize::from(is_together(cure))];
            let tests = family.tests;
            let saved = trials.lost.saving(family.next(), tests);
            let own = trials.own.as_ref();
            let own = own.map(|own| own.saving(family.next(), tests));
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

/// Tests that share one error rate.
struct Family {
    tests: usize,
    /// P-values as Holm's rule corrects them, in the order of the cures.
    corrected: std::vec::IntoIter<f64>,
}

impl Family {
    fn of<'a>(trials: impl Iterator<Item = &'a Trials<'a>>) -> Family {
        let chances: Vec<f64> = trials.flat_map(Trials::chances).collect();
        Family {
            tests: chances.len(),
            corrected: holm(&chances).into_iter(),
        }
    }

    fn next(&mut self) -> f64 {
        self.corrected.next().unwrap_or(1.0)
    }
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
        work: trials.work(),
        returns_slowly: trials.returns_slowly(),
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
        (None, 0) => sentence::no_time(&cure.pairs),
        (None, pairs) => sentence::too_few(pairs, needed),
    };
    judgement.sentence = sentence::beginning(&cure.name, judgement.verdict) + &why;
    judgement
}
