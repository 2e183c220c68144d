//! Events that are no gaps: quanta that lost far more than noise makes any lose.
//!
//! A file of counts knows no gaps, and a recording none that are shorter than its threshold. But a quantum ends with a whole unit, so all that a
//! disturbance takes is missing from the one quantum in which it begins. That is an event, known to a quantum in time and to the noise in size, and trains
//! of events are told apart by the search that gaps have ([`crate::periods::events`]). Lines are looked for in what is left when they are taken out: a train
//! of events has lines at all its multiples, and they mix with those of others wherever losses are cut, or where a gap hides some of them.

use crate::periods::events::{JITTER_QUANTA, Periodic, Train, is_train, trains_and_rest};
use crate::periods::gap_trains;
use crate::periods::kept::Kept;
use crate::series::context::Context;
use bandscope_report::{SeenIn, Signal};
use bandscope_statistics::order::{SIGMA_PER_MAD, median};
use rayon::prelude::*;

/// Quanta of which the median is what a quantum loses to nothing: a band's own pace wanders over longer times.
const BASELINE_QUANTA: usize = 64;
/// Such stretches that a thread takes at least.
const MIN_BLOCKS: usize = 64;
/// Standard deviations of the noise beyond which a loss is an event: one quantum in 10^15 of Gaussian noise.
const MIN_DEVIATIONS: f64 = 8.0;
/// By how much more than that the events of a train must take, so that noise hides few of them.
const MIN_TIMES_THRESHOLD: f64 = 1.17;
/// Quanta that are looked at for that, parts of a period at which trains are added to them, and by how much and how often their loss is raised.
const LOOKED_AT: usize = 1 << 16;
const PHASES: [f64; 3] = [0.1, 0.4, 0.8];
const RAISE: f64 = 1.4;
const RAISES: usize = 12;
/// Smallest loss of an event, nanoseconds: what `periodic-interference` says at all.
const MIN_LOSS_NS: f64 = 10.0;
/// Quanta that an absence lasts at least in which trains miss events: what is due in a shorter one is a part of its loss.
const MIN_AWAY_QUANTA: f64 = 4.0;
/// Share by which a period may miss a whole power of two of quanta and be one.
const OF_PAGES: f64 = 1e-4;
/// Events of a series that are looked at, as of gaps.
const MAX_EVENTS: usize = 65_536;

/// The trains of events in what was kept of a series, and what is left of a file of counts. Where they stay no lines, they are taken out: that leaves
/// what is too small to be an event, and of events that belong to none, in a file of counts, as much as that.
///
/// Beside gaps a train of one rate may be a frequency above it. Where `is_alone`, nothing can tell; elsewhere another rate must show it
/// ([`crate::periods::origins`]), and lines are looked for first. What recurs each 2^n quanta of one rate is more likely a page that is full, and all is left to lines.
pub fn trains(kept: &mut Kept, is_alone: bool, context: &Context) -> (Vec<Signal>, Rest) {
    let events = Events::of(kept, context);
    let (mut found, rest) = trains_and_rest(&events.train);
    if !context.gaps_known {
        let left = events.rest(kept, &rest, context);
        events.take_out(kept, &rest, events.threshold, context);
        gap_trains::within_books(&mut found, &events.train);
        return (signals(&found, context), left);
    }
    let is_page = |one: &Periodic| is_of_pages(one.frequency, context.rate_hz);
    if is_alone && found.iter().any(is_page) {
        found.clear();
    } else if is_alone && !found.is_empty() {
        // A long loss that is no gap may be another's line.
        events.take_out(kept, &rest, f64::INFINITY, context);
    }
    (signals(&found, context), Rest::default())
}

/// Trains as signals.
fn signals(trains: &[Periodic], context: &Context) -> Vec<Signal> {
    let signals = trains.iter().map(|train| Signal {
        // Also of one that scatters: what tells these from lines.
        occupied: train.occupied.or(Some(0.0)),
        seen_in: SeenIn::Residual,
        ..gap_trains::in_gap_times(train, context)
    });
    signals.collect()
}

/// The quanta that lost more than a threshold.
struct Events {
    threshold: f64,
    /// In seconds since the first start.
    train: Train,
    /// Their numbers.
    quanta: Vec<usize>,
    /// Ticks that all quanta lost, beyond the median of those around, and the ticks at which they start.
    losses: Vec<f32>,
    starts: Vec<u64>,
}

impl Events {
    fn of(kept: &mut Kept, context: &Context) -> Events {
        let extents: Vec<(usize, usize)> = kept.extents().collect();
        let (samples, starts) = kept.timed();
        // What is left keeps its baseline: without it, noise would have a spectrum with a step.
        let mut losses = samples.to_vec();
        for &(from, to) in &extents {
            let blocks = losses[from..to].par_chunks_mut(BASELINE_QUANTA);
            let blocks = blocks.with_min_len(MIN_BLOCKS);
            blocks.for_each(|block| centre(block, context.gaps_known));
        }
        let threshold = threshold(&losses, context);
        let is_hidden = |k: usize| context.gaps_known && samples[k] == 0.0;
        let (train, quanta) =
            events_beyond(threshold, (&losses, &starts), &extents, is_hidden, context);
        Events {
            threshold,
            train,
            quanta,
            losses,
            starts,
        }
    }

    /// Takes out of the quanta what trains took; of what is left of each event up to `most` stays.
    fn take_out(&self, kept: &mut Kept, rest: &Train, most: f64, context: &Context) {
        let samples = kept.samples_mut();
        let mut left = rest.times.iter().zip(&rest.losses).peekable();
        for (&k, time) in self.quanta.iter().zip(&self.train.times) {
            let loss = left.next_if(|one| one.0 == time).map_or(0.0, |one| *one.1);
            samples[k] += context.ticks(loss * 1e-9).clamp(0.0, most) as f32 - self.losses[k];
        }
        if let Some(&last) = self.quanta.get(MAX_EVENTS - 1) {
            kept.truncate(last + 1);
        }
    }

    /// The first quanta, and what trains left of their events.
    fn rest(&self, kept: &Kept, rest: &Train, context: &Context) -> Rest {
        let samples = kept.samples();
        let looked_at = samples.len().min(LOOKED_AT);
        let origin = self.starts.first().copied().unwrap_or(0);
        let seconds = |tick: u64| context.seconds(tick.saturating_sub(origin) as f64);
        let starts: Vec<f64> = (self.starts[..looked_at].iter())
            .map(|&k| seconds(k))
            .collect();
        let until = starts.last().copied().unwrap_or(0.0);
        let mut events = rest.clone();
        let within = events.times.partition_point(|&time| time < until);
        events.times.truncate(within);
        events.losses.truncate(within);
        events.segments.retain(|segment| segment.0 < until);
        Rest {
            losses: samples[..looked_at].to_vec(),
            starts,
            events,
            threshold_ns: context.ns(self.threshold),
        }
    }
}

/// Whether it comes each 2^n quanta, as nearly as a clock's error allows.
fn is_of_pages(hz: f64, rate_hz: f64) -> bool {
    let doublings = (rate_hz / hz).log2();
    (doublings - doublings.round()).abs() < OF_PAGES
}

/// The quanta that lost more than a threshold, as events: a train of them, in seconds since the first start, and their numbers.
fn events_beyond(
    threshold: f64,
    (losses, starts): (&[f32], &[u64]),
    extents: &[(usize, usize)],
    is_hidden: impl Fn(usize) -> bool,
    context: &Context,
) -> (Train, Vec<usize>) {
    let origin = starts.first().copied().unwrap_or(0);
    let seconds = |tick: u64| context.seconds(tick.saturating_sub(origin) as f64);
    let quantum_s = context.rate_hz.recip();
    let mut train = Train {
        jitter: JITTER_QUANTA * quantum_s,
        is_mixture: true,
        ..Train::default()
    };
    let mut quanta: Vec<usize> = Vec::new();
    for &(from, to) in extents {
        let end = |k: usize| match k + 1 < to {
            true => seconds(starts[k + 1]),
            false => seconds(starts[k]) + quantum_s,
        };
        if from < to {
            train.segments.push((seconds(starts[from]), end(to - 1)));
        }
        for k in from..to {
            if quanta.len() == MAX_EVENTS {
                break;
            } else if is_hidden(k) {
                hide(&mut train.away, (seconds(starts[k]), end(k)));
            } else if f64::from(losses[k]) > threshold {
                let (start, end) = (seconds(starts[k]), end(k));
                let loss_ns = context.ns(f64::from(losses[k]));
                // It begins early enough to end with the quantum.
                let latest = (end - loss_ns * 1e-9).max(start);
                train.times.push(0.5 * (start + latest));
                train.losses.push(loss_ns);
                quanta.push(k);
                if end - start > MIN_AWAY_QUANTA * quantum_s {
                    train.away.push((start, end));
                }
            }
        }
    }
    (train, quanta)
}

/// Adds a quantum in which no event can be seen.
fn hide(away: &mut Vec<(f64, f64)>, quantum: (f64, f64)) {
    match away.last_mut().filter(|last| last.1 >= quantum.0) {
        Some(last) => last.1 = quantum.1,
        None => away.push(quantum),
    }
}

/// What is left of the first quanta of a file of counts when trains are taken out, to say what other trains would have been found.
#[derive(Clone, Debug, Default)]
pub struct Rest {
    /// Ticks lost, and seconds at which they start.
    losses: Vec<f32>,
    starts: Vec<f64>,
    events: Train,
    threshold_ns: f64,
}

impl Rest {
    /// Nanoseconds that the events of a frequency must take to be found. Less than `edge_ns` is not seen where the band changes.
    pub fn least_of_events(&self, hz: f64, edge_ns: f64, context: &Context) -> Option<f64> {
        let mut ns = MIN_TIMES_THRESHOLD * self.threshold_ns;
        for _ in 0..RAISES {
            if PHASES
                .iter()
                .all(|&phase| self.shows(hz, phase, ns, edge_ns, context))
            {
                return Some(ns);
            }
            ns *= RAISE;
        }
        None
    }

    /// Whether the search for trains finds events of so many nanoseconds that begin at such a part of a period.
    fn shows(&self, hz: f64, phase: f64, ns: f64, edge_ns: f64, context: &Context) -> bool {
        // The number of the first event from a time on. Quanta are walked, not events: one that lasts for hours has millions of them.
        let first = |time: f64| (time * hz - phase).ceil().max(0.0);
        let mut losses = self.losses.clone();
        let mut hit = Vec::new();
        for (k, bounds) in self.starts.windows(2).enumerate() {
            let events = first(bounds[1]) - first(bounds[0]);
            if events > 0.0 && (losses[k] != 0.0 || ns > edge_ns) {
                losses[k] += context.ticks(events * ns * 1e-9) as f32;
                hit.push(k);
            }
        }
        let blocks = losses.chunks_mut(BASELINE_QUANTA);
        blocks.for_each(|block| centre(block, false));
        let threshold = threshold(&losses, context);
        hit.retain(|&k| f64::from(losses[k]) > threshold);
        let quantum_s = context.rate_hz.recip();
        let added = hit
            .into_iter()
            .map(|k| (self.starts[k] + 0.5 * quantum_s, ns));
        let left = self.events.times.iter().copied();
        let mut all: Vec<(f64, f64)> = left.zip(self.events.losses.iter().copied()).collect();
        all.extend(added);
        all.sort_by(|a, b| a.0.total_cmp(&b.0));
        let (times, losses) = all.into_iter().unzip();
        is_train(
            &Train {
                times,
                losses,
                ..self.events.clone()
            },
            hz,
        )
    }
}

/// Takes the median off; off those that are known, where 0 says that gaps hide the loss.
fn centre(samples: &mut [f32], gaps_known: bool) {
    let is_known = |loss: f32| !gaps_known || loss != 0.0;
    let known = samples.iter().copied().filter(|&loss| is_known(loss));
    let middle = median(known.map(f64::from)).unwrap_or(0.0) as f32;
    let known = samples.iter_mut().filter(|loss| is_known(**loss));
    known.for_each(|loss| *loss -= middle);
}

/// Ticks from which on a loss is an event. Events make quanta lose and never gain: the noise is what those have that lost least.
fn threshold(samples: &[f32], context: &Context) -> f64 {
    let gains = samples.iter().filter(|&&loss| loss < 0.0);
    let noise = median(gains.map(|&loss| -f64::from(loss))).unwrap_or(0.0) * SIGMA_PER_MAD;
    (MIN_DEVIATIONS * noise).max(context.ticks(MIN_LOSS_NS * 1e-9))
}
