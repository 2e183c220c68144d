//! Findings of the lab: the phenomena of a report, decided by experiment.

use super::ratios::Pair;
use super::switching::{Chance, Switching};
use bandscope_report::evidence::{LoopPaces, LoopSwitching, Placement};
use bandscope_report::format::percent;
use bandscope_report::{Certainty, Finding, Kind};

/// A chance whose interval lies above this is as good as always.
const ALWAYS: f64 = 0.9;
/// A chance whose interval lies above this is more than an accident.
const SELDOM: f64 = 0.05;
/// A chance whose interval lies below this is as good as never.
const NEVER: f64 = 0.1;
/// A pace that depends on the address by less is no finding; the kernel's own measure of it is half a percent.
const PLACEMENT: f64 = 1.05;

/// What was found, most consequential first. Where others had the CPU meanwhile (`disturbed`), what was seen may have been theirs: nothing is certain then.
/// Nor is a placement of a run that ended early (`short`).
pub fn all(pairs: &[Pair], switching: &[Switching], disturbed: bool, short: bool) -> Vec<Finding> {
    let mut findings: Vec<(f64, Finding)> = Vec::new();
    let at_most = |doubtful: bool| match doubtful {
        true => Certainty::Likely,
        false => Certainty::Certain,
    };
    for one in switching {
        let [Some(fast), Some(slow)] = [one.states.first(), one.states.get(1)] else {
            continue;
        };
        let ratio = slow.cycles / fast.cycles;
        let finding = match (one.to_fast, one.to_slow) {
            _ if !one.is_switched() => bistable(one, ratio),
            (Some(fast), Some(slow)) if fast.interval[0] > SELDOM && slow.interval[0] > SELDOM => {
                drawn_anew(one, [fast, slow], ratio)
            }
            (Some(chance), _) if chance.interval[0] > 0.5 => interrupt_helps(one, chance, ratio),
            (_, Some(chance)) if chance.interval[0] > 0.5 => interrupted_loop(one, chance, ratio),
            _ => bistable(one, ratio),
        };
        let certainty = finding.certainty.min(at_most(disturbed));
        findings.push((
            ratio,
            Finding {
                certainty,
                ..finding
            },
        ));
    }
    for pair in pairs
        .iter()
        .filter(|pair| pair.name == "placement" && pair.differs)
    {
        let Some((ratio, interval)) = pair
            .ratio
            .zip(pair.interval)
            .filter(|(ratio, _)| *ratio >= PLACEMENT)
        else {
            continue;
        };
        let certainty = at_most(disturbed || short);
        findings.push((ratio, placement(pair, ratio, interval, certainty)));
    }
    findings.sort_by(|a, b| b.0.total_cmp(&a.0));
    findings.into_iter().map(|(_, finding)| finding).collect()
}

fn certainty(chance: Chance) -> Certainty {
    match chance.interval[0] > ALWAYS {
        true => Certainty::Certain,
        false => Certainty::Likely,
    }
}

fn switching(one: &Switching, chance: Chance) -> LoopSwitching {
    LoopSwitching {
        changes: chance.changes,
        changes_down: None,
        cycles: one.states.iter().map(|state| state.cycles).collect(),
        excess: one.excess.unwrap_or_default(),
        excess_interval: one.excess_interval.unwrap_or_default(),
        r#loop: one.code.clone(),
        probability: chance.probability,
        probability_down: None,
        probability_down_interval: None,
        probability_interval: chance.interval,
        trials: chance.trials,
        trials_down: None,
    }
}

fn interrupt_helps(one: &Switching, chance: Chance, ratio: f64) -> Finding {
    Finding {
        kind: Kind::InterruptHelps,
        series: Vec::new(),
        certainty: certainty(chance),
        summary: format!(
            "An interruption makes the loop {} {ratio:.2} times as fast. Of {} interruptions at {:.2} cycles an operation, {} left it at \
             {:.2}. The quieter the core, the slower the loop.",
            one.code, chance.trials, one.states[1].cycles, chance.changes, one.states[0].cycles,
        ),
        evidence: switching(one, chance).into(),
        next_step: None,
    }
}

fn interrupted_loop(one: &Switching, chance: Chance, ratio: f64) -> Finding {
    Finding {
        kind: Kind::InterruptedLoop,
        series: Vec::new(),
        certainty: certainty(chance),
        summary: format!(
            "An interruption makes the loop {} {ratio:.2} times slower until it ends. Of {} interruptions at {:.2} cycles an operation, \
             {} left it at {:.2}.",
            one.code, chance.trials, one.states[0].cycles, chance.changes, one.states[1].cycles,
        ),
        evidence: switching(one, chance).into(),
        next_step: Some(format!(
            "bandscope histogram --kernel {}: how the times of fixed work smear",
            one.code
        )),
    }
}

fn drawn_anew(one: &Switching, [fast, slow]: [Chance; 2], ratio: f64) -> Finding {
    let evidence = LoopSwitching {
        changes_down: Some(slow.changes),
        probability_down: Some(slow.probability),
        probability_down_interval: Some(slow.interval),
        trials_down: Some(slow.trials),
        ..switching(one, fast)
    };
    let [fast_cycles, slow_cycles] = [one.states[0].cycles, one.states[1].cycles];
    Finding {
        kind: Kind::BistablePace,
        series: Vec::new(),
        certainty: Certainty::Certain,
        summary: format!(
            "Each interruption draws the pace of the loop {} anew, {ratio:.2} times apart. Of {} interruptions at {slow_cycles:.2} cycles an \
             operation, {} left it at {fast_cycles:.2}. Of {} at {fast_cycles:.2}, {} left it at {slow_cycles:.2}.",
            one.code, fast.trials, fast.changes, slow.trials, slow.changes,
        ),
        evidence: evidence.into(),
        next_step: None,
    }
}

fn bistable(one: &Switching, ratio: f64) -> Finding {
    let shares: Vec<f64> = one.states.iter().map(|state| state.share).collect();
    let never = |chance: Option<Chance>| chance.is_some_and(|chance| chance.interval[1] < NEVER);
    let because = match never(one.to_fast) && never(one.to_slow) {
        true => "Interruptions do not decide which; other programs on the core may.",
        false => "The cause is not known.",
    };
    Finding {
        kind: Kind::BistablePace,
        series: Vec::new(),
        certainty: Certainty::Possible,
        summary: format!(
            "The loop {} runs at two paces, {ratio:.2} times apart: {:.2} and {:.2} cycles an operation, in {} and {} of the stretches. {because}",
            one.code,
            one.states[0].cycles,
            one.states[1].cycles,
            percent(shares[0]),
            percent(shares[1]),
        ),
        evidence: LoopPaces {
            cycles: one.states.iter().map(|state| state.cycles).collect(),
            r#loop: one.code.clone(),
            shares,
        }
        .into(),
        next_step: Some(
            "bandscope lab --only switching, again and with the other CPUs of the core idle"
                .to_owned(),
        ),
    }
}

fn placement(pair: &Pair, ratio: f64, interval: [f64; 2], certainty: Certainty) -> Finding {
    Finding {
        kind: Kind::Placement,
        series: Vec::new(),
        certainty,
        summary: pair.meaning.clone(),
        evidence: Placement {
            offset: pair.level.clone().unwrap_or_default(),
            ratio,
            ratio_interval: interval,
        }
        .into(),
        next_step: None,
    }
}

#[cfg(test)]
mod tests {
    use super::super::states::State;
    use super::*;

    /// A loop whose pace each of a thousand interruptions draws anew.
    fn drawn() -> Switching {
        let chance = Chance {
            trials: 1000,
            changes: 500,
            probability: 0.5,
            interval: [0.47, 0.53],
        };
        let states = [1.0, 1.9].map(|cycles| State { cycles, share: 0.5 });
        Switching {
            code: "body-1".into(),
            description: String::new(),
            states: states.into(),
            entered: None,
            to_fast: Some(chance),
            to_slow: Some(chance),
            by_rate: [(1000, [1000, 500])].into(),
            changes: Some([1000, 10]),
            excess: Some(100.0),
            excess_interval: Some([50.0, 200.0]),
        }
    }

    #[test]
    fn on_a_disturbed_cpu_nothing_about_interruptions_is_certain() {
        let certainty = |disturbed: bool| all(&[], &[drawn()], disturbed, false)[0].certainty;
        assert_eq!(certainty(false), Certainty::Certain);
        assert_eq!(certainty(true), Certainty::Likely);
    }

    #[test]
    fn a_placement_is_certain_only_on_a_quiet_cpu_after_a_whole_run() {
        let pair = Pair {
            name: "placement".into(),
            ratio: Some(1.5),
            interval: Some([1.4, 1.6]),
            level: Some("32".into()),
            differs: true,
            states: Vec::new(),
            chain_moved: None,
            meaning: String::new(),
            advice: String::new(),
            levels: Vec::new(),
        };
        let pairs = [pair];
        let certainty = |disturbed, short| all(&pairs, &[], disturbed, short)[0].certainty;
        assert_eq!(certainty(false, false), Certainty::Certain);
        assert_eq!(certainty(true, false), Certainty::Likely);
        assert_eq!(certainty(false, true), Certainty::Likely);
    }
}
