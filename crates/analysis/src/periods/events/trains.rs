//! Trains of gaps: one event each period, taken out one train after another.
//!
//! What is left of a mixture is searched for a hint ([`super::candidates`]); [`super::regular`] says which train it hints at. Its events are
//! then taken out; where an event lost more than its train takes, because two fell together, the rest stays for the others.

use super::cost::{BEYOND_QUARTILES, quartiles};
use super::pulse::{loss_per_period, periods, pulse_events};
use super::regular::{EACH_TIME, MAX_CHANCE, NEARLY_WHOLE, Regular};
use super::strength::{maximum, turn};
use super::{FIRST_SPAN_S, MIN_EVENTS, Periodic, Train, candidates, periodic};
use bandscope_statistics::comb::SIGNIFICANT;
use bandscope_statistics::transform::Planner;

/// Trains that are looked for.
const MAX_TRAINS: usize = 8;
/// Highest multiple of the tick's frequency at which a train is looked for that comes with the tick and between.
const MAX_TICK_MULTIPLE: u32 = 8;
/// Events a period that a train whose events scatter must have, and share of the time that the CPU may be away for whatever reason: what
/// scatters and is away for long has every frequency a little.
const MIN_EVENTS_A_PERIOD: f64 = 0.5;
const MAX_AWAY: f64 = 0.5;

/// The trains, in the order in which they were found.
pub fn trains(train: &Train) -> Vec<Periodic> {
    trains_and_rest(train).0
}

/// The trains, in the order in which they were found, and the events without what the trains took.
pub fn trains_and_rest(train: &Train) -> (Vec<Periodic>, Train) {
    let mut rest = train.clone();
    let mut found: Vec<Periodic> = Vec::new();
    let mut hidden: Vec<f64> = Vec::new();
    let mut planner = Planner::new();
    let tick = train.tick_hz.and_then(|hz| near_name(&rest, hz));
    if let Some(hz) = tick {
        // What comes as often as the tick, and between, is not the tick.
        let mut faster = (2..=MAX_TICK_MULTIPLE)
            .rev()
            .filter_map(|times| Regular::of_a_timer(&rest, f64::from(times) * hz));
        if let Some(faster) = faster.find(|faster| faster.occupied >= EACH_TIME) {
            found.push(faster.take_out(&mut rest));
        }
    }
    if let Some(regular) = tick.and_then(|hz| Regular::at(&rest, hz, true)) {
        found.push(regular.take_out(&mut rest));
    }
    while found.len() + hidden.len() < MAX_TRAINS {
        let hints = candidates(&rest, &hidden, &mut planner);
        let Some(hint) = hints.first() else { break };
        let mut best = hints.iter();
        let (mut broad, regular) = rayon::join(
            || periodic(&rest, &hint.comb, hint.span, hint.trials),
            || best.find_map(|hint| Regular::best(&rest, hint.frequency(&rest))),
        );
        let regular = regular
            .filter(|regular| !regular.is_part_of(&broad, &rest))
            .filter(|regular| rest.is_mixture || !regular.is_of_a_faster_one(&rest));
        match regular {
            Some(regular) => {
                let all = each_time(&rest, regular.pulse.frequency);
                let one = regular.take_out(&mut rest);
                found.push(Periodic {
                    occupied: one.occupied.map(|share| share.max(all.unwrap_or(0.0))),
                    ..one
                });
            }
            None => {
                hidden.push(broad.frequency);
                let events = rest.times.len();
                if is_broad_train(&rest, &broad) {
                    broad.ns_per_event = usual_loss(&rest, broad.frequency);
                    broad.occupied = each_time(&rest, broad.frequency);
                    rest.remove_pulse(broad.frequency);
                    found.push(broad);
                }
                if rest.times.len() < events {
                    hidden.pop();
                }
            }
        }
    }
    (one_each(found), rest)
}

/// Whether the events have a train of this frequency, once something hints at it.
pub fn is_train(train: &Train, hz: f64) -> bool {
    let best = Regular::best(train, hz);
    best.is_some_and(|best| (best.pulse.frequency / hz - 1.0).abs() < NEARLY_WHOLE)
}

/// Whether the events of a period crowd at some phases, one in every second period at least.
fn is_broad_train(train: &Train, period: &Periodic) -> bool {
    let events = pulse_events(train, period.frequency);
    let away: f64 = train.away.iter().map(|away| away.1 - away.0).sum();
    away < MAX_AWAY * periods(train, 1.0)
        && period.log_p < SIGNIFICANT.ln()
        && period.ns_per_event > 0.0
        && events >= MIN_EVENTS_A_PERIOD * periods(train, period.frequency)
}

/// Of events of one cause, the share of the periods that have one in the half of a turn about the usual phase, less those that have one in the
/// other half. A timer may be early by its slack, and what it wakes has to wait, so that the events of a train scatter; without a frequency
/// of their own they come at any phase.
fn each_time(train: &Train, frequency: f64) -> Option<f64> {
    if train.is_mixture {
        return None;
    }
    let sum = (train.times.iter()).fold((0.0, 0.0), |sum, &time| {
        let (cos, sin) = turn(time * frequency);
        (sum.0 + cos, sum.1 + sin)
    });
    let centre = sum.1.atan2(sum.0) / std::f64::consts::TAU;
    let number = |phase: f64| {
        let turns = train.times.iter().map(|time| time * frequency - phase);
        let near = turns.filter(|turns| (turns - turns.round()).abs() < 0.25);
        let numbers: Vec<i64> = near.map(|turns| turns.round() as i64).collect();
        numbers.chunk_by(|a, b| a == b).count() as f64
    };
    let all = periods(train, frequency);
    let by_chance = number(centre + 0.5);
    // Of a cause with several events a period both halves are full, and their difference says nothing.
    if by_chance > MAX_CHANCE * all {
        return None;
    }
    let share = (number(centre) - by_chance) / (all - by_chance).max(1.0);
    Some(share.clamp(0.0, 1.0))
}

/// Nanoseconds lost per period, where what a mixture lost at once with something else is cut to what is usual.
fn usual_loss(train: &Train, frequency: f64) -> f64 {
    let [lower, middle, upper] = quartiles(&train.losses);
    let most = if train.is_mixture {
        middle + BEYOND_QUARTILES * (upper - lower).max(middle)
    } else {
        f64::INFINITY
    };
    let cut = Train {
        losses: train.losses.iter().map(|loss| loss.min(most)).collect(),
        ..train.clone()
    };
    loss_per_period(&cut, frequency)
}

/// Trains of one frequency are one: several events a period.
fn one_each(found: Vec<Periodic>) -> Vec<Periodic> {
    let mut trains: Vec<Periodic> = Vec::new();
    for one in found {
        let same = trains.iter_mut().find(|known| {
            let tolerance = 4.0 * known.uncertainty.hypot(one.uncertainty);
            (known.frequency - one.frequency).abs() <= tolerance
        });
        match same {
            Some(known) => known.ns_per_event += one.ns_per_event,
            None => trains.push(one),
        }
    }
    trains
}

/// The frequency that a clock with this name has here: it may be off by more than a long run resolves, so it is followed from a few seconds to
/// all of it.
pub(super) fn near_name(train: &Train, hz: f64) -> Option<f64> {
    let (first, last) = (*train.times.first()?, *train.times.last()?);
    if train.times.len() < MIN_EVENTS || last <= first || !(last - first).is_finite() {
        return None;
    }
    let (mut start, mut span) = (hz, FIRST_SPAN_S);
    loop {
        let until = train.times.partition_point(|&time| time < first + span);
        let beginning = Train {
            times: train.times[..until].to_vec(),
            ..Train::default()
        };
        if until > 0 {
            start = maximum(&beginning, start, span, 8);
        }
        if until == train.times.len() {
            return Some(start);
        }
        span *= 4.0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_ninth_event_does_not_come_each_time() {
        let train = Train {
            times: (0..2_500).map(|k| f64::from(k) / 250.0).collect(),
            losses: vec![3_000.0; 2_500],
            segments: vec![(0.0, 10.0)],
            ..Train::default()
        };
        assert_eq!(each_time(&train, 250.0), Some(1.0));
        assert_eq!(each_time(&train, 250.0 / 9.0), None);
    }
}
