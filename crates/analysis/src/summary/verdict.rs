//! The verdict: one sentence for the reader who reads one sentence.
//!
//! It speaks of the CPU that did the smallest share of the work it could, sums over its series, and names the
//! losses in order of size.

use bandscope_report::Series;
use bandscope_report::format::{duration, percent};

/// A loss below this share of the time is not worth a clause.
const MIN_SHARE: f64 = 5e-5;

/// Sums over the series of one CPU.
#[derive(Clone, Copy, Debug, Default)]
struct Sums {
    wall: f64,
    work: f64,
    gaps: f64,
    pace: f64,
    unsplit: f64,
    bonus: f64,
    measurement: f64,
    seconds: f64,
    number: f64,
}

/// What the CPUs lost, and to which causes for the most part.
pub fn sentence(series: &[Series]) -> String {
    let mut cpus: Vec<Option<u32>> = series
        .iter()
        .filter(|series| series.ledger.wall_ns > 0)
        .map(|series| series.cpu)
        .collect();
    cpus.sort_unstable();
    cpus.dedup();
    let worst = cpus
        .iter()
        .map(|&cpu| (cpu, sums(series, cpu)))
        .min_by(|a, b| (a.1.work / a.1.wall).total_cmp(&(b.1.work / b.1.wall)));
    let Some((cpu, sums)) = worst else {
        return "Nothing was measured.".to_owned();
    };
    let of_cpu: Vec<&Series> = series.iter().filter(|series| series.cpu == cpu).collect();
    if of_cpu.iter().all(|series| series.best_pace.is_none()) {
        return format!("{} completed no unit of work.", subject(cpu, cpus.len()));
    }
    let share = (sums.work / sums.wall).clamp(0.0, 1.0);
    let best = if of_cpu.iter().all(|series| {
        series
            .best_pace
            .as_ref()
            .is_none_or(|best| best.undisturbed)
    }) {
        ""
    } else {
        " at most"
    };
    let losses = losses(&sums, &of_cpu);
    let reasons = if losses.is_empty() {
        String::new()
    } else {
        format!(
            ": {}",
            losses.join(", ").replacen(" % to ", " % went to ", 1)
        )
    };
    // Work beyond what it could at the best pace that lasts is no part of the account.
    let bonus = match sums.bonus / sums.wall {
        bonus if bonus >= MIN_SHARE => {
            format!(" A faster pace at times gained {}.", percent(bonus))
        }
        _ => String::new(),
    };
    format!(
        "{} did{best} {} of the work it could{reasons}.{bonus}",
        subject(cpu, cpus.len()),
        percent(share)
    )
}

fn subject(cpu: Option<u32>, cpus: usize) -> String {
    match (cpu, cpus) {
        (Some(cpu), 1) => format!("CPU {cpu}"),
        (Some(cpu), _) => format!("The worst of {cpus} CPUs, CPU {cpu},"),
        (None, _) => "The measured CPU".to_owned(),
    }
}

fn sums(series: &[Series], cpu: Option<u32>) -> Sums {
    let mut sums = Sums::default();
    for series in series.iter().filter(|series| series.cpu == cpu) {
        let ledger = &series.ledger;
        let pace = ledger.pace_ns;
        sums.wall += ledger.wall_ns as f64;
        sums.work += ledger.work_ns as f64;
        sums.gaps += ledger.gaps_ns.values().sum::<u64>() as f64;
        sums.pace += pace.total() as f64;
        sums.unsplit += pace.unsplit as f64;
        sums.bonus += ledger.bonus_ns as f64;
        sums.measurement += ledger.measurement_ns as f64;
        sums.seconds += series.duration_s;
        sums.number += series.gaps.as_ref().map_or(0.0, |gaps| gaps.number as f64);
    }
    sums
}

fn losses(sums: &Sums, series: &[&Series]) -> Vec<String> {
    let mut losses = vec![
        (sums.gaps, format!("to gaps{}", gaps(sums, series))),
        (sums.pace, format!("to slower pace{}", paces(sums, series))),
        (sums.measurement, "to the measurement itself".to_owned()),
    ];
    losses.retain(|loss| loss.0 / sums.wall >= MIN_SHARE);
    losses.sort_by(|a, b| b.0.total_cmp(&a.0));
    let clause = |(ns, what): &(f64, String)| format!("{} {what}", percent(ns / sums.wall));
    losses.iter().map(clause).collect()
}

fn gaps(sums: &Sums, series: &[&Series]) -> String {
    let most = series
        .iter()
        .filter_map(|series| series.gaps.as_ref())
        .max_by_key(|gaps| gaps.number);
    match most.and_then(|gaps| gaps.percentiles.first()) {
        Some(median) if sums.seconds > 0.0 => {
            format!(
                " ({:.0} a second, half of them of {} or less)",
                sums.number / sums.seconds,
                duration(median.ns)
            )
        }
        _ => String::new(),
    }
}

/// How far the bands lie apart, and how much of the pace has no known cause.
fn paces(sums: &Sums, series: &[&Series]) -> String {
    let bands = series
        .iter()
        .map(|series| &series.bands)
        .max_by_key(|bands| bands.len());
    let apart = match bands.map(Vec::as_slice) {
        Some([first, .., last]) if last.ns_per_unit > first.ns_per_unit * 1.05 => Some(format!(
            "bands from {:.2} to {:.2} ns per unit, a ratio of {:.2}",
            first.ns_per_unit,
            last.ns_per_unit,
            last.ns_per_unit / first.ns_per_unit
        )),
        _ => None,
    };
    let cause = match sums.unsplit {
        unsplit if unsplit == sums.pace => Some("cause not known".to_owned()),
        unsplit if unsplit / sums.wall >= MIN_SHARE => Some(format!(
            "{} of it for no known cause",
            percent(unsplit / sums.pace)
        )),
        _ => None,
    };
    let said: Vec<String> = apart.into_iter().chain(cause).collect();
    match said.is_empty() {
        true => String::new(),
        false => format!(" ({})", said.join("; ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bandscope_report::{BestPace, Cause, Ledger, PaceLoss};

    #[test]
    fn the_largest_loss_comes_first() {
        let series = Series {
            cpu: Some(1),
            best_pace: Some(BestPace {
                undisturbed: true,
                ..BestPace::default()
            }),
            ledger: Ledger {
                wall_ns: 1_000_000,
                work_ns: 977_000,
                pace_ns: PaceLoss {
                    unsplit: 4000,
                    ..PaceLoss::default()
                },
                gaps_ns: [(Cause::Unnamed, 19_000)].into(),
                ..Ledger::default()
            },
            ..Series::default()
        };
        assert_eq!(
            sentence(&[series]),
            "CPU 1 did 97.7 % of the work it could: 1.9 % went to gaps, 0.40 % to slower pace (cause not known)."
        );
        assert_eq!(sentence(&[]), "Nothing was measured.");
    }
}
