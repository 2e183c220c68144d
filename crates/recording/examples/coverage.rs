//! How far kernel events account for the gaps of a recording, and how exactly they lie within them.
//!
//! `cargo run --release -p bandscope-recording --example coverage -- name.bandscope`

use bandscope_recording::{Error, Gap, GapKind, KernelEvent, Source, read};
use std::collections::{BTreeMap, VecDeque};
use std::path::Path;

/// Sums over gaps of one sort.
#[derive(Debug, Default)]
struct Sum {
    gaps: u64,
    ticks: u64,
    durations: Vec<u64>,
}

impl Sum {
    fn add(&mut self, gap: &Gap) {
        self.gaps += 1;
        self.ticks += gap.duration;
        self.durations.push(gap.duration);
    }
}

#[derive(Debug, Default)]
struct Coverage {
    with: Sum,
    without: Sum,
    undecided: Sum,
    /// Ticks within gaps in which an event was under way.
    covered: u64,
    /// Events by the gap that they lie in: from the gap's start to the event's, and from the event's end to the gap's.
    lead: Vec<i64>,
    trail: Vec<i64>,
    /// Events that touch no gap, and all.
    outside: u64,
    events: u64,
    by_name: BTreeMap<String, (u64, u64)>,
    /// Starts of the gaps without an event.
    silent: Vec<u64>,
}

fn main() -> Result<(), Error> {
    let path = std::env::args().nth(1).expect("a recording's path");
    let recording = read::open(Path::new(&path))?;
    let ticks_per_us = recording.manifest().clock.ticks_per_ns * 1e3;
    let known = recording.events_known(0);
    println!(
        "events {:?} {}; times within {:?} ticks ({ticks_per_us:.0} ticks a us); {} spans lost",
        known.state,
        known.why,
        known.time_error_ticks,
        known.lost.len()
    );
    if let Some(cost) = &known.cost {
        for (name, sample) in [("with", &cost.with), ("without", &cost.without)] {
            println!(
                "{name:>8} events: {:.3} % in gaps, {:.0} gaps/s, mean {:.2} us, median {:.2} us",
                100.0 * sample.share().unwrap_or(0.0),
                sample.gaps as f64 / (sample.ticks as f64 / ticks_per_us / 1e6),
                sample.mean_gap_ticks().unwrap_or(0.0) / ticks_per_us,
                sample.median_gap_ticks as f64 / ticks_per_us
            );
        }
    }
    for index in 0..recording.series().len() {
        let series = &recording.series()[index];
        let mut wall = 0;
        recording.replay_quanta(index, &mut |chunk| {
            wall += (0..chunk.len()).map(|k| chunk.get(k).length()).sum::<u64>();
        })?;
        println!(
            "CPU {:?}, {} Hz, {:.3} s",
            series.cpu,
            series.rate_hz,
            wall as f64 / ticks_per_us / 1e6
        );
        show(&coverage(&recording, index)?, wall, ticks_per_us);
    }
    Ok(())
}

fn coverage(source: &dyn Source, index: usize) -> Result<Coverage, Error> {
    let cpu = source.series()[index].cpu.unwrap_or(0);
    let known = source.events_known(index);
    let mut stream = source.events(index)?;
    let (mut batch, mut near) = (Vec::new(), VecDeque::<KernelEvent>::new());
    let (mut coverage, mut failed) = (Coverage::default(), None);
    let (mut last_end, mut last_segment) = (0, u32::MAX);
    source.replay_gaps(index, &mut |gaps| {
        for gap in gaps.iter().filter(|gap| gap.kind == GapKind::Gap) {
            let (from, to) = (gap.start, gap.start + gap.duration);
            while near.back().is_none_or(|event| event.start < to) {
                match stream.next(&mut batch) {
                    Ok(true) => near.extend(batch.drain(..)),
                    Ok(false) => break,
                    Err(error) => {
                        failed = Some(error);
                        break;
                    }
                }
            }
            while near.front().is_some_and(|event| event.end() < from) {
                let event = near.pop_front().expect("there is one");
                // Of the time between this gap and the one before.
                let between = event.start > last_end && gap.segment == last_segment;
                coverage.outside += u64::from(between);
            }
            coverage.add(gap, &near, known.silence_is_known(cpu, from, to));
            last_end = to;
            last_segment = gap.segment;
        }
    })?;
    failed.map_or(Ok(coverage), Err)
}

impl Coverage {
    fn add(&mut self, gap: &Gap, near: &VecDeque<KernelEvent>, silence_is_known: bool) {
        let (from, to) = (gap.start, gap.start + gap.duration);
        let inside = near.iter().take_while(|event| event.start < to);
        let inside: Vec<&KernelEvent> = inside.filter(|event| event.end() >= from).collect();
        let (mut covered, mut until) = (0, from);
        for event in &inside {
            let (start, end) = (event.start.max(until), event.end().min(to));
            covered += end.saturating_sub(start);
            until = until.max(end);
            self.events += 1;
            let name = format!("{}:{}", event.kind.name(), event.name);
            let sum = self.by_name.entry(name).or_default();
            *sum = (sum.0 + 1, sum.1 + event.duration);
        }
        self.covered += covered;
        if let (Some(first), Some(end)) =
            (inside.first(), inside.iter().map(|event| event.end()).max())
        {
            self.lead.push(first.start as i64 - from as i64);
            self.trail.push(to as i64 - end as i64);
        }
        match (inside.is_empty(), silence_is_known) {
            (false, _) => self.with.add(gap),
            (true, true) => {
                self.silent.push(gap.start);
                self.without.add(gap);
            }
            (true, false) => self.undecided.add(gap),
        }
    }
}

fn show(coverage: &Coverage, wall: u64, ticks_per_us: f64) {
    let all = coverage.with.ticks + coverage.without.ticks + coverage.undecided.ticks;
    for (name, sum) in [
        ("with an event", &coverage.with),
        ("without", &coverage.without),
        ("undecided", &coverage.undecided),
    ] {
        let mut durations: Vec<i64> = sum.durations.iter().map(|&ticks| ticks as i64).collect();
        println!(
            "  gaps {name:>13}: {:6}, {:6.2} % of gap time, {:.4} % of wall time, us {}",
            sum.gaps,
            100.0 * sum.ticks as f64 / all.max(1) as f64,
            100.0 * sum.ticks as f64 / wall.max(1) as f64,
            quantiles(&mut durations, ticks_per_us)
        );
    }
    println!(
        "  gap time in which an event was under way: {:.2} %; {} events outside of gaps",
        100.0 * coverage.covered as f64 / all.max(1) as f64,
        coverage.outside
    );
    println!(
        "  gap's start to first event, us: {}",
        quantiles(&mut coverage.lead.clone(), ticks_per_us)
    );
    println!(
        "  last event to gap's end, us: {}",
        quantiles(&mut coverage.trail.clone(), ticks_per_us)
    );
    let folded: Vec<String> = TICKS_HZ
        .iter()
        .map(|&hz| {
            format!(
                "{hz} Hz {:.0}",
                rayleigh(&coverage.silent, hz, ticks_per_us)
            )
        })
        .collect();
    println!(
        "  gaps without an event, folded (2 by chance): {}",
        folded.join(", ")
    );
    let mut names: Vec<_> = coverage.by_name.iter().collect();
    names.sort_by_key(|(_, (_, ticks))| std::cmp::Reverse(*ticks));
    for (name, (number, ticks)) in names.iter().take(12) {
        println!(
            "    {name}: {number}, {:.1} us in all",
            *ticks as f64 / ticks_per_us
        );
    }
}

/// What a host's timer may tick at.
const TICKS_HZ: [f64; 6] = [100.0, 250.0, 300.0, 1000.0, 1024.0, 2000.0];

/// Rayleigh's statistic of times folded at a frequency: 2 on average where there is no such period.
fn rayleigh(times: &[u64], hz: f64, ticks_per_us: f64) -> f64 {
    let turn =
        |&time: &u64| (time as f64 / ticks_per_us / 1e6 * hz).fract() * std::f64::consts::TAU;
    let sum = times.iter().map(turn).fold((0.0, 0.0), |sum, angle| {
        (sum.0 + angle.cos(), sum.1 + angle.sin())
    });
    2.0 * (sum.0 * sum.0 + sum.1 * sum.1) / times.len().max(1) as f64
}

/// Smallest, 1 %, 25 %, 50 %, 75 %, 99 %, largest.
fn quantiles(values: &mut [i64], ticks_per_us: f64) -> String {
    values.sort_unstable();
    let at = |share: f64| values.get(((values.len().max(1) - 1) as f64 * share) as usize);
    let shown = [0.0, 0.01, 0.25, 0.5, 0.75, 0.99, 1.0].map(|share| {
        at(share).map_or("-".to_owned(), |&ticks| {
            format!("{:.2}", ticks as f64 / ticks_per_us)
        })
    });
    shown.join(" ")
}
