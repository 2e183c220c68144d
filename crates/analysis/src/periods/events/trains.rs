//! Trains of gaps: one event each period, taken out one train after another.
//!
//! Timers of one machine have common multiples and divisors: 200 and 250 Hz are both trains of 1,000 Hz and of 50 Hz, and every search for
//! one frequency finds one of those. So what a search finds is no more than a hint. Of all ratios of small numbers to it, the train is the frequency
//! with the most periods that have an event at one phase, of which each period without an event takes two off. Its events are
//! then taken out; where an event lost more than its train takes, because two fell together, the rest stays for the others.

use super::cost::{
    BEYOND_QUARTILES, BEYOND_THE_LEAST, Cost, MIN_IN_CLASS, cost, densest, quartiles,
};
use super::pulse::{
    MOST_SLOPE, Pulse, by_pulse, loss_per_period, periods, pulse_events, pulse_turns,
};
use super::strength::{maximum, part_of_turn};
use super::{AROUND, COUNTED, FEWEST, Periodic, SHORT, Train, candidates, periodic};
use bandscope_statistics::comb::SIGNIFICANT;
use bandscope_statistics::order::median;
use bandscope_statistics::transform::Planner;

/// Trains that are looked for.
const MAX_TRAINS: usize = 8;
/// Numbers whose ratios to a hint are tried.
const MAX_RATIO: u32 = 12;
/// Frequencies that are tried, hertz: above it a gap is too much of a period, below it a run holds too few.
const MIN_HZ: f64 = 2.0;
const MAX_HZ: f64 = 4096.0;
/// Share of all periods that have an event, those whose time came while the CPU was away included.
const MIN_SEEN: f64 = 0.6;
/// Share of the time that the CPU may be away for that.
pub const MAX_UNSEEN: f64 = 1.0 - MIN_SEEN;
/// Share of the periods that have an event, and of those that a quick look over coarse phases must show.
const MIN_OCCUPIED: f64 = 0.75;
const MIN_OCCUPIED_COARSELY: f64 = 0.6;
/// The same of a train that comes at a multiple of the tick's frequency, up to this one: with the tick a train of half of it has three quarters.
const EACH_TIME: f64 = 0.9;
const MAX_TICK_MULTIPLE: u32 = 8;
/// Multiples of its frequency at which a train of one cause may be a part of a faster one.
const MAX_PARTS: u32 = 4;
/// Coarse phases of a turn.
const COARSE: usize = 32;
/// Phases at which chance is measured: the train's own and nine others.
const WINDOWS: usize = 10;
/// Share of the periods that hold an event by chance, above which an occupied phase says nothing.
const MAX_CHANCE: f64 = 0.25;
/// Times the reach of a pulse that still belongs to it, as most of it lies within the reach; in turns at least and at most.
const TAILS: f64 = 4.0;
const MIN_REACH: f64 = 1e-4;
const MAX_REACH: f64 = 0.05;
/// Seconds by which the kernel may run an ordinary task's timer early, with another interrupt: its slack, prctl(2), PR_SET_TIMERSLACK.
const SLACK_S: f64 = 50e-6;
/// Turns by which an event may have been put off at most: more of them, and it would be due at any phase.
const MAX_PUT_OFF: f64 = 0.25;
/// How far a ratio of frequencies of which one is known by a broad pulse only may be from a whole number.
const NEARLY_WHOLE: f64 = 1e-3;
/// Times the cost of a train that an absence takes at least in whose middle its time comes, to be the longer by it.
const MIN_TIMES: f64 = 1.25;
/// Share of a period of the tick, in nanoseconds a second, from which on what begins with it is more than a tick; and so many times the loss that
/// most events of a train have, in a mixture.
const SLICE_NS: f64 = 0.4e9;
const SLICE_TIMES: f64 = 16.0;
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
            Some(regular) => found.push(regular.take_out(&mut rest)),
            None => {
                hidden.push(broad.frequency);
                let events = rest.times.len();
                if is_broad_train(&rest, &broad) {
                    broad.ns_per_event = usual_loss(&rest, broad.frequency);
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
    if train.times.len() < FEWEST || last <= first || !(last - first).is_finite() {
        return None;
    }
    let (mut start, mut span) = (hz, SHORT);
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

/// A train of one event a period, and which events are its own.
struct Regular {
    pulse: Pulse,
    /// Share of the periods that have an event, chance left out.
    occupied: f64,
    /// Number of the period, and the event of it.
    hits: Vec<(i64, usize)>,
    /// Turns within which they lie, after their time and before it.
    reach: f64,
    before: f64,
    /// Nanoseconds that an event of it may take: what began with a tick and lasts nearly as long as one is what the tick let run.
    most: f64,
    log_p: f64,
}

impl Regular {
    /// The train among all ratios of small numbers to a hint, if there is one.
    fn best(train: &Train, hint: f64) -> Option<Regular> {
        let hint = by_pulse(train, hint).map_or(hint, |pulse| pulse.frequency);
        let ratios = (1..=MAX_RATIO).flat_map(|up| (1..=MAX_RATIO).map(move |down| (up, down)));
        let coprime =
            ratios.filter(|&(up, down)| (2..=up.min(down)).all(|d| up % d + down % d > 0));
        let mut tried: Vec<f64> = coprime
            .map(|(up, down)| hint * f64::from(up) / f64::from(down))
            .filter(|hz| (MIN_HZ..MAX_HZ).contains(hz))
            .collect();
        tried.sort_by(|a, b| b.total_cmp(a));
        let mut best: Option<Regular> = None;
        for hz in tried {
            // From here on none can gain more than the best, had it an event in every period.
            if best
                .as_ref()
                .is_some_and(|best| best.score() > hz * (1.0 + MOST_SLOPE))
            {
                break;
            }
            if occupied_coarsely(train, hz) >= MIN_OCCUPIED_COARSELY {
                best = best
                    .into_iter()
                    .chain(Regular::of_a_timer(train, hz))
                    .max_by(by_score);
            }
        }
        best
    }

    /// The train at this frequency, whose events may come early if that makes it clearer, and nobody knows of what it is.
    fn of_a_timer(train: &Train, hz: f64) -> Option<Regular> {
        let pulse = by_pulse(train, hz)?;
        let exact = Regular::of_pulse(train, pulse, false, 0.0);
        let is_clear = exact.as_ref().is_some_and(|one| one.occupied >= EACH_TIME);
        let early = (train.is_mixture && !is_clear)
            .then(|| Regular::of_pulse(train, pulse, false, SLACK_S))
            .flatten();
        exact.into_iter().chain(early).max_by(by_score)
    }

    /// Whether it is every other event, or so, of a train that scatters too much to be one at its own frequency.
    fn is_part_of(&self, broad: &Periodic, train: &Train) -> bool {
        let times = broad.frequency / self.pulse.frequency;
        times > 1.5
            && (times - times.round()).abs() < NEARLY_WHOLE * times
            && pulse_turns(train, broad.frequency) >= MIN_OCCUPIED * periods(train, broad.frequency)
    }

    /// The same of the events of one cause at a small multiple: a kernel may run a timer early by its slack, with the tick, and late otherwise.
    fn is_of_a_faster_one(&self, train: &Train) -> bool {
        let multiples = (2..=MAX_PARTS).map(|times| f64::from(times) * self.pulse.frequency);
        multiples
            .into_iter()
            .any(|hz| hz < MAX_HZ && occupied_coarsely(train, hz) >= EACH_TIME)
    }

    /// What a frequency gains: the periods a second that it explains, less two for each that it claims.
    fn score(&self) -> f64 {
        self.pulse.frequency * (3.0 * self.occupied - 2.0)
    }

    /// The train at this frequency, if most of its periods have an event; `is_known` if something else says that there is such a one.
    fn at(train: &Train, hz: f64, is_known: bool) -> Option<Regular> {
        Regular::of_pulse(train, by_pulse(train, hz)?, is_known, 0.0)
    }

    /// The same of a pulse, of events of which any may come so many seconds early.
    fn of_pulse(train: &Train, pulse: Pulse, is_known: bool, slack_s: f64) -> Option<Regular> {
        let hz = pulse.frequency;
        let reach = (TAILS * pulse.reach).max(MIN_REACH);
        if reach > MAX_REACH {
            return None;
        }
        // What is within the reach of a quantum may be within that of several windows.
        let near = reach + train.jitter * hz;
        let before = near + slack_s * hz;
        if slack_s > 0.0 && before + near > 1.0 / WINDOWS as f64 {
            return None;
        }
        let beside = (before * WINDOWS as f64 - 0.5).ceil().max(0.0) as i64;
        let mut in_window = [0usize; WINDOWS];
        let mut last = [i64::MIN; WINDOWS];
        let mut hits: Vec<(i64, usize)> = Vec::new();
        for (event, &time) in train.times.iter().enumerate() {
            let turns = pulse.turns(time);
            let turn = turns.round();
            let off = turns - turn;
            let more = |seconds: &[f64]| {
                let turns = seconds.get(event).map_or(0.0, |s| s * pulse.frequency);
                turns.min(MAX_PUT_OFF)
            };
            if off <= near + more(&train.early) && off >= -before - more(&train.late) {
                let nearer = |other: usize| {
                    let other = pulse.turns(train.times[other]);
                    off.abs() < (other - other.round()).abs()
                };
                match hits.last_mut() {
                    Some(hit) if hit.0 == turn as i64 && nearer(hit.1) => hit.1 = event,
                    Some(hit) if hit.0 == turn as i64 => {}
                    _ => hits.push((turn as i64, event)),
                }
                continue;
            }
            let place = (turns * WINDOWS as f64).round() as i64;
            for place in place - beside..=place + beside {
                let window = place.rem_euclid(WINDOWS as i64) as usize;
                let off = turns - place as f64 / WINDOWS as f64;
                let is_near = (-before..=near).contains(&off);
                if window > 0 && is_near && last[window] != place {
                    last[window] = place;
                    in_window[window] += 1;
                }
            }
        }
        let possible = pulse.periods(train, *train.times.last()?, reach + slack_s * hz, is_known);
        let others = in_window[1..].iter().map(|&number| number as f64);
        let chance = median(others)? / periods(train, hz).max(1.0);
        let share = (hits.len() as f64 / possible.max(1.0)).min(1.0);
        let occupied = (share - chance) / (1.0 - chance);
        // Of a CPU that was mostly away nothing is known but what was seen, unless something else says that there is a train.
        let seen = is_known || hits.len() as f64 >= MIN_SEEN * periods(train, hz);
        if !seen || hits.len() < FEWEST / 2 || chance > MAX_CHANCE || occupied < MIN_OCCUPIED {
            return None;
        }
        let trials = (train.times.len() as f64 * f64::from(MAX_RATIO).powi(2) * AROUND).ln();
        let log_p = -(possible * surprise(share, chance.max(before))) + trials;
        (log_p < SIGNIFICANT.ln()).then_some(Regular {
            pulse,
            occupied,
            hits,
            reach: near,
            before,
            most: if is_known {
                SLICE_NS / hz
            } else {
                f64::INFINITY
            },
            log_p: log_p.min(0.0),
        })
    }

    /// Takes its events out of a train, and says what they were.
    fn take_out(self, train: &mut Train) -> Periodic {
        let losses: Vec<(i64, f64)> = (self.hits.iter())
            .map(|&(turn, event)| (turn, train.losses[event]))
            .collect();
        let most = self.most.min(SLICE_TIMES * densest(&losses));
        let short: Vec<(i64, f64)> = (losses.iter().copied())
            .filter(|one| one.1 < most)
            .collect();
        let Cost {
            ns: cost,
            most,
            least_left,
        } = match (train.is_mixture, short.len() >= MIN_IN_CLASS) {
            (true, true) => cost(&short),
            (true, false) => cost(&losses),
            (false, _) => Cost {
                ns: losses.iter().map(|one| one.1).sum::<f64>() / losses.len() as f64,
                most: f64::INFINITY,
                least_left: 0.0,
            },
        };
        let mut gone = vec![false; train.times.len()];
        train.late.resize(train.times.len(), 0.0);
        for &(_, event) in &self.hits {
            let left = train.losses[event] - cost;
            let is_error = left < BEYOND_THE_LEAST * train.losses[event];
            gone[event] = train.losses[event] <= most || left < least_left || is_error;
            train.losses[event] = left;
            train.late[event] += cost * 1e-9;
        }
        if train.is_mixture {
            self.take_out_of_longer(cost, train);
        }
        train.retain(|event| !gone[event]);
        Periodic {
            frequency: self.pulse.frequency,
            uncertainty: self.pulse.uncertainty,
            ns_per_event: cost,
            log_p: self.log_p,
            harmonics: super::HARMONICS as u32,
            begins: Some(self.pulse.origin),
            occupied: Some(self.occupied),
        }
    }
}

impl Regular {
    /// Where its time comes while something else has the CPU, that lasts as much longer, and what was lost before stays.
    fn take_out_of_longer(&self, cost: f64, train: &mut Train) {
        for (&time, loss) in train.times.iter().zip(&mut train.losses) {
            let turns = self.pulse.turns(time);
            let within = self.pulse.turns(time + *loss * 1e-9) - self.reach;
            let is_hit = (-self.before..=self.reach).contains(&(turns - turns.round()));
            if !is_hit && within.floor() > turns.floor() && *loss > MIN_TIMES * cost {
                *loss -= cost;
            }
        }
    }
}

/// Share of the periods that have an event within a thirty-second part or its neighbours, by the first events.
fn occupied_coarsely(train: &Train, hz: f64) -> f64 {
    let times = &train.times[..train.times.len().min(COUNTED)];
    let mut profile = [0u32; COARSE];
    for &time in times {
        profile[(part_of_turn(time * hz) * COARSE as f64) as usize % COARSE] += 1;
    }
    let blurred = (2.0 * train.jitter * hz * COARSE as f64).ceil() as usize;
    let bins = blurred.saturating_add(3).min(COARSE);
    let of_several = |bin: usize| (bin..bin + bins).map(|bin| profile[bin % COARSE]).sum();
    let highest: u32 = (0..COARSE).map(of_several).max().unwrap_or(0);
    let last = times.last().copied().unwrap_or(0.0);
    let periods = Pulse::new(hz, 0.0).periods(train, last, 0.5, true);
    f64::from(highest) / periods.max(1.0)
}

fn by_score(a: &Regular, b: &Regular) -> std::cmp::Ordering {
    a.score().total_cmp(&b.score())
}

/// By Chernoff's bound, -ln of the chance that a share of the periods is so high, a period.
fn surprise(share: f64, chance: f64) -> f64 {
    if share <= chance {
        return 0.0;
    }
    let none = if share < 1.0 {
        (1.0 - share) * ((1.0 - share) / (1.0 - chance)).ln()
    } else {
        0.0
    };
    share * (share / chance).ln() + none
}
