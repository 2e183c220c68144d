//! Signals in the times of gaps: trains of events ([`crate::periods::events`]) of each frequent cause, and of all others together.
//!
//! The times of gaps are not sampled, so one rate decides their frequency. Gaps and causes come from [`crate::gaps::statistics`].

use crate::gaps::naming::Key;
use crate::gaps::statistics::{Event, Statistics};
use crate::periods::events::{self, Periodic, Train};
use crate::periods::signals::{SAME_DEVIATIONS, clock_error, p_value};
use crate::series::context::Context;
use bandscope_report::{Cause, CauseSource, Origin, SeenIn, Signal};

/// Causes whose gaps are searched by themselves, and gaps that it takes.
const MAX_CAUSES: usize = 8;
const MIN_GAPS_OF_A_CAUSE: usize = 32;
/// How far a kernel's tick may be from its name: its clock is disciplined to some hundred ppm.
const MAX_TICK_ERROR: f64 = 1e-3;
/// Ticks from one event of such a train to the next, where all of its events are ticks: with many more any slow train would be one. At this many one of
/// sixteen trains of another period would.
const MAX_TICKS_A_TURN: f64 = 32.0;
/// So much more often than the tick at most come interrupts of the timer that are all the tick's.
const MAX_TICKS: f64 = 1.0 + MAX_TICK_ERROR;
/// Share of a tick's period from which on a task that runs may have a time slice, and parts of it after the tick, or before it, at which a slice
/// begins.
const MIN_SLICE_TICKS: f64 = 0.4;
const TICK_TO_TASK: std::ops::Range<f64> = -0.01..0.05;

/// Signals in the times of gaps: of those of each frequent cause, where kernel events name them, and of all others together.
pub fn in_gaps(
    gaps: &Statistics,
    segments: &[(u64, u64)],
    unit: f64,
    context: &Context,
) -> Vec<Signal> {
    let Some(times) = Times::of(segments, unit, context) else {
        return Vec::new();
    };
    let span = |event: &Event| times.span(event);
    let away: Vec<(f64, f64)> = gaps.events.iter().map(span).collect();
    let (causes, main) = frequent_causes(gaps);
    let is_main = |cause: Key| causes[..main].contains(&cause);
    let mut tick: Option<Periodic> = None;
    let mut signals: Vec<Signal> = Vec::new();
    for &cause in &causes {
        let mine = gaps.pieces.iter().filter(|piece| piece.cause == cause);
        let name = &gaps.names()[cause as usize];
        // An interrupt comes while tasks run, too, and is then seen as well.
        let away = if is_interrupt(name) {
            let hidden = |piece: &&Event| hides_interrupts(&gaps.names()[piece.cause as usize]);
            gaps.pieces.iter().filter(hidden).map(span).collect()
        } else {
            away.clone()
        };
        let tick_hz = context.tick_hz.filter(|_| *name == Cause::Tick);
        let mine = Train {
            tick_hz,
            ..times.train(mine.collect(), away)
        };
        let mut found = events::trains(&mine);
        tick = tick.or(the_tick(&found, context));
        if *name == Cause::Tick {
            // Ticks that are longer or later, by a host or by more to do, are ticks all the same. Where tasks share the CPU many ticks are not seen, and
            // others come as often as turns do.
            let ticks_per_s = mine.times.len() as f64 / mine.seconds();
            found.retain(|one| !is_each_so_many_th_tick(one, tick, ticks_per_s, context));
        } else {
            let all = found.clone();
            found.retain(|one| !is_with_the_tick(one, &all, tick));
        }
        found.retain(|one| {
            // Turns that come now and then take a small part of each tick, and are long all the same.
            let lasts_ns = match (name, one.begins) {
                (Cause::Task(_), None) => one.ns_per_event.max(typical_ns(&mine.losses)),
                _ => one.ns_per_event,
            };
            !is_time_slice(one, lasts_ns, tick, context)
        });
        if !is_main(cause) {
            found.retain(|one| !signals.iter().any(|said| brings(said, one)));
        }
        within_books(&mut found, &mine);
        signals.extend(found.iter().map(|one| Signal {
            cause: Some(name.clone()),
            cause_by: Some(CauseSource::Events),
            ..in_gap_times(one, context)
        }));
    }
    let others = (gaps.events.iter()).filter(|event| !causes.contains(&event.cause));
    let mut found = events::trains(&Train {
        is_mixture: true,
        tick_hz: context.tick_hz,
        ..times.train(others.collect(), away)
    });
    tick = tick.or(the_tick(&found, context));
    found.retain(|one| !is_time_slice(one, one.ns_per_event, tick, context));
    signals.extend(found.iter().map(|one| in_gap_times(one, context)));
    signals
}

/// The clock of a series' events: seconds since its first segment starts.
struct Times<'a> {
    origin: u64,
    /// Ticks of the unit of work that a gap may hold.
    unit: f64,
    segments: Vec<(f64, f64)>,
    context: &'a Context,
}

impl<'a> Times<'a> {
    /// `None` without a segment.
    fn of(segments: &[(u64, u64)], unit: f64, context: &'a Context) -> Option<Times<'a>> {
        let mut times = Times {
            origin: segments.first()?.0,
            unit,
            segments: Vec::new(),
            context,
        };
        times.segments = (segments.iter())
            .map(|&(from, to)| (times.seconds(from), times.seconds(to)))
            .collect();
        Some(times)
    }

    fn seconds(&self, ticks: u64) -> f64 {
        (self.context).seconds(ticks.saturating_sub(self.origin) as f64)
    }

    /// Start and end of an event.
    fn span(&self, event: &Event) -> (f64, f64) {
        let end = event.start.saturating_add(event.duration);
        (self.seconds(event.start), self.seconds(end))
    }

    /// The train of these events, none of which begins while the CPU is `away`. What comes after the segments whose extents are kept has no place there.
    fn train(&self, events: Vec<&Event>, mut away: Vec<(f64, f64)>) -> Train {
        let end = self.segments.last().map_or(0.0, |segment| segment.1);
        away.retain(|away| away.0 < end);
        let own = |event: &Event| if event.holds_unit { self.unit } else { 0.0 };
        let loss = |event: &Event| {
            self.context
                .ns((event.duration as f64 - own(event)).max(0.0))
        };
        let mut train = Train {
            segments: self.segments.clone(),
            away,
            ..Train::default()
        };
        // The scheduler took the CPU from a task and gave it back: no new turn.
        let turns = events.into_iter().filter(|event| !event.goes_on);
        for event in turns.filter(|event| self.seconds(event.start) < end) {
            train.times.push(self.seconds(event.start));
            train.losses.push(loss(event));
            train.early.push(self.context.seconds(event.after as f64));
        }
        train
    }
}

/// Whether tasks do not hold it up.
fn is_interrupt(cause: &Cause) -> bool {
    matches!(cause, Cause::Tick | Cause::Interrupt(_) | Cause::Timer(_))
}

/// Whether interrupts do not come, or cannot be seen, while this has the CPU: an idle CPU stops its tick.
fn hides_interrupts(cause: &Cause) -> bool {
    cause.is_held() || matches!(cause, Cause::Host | Cause::Unnamed | Cause::Preempted)
}

/// The train that has the frequency of the kernel's tick.
fn the_tick(found: &[Periodic], context: &Context) -> Option<Periodic> {
    let hz = context.tick_hz?;
    let is_it = |one: &&Periodic| (one.frequency / hz - 1.0).abs() < MAX_TICK_ERROR;
    found.iter().find(is_it).copied()
}

/// Whether it is the scheduler that takes turns: it lets another task run for whole ticks, from one of them to another one, and as often as tasks
/// and ticks happen to make it. Their frequency is the tick's, or a part of it.
fn is_time_slice(
    found: &Periodic,
    lasts_ns: f64,
    tick: Option<Periodic>,
    context: &Context,
) -> bool {
    ticks_a_turn(found, tick, context).is_some_and(|(hz, _)| lasts_ns * hz / 1e9 >= MIN_SLICE_TICKS)
}

/// Whether it is a part of the ticks, of which so many come a second. A CPU without tasks to share it may have no more than a tick a second, which is no part.
///
/// Where no more come than the tick's frequency says, all of them are ticks, and so is a train of some of them, at whatever frequency between: now each eighth and now
/// each seventh one is longer.
fn is_each_so_many_th_tick(
    found: &Periodic,
    tick: Option<Periodic>,
    ticks_per_s: f64,
    context: &Context,
) -> bool {
    let hz = tick.map(|tick| tick.frequency).or(context.tick_hz);
    let is_among = hz.is_some_and(|hz| {
        ticks_per_s <= MAX_TICKS * hz && (1.5..=MAX_TICKS_A_TURN).contains(&(hz / found.frequency))
    });
    let is_part = ticks_a_turn(found, tick, context)
        .is_some_and(|(_, ticks)| (2.0..=MAX_TICKS_A_TURN).contains(&ticks));
    let has_others = ticks_per_s > 1.5 * found.frequency;
    has_others && is_among || (tick.is_some() || has_others) && is_part
}

/// Whether it is what the tick adds to each so many-th event of a faster train of the same task or timer.
fn is_with_the_tick(found: &Periodic, of_cause: &[Periodic], tick: Option<Periodic>) -> bool {
    let is_same = |hz: f64| (found.frequency / hz - 1.0).abs() < MAX_TICK_ERROR;
    let faster = of_cause.iter().map(|one| one.frequency / found.frequency);
    tick.is_some_and(|tick| is_same(tick.frequency))
        && faster
            .filter(|turns| *turns > 1.5)
            .any(|turns| (turns / turns.round() - 1.0).abs() < MAX_TICK_ERROR)
}

/// The tick's frequency, and the whole number of ticks from one turn of a train to the next, if it begins with ticks.
fn ticks_a_turn(found: &Periodic, tick: Option<Periodic>, context: &Context) -> Option<(f64, f64)> {
    let hz = tick.map(|tick| tick.frequency).or(context.tick_hz)?;
    let ticks = hz / found.frequency;
    let whole = ticks.round().max(1.0);
    let on_ticks = match (found.begins, tick.and_then(|tick| tick.begins)) {
        (Some(at), Some(tick_at)) => {
            let turns = (at - tick_at) * hz;
            TICK_TO_TASK.contains(&(turns - turns.round()))
        }
        _ => true,
    };
    (on_ticks && (ticks / whole - 1.0).abs() < MAX_TICK_ERROR).then_some((hz, whole))
}

/// Length of the event in which a lost nanosecond typically lies: the mean, weighted by length.
fn typical_ns(losses: &[f64]) -> f64 {
    let sum: f64 = losses.iter().sum();
    let squares: f64 = losses.iter().map(|loss| loss * loss).sum();
    squares / sum.max(f64::MIN_POSITIVE)
}

/// What trains of one cause take is no more than all of its events took.
pub fn within_books(found: &mut [Periodic], train: &Train) {
    let booked: f64 = train.losses.iter().sum::<f64>() / train.seconds();
    let said: f64 = found
        .iter()
        .map(|one| one.ns_per_event * one.frequency)
        .sum();
    if said > booked {
        for one in found {
            one.ns_per_event *= booked / said;
        }
    }
}

/// The causes with the most gaps, where kernel events name any, and how many of them are the largest part of enough gaps, or the tick, which
/// often comes with what it lets run. The others come with something longer, most of the time. Softirqs are the work of an interrupt.
fn frequent_causes(gaps: &Statistics) -> (Vec<Key>, usize) {
    let mut mains = vec![0usize; gaps.names().len()];
    let mut pieces = mains.clone();
    let mut ticks = vec![0u128; gaps.names().len()];
    for event in &gaps.events {
        mains[event.cause as usize] += 1;
    }
    for piece in &gaps.pieces {
        pieces[piece.cause as usize] += 1;
        ticks[piece.cause as usize] += u128::from(piece.duration);
    }
    let name = |key: usize| &gaps.names()[key];
    let is_named = |key: &usize| name(*key).is_named();
    let enough = |numbers: &[usize]| {
        let mut keys: Vec<usize> = (0..numbers.len()).filter(is_named).collect();
        keys.retain(|&key| numbers[key] >= MIN_GAPS_OF_A_CAUSE);
        keys.sort_by_key(|&key| std::cmp::Reverse(numbers[key]));
        keys
    };
    let mut keys = enough(&mains);
    keys.truncate(MAX_CAUSES);
    let others = enough(&pieces);
    let tick = others
        .iter()
        .copied()
        .find(|&key| *name(key) == Cause::Tick);
    // Time slices are told by it.
    keys.retain(|&key| Some(key) != tick);
    keys.splice(0..0, tick);
    let main = keys.len();
    let is_new = |key: &usize| !keys.contains(key) && !matches!(name(*key), Cause::Softirq(_));
    let mut new: Vec<usize> = others.into_iter().filter(is_new).take(MAX_CAUSES).collect();
    // What takes more comes first, so that it is said and not what comes with it.
    new.sort_by_key(|&key| std::cmp::Reverse(ticks[key]));
    keys.extend(new);
    (keys.into_iter().map(|key| key as Key).collect(), main)
}

/// Whether a train has the frequency of a signal.
fn is_same(found: &Periodic, signal: &Signal) -> bool {
    let apart = (found.frequency - signal.frequency_hz).abs();
    apart <= SAME_DEVIATIONS * found.uncertainty.hypot(signal.uncertainty_hz)
}

/// Whether a train comes as often as something that takes longer: that brought it in, or it brought that in.
fn brings(said: &Signal, one: &Periodic) -> bool {
    is_same(one, said) && said.ns_per_event >= one.ns_per_event
}

/// A train of gaps as a signal.
pub fn in_gap_times(found: &Periodic, context: &Context) -> Signal {
    Signal {
        frequency_hz: found.frequency,
        uncertainty_hz: found
            .uncertainty
            .hypot(clock_error(found.frequency, context)),
        origin: Origin::Unresolved,
        ns_per_event: found.ns_per_event,
        p_value: p_value(found.log_p),
        harmonics: found.harmonics,
        occupied: found.occupied,
        seen_in: SeenIn::Gaps,
        cause: None,
        cause_by: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bandscope_recording::Manifest;
    use bandscope_recording::manifest::Machine;

    fn train(frequency: f64, begins: Option<f64>) -> Periodic {
        Periodic {
            frequency,
            uncertainty: 1e-5,
            ns_per_event: 12e3,
            log_p: -100.0,
            harmonics: 20,
            begins,
            occupied: begins.map(|_| 1.0),
        }
    }

    #[test]
    fn what_comes_with_each_so_many_th_tick_is_the_tick() {
        let machine = Machine {
            tick_hz: Some(250.0),
            ..Machine::default()
        };
        let manifest = Manifest {
            machine,
            ..Manifest::default()
        };
        let context = Context::of_10_khz(&manifest);
        let tick = Some(train(250.0, Some(0.0010)));
        // Another timer's interrupts are among them.
        let is_tick = |one: Periodic| is_each_so_many_th_tick(&one, tick, 392.8, &context);
        // A part of all events at 50.0012 Hz, and ticks that came 0.1 ms late.
        assert!(is_tick(train(50.001_2, None)));
        assert!(is_tick(train(50.0, Some(0.0051))));
        assert!(is_tick(train(27.777_8, None)));
        // Between ticks; the tick itself; no part of its frequency; too seldom to tell.
        assert!(!is_tick(train(50.0, Some(0.0030))));
        assert!(!is_tick(train(250.0, Some(0.0010))));
        assert!(!is_tick(train(142.857, None)));
        assert!(!is_tick(train(0.4, None)));
        let is_part = |ticks_per_s| {
            is_each_so_many_th_tick(&train(27.777_8, None), None, ticks_per_s, &context)
        };
        assert!(is_part(125.0) && !is_part(30.0));
        // All are ticks: now each eighth, now each seventh one is longer. Not what is most of them, or seldom.
        let is_among = |hz| is_each_so_many_th_tick(&train(hz, None), tick, 249.9, &context);
        assert!(is_among(31.728) && is_among(142.857));
        assert!(!is_among(249.9) && !is_among(0.4));
        // A task that runs 1000 times a second, and longer when the tick comes with it.
        let all = [
            train(1000.0, None),
            train(250.0, None),
            train(333.333, None),
        ];
        let with_tick = |one: &Periodic| is_with_the_tick(one, &all, tick);
        assert!(with_tick(&all[1]) && !with_tick(&all[0]) && !with_tick(&all[2]));
        assert!(!is_with_the_tick(&all[1], &all[1..], tick));
    }
}
