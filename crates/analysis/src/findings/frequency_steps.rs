//! `frequency-steps`: all bands of a work kernel lie on steps of one clock.
//!
//! Published: 34, 32 and 30 of 38 steps of 100 MHz. The core's clock moves every pace by the same ratio, so a second work
//! kernel of the same recording must show the same levels; one work kernel has the lattice alone ([`bandscope_statistics::lattice`]), which a
//! hidden state of the core could fit by chance. Such a state changes the pace by ratios of its own, mostly larger
//! than clocks change by.
//!
//! Where all that the core does slows down by such ratios, bandscope's own work between the units as well, it is no state that this work meets
//! ([`crate::pace::whole_core`]): a clock that a power or thermal limit holds back, on every core at once as a rule.

use super::{Analysed, Case, Phenomenon, agree, is_part, name, smt_neighbour};
use crate::pace::dwell::Stays;
use crate::pace::whole_core::WholeCore;
use bandscope_report::evidence::{self, OfKind};
use bandscope_report::remedies::{self, Remedy};
use bandscope_report::{Band, Certainty, Finding, Kind, Series};
use bandscope_statistics::lattice::{self, Lattice, Ratio};

pub(super) const PHENOMENON: Phenomenon = Phenomenon {
    kind: Kind::FrequencySteps,
    recognise,
    // As bistable-pace: what was seen in one series and not in the other is said by its own sentence.
    same: |known, new| {
        agree(known, new, |known: &evidence::FrequencySteps, new| {
            let whole = known.handling_ratio.and(new.handling_ratio);
            whole.is_some() || is_part(&known.ratios, &new.ratios, 1e-3)
        })
    },
    settle,
    consequence: |_, series| {
        series.ledger.pace_ns.total() as f64 / (series.ledger.wall_ns as f64).max(1.0)
    },
    remedy,
};

/// Until it is certain.
fn remedy(finding: &Finding, _: Analysed<'_>) -> Option<Remedy> {
    (finding.certainty < Certainty::Certain).then(|| {
        remedies::other_kernels(
            "mulss80,ftq-o2",
            "whether both work kernels slow down by the same ratio",
        )
    })
}

/// Steps of 100 MHz that the fastest level may have: 0.8 to 6 GHz, cores in use. Core clocks are made by multiplying a reference of 100 MHz
/// (Intel; AMD in steps of 25 to 100 MHz).
const STEPS: std::ops::RangeInclusive<u32> = 8..=60;
/// Expected accidental matches below which levels are believed to be steps.
const MAX_EXPECTED_MATCHES: f64 = 1e-3;
/// The same for a hint.
const HINT: f64 = 0.05;
/// Levels of one clock are this close to the next one: three of ten steps, and fewer where steps are more.
const NEIGHBOURS: f64 = 1.35;
/// A clock's highest frequency over its lowest under load: 3.8 to 1.9 GHz is already much.
const RANGE: f64 = 2.0;
/// Shortest mean stay, in seconds: power control units decide about each millisecond.
const DWELL: f64 = 0.9e-3;
/// Share of the quanta below which a band is no level.
const MIN_SHARE: f64 = 0.002;
/// Resolution of a pace, as a ratio: the ends of a quantum are known to a tick or so.
const RESOLUTION: f64 = 2e-5;
/// Relative standard deviation over the half width that holds 90 % of a band.
const DEVIATION: f64 = 1.0 / 1.645;
/// Seconds after which what disturbs a pace has changed.
const INDEPENDENT: f64 = 0.01;
/// A level of a second work kernel is the same if its ratio is within this.
const MAX_RATIO_ERROR: f64 = 5e-4;

/// Steps that a sentence lists.
const MAX_LISTED: usize = 4;

/// Levels that one clock can have, fastest first.
#[derive(Clone, Debug)]
struct Levels {
    ratios: Vec<Ratio>,
    lattice: Option<Lattice>,
    held: bool,
}

/// Whether the bands of a series are all steps of one clock, more likely than by chance. Then they are no states of their
/// own, and no finding but `frequency-steps` may claim them.
pub(super) fn is_frequency(series: &Series, stays: &[Stays]) -> bool {
    let levels = levels(series, stays);
    levels.is_some_and(|levels| levels.fits(MAX_EXPECTED_MATCHES) && levels.held)
}

impl Levels {
    fn fits(&self, chance: f64) -> bool {
        self.ratios.len() >= 2
            && self
                .lattice
                .as_ref()
                .is_some_and(|lattice| lattice.chance < chance)
    }

    /// Accidental matches to be expected; without a lattice it may be any.
    fn chance(&self) -> f64 {
        self.lattice.as_ref().map_or(1.0, |lattice| lattice.chance)
    }

    /// What a second work kernel makes of it that has the same levels, by accident so often.
    fn shared(&self, by_chance: f64) -> Certainty {
        let fits = self.fits(MAX_EXPECTED_MATCHES);
        let believed = self.ratios.len() >= 2;
        // Three levels and more that two work kernels share are a clock's, if a lattice fits at all.
        let both = self.chance() < HINT && self.chance() * by_chance < MAX_EXPECTED_MATCHES;
        match (fits && by_chance < HINT || believed && both, believed) {
            (true, _) => Certainty::Certain,
            (false, true) => Certainty::Likely,
            _ => Certainty::Possible,
        }
    }
}

/// The levels of a series, if no two neighbours are further apart than clocks step.
fn levels(series: &Series, stays: &[Stays]) -> Option<Levels> {
    let kept: Vec<(&Band, &Stays)> = series
        .bands
        .iter()
        .zip(stays)
        .filter(|(band, _)| band.share >= MIN_SHARE)
        .collect();
    let (fastest, _) = kept.first()?;
    let (slowest, _) = kept.last()?;
    let close =
        |pair: &[(&Band, &Stays)]| pair[1].0.ns_per_unit <= pair[0].0.ns_per_unit * NEIGHBOURS;
    if kept.len() < 2
        || slowest.ns_per_unit >= fastest.ns_per_unit * RANGE
        || !kept.windows(2).all(close)
    {
        return None;
    }
    let error = |band: &Band| error(band, band.share * series.duration_s);
    let ratios: Vec<Ratio> = kept[1..]
        .iter()
        .map(|(band, _)| {
            let ratio = fastest.ns_per_unit / band.ns_per_unit;
            Ratio {
                ratio,
                error: ratio * error(band).hypot(error(fastest)),
            }
        })
        .collect();
    Some(Levels {
        lattice: lattice::fit(&ratios, STEPS),
        ratios,
        // Not the median: an edge between two others passes through a level, and few stays are soon outnumbered.
        held: kept
            .iter()
            .all(|(band, _)| band.share * series.duration_s >= DWELL * band.stays as f64),
    })
}

/// Relative error of the mean pace of a band in which the series was for so many seconds: what moves it moves it for a stay, or
/// for a while.
fn error(band: &Band, seconds: f64) -> f64 {
    let deviation = band.half_width * DEVIATION;
    let independent = (band.stays as f64).max(seconds / INDEPENDENT).max(1.0);
    RESOLUTION.hypot(deviation / independent.sqrt())
}

fn recognise(case: Case<'_>) -> Vec<Finding> {
    let whole_core = case.seen.whole_core.filter(WholeCore::is_slow);
    if let Some(ratios) = whole_core.filter(|_| !smt_neighbour::explains(case)) {
        return vec![throttled(case, &ratios)];
    }
    let levels = levels(case.series, &case.seen.stays).filter(|levels| levels.held);
    let Some(levels) = levels.filter(|_| !smt_neighbour::explains(case)) else {
        return Vec::new();
    };
    vec![Finding {
        kind: PHENOMENON.kind,
        series: vec![case.index],
        certainty: if levels.fits(MAX_EXPECTED_MATCHES) {
            Certainty::Likely
        } else {
            Certainty::Possible
        },
        summary: sentence(case.series, &levels),
        evidence: evidence_of(&levels).into(),
        next_step: None,
    }]
}

fn evidence_of(levels: &Levels) -> evidence::FrequencySteps {
    let ratios = levels.ratios.iter().map(|level| level.ratio);
    evidence::FrequencySteps {
        handling_ratio: None,
        chance: levels.lattice.as_ref().map(|lattice| lattice.chance),
        lattice: levels.lattice.as_ref().map(|lattice| lattice.top),
        ratios: std::iter::once(1.0).chain(ratios).collect(),
    }
}

/// All that the core does is slow.
fn throttled(case: Case<'_>, slow: &WholeCore) -> Finding {
    let (series, manifest) = (case.series, case.analysed.manifest);
    let bands = || series.bands.iter().filter(|band| band.share >= MIN_SHARE);
    let fastest = bands().next().map_or(0.0, |band| band.ns_per_unit);
    let kernel = manifest.kernel(&series.kernel);
    let registers_only = kernel.is_some_and(|kernel| kernel.registers_only);
    Finding {
        kind: PHENOMENON.kind,
        series: vec![case.index],
        certainty: match slow.is_from_outside(registers_only) {
            true => Certainty::Likely,
            false => Certainty::Possible,
        },
        summary: format!(
            "At times all that {} does is slow, by its clock or its host: units take {:.1} times as long, bandscope's own work {:.1} times.",
            name(series),
            slow.units,
            slow.handling,
        ),
        evidence: evidence::FrequencySteps {
            chance: None,
            handling_ratio: Some(slow.handling),
            lattice: None,
            ratios: bands().map(|band| fastest / band.ns_per_unit).collect(),
        }
        .into(),
        next_step: None,
    }
}

fn sentence(series: &Series, levels: &Levels) -> String {
    match &levels.lattice {
        Some(lattice) => format!(
            "The paces on {} are steps of a clock: {} of the fastest.",
            name(series),
            list(&lattice.steps, lattice.top),
        ),
        None => format!(
            "The paces on {} are as close together as the steps of a clock.",
            name(series)
        ),
    }
}

/// Steps as parts of the fastest one: "34/37, 32/37 and 30/37", and of many the first and the last.
fn list(steps: &[u32], top: u32) -> String {
    let words: Vec<String> = steps.iter().map(|step| format!("{step}/{top}")).collect();
    match words.as_slice() {
        [] | [_] => words.concat(),
        [first, .., last] if words.len() > MAX_LISTED => {
            format!("{} of them, from {first} to {last}", words.len())
        }
        [others @ .., last] => format!("{} and {last}", others.join(", ")),
    }
}

/// A second work kernel with the same ratios makes it certain where the lattice fits too, and both hardly by accident; without a lattice the same
/// levels in two are more than a hint. More series with no such levels, which ran all the while, than with the same rule a clock out.
fn settle(finding: &mut Finding, analysed: Analysed<'_>) -> bool {
    let first = finding.series[0];
    let evidence = evidence::FrequencySteps::of(&finding.evidence);
    if evidence.is_some_and(|evidence| evidence.handling_ratio.is_some()) {
        return true;
    }
    let mine = &analysed.series[first];
    // The rate that saw most of them.
    let own = finding.series.iter();
    let own = own.filter_map(|&one| levels(&analysed.series[one], &analysed.seen[one].stays));
    let Some(levels_here) = own.max_by_key(|levels| levels.ratios.len()) else {
        return false;
    };
    let (mut agree, mut contradict) = (Vec::<(usize, Levels, f64)>::new(), 0);
    for (index, (other, seen)) in analysed.series.iter().zip(analysed.seen).enumerate() {
        if (other.cpu, &other.origin) != (mine.cpu, &mine.origin) || other.kernel == mine.kernel {
            continue;
        }
        match levels(other, &seen.stays) {
            None => contradict += 1,
            Some(levels) if levels.held => {
                agree.extend(agreement(&levels_here, &levels).map(|by| (index, levels, by)));
            }
            Some(_) => {}
        }
    }
    if contradict > agree.len() {
        return false;
    }
    let most = match contradict {
        0 => Certainty::Certain,
        _ => Certainty::Likely,
    };
    // Who knows more of the two speaks for both.
    let mut chance = levels_here.chance();
    let by_chance = agree.iter().map(|(_, _, by)| *by).reduce(f64::min);
    if let Some(by_chance) = by_chance {
        finding.certainty = levels_here.shared(by_chance).min(most);
        for (other, levels, by) in &agree {
            let theirs = levels.shared(*by).min(most);
            if theirs > finding.certainty {
                finding.certainty = theirs;
                finding.summary = sentence(&analysed.series[*other], levels);
                finding.evidence = evidence_of(levels).into();
            }
            chance = chance.min(levels.chance());
        }
        finding.summary = format!(
            "{}, and so are those of another work kernel.",
            finding.summary.trim_end_matches('.')
        );
    }
    if finding.certainty == Certainty::Possible {
        finding.summary = finding.summary.replacen(" are steps", " may be steps", 1);
    }
    // What another work kernel's series, listed before, says already with this one among its own.
    let said = agree.iter().any(|(other, ..)| *other < first);
    (finding.series).extend(agree.iter().map(|(index, ..)| *index));
    finding.series.sort_unstable();
    // A single ratio fits some lattice or other.
    !said && (finding.certainty > Certainty::Possible || chance < HINT)
}

/// Chance that two work kernels have so many levels in common by accident; `None` where they do not agree, as far as both have seen them: segments
/// alternate.
fn agreement(a: &Levels, b: &Levels) -> Option<f64> {
    let tolerance = |a: &Ratio, b: &Ratio| MAX_RATIO_ERROR + 3.0 * a.error.hypot(b.error);
    let same = |a: &Ratio, b: &Ratio| (a.ratio - b.ratio).abs() <= tolerance(a, b);
    let known = |level: &&Ratio| b.ratios.iter().any(|other| same(level, other));
    let common = a.ratios.iter().filter(known).count();
    if common == 0 || common * 2 < a.ratios.len().min(b.ratios.len()) {
        return None;
    }
    // Levels lie anywhere between neighbours.
    let reach = 1.0 - 1.0 / NEIGHBOURS;
    let of_one = |a: &Ratio| b.ratios.iter().map(|b| 2.0 * tolerance(a, b)).sum::<f64>();
    let expected = a.ratios.iter().map(of_one).sum::<f64>() / reach;
    Some(expected.min(1.0).powi(common as i32))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn levels(ratios: &[f64], error: f64) -> Levels {
        Levels {
            ratios: ratios.iter().map(|&ratio| Ratio { ratio, error }).collect(),
            lattice: None,
            held: true,
        }
    }

    #[test]
    fn what_is_known_to_a_few_per_cent_agrees_by_accident() {
        let known = levels(&[0.9474, 0.8947], 2e-5);
        assert!(agreement(&known, &levels(&[0.9476, 0.8945], 2e-5)).unwrap() < 1e-3);
        assert_eq!(agreement(&known, &levels(&[0.81], 2e-5)), None);
        // One short stay of a wide band agrees with anything.
        assert!(agreement(&known, &levels(&[0.93], 0.012)).unwrap() > HINT);
    }
}
