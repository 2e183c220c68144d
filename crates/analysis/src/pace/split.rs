//! Pace told apart: how much of it was clock frequency, where two work kernels ran in alternation.
//!
//! A chain of registers runs in cycles that never change: what slows it is the clock. Its segments alternate with those of the other
//! work kernel, so both saw the same frequencies; what the other lost beyond that was the core's own doing. Bands are compared, not
//! quanta: what is lost to disturbances too short to be gaps belongs to no band, and stays `unsplit`, as does all that the
//! chain's bands do not hold. With one work kernel nothing is told apart.

use bandscope_recording::Manifest;
use bandscope_report::{PaceLoss, Series};

/// Share of the work below which a difference between two work kernels is their bands' own width: bands are known to some
/// thousandths.
const KNOWN: f64 = 2e-3;

/// Splits the pace of every series whose CPU was also measured with a chain of registers and another work kernel.
pub fn settle(series: &mut [Series], manifest: &Manifest) {
    let is_meter = |one: &Series| {
        let kernel = manifest.kernel(&one.kernel);
        kernel.is_some_and(|kernel| kernel.registers_only)
    };
    let meters: Vec<bool> = series.iter().map(is_meter).collect();
    let splits: Vec<Option<PaceLoss>> = (0..series.len())
        .map(|index| split(index, series, &meters))
        .collect();
    for (one, split) in series.iter_mut().zip(splits) {
        if let Some(split) = split {
            one.ledger.pace_ns = split;
        }
    }
}

fn split(index: usize, series: &[Series], meters: &[bool]) -> Option<PaceLoss> {
    let mine = &series[index];
    let together = |other: &Series| (other.cpu, &other.origin) == (mine.cpu, &mine.origin);
    // A chain alone shows a frequency only if something else shows it, too.
    let others = |meter: bool| {
        (0..series.len()).filter(move |&other| {
            meters[other] == meter
                && series[other].kernel != mine.kernel
                && together(&series[other])
        })
    };
    let (frequency, microarchitecture) = if meters[index] {
        let shared = others(false).filter_map(|other| slower(&series[other]));
        let shared = shared.fold(None, |most: Option<f64>, one| {
            Some(most.map_or(one, |most| most.max(one)))
        })?;
        (slower(mine)?.min(shared), 0.0)
    } else {
        let clock: Vec<f64> = others(true)
            .filter_map(|other| slower(&series[other]))
            .collect();
        if clock.is_empty() {
            return None;
        }
        let clock = clock.iter().sum::<f64>() / clock.len() as f64;
        let all = slower(mine)?;
        let own = all - clock;
        (clock.min(all), if own > KNOWN { own } else { 0.0 })
    };
    let pace = mine.ledger.pace_ns.total();
    let work = mine.ledger.work_ns as f64;
    let frequency = ((frequency * work) as u64).min(pace);
    let microarchitecture = ((microarchitecture * work) as u64).min(pace - frequency);
    Some(PaceLoss {
        frequency,
        microarchitecture,
        unsplit: pace - frequency - microarchitecture,
    })
}

/// By what share of its work the bands of a series are slower than its best pace; `None` without either.
pub fn slower(series: &Series) -> Option<f64> {
    let best = series.best_pace.as_ref()?.ns_per_unit;
    let total: f64 = series.bands.iter().map(|band| band.share).sum();
    if total <= 0.0 || best <= 0.0 {
        return None;
    }
    // A share of the quanta, each of which holds 1/pace of the units.
    let units = |share: f64, pace: f64| share / pace;
    let all: f64 = series
        .bands
        .iter()
        .map(|band| units(band.share, band.ns_per_unit))
        .sum();
    let lost: f64 = series
        .bands
        .iter()
        .map(|band| units(band.share, band.ns_per_unit) * (band.ns_per_unit / best - 1.0).max(0.0))
        .sum();
    (all > 0.0).then(|| lost / all * total.min(1.0))
}
