//! The pulse that events form when their times are folded over a period: where it is, what is in it, and the train without it.

use super::strength::part_of_turn;
use super::{JITTER_QUANTA, Train};
use bandscope_statistics::lines;
use std::borrow::Cow;
use std::ops::Range;

/// Phases of a folded profile.
pub(super) const PHASES: usize = 64;

/// Where events crowd at one phase.
#[derive(Clone, Copy)]
pub(super) struct Pulse {
    /// Turns a second.
    pub(super) frequency: f64,
    /// Its standard deviation.
    pub(super) uncertainty: f64,
    /// Turns on each side within which most of its events lie, beyond what their times may be off by.
    pub(super) reach: f64,
    /// A time at which a turn begins.
    pub(super) origin: f64,
}

impl Pulse {
    /// A frequency of which a turn begins at a time.
    pub(super) fn new(frequency: f64, origin: f64) -> Pulse {
        Pulse {
            frequency,
            uncertainty: 0.0,
            reach: 0.0,
            origin,
        }
    }

    /// Turns since the origin.
    pub(super) fn turns(&self, time: f64) -> f64 {
        (time - self.origin) * self.frequency
    }

    /// Periods in which an event could begin: those inside of segments whose time does not come while the CPU is away, `reach` turns after it
    /// left, `and_own`: also because of an event of this train, such as a tick that let another task run. Periods of `hits` are among them,
    /// in order: an event may lie in its own absence, behind the interrupt that woke it.
    pub(super) fn periods(
        &self,
        train: &Train,
        last: f64,
        (reach, and_own): (f64, bool),
        hits: &[(i64, usize)],
    ) -> f64 {
        let number = |from: f64, to: f64| (self.turns(to).floor() - from.floor()).max(0.0);
        let inside = |segment: &(f64, f64)| number(self.turns(segment.0), segment.1.min(last));
        let hits_until = |turns: f64| hits.partition_point(|hit| hit.0 as f64 <= turns) as f64;
        let covered = |away: &(f64, f64)| {
            let turns = self.turns(away.0);
            if !and_own && (turns - turns.round()).abs() <= reach {
                return 0.0;
            }
            let (from, to) = (turns + reach, away.1.min(last));
            let seen = (hits_until(self.turns(to)) - hits_until(from)).max(0.0);
            (number(from, to) - seen).max(0.0)
        };
        let away = train.away.iter().take_while(|away| away.0 <= last);
        train.segments.iter().map(inside).sum::<f64>() - away.map(covered).sum::<f64>()
    }
}

/// Where the events form a pulse: the frequency by regression of their phase on time, with its standard deviation.
pub(super) fn by_pulse(train: &Train, frequency: f64) -> Option<Pulse> {
    let crowd = Crowd::at_peak(train, frequency)?;
    let mut line = Line::through(&crowd.events);
    let mut uncertainty = line.uncertainty / crowd.moves(&line, MAX_REACH_TURNS).max(LEAST_MOVES);
    // Whatever else happened within a twentieth of a period draws the line to itself: closer looks, as long as they hold the pulse,
    // leave most of it out.
    let whole = crowd.share_of_turns(0..crowd.events.len(), MAX_REACH_TURNS);
    let mut reach = MAX_REACH_TURNS;
    let mut held = Cow::Borrowed(&crowd.events);
    while reach > MIN_REACH_TURNS {
        reach /= 2.0;
        let near = crowd.closer_look(&line, reach, whole);
        if near.len() < MIN_EVENTS_IN_PULSE {
            reach *= 2.0;
            break;
        }
        line = Line::through(&near);
        held = Cow::Owned(near);
        // The rest of the way it stays where the look before left it.
        uncertainty = line.uncertainty + (1.0 - crowd.moves(&line, reach)) * uncertainty;
    }
    let slope = line.slope;
    if crowd.jitter > 0.0 {
        let even = crowd.even_scatter(train, frequency);
        uncertainty = uncertainty.hypot(line.of_locked(&held, train, even));
    }
    // Events of a true frequency f fall behind the folding one by f - `frequency` turns a second.
    let frequency_of_pulse = frequency - slope;
    let turns = part_of_turn(line.time * frequency) - part_of_turn(crowd.centre + line.phase);
    let is_near = slope.abs() < MOST_SLOPE * frequency;
    (is_near && uncertainty.is_finite()).then(|| Pulse {
        frequency: frequency_of_pulse,
        uncertainty,
        reach,
        origin: line.time - turns / frequency_of_pulse,
    })
}

/// Turns on each side of a pulse that are looked at; how close, how much of it a closer look must hold, and the fewest events.
const MAX_REACH_TURNS: f64 = 0.05;
const MIN_REACH_TURNS: f64 = 1e-5;
const MIN_SHARE_HELD: f64 = 0.8;
const MIN_EVENTS_IN_PULSE: usize = 16;
/// Share of the frequency by which its pulse may differ from it: the fewest events, one a period, know theirs to 1/16. A burst that is shorter
/// than a period has a pulse of any frequency, negative ones included.
pub(super) const MOST_SLOPE: f64 = 0.1;
/// Share of the reach on each side of its end in which events are counted to know how many there are at its end; and how little the middle of the
/// widest look may move with the pulse.
const EDGE: f64 = 0.25;
const LEAST_MOVES: f64 = 0.25;
/// Share of the even scatter from which on a segment's times are not locked: they may scatter a little less by chance, or for what an event takes.
const EVEN: f64 = 0.75;
/// Blocks of a run that are held against its line.
const BLOCKS: usize = 8;

/// The events near the phase at which most of them are.
struct Crowd {
    /// That phase, turns.
    centre: f64,
    /// What times may be off by, turns.
    jitter: f64,
    /// Times, seconds, and phases from `centre` on, turns.
    events: Vec<(f64, f64)>,
    /// The number of the turn of each.
    turns: Vec<i64>,
    /// Events of the whole train, and periods in which one could be seen.
    all_events: f64,
    all_turns: f64,
}

impl Crowd {
    /// `None` where there are no more events than chance brings.
    fn at_peak(train: &Train, frequency: f64) -> Option<Crowd> {
        let mut profile = [0u32; PHASES];
        for &time in &train.times {
            profile[phase_of(time, frequency)] += 1;
        }
        let peak = (0..PHASES).max_by_key(|&bin| profile[bin])?;
        let centre = (peak as f64 + 0.5) / PHASES as f64;
        // Within 1/20 of a period of the peak, and what its time may be off by.
        let jitter = train.jitter * frequency;
        let offset = |time: f64| part_of_turn(part_of_turn(time * frequency) - centre + 0.5) - 0.5;
        let events: Vec<(f64, f64)> = train
            .times
            .iter()
            .map(|&time| (time, offset(time)))
            .filter(|(_, offset)| offset.abs() < MAX_REACH_TURNS + jitter)
            .collect();
        let all_events = train.times.len() as f64;
        let expected = 2.0 * (MAX_REACH_TURNS + jitter) * all_events;
        if (events.len() as f64) < expected + 5.0 * expected.sqrt().max(2.0) {
            return None;
        }
        let turn = |point: &(f64, f64)| (point.0 * frequency - centre - point.1).round() as i64;
        Some(Crowd {
            centre,
            jitter,
            turns: events.iter().map(turn).collect(),
            events,
            all_events,
            all_turns: periods(train, frequency).max(1.0),
        })
    }

    /// Turns to either side within which the times of events in quanta lie evenly: half a quantum, less half of what an event takes of it.
    fn even_scatter(&self, train: &Train, frequency: f64) -> f64 {
        let taken_ns = train.losses.iter().sum::<f64>() / self.all_events.max(1.0);
        let half_a_quantum = 0.5 * self.jitter / JITTER_QUANTA;
        (half_a_quantum - 0.5e-9 * taken_ns * frequency).max(0.0)
    }

    /// How far the middle of the events within the reach of a line moves with the pulse. Were the pulse a little later, events would leave the
    /// reach at one end and others enter at the other: the middle of those within moves by less than the pulse does (Huber 1964, of
    /// estimators that leave out what is far off).
    fn moves(&self, line: &Line, reach: f64) -> f64 {
        let number = |shell: Range<f64>| {
            let distances = (self.events.iter()).map(|&point| line.distance(point).abs());
            let shares = distances.map(|distance| distance / (reach + self.jitter));
            shares.filter(|share| shell.contains(share)).count() as f64
        };
        let edge = match reach < MAX_REACH_TURNS {
            true => number(1.0 - EDGE..1.0 + EDGE),
            false => 2.0 * number(1.0 - EDGE..1.0),
        };
        (1.0 - edge / (2.0 * EDGE) / number(0.0..1.0).max(1.0)).clamp(0.0, 1.0)
    }

    /// The share of the turns that have one of these events, beyond those that have one by chance: of two trains that are always as far apart
    /// one has an event in every turn.
    fn share_of_turns(&self, events: impl Iterator<Item = usize>, reach: f64) -> f64 {
        let (mut held, mut last) = (0.0, None);
        for k in events {
            held += f64::from(u8::from(last != Some(self.turns[k])));
            last = Some(self.turns[k]);
        }
        let by_chance = 2.0 * (reach + self.jitter) * self.all_events / self.all_turns;
        // The share that has an event is 1 - (1 - share by the train) * exp(-by chance).
        1.0 - (1.0 - held / self.all_turns).max(0.0) * by_chance.exp()
    }

    /// The events within a smaller reach of the line, or of one beside it, whichever holds more; none where that leaves too much out of the
    /// `whole` share of turns.
    fn closer_look(&self, line: &Line, reach: f64, whole: f64) -> Vec<(f64, f64)> {
        let distances: Vec<f64> = (self.events.iter())
            .map(|&point| line.distance(point))
            .collect();
        let near = |shift: f64| {
            let is_near = move |distance: &f64| (distance - shift).abs() < reach + self.jitter;
            (distances.iter().enumerate()).filter_map(move |(k, one)| is_near(one).then_some(k))
        };
        let looks = [0.0, -reach / 2.0, reach / 2.0];
        let best = looks
            .map(|by| (self.share_of_turns(near(by), reach), by))
            .into_iter()
            .reduce(|a, b| if b.0 > a.0 { b } else { a });
        let best = best.filter(|best| whole > 0.0 && best.0 >= MIN_SHARE_HELD * whole);
        let near = best.map(|(_, shift)| near(shift).map(|k| self.events[k]));
        near.into_iter().flatten().collect()
    }
}

/// Phase, in turns, against time, in seconds.
struct Line {
    time: f64,
    phase: f64,
    slope: f64,
    /// Standard deviation of the slope.
    uncertainty: f64,
}

impl Line {
    /// By least squares.
    fn through(points: &[(f64, f64)]) -> Line {
        let fitted = lines::Line::through(points);
        let line = Line {
            time: fitted.centre.0,
            phase: fitted.centre.1,
            slope: fitted.slope,
            uncertainty: 0.0,
        };
        let scatter = fitted.residual_squares / points.len() as f64 / fitted.x_squares;
        Line {
            uncertainty: scatter.sqrt().max(line.wander(points)),
            ..line
        }
    }

    /// Standard deviation of the slope by how the means of blocks scatter about the line: a clock that wanders, or company at one end of
    /// the run, moves many points together. 0 of too few.
    fn wander(&self, points: &[(f64, f64)]) -> f64 {
        if points.len() < 2 * BLOCKS {
            return 0.0;
        }
        let end = |block: usize| block * points.len() / BLOCKS;
        let means: Vec<(f64, f64)> = (0..BLOCKS)
            .map(|block| {
                let block = &points[end(block)..end(block + 1)];
                let n = block.len() as f64;
                let (time, distance) = block.iter().fold((0.0, 0.0), |(time, distance), &point| {
                    (time + point.0 - self.time, distance + self.distance(point))
                });
                (time / n, distance / n)
            })
            .collect();
        let square: f64 = means.iter().map(|mean| mean.0.powi(2)).sum();
        let rest: f64 = means.iter().map(|mean| mean.1.powi(2)).sum();
        (rest / (BLOCKS - 2) as f64 / square).sqrt()
    }

    /// Standard deviation of the slope by what times may be off by, where all of a segment are off alike: a period that is a whole number of
    /// quanta has its events at one place of their quanta, and nothing says at which. Elsewhere the times scatter as evenly as they may be off.
    fn of_locked(&self, points: &[(f64, f64)], train: &Train, even: f64) -> f64 {
        let (mut within, mut times, mut segments) = (0.0, 0.0, 0.0);
        for segment in &train.segments {
            let from = points.partition_point(|point| point.0 < segment.0);
            let to = points.partition_point(|point| point.0 < segment.1);
            let mine = &points[from.min(to)..to];
            let distances = mine.iter().map(|&point| self.distance(point));
            let mean = distances.clone().sum::<f64>() / mine.len().max(1) as f64;
            within += distances.map(|one| (one - mean).powi(2)).sum::<f64>();
            times += (mine.iter().map(|point| (point.0 - self.time).powi(2))).sum::<f64>();
            segments += f64::from(u8::from(!mine.is_empty()));
        }
        let number = points.len() as f64;
        let (even, seen) = (even.powi(2) / 3.0, within / number);
        let hidden = if seen < EVEN * even { even - seen } else { 0.0 };
        (hidden / (segments * times / number).max(f64::MIN_POSITIVE)).sqrt()
    }

    fn distance(&self, point: (f64, f64)) -> f64 {
        point.1 - self.phase - self.slope * (point.0 - self.time)
    }
}

/// Bin of a folded profile.
pub(super) fn phase_of(time: f64, frequency: f64) -> usize {
    (part_of_turn(time * frequency) * PHASES as f64) as usize % PHASES
}

impl Train {
    /// Takes out the events at the phases at which there are more than elsewhere.
    pub(super) fn remove_pulse(&mut self, frequency: f64) {
        let mut profile = [0.0; PHASES];
        for &time in &self.times {
            profile[phase_of(time, frequency)] += 1.0;
        }
        let (_, limit) = random_level(&profile);
        let times = self.times.iter();
        let keep = times.map(|&time| profile[phase_of(time, frequency)] <= limit);
        let keep: Vec<bool> = keep.collect();
        self.retain(|event| keep[event]);
    }

    /// Keeps some of the events, by their number.
    pub(super) fn retain(&mut self, keep: impl Fn(usize) -> bool) {
        let mut event = 0..self.times.len();
        self.times.retain(|_| event.next().is_none_or(&keep));
        for column in [&mut self.losses, &mut self.late, &mut self.early] {
            let mut event = 0..column.len();
            column.retain(|_| event.next().is_none_or(&keep));
        }
    }
}

/// What there is at random phases, and the limit above which a phase belongs to the pulse.
pub(super) fn random_level(profile: &[f64; PHASES]) -> (f64, f64) {
    let mut sorted = *profile;
    sorted.sort_by(f64::total_cmp);
    // The median, and its spread from the lower half, which no pulse reaches.
    let base = sorted[PHASES / 2];
    (base, base + 3.0 * (base - sorted[PHASES / 8]))
}

/// Nanoseconds lost per period at the phases of the pulse, less what is lost at as many others. It is where the events are: one long absence counts once.
pub(super) fn loss_per_period(train: &Train, frequency: f64) -> f64 {
    let (mut events, mut losses) = ([0.0; PHASES], [0.0; PHASES]);
    for (&time, loss) in train.times.iter().zip(&train.losses) {
        let phase = phase_of(time, frequency);
        events[phase] += 1.0;
        losses[phase] += loss;
    }
    let (_, limit) = random_level(&events);
    let (mut pulse, mut others, mut phases) = (0.0, 0.0, 0.0);
    for (events, loss) in events.iter().zip(losses) {
        if *events > limit {
            pulse += loss;
            phases += 1.0;
        } else {
            others += loss;
        }
    }
    let excess = pulse - others * phases / (PHASES as f64 - phases).max(1.0);
    let periods = periods(train, frequency);
    if periods > 0.0 { excess / periods } else { 0.0 }
}

/// Events at the phases of the pulse, beyond those at as many others.
pub(super) fn pulse_events(train: &Train, frequency: f64) -> f64 {
    let mut profile = [0.0; PHASES];
    for &time in &train.times {
        profile[phase_of(time, frequency)] += 1.0;
    }
    let (base, limit) = random_level(&profile);
    let pulse = profile.iter().filter(|events| **events > limit);
    pulse.map(|events| events - base).sum()
}

/// Turns with an event at the phases of the pulse, a quarter of a turn about its highest: another train has more of them in a turn, or has them
/// elsewhere.
pub(super) fn pulse_turns(train: &Train, frequency: f64) -> f64 {
    let mut profile = [0.0; PHASES];
    for &time in &train.times {
        profile[phase_of(time, frequency)] += 1.0;
    }
    let (_, limit) = random_level(&profile);
    let peak = (0..PHASES).max_by(|&a, &b| profile[a].total_cmp(&profile[b]));
    let centre = (peak.unwrap_or(0) as f64 + 0.5) / PHASES as f64;
    let turns = |time: &f64| time * frequency - centre;
    let turn = |time: &f64| turns(time).round() as i64;
    let mut times = train.times.clone();
    times.retain(|time| {
        let off = turns(time) - turns(time).round();
        profile[phase_of(*time, frequency)] > limit && off.abs() < 0.25
    });
    times.chunk_by(|a, b| turn(a) == turn(b)).count() as f64
}

/// Periods in which events could be seen.
pub(super) fn periods(train: &Train, frequency: f64) -> f64 {
    train.seconds() * frequency
}
