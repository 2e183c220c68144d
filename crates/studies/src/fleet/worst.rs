//! The stretches in which a node did least work, and what was done in each part of them.

use bandscope_analysis::work::{self, Piece};
use bandscope_recording::summary::{CpuSummary, WorstWindow};
use bandscope_recording::{Error, Source};
use bandscope_report::{Availability, Cause, Report, Series};
use bandscope_statistics::order::least_of_each;
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

/// Equal parts of a stretch: what a page shows in a row of a table.
const PARTS: usize = 50;
/// Causes that are kept of a stretch.
const MOST_CAUSES: usize = 3;
/// Share of a stretch that the recording has to hold: a flight recorder keeps little of most.
const LEAST_HELD: f64 = 0.9;

/// The worst of these series in windows of each length.
pub(super) fn windows(series: &[&Series]) -> Vec<WorstWindow> {
    let windows = series.iter().flat_map(|one| &one.availability);
    let windows = windows.map(|window| WorstWindow {
        window_s: window.window_s,
        worst: window.worst,
        at_s: window.at_s,
        lasted_s: window.lasted_s,
        ..WorstWindow::default()
    });
    least_of_each(windows, |one| (one.window_s, one.worst))
}

/// Says of the worst window of each length, of all CPUs, what was done in its parts. Times of the report are since `origin`, in ticks.
///
/// # Errors
/// If the recording cannot be read.
pub(super) fn draw(
    source: &dyn Source,
    (report, origin): (&Report, u64),
    cpus: &mut [CpuSummary],
) -> Result<(), Error> {
    let origin_ns = origin as f64 / source.manifest().clock.ticks_per_ns;
    let mut by_series: BTreeMap<usize, Vec<&mut WorstWindow>> = BTreeMap::new();
    // For each length that of the CPU which did least.
    let windows = cpus.iter_mut().flat_map(|cpu| &mut cpu.worst);
    for window in least_of_each(windows, |one| (one.window_s, one.worst)) {
        let is_it = |of: &Availability| {
            (of.window_s, of.worst, of.at_s) == (window.window_s, window.worst, window.at_s)
        };
        let has_it = |one: &Series| one.availability.iter().any(is_it);
        if let Some(place) = report.series.iter().position(has_it) {
            by_series.entry(place).or_default().push(window);
        }
    }
    for (place, windows) in by_series {
        let Some(best) = &report.series[place].best_pace else {
            continue;
        };
        let drawn = windows.into_iter();
        let mut drawn: Vec<Drawn> = drawn.map(|window| Drawn::new(window, origin_ns)).collect();
        let numbers: Mutex<BTreeMap<Cause, usize>> = Mutex::default();
        let number = |cause: &Cause| {
            let mut numbers = numbers.lock().unwrap_or_else(PoisonError::into_inner);
            let next = numbers.len();
            match numbers.get(cause) {
                Some(&known) => known,
                None => *numbers.entry(cause.clone()).or_insert(next),
            }
        };
        let mut at_ns = 0.0;
        work::each(source, place, best.ns_per_unit, &number, &mut |piece| {
            let (ns, of) = match piece {
                Piece::Break { at_ns: at } => return at_ns = at,
                Piece::Own { ns } => (ns, Of::Nothing),
                Piece::Run { ns, work_ns } => (ns, Of::Work(work_ns)),
                Piece::Lost { ns, cause } => (ns, Of::Cause(cause)),
            };
            drawn.iter_mut().for_each(|one| one.add(at_ns, ns, of));
            at_ns += ns;
        })?;
        let numbers = numbers.into_inner().unwrap_or_else(PoisonError::into_inner);
        drawn.into_iter().for_each(|one| one.finish(&numbers));
    }
    Ok(())
}

/// What a stretch of time went to.
#[derive(Clone, Copy)]
enum Of {
    /// Work that takes so long at the reference pace.
    Work(f64),
    /// The cause of this number.
    Cause(usize),
    Nothing,
}

/// A window that is being drawn.
struct Drawn<'a> {
    window: &'a mut WorstWindow,
    from_ns: f64,
    part_ns: f64,
    /// Work at the reference pace that was done in each part, in nanoseconds.
    done: [f64; PARTS],
    /// Time that each cause took, in nanoseconds.
    lost: BTreeMap<usize, f64>,
    /// Time that the recording holds of it.
    held_ns: f64,
}

impl Drawn<'_> {
    fn new(window: &mut WorstWindow, origin_ns: f64) -> Drawn<'_> {
        Drawn {
            from_ns: window.at_s * 1e9 + origin_ns,
            part_ns: window.lasted_s * 1e9 / PARTS as f64,
            window,
            done: [0.0; PARTS],
            lost: BTreeMap::new(),
            held_ns: 0.0,
        }
    }

    /// Adds what went on for `ns` from `at_ns` on.
    fn add(&mut self, at_ns: f64, ns: f64, of: Of) {
        let all_ns = self.part_ns * PARTS as f64;
        let from = (at_ns - self.from_ns).max(0.0);
        let to = (at_ns + ns - self.from_ns).min(all_ns);
        if to <= from {
            return;
        }
        self.held_ns += to - from;
        match of {
            Of::Nothing => {}
            Of::Cause(cause) => *self.lost.entry(cause).or_default() += to - from,
            Of::Work(work_ns) => {
                let first = (from / self.part_ns) as usize;
                for (place, done) in self.done.iter_mut().enumerate().skip(first) {
                    let begin = self.part_ns * place as f64;
                    let within = to.min(begin + self.part_ns) - from.max(begin);
                    if within <= 0.0 {
                        break;
                    }
                    *done += within * (work_ns / ns);
                }
            }
        }
    }

    fn finish(self, numbers: &BTreeMap<Cause, usize>) {
        let all_ns = self.part_ns * PARTS as f64;
        if self.held_ns < LEAST_HELD * all_ns {
            return;
        }
        let percent = |done: &f64| (100.0 * done / self.part_ns).round().clamp(0.0, 100.0) as u8;
        self.window.parts = self.done.iter().map(percent).collect();
        let lost = numbers.iter().filter_map(|(cause, number)| {
            let ns = self.lost.get(number)?;
            Some((cause.to_string(), (ns / all_ns).min(1.0)))
        });
        self.window.causes = lost.collect();
        (self.window.causes).sort_by(|a, b| b.1.total_cmp(&a.1));
        self.window.causes.truncate(MOST_CAUSES);
    }
}
