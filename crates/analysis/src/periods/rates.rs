//! Names for periodic gaps where no kernel events were recorded: how often they come, against what the kernel counted meanwhile.
//!
//! Anybody may read /proc/interrupts and /proc/softirqs, so an ordinary user has this much. A user program's time is taken by
//! interrupts (softirqs run at the end of one), by other tasks, which preemptions are known of, and by what the kernel does not see. So a period
//! that one interrupt alone came at is likely its own; and one so short that nothing came often enough is the
//! host's. A rate is no proof, and gaps without a period have no rate: nothing is booked by it.

use crate::gaps::naming::bare_timer;
use bandscope_recording::Manifest;
use bandscope_recording::manifest::{Events, EventsState, KernelCount, KernelCounts};
use bandscope_report::{Cause, CauseSource, Gaps, SeenIn, Series, Signal};
use std::collections::BTreeSet;

/// Counted per second, over what has the period: an interrupt may come for other reasons, too, a little more often.
const MATCHES: std::ops::RangeInclusive<f64> = 0.98..=1.1;
/// What came this share of the time at most, cannot be what comes each time.
const TOO_RARE: f64 = 0.5;
/// Share of the time beyond which counts a second say nothing of how often something came while the thread was there.
const MAX_AWAY: f64 = 0.25;
/// Fewer counts say nothing about a rate.
const MIN_COUNTS: u64 = 20;

/// Names the signals in gaps of all series that have no name.
pub fn name(series: &mut [Series], manifest: &Manifest) {
    if manifest.events.state == EventsState::On {
        if !manifest.events.tracepoints.is_empty() && !tells_timers(&manifest.events) {
            let signals = series.iter_mut().flat_map(|series| &mut series.signals);
            signals.for_each(|signal| doubt_the_tick(signal, manifest.machine.tick_hz));
        }
        return;
    }
    if !is_one_recording(series) {
        return;
    }
    for series in series {
        if let Some(counts) = of(series, manifest) {
            let mut rates = Rates::of(counts, manifest.machine.tick_hz);
            let there = (series.gaps.as_ref())
                .filter(|gaps| gaps.lost_ns as f64 <= MAX_AWAY * series.ledger.wall_ns as f64);
            let preemptions = there.and_then(|gaps| preemptions(gaps, series));
            rates.is_away = there.is_none();
            name_signals(&mut series.signals, &rates, preemptions);
            let signals = series.signals.iter_mut();
            signals.for_each(|signal| doubt_the_tick(signal, manifest.machine.tick_hz));
        }
    }
}

/// A tick comes at the kernel's HZ, or shows at a part of it where each second or third one takes longer, up to this part.
const MAX_TICK_PART: f64 = 8.0;
/// Relative tolerance of that: the kernel's clock is some 100 ppm off the recording's at most.
const TICK_TOLERANCE: f64 = 1e-3;

/// The tracepoint of a timer's function, as a recording's manifest names it.
const TIMER_EXPIRY: &str = "timer:hrtimer_expire_entry";

/// Whether the functions of timers were recorded, and so which interrupt of the timer was the tick.
fn tells_timers(events: &Events) -> bool {
    let mut tracepoints = events.tracepoints.iter();
    tracepoints.any(|tracepoint| tracepoint == TIMER_EXPIRY)
}

/// Without their functions an interrupt of the timer is the tick's if it comes as often as that, and otherwise that of some timer.
fn doubt_the_tick(signal: &mut Signal, tick_hz: Option<f64>) {
    let is_part = |tick_hz: f64| {
        let part = tick_hz / signal.frequency_hz;
        let whole = part.round().clamp(1.0, MAX_TICK_PART);
        (part / whole - 1.0).abs() <= TICK_TOLERANCE
    };
    if signal.cause == Some(Cause::Tick) && !tick_hz.is_none_or(is_part) {
        signal.cause = Some(bare_timer());
    }
}

/// Whether all series are of the one recording whose manifest is at hand.
pub fn is_one_recording(series: &[Series]) -> bool {
    series
        .windows(2)
        .all(|pair| pair[0].origin == pair[1].origin)
}

/// How many CPUs the series are of.
pub fn cpus_of(series: &[Series]) -> usize {
    let cpus: BTreeSet<Option<u32>> = series.iter().map(|one| one.cpu).collect();
    cpus.len()
}

/// The counts of the CPU of a series.
pub fn of<'a>(series: &Series, manifest: &'a Manifest) -> Option<&'a KernelCounts> {
    let mut all = manifest.kernel_counts.iter();
    all.find(|counts| Some(counts.cpu) == series.cpu)
}

/// Interrupts of all kinds per second; `None` where the kernel hides them: a busy CPU has its tick, or something else in a minute.
pub fn interrupts_per_second(counts: &KernelCounts) -> Option<f64> {
    let interrupts = counts.counts.iter().filter(|count| !is_softirq(count));
    let number: f64 = interrupts.map(|count| count.number as f64).sum();
    (number > 0.0 && counts.seconds > 0.0).then(|| number / counts.seconds)
}

fn is_softirq(count: &KernelCount) -> bool {
    matches!(Cause::counted(&count.name), Cause::Softirq(_))
}

/// Preemptions per second, where they are known.
pub fn preemptions(gaps: &Gaps, series: &Series) -> Option<f64> {
    (series.duration_s > 0.0).then_some(gaps.preempted? as f64 / series.duration_s)
}

/// Counts per second that nothing explains so far.
#[derive(Clone)]
struct Rates {
    interrupts: Vec<(Cause, f64)>,
    softirqs: Vec<(Cause, f64)>,
    tick_hz: Option<f64>,
    /// Much of it was counted while the thread was not there. The tick never stops.
    is_away: bool,
}

impl Rates {
    fn of(counts: &KernelCounts, tick_hz: Option<f64>) -> Rates {
        let known = (counts.counts.iter())
            .filter(|count| count.number >= MIN_COUNTS && counts.seconds > 0.0);
        let (softirqs, interrupts): (Vec<_>, Vec<_>) = known.partition(|count| is_softirq(count));
        let rate = |count: &KernelCount| {
            let per_second = count.number as f64 / counts.seconds;
            (Cause::counted(&count.name), per_second)
        };
        Rates {
            interrupts: interrupts.into_iter().map(rate).collect(),
            softirqs: softirqs.into_iter().map(rate).collect(),
            tick_hz,
            is_away: false,
        }
    }

    /// The place of the tick, if `hz` is its frequency. The timer interrupts for others, too, so it may have come much more often.
    fn tick(&self, hz: f64) -> Option<usize> {
        let tick_hz = self.tick_hz.filter(|tick_hz| *tick_hz > 0.0)?;
        let is_it =
            |(cause, rate): &(Cause, f64)| *cause == Cause::Tick && *rate >= MATCHES.start() * hz;
        let place = self.interrupts.iter().position(is_it)?;
        ((hz / tick_hz - 1.0).abs() <= TICK_TOLERANCE).then_some(place)
    }

    /// The tick at its frequency, or else the only interrupt that came at `hz`, or else the only softirq; what it explains is taken off. Softirqs
    /// run at the end of interrupts, so those that come as often as one that is taken are its own. Where as many `preemptions` came as interrupts by another
    /// CPU, it may be the task that these let run.
    fn take(&mut self, hz: f64, preemptions: Option<f64>) -> Option<Cause> {
        let interrupts = match self.tick(hz) {
            Some(place) => {
                // There is one, whatever comes nearly as often: the rest of the timer's interrupts is for others.
                self.tick_hz = None;
                self.interrupts[place] = (bare_timer(), self.interrupts[place].1 - hz);
                self.take_softirqs(hz);
                return Some(Cause::Tick);
            }
            None if self.is_away => return None,
            None => matching(&self.interrupts, hz),
        };
        let has_preempted = preemptions.is_some_and(|rate| MATCHES.contains(&(rate / hz)));
        match interrupts[..] {
            [only] if has_preempted && self.interrupts[only].0.is_by_another_cpu() => None,
            [only] => {
                self.take_softirqs(hz);
                self.interrupts[only].1 -= hz;
                Some(self.interrupts[only].0.clone())
            }
            [] => match matching(&self.softirqs, hz)[..] {
                [only] => {
                    self.softirqs[only].1 -= hz;
                    Some(self.softirqs[only].0.clone())
                }
                _ => None,
            },
            _ => None,
        }
    }

    /// Takes off the softirqs of an interrupt that came at `hz`.
    fn take_softirqs(&mut self, hz: f64) {
        for place in matching(&self.softirqs, hz) {
            self.softirqs[place].1 -= hz;
        }
    }

    /// Whether nothing that is left came often enough.
    fn all_too_rare(&self, hz: f64) -> bool {
        let mut interrupts = self.interrupts.iter();
        interrupts.all(|(_, rate)| *rate < TOO_RARE * hz)
    }
}

/// Places of what came at `hz`.
fn matching(rates: &[(Cause, f64)], hz: f64) -> Vec<usize> {
    let matching = (rates.iter().enumerate()).filter(|(_, one)| MATCHES.contains(&(one.1 / hz)));
    matching.map(|(place, _)| place).collect()
}

fn name_signals(signals: &mut [Signal], rates: &Rates, preemptions: Option<f64>) {
    if rates.interrupts.is_empty() {
        return;
    }
    let mut left = rates.clone();
    let nameless = |signal: &&mut Signal| signal.seen_in == SeenIn::Gaps && signal.cause.is_none();
    for signal in signals.iter_mut().filter(nameless) {
        signal.cause = left.take(signal.frequency_hz, preemptions);
        signal.cause_by = signal.cause.is_some().then_some(CauseSource::Rate);
    }
    for signal in signals.iter_mut().filter(nameless) {
        let hz = signal.frequency_hz;
        if left.all_too_rare(hz) && preemptions.is_some_and(|rate| rate < TOO_RARE * hz) {
            signal.cause = Some(Cause::Host);
            signal.cause_by = Some(CauseSource::Rate);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(rates: &[(&str, u64)]) -> KernelCounts {
        KernelCounts {
            cpu: 0,
            seconds: 10.0,
            counts: rates
                .iter()
                .map(|(name, per_second)| KernelCount {
                    name: (*name).to_owned(),
                    number: 10 * per_second,
                })
                .collect(),
            ..KernelCounts::default()
        }
    }

    /// Causes of signals at these frequencies, of a kernel whose tick is not known.
    fn named(rates: &[(&str, u64)], preemptions: Option<f64>, hz: &[f64]) -> Vec<String> {
        named_of(None, rates, preemptions, hz)
    }

    fn named_of(
        tick_hz: Option<f64>,
        rates: &[(&str, u64)],
        preemptions: Option<f64>,
        hz: &[f64],
    ) -> Vec<String> {
        let mut signals: Vec<Signal> = hz
            .iter()
            .map(|&frequency_hz| Signal {
                frequency_hz,
                seen_in: SeenIn::Gaps,
                ..Signal::default()
            })
            .collect();
        let counts = counts(rates);
        name_signals(&mut signals, &Rates::of(&counts, tick_hz), preemptions);
        let causes = signals.into_iter();
        causes
            .map(|one| one.cause.map_or(String::new(), |cause| cause.to_string()))
            .collect()
    }

    #[test]
    fn what_came_as_often_is_its_name() {
        let rates = [
            ("tick", 253),
            ("softirq:TIMER", 250),
            ("softirq:RCU", 120),
            ("irq:eth0", 31),
        ];
        assert_eq!(named(&rates, None, &[249.9999, 30.5]), ["tick", "irq:eth0"]);
        // A task that an interrupt of its CPU wakes, and a tick beside as many preemptions.
        let rates_of_task = [("tick", 250), ("irq:call_function", 200)];
        assert_eq!(named(&rates_of_task, Some(210.0), &[200.0]), [""]);
        assert_eq!(
            named(&rates_of_task, Some(3.0), &[200.0]),
            ["irq:call_function"]
        );
        assert_eq!(
            named_of(Some(250.0), &rates, Some(251.0), &[250.0]),
            ["tick"]
        );
        // A softirq alone, as of a device whose interrupts come in bursts.
        let rates = [("tick", 1000), ("softirq:NET_RX", 100)];
        assert_eq!(named(&rates, None, &[100.0]), ["softirq:NET_RX"]);
    }

    #[test]
    fn two_that_came_as_often_leave_it_open() {
        let rates = [("tick", 250), ("irq:eth0", 251), ("softirq:NET_RX", 250)];
        assert_eq!(named(&rates, Some(0.0), &[250.0]), [""]);
    }

    /// `machines/real inject`: the timer served a program, too, and a disk interrupted by chance as often as the tick.
    #[test]
    fn at_the_ticks_frequency_it_is_the_tick() {
        let rates = [("tick", 451), ("irq:disk", 258)];
        let named = |tick_hz| named_of(tick_hz, &rates, Some(0.0), &[250.0, 200.0]);
        assert_eq!(named(Some(250.0)), ["tick", "irq:local_timer"]);
        assert_eq!(named(Some(1000.0)), ["irq:disk", ""]);
        // A CPU without a tick.
        let rates = [("tick", 3), ("irq:disk", 258)];
        assert_eq!(named_of(Some(250.0), &rates, None, &[250.0]), ["irq:disk"]);
    }

    /// `machines/real spin-3ms` beside a build that had two fifths of the CPU: the tick and the program's timer made 583 a second, each so often that
    /// every other switch came at 500 Hz.
    #[test]
    fn what_was_counted_while_others_ran_names_the_tick_alone() {
        let mut rates = Rates::of(&counts(&[("tick", 583), ("softirq:RCU", 510)]), Some(250.0));
        rates.is_away = true;
        assert_eq!(rates.take(250.0001, None), Some(Cause::Tick));
        for hz in [249.962, 333.333, 510.0, 583.0] {
            assert_eq!(rates.take(hz, None), None, "{hz}");
        }
    }

    #[test]
    fn what_nothing_came_as_often_as_is_the_hosts() {
        let rates = [("tick", 253), ("irq:reschedule", 3), ("softirq:RCU", 200)];
        // The tick explains its own period and nothing else.
        assert_eq!(
            named(&rates, Some(1.0), &[250.0, 99.9962]),
            ["tick", "host"]
        );
        // A host that ticks as often: the softirq is the tail of the tick that has its name.
        let both = [("tick", 253), ("softirq:TIMER", 250)];
        assert_eq!(named(&both, Some(1.0), &[250.0, 249.99]), ["tick", "host"]);
        // Alone it may be every other tick or so.
        assert_eq!(named(&rates, Some(1.0), &[99.9962]), [""]);
        // Other tasks that come as often, or about which nothing is known.
        assert_eq!(named(&rates, Some(80.0), &[250.0, 100.0]), ["tick", ""]);
        assert_eq!(named(&rates, None, &[250.0, 100.0]), ["tick", ""]);
        // Nothing was counted: that is a hidden /proc.
        assert_eq!(named(&[], Some(0.0), &[100.0]), [""]);
    }

    #[test]
    fn the_tick_has_the_kernels_rate() {
        for (frequency_hz, tick_hz, cause) in [
            (249.999, Some(250.0), Cause::Tick),
            (125.001, Some(250.0), Cause::Tick),
            (999.999, Some(250.0), bare_timer()),
            (142.857, Some(250.0), bare_timer()),
            (999.999, None, Cause::Tick),
        ] {
            let mut signal = Signal {
                frequency_hz,
                cause: Some(Cause::Tick),
                ..Signal::default()
            };
            doubt_the_tick(&mut signal, tick_hz);
            assert_eq!(signal.cause, Some(cause), "{frequency_hz}");
        }
    }

    #[test]
    fn few_counts_and_the_residual_have_no_name() {
        let mut few = counts(&[("tick", 250)]);
        few.counts[0].number = MIN_COUNTS - 1;
        assert!(Rates::of(&few, None).interrupts.is_empty());
        let mut signals = [Signal {
            frequency_hz: 250.0,
            seen_in: SeenIn::Residual,
            ..Signal::default()
        }];
        name_signals(
            &mut signals,
            &Rates::of(&counts(&[("tick", 250)]), None),
            None,
        );
        assert_eq!(signals[0].cause, None);
    }
}
