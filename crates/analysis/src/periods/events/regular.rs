//! A train of one event each period: whether there is one of a frequency, which events are its own, and what they took.
//!
//! Timers of one machine have common multiples and divisors: 200 and 250 Hz are both trains of 1,000 Hz and of 50 Hz, and every search for
//! one frequency finds one of those. So what a search finds is no more than a hint. Of all ratios of small numbers to it, the train is the frequency
//! with the most periods that have an event at one phase, of which each period without an event takes two off.

use super::cost::{BEYOND_THE_LEAST, Cost, MIN_IN_CLASS, cost, densest};
use super::pulse::{MOST_SLOPE, Pulse, by_pulse, periods, pulse_turns};
use super::strength::part_of_turn;
use super::{MAX_EVENTS_COUNTED, MIN_EVENTS, Periodic, TRIALS_A_BIN, Train};
use bandscope_statistics::comb::SIGNIFICANT;
use bandscope_statistics::order::median;

/// Numbers whose ratios to a hint are tried.
const MAX_RATIO: u32 = 12;
/// Frequencies that are tried, hertz: above it a gap is too much of a period, below it a run holds too few.
const MIN_HZ: f64 = 2.0;
const MAX_HZ: f64 = 4096.0;
/// Share of all periods that have an event, those whose time came while the CPU was away included.
const MIN_SEEN: f64 = 0.6;
/// Share of the time that the CPU may be away for that.
pub const MAX_UNSEEN: f64 = 1.0 - MIN_SEEN;
/// The same of a train that has an event each time that it could be seen.
const MIN_SEEN_EACH_TIME: f64 = 0.4;
/// Share of the periods that have an event, and of those that a quick look over coarse phases must show.
const MIN_OCCUPIED: f64 = 0.75;
const MIN_OCCUPIED_COARSELY: f64 = 0.6;
/// The same of a train that comes at a multiple of the tick's frequency: with the tick a train of half of it has three quarters.
pub(super) const EACH_TIME: f64 = 0.9;
/// Multiples of its frequency at which a train of one cause may be a part of a faster one.
const MAX_PARTS: u32 = 4;
/// Coarse phases of a turn.
const COARSE: usize = 32;
/// Phases at which chance is measured: the train's own and nine others.
const WINDOWS: usize = 10;
/// Share of the periods that hold an event by chance, above which an occupied phase says nothing.
pub(super) const MAX_CHANCE: f64 = 0.25;
/// Times the reach of a pulse that still belongs to it, as most of it lies within the reach; in turns at least and at most.
const TAILS: f64 = 4.0;
const MIN_REACH: f64 = 1e-4;
const MAX_REACH: f64 = 0.05;
/// Seconds by which the kernel may run an ordinary task's timer early, with another interrupt: its slack, prctl(2), PR_SET_TIMERSLACK.
const SLACK_S: f64 = 50e-6;
/// Turns by which an event may have been put off at most: more of them, and it would be due at any phase.
const MAX_PUT_OFF: f64 = 0.25;
/// How far a ratio of frequencies of which one is known by a broad pulse only may be from a whole number.
pub(super) const NEARLY_WHOLE: f64 = 1e-3;
/// Times the cost of a train that an absence takes at least in whose middle its time comes, to be the longer by it.
const MIN_TIMES: f64 = 1.25;
/// Share of a period of the tick, in nanoseconds a second, from which on what begins with it is more than a tick; and so many times the loss that
/// most events of a train have, in a mixture.
const SLICE_NS: f64 = 0.4e9;
const SLICE_TIMES: f64 = 16.0;
/// A train of one event a period, and which events are its own.
pub(super) struct Regular {
    pub(super) pulse: Pulse,
    /// Share of the periods that have an event, chance left out.
    pub(super) occupied: f64,
    /// Whether enough of the periods were seen to tell.
    is_seen: bool,
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
    pub(super) fn best(train: &Train, hint: f64) -> Option<Regular> {
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
        // Where the CPU was away for short, the quick look cannot tell which periods that hid.
        let least = MIN_OCCUPIED_COARSELY * share_present(train);
        for hz in tried {
            // From here on none can gain more than the best, had it an event in every period.
            if best
                .as_ref()
                .is_some_and(|best| best.score() > hz * (1.0 + MOST_SLOPE))
            {
                break;
            }
            if occupied_coarsely(train, hz) >= least {
                best = best
                    .into_iter()
                    .chain(Regular::of_a_timer(train, hz))
                    .max_by(by_score);
            }
        }
        // Half of its events have half of its frequency, and may be seen often enough where it is not.
        best.filter(|best| best.is_seen)
    }

    /// The train at this frequency, whose events may come early if that makes it clearer, and nobody knows of what it is.
    pub(super) fn of_a_timer(train: &Train, hz: f64) -> Option<Regular> {
        let pulse = by_pulse(train, hz)?;
        let exact = Regular::of_pulse(train, pulse, false, 0.0);
        let is_clear = exact.as_ref().is_some_and(|one| one.occupied >= EACH_TIME);
        let early = (train.is_mixture && !is_clear)
            .then(|| Regular::of_pulse(train, pulse, false, SLACK_S))
            .flatten();
        exact.into_iter().chain(early).max_by(by_score)
    }

    /// Whether it is every other event, or so, of a train that scatters too much to be one at its own frequency.
    pub(super) fn is_part_of(&self, broad: &Periodic, train: &Train) -> bool {
        let times = broad.frequency / self.pulse.frequency;
        times > 1.5
            && (times - times.round()).abs() < NEARLY_WHOLE * times
            && pulse_turns(train, broad.frequency) >= MIN_OCCUPIED * periods(train, broad.frequency)
    }

    /// The same of the events of one cause at a small multiple: a kernel may run a timer early by its slack, with the tick, and late otherwise.
    pub(super) fn is_of_a_faster_one(&self, train: &Train) -> bool {
        // What an absence hid is missing from both.
        let least = EACH_TIME * occupied_coarsely(train, self.pulse.frequency).min(1.0);
        let multiples = (2..=MAX_PARTS).map(|times| f64::from(times) * self.pulse.frequency);
        multiples
            .into_iter()
            .any(|hz| hz < MAX_HZ && occupied_coarsely(train, hz) >= least)
    }

    /// What a frequency gains: the periods a second that it explains, less two for each that it claims.
    fn score(&self) -> f64 {
        self.pulse.frequency * (3.0 * self.occupied - 2.0)
    }

    /// The train at this frequency, if most of its periods have an event; `is_known` if something else says that there is such a one.
    pub(super) fn at(train: &Train, hz: f64, is_known: bool) -> Option<Regular> {
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
        let (hits, in_window) = hits_and_others(train, &pulse, near, before);
        let last = *train.times.last()?;
        let possible = pulse.periods(train, last, (reach + slack_s * hz, is_known), &hits);
        let others = in_window[1..].iter().map(|&number| number as f64);
        let chance = median(others)? / periods(train, hz).max(1.0);
        let share = (hits.len() as f64 / possible.max(1.0)).min(1.0);
        let occupied = (share - chance) / (1.0 - chance);
        // Of a CPU that was mostly away nothing is known but what was seen, unless something else says that there is a train.
        let least = match occupied >= EACH_TIME {
            true => MIN_SEEN_EACH_TIME,
            false => MIN_SEEN,
        };
        let is_seen = is_known || hits.len() as f64 >= least * periods(train, hz);
        if hits.len() < MIN_EVENTS / 2 || chance > MAX_CHANCE || occupied < MIN_OCCUPIED {
            return None;
        }
        let trials = (train.times.len() as f64 * f64::from(MAX_RATIO).powi(2) * TRIALS_A_BIN).ln();
        let log_p = -(possible * surprise(share, chance.max(before))) + trials;
        (log_p < SIGNIFICANT.ln()).then_some(Regular {
            pulse,
            occupied,
            is_seen,
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
    pub(super) fn take_out(self, train: &mut Train) -> Periodic {
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

/// The events that lie near the time of a pulse, one a period, with the number of the period; and the same number at other phases, where only
/// chance brings an event: in a window around each tenth of a period, from `before` turns before it to `near` turns after it.
fn hits_and_others(
    train: &Train,
    pulse: &Pulse,
    near: f64,
    before: f64,
) -> (Vec<(i64, usize)>, [usize; WINDOWS]) {
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
    (hits, in_window)
}

/// Share of the time of the segments in which the CPU was not away.
fn share_present(train: &Train) -> f64 {
    let away: f64 = train.away.iter().map(|away| away.1 - away.0).sum();
    (1.0 - away / periods(train, 1.0)).clamp(0.0, 1.0)
}

/// Share of the periods that have an event within a thirty-second part or its neighbours, by the first events.
fn occupied_coarsely(train: &Train, hz: f64) -> f64 {
    let times = &train.times[..train.times.len().min(MAX_EVENTS_COUNTED)];
    let mut profile = [0u32; COARSE];
    for &time in times {
        profile[(part_of_turn(time * hz) * COARSE as f64) as usize % COARSE] += 1;
    }
    let blurred = (2.0 * train.jitter * hz * COARSE as f64).ceil() as usize;
    let bins = blurred.saturating_add(3).min(COARSE);
    let of_several = |bin: usize| (bin..bin + bins).map(|bin| profile[bin % COARSE]).sum();
    let highest: u32 = (0..COARSE).map(of_several).max().unwrap_or(0);
    let last = times.last().copied().unwrap_or(0.0);
    let periods = Pulse::new(hz, 0.0).periods(train, last, (0.5, true), &[]);
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
