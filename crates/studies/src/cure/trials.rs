//! The pairs of a cure that count, figure by figure: without against with.

use super::figures::matches;
use super::plan::{own_lines, own_of_pairs};
use super::{Difference, FindingChange, InheritedChange, LEVEL, LineChange, MIN_SHARE, Saving};
use bandscope_recording::cures::{Cure, Figures, Pair};
use bandscope_statistics::distributions::{student_beyond, welch};
use bandscope_statistics::order::median_between;
use bandscope_statistics::paired::{Mean, least_pairs, median_interval, sign_flips};
use std::collections::{BTreeMap, BTreeSet};

/// Of random choices of signs: any number would do, as long as a session is judged again as it was.
const SEED: u64 = 0x6375_7265;
/// Lines of the ledger that are known without kernel events.
const PACE: &str = "pace:";
/// A line that is smaller by less than such a part just after a trial with the cure did not come back slowly; chosen, not measured.
const MIN_RETURN_PART: f64 = 0.2;

/// A figure of each pair.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Values {
    without: Vec<f64>,
    with: Vec<f64>,
}

/// What is compared at first sight: its mean, how well that is known, and how likely it is by chance.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Tested {
    values: Values,
    savings: Mean,
    /// Before any correction.
    pub(super) p_value: f64,
}

/// A cure's pairs without its pilots, of which there are enough for a test.
pub(super) struct Trials<'a> {
    cure: &'a Cure,
    pairs: Vec<&'a Pair>,
    pub(super) lost: Tested,
    /// Its own lines, where they are known.
    pub(super) own: Option<Tested>,
}

/// By how much the lines rose on which a cure does not act: a mean, below 0 a fall.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Rest {
    pub(super) rise: f64,
    /// Upper end of Student's interval, 95 %.
    pub(super) most: f64,
    /// Whether it changed by more than chance, in a test of its own.
    pub(super) is_certain: bool,
}

impl Values {
    fn of(pairs: &[&Pair], figure: impl Fn(&Figures) -> f64) -> Values {
        let figure = |figures: &Figures| Some(figure(figures));
        Values::known(pairs, figure)
    }

    /// What its own lines took.
    fn own(pairs: &[&Pair], acts_on: &[String]) -> Values {
        let own = own_of_pairs(pairs, acts_on).into_iter();
        let (without, with) = own.map(|[without, with]| (without, with)).unzip();
        Values { without, with }
    }

    /// Of the pairs of which both trials know the figure.
    fn known(pairs: &[&Pair], figure: impl Fn(&Figures) -> Option<f64>) -> Values {
        let both = |pair: &&Pair| figure(&pair.without).zip(figure(&pair.with));
        let (without, with) = pairs.iter().filter_map(both).unzip();
        Values { without, with }
    }

    /// Without less with, pair by pair.
    fn savings(&self) -> Vec<f64> {
        let pairs = self.without.iter().zip(&self.with);
        pairs.map(|(without, with)| without - with).collect()
    }

    /// With less without.
    fn rises(&self) -> Vec<f64> {
        self.savings().iter().map(|saving| 0.0 - saving).collect()
    }

    fn means(&self) -> [f64; 2] {
        [&self.without, &self.with].map(|side| mean(side))
    }

    fn by_mean(&self) -> Difference {
        let [without, with] = self.means();
        let rises = self.rises();
        Difference {
            without,
            with,
            difference: mean(&rises),
            interval: Mean::of(&rises).map(|mean| mean.interval()),
        }
    }

    /// For extremes, of which one trial can have one that dwarfs all others.
    fn by_median(&self) -> Option<Difference> {
        let rises = self.rises();
        Some(Difference {
            without: median_between(self.without.clone())?,
            with: median_between(self.with.clone())?,
            difference: median_between(rises.clone())?,
            interval: median_interval(&rises),
        })
    }
}

fn mean(values: &[f64]) -> f64 {
    // A sum of nothing but zeros is -0 otherwise.
    (0.0 + values.iter().sum::<f64>()) / values.len().max(1) as f64
}

/// By Welch's test, and by a part that matters.
fn is_clearly_less(less: Mean, more: Mean) -> bool {
    let fall = more.mean - less.mean;
    if fall <= 0.0 || fall < MIN_RETURN_PART * more.mean {
        return false;
    }
    let variances = [less.error, more.error].map(|error| error * error);
    let error = (variances[0] + variances[1]).sqrt();
    // Numbers that do not scatter are known exactly.
    error == 0.0 || {
        let freedom = welch(variances, [less.freedom, more.freedom]);
        student_beyond(fall / error, freedom) <= LEVEL
    }
}

impl Tested {
    /// `None` of fewer than two pairs.
    fn of(values: Values) -> Option<Tested> {
        let savings = values.savings();
        Some(Tested {
            savings: Mean::of(&savings)?,
            p_value: sign_flips(&savings, SEED),
            values,
        })
    }

    /// With its p-value as it is corrected among `tests`.
    pub(super) fn saving(&self, p_value: f64, tests: usize) -> Saving {
        let [without, with] = self.values.means();
        let detectable = self.savings.detectable(LEVEL / tests.max(1) as f64);
        Saving {
            without,
            with,
            share: self.savings.mean,
            interval: self.savings.interval(),
            p_value,
            detectable: detectable.max(MIN_SHARE),
        }
    }
}

impl<'a> Trials<'a> {
    /// `None` of a cure that has too few pairs for any test: it is not part of the session's tests either.
    pub(super) fn of(cure: &'a Cure, has_events: bool) -> Option<Trials<'a>> {
        let pairs = counted(cure);
        if cure.missing.is_some() || pairs.len() < least_pairs(1, LEVEL) {
            return None;
        }
        let is_known = |pattern: &String| has_events || pattern.starts_with(PACE);
        let has_own = !cure.acts_on.is_empty() && cure.acts_on.iter().all(is_known);
        let own = || Values::own(&pairs, &cure.acts_on);
        Some(Trials {
            lost: Tested::of(Values::of(&pairs, |figures| figures.lost))?,
            own: has_own.then(own).and_then(Tested::of),
            cure,
            pairs,
        })
    }

    pub(super) fn number(&self) -> usize {
        self.pairs.len()
    }

    /// Chances of its tests, in order: of all that was lost, of its own lines.
    pub(super) fn chances(&self) -> impl Iterator<Item = f64> {
        let tests = [Some(&self.lost), self.own.as_ref()];
        tests.into_iter().flatten().map(|test| test.p_value)
    }

    /// By how much everything rose that is not its own.
    pub(super) fn rest(&self) -> Rest {
        let lost = Values::of(&self.pairs, |figures| figures.lost).rises();
        let own = Values::own(&self.pairs, &self.cure.acts_on).rises();
        let rises: Vec<f64> = lost.iter().zip(own).map(|(lost, own)| lost - own).collect();
        Rest {
            rise: mean(&rises),
            most: Mean::of(&rises).map_or(f64::INFINITY, |mean| mean.interval()[1]),
            is_certain: sign_flips(&rises, SEED) <= LEVEL,
        }
    }

    /// Whether its own lines took clearly less in trials without it that followed one with it, in the same pair or at the end of the one before.
    pub(super) fn returns_slowly(&self) -> bool {
        let (mut after, mut others) = (Vec::new(), Vec::new());
        let mut ended_with = false;
        for pair in &self.cure.pairs {
            let follows = pair.with_first || ended_with;
            let group = if follows { &mut after } else { &mut others };
            if !pair.pilot {
                group.push(own_lines(&pair.without, &self.cure.acts_on));
            }
            ended_with = !pair.with_first;
        }
        match (&self.own, Mean::of(&after), Mean::of(&others)) {
            (Some(_), Some(after), Some(others)) => is_clearly_less(after, others),
            _ => false,
        }
    }

    /// Units of work per second, where the trials know them.
    pub(super) fn work(&self) -> Option<Difference> {
        let known = |figures: &Figures| Some(figures.units_per_s).filter(|units| *units > 0.0);
        let work = Values::known(&self.pairs, known);
        (!work.with.is_empty()).then(|| work.by_mean())
    }

    /// By how much the slower pace rose, if for certain.
    pub(super) fn pace_rose(&self) -> Option<f64> {
        let patterns = [[PACE, "*"].concat()];
        let pace = Values::of(&self.pairs, |figures| own_lines(figures, &patterns)).by_mean();
        (pace.is_clear() && pace.difference > 0.0).then_some(pace.difference)
    }

    /// All lines, those that changed first.
    pub(super) fn lines(&self) -> Vec<LineChange> {
        let both = |pair: &&'a Pair| [&pair.without, &pair.with];
        let names = self.pairs.iter().flat_map(both);
        let names: BTreeSet<&str> = names
            .flat_map(|figures| figures.lines.keys().map(String::as_str))
            .collect();
        let line = |name: &str| {
            let share = |figures: &Figures| figures.lines.get(name).copied().unwrap_or(0.0);
            let share = Values::of(&self.pairs, share).by_mean();
            let mut own = self.cure.acts_on.iter();
            LineChange {
                line: name.to_owned(),
                is_own: own.any(|pattern| matches(pattern, name)),
                changed: share.is_clear() && share.difference.abs() >= MIN_SHARE,
                share,
            }
        };
        let mut lines: Vec<LineChange> = names.into_iter().map(line).collect();
        let size = |line: &LineChange| match line.changed {
            true => line.share.difference.abs(),
            false => line.share.without.max(line.share.with),
        };
        lines.sort_by(|a, b| {
            let by_size = || size(b).total_cmp(&size(a));
            b.changed.cmp(&a.changed).then_with(by_size)
        });
        lines
    }

    pub(super) fn worst_1ms(&self) -> Option<Difference> {
        Values::known(&self.pairs, |figures| figures.worst_1ms).by_median()
    }

    pub(super) fn longest_gap_s(&self) -> Option<Difference> {
        Values::of(&self.pairs, |figures| figures.longest_gap_s).by_median()
    }

    pub(super) fn gaps_per_s(&self) -> Difference {
        Values::of(&self.pairs, |figures| figures.gaps_per_s).by_mean()
    }

    pub(super) fn inherited(&self) -> Option<InheritedChange> {
        let busy = Values::known(&self.pairs, |figures| Some(figures.others?.busy));
        let waiting = Values::known(&self.pairs, |figures| Some(figures.others?.waiting));
        (!busy.with.is_empty()).then(|| InheritedChange {
            busy: busy.by_mean(),
            waiting: waiting.by_mean(),
        })
    }

    /// Kinds of which the numbers of trials differ.
    pub(super) fn findings(&self) -> Vec<FindingChange> {
        let mut numbers: BTreeMap<&str, [usize; 2]> = BTreeMap::new();
        for pair in &self.pairs {
            for (side, figures) in [&pair.without, &pair.with].into_iter().enumerate() {
                let kinds: BTreeSet<&String> = figures.findings.iter().collect();
                for kind in kinds {
                    numbers.entry(kind).or_default()[side] += 1;
                }
            }
        }
        let changed = numbers
            .into_iter()
            .filter(|(_, [without, with])| without != with);
        let change = |(kind, [without, with]): (&str, [usize; 2])| FindingChange {
            kind: kind.to_owned(),
            without,
            with,
        };
        changed.map(change).collect()
    }
}

/// The pairs that count.
pub(super) fn counted(cure: &Cure) -> Vec<&Pair> {
    cure.pairs.iter().filter(|pair| !pair.pilot).collect()
}
