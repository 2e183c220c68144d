//! The body of a histogram: samples that nothing hit. What is longer is slow.

use bandscope_recording::histogram::{Bin, Histogram};
use bandscope_report::Percentile;

/// The body is looked at in cells of this share of the best sample: finer than the cost of an interrupt, coarse enough that
/// neighbouring cells of a million samples differ by less than what ends the body...
const CELL_SHARE: f64 = 0.005;
/// ...of at least so many nanoseconds, a tenth of the least cost of an interrupt on bare metal (about 1 us)...
const LEAST_CELL_NS: f64 = 100.0;
/// ...and not beyond so many times the best: paces of one loop were seen up to 8 times apart (docs/method.md,
/// section 9.4).
const FARTHEST: f64 = 8.0;
/// Stretches of this share of the best sample that hold this share of the fullest one are part of the body: of interrupts no
/// stretch has that many.
const COARSE_SHARE: f64 = 0.1;
const COMMON: f64 = 0.25;
/// It has ended where a cell holds this share of the fullest one of the last such stretch,
const ENDED: f64 = 0.01;
/// or where counts that fell to this share rise again, by so much and beyond what chance does.
const FALLEN: f64 = 0.25;
const RISE: f64 = 1.5;
const DEVIATIONS: f64 = 5.0;

/// The duration from which on samples are slow: the end of the valley after the body.
pub fn end(histogram: &Histogram) -> f64 {
    let (Some(first), Some(fullest)) = (
        histogram.bins.first(),
        histogram.bins.iter().max_by_key(|bin| bin.count),
    ) else {
        return 0.0;
    };
    let best = first.from_ns;
    let widest = (fullest.to_ns - fullest.from_ns).max(first.to_ns - best);
    let cell = (CELL_SHARE * best).max(LEAST_CELL_NS).max(widest);
    let known_to = histogram.absent.iter().map(|absent| absent.0);
    let known_to = known_to.fold(f64::INFINITY, f64::min);
    let reach = (FARTHEST * best).max(best + 100.0 * cell).min(known_to);
    let mut cells = vec![0u64; ((reach - best) / cell).ceil().clamp(1.0, 1e5) as usize + 1];
    for bin in &histogram.bins {
        // By their middle, so that bins that are as wide as a cell do not fall on its edge.
        let index = ((bin.from_ns + bin.to_ns) / 2.0 - best) / cell;
        if let Some(count) = cells.get_mut(index.max(0.0) as usize) {
            *count += bin.count;
        }
    }
    let last = cells.len() - 1;
    // Of several paces the slowest that is common: what takes turns with the fastest is no interrupt. A pace may be spread over many
    // cells, so they are looked at together.
    let together = ((COARSE_SHARE * best / cell).ceil() as usize).clamp(1, cells.len());
    let sums: Vec<u64> = (cells.chunks(together).map(|some| some.iter().sum())).collect();
    let fullest = sums.iter().copied().max().unwrap_or(0) as f64;
    let common = (sums.iter()).rposition(|sum| *sum as f64 >= COMMON * fullest);
    let from = common.unwrap_or(0) * together;
    let mode = (from..(from + together).min(cells.len())).max_by_key(|index| cells[*index]);
    let mode = mode.unwrap_or(0);
    let most = cells[mode] as f64;
    let ends = |index: usize| {
        let (here, next) = (cells[index] as f64, cells[(index + 1).min(last)] as f64);
        let rises = next > RISE * here + DEVIATIONS * (here.sqrt() + 1.0);
        here <= ENDED * most || (here <= FALLEN * most && rises)
    };
    let mut valley = (mode + 1..last).find(|index| ends(*index)).unwrap_or(last);
    while valley < last && cells[valley + 1] <= cells[valley] {
        valley += 1;
    }
    best + (valley + 1) as f64 * cell
}

/// The bins from `from_ns` on.
pub fn slow(histogram: &Histogram, from_ns: f64) -> &[Bin] {
    let middle = |bin: &Bin| (bin.from_ns + bin.to_ns) / 2.0;
    let first = (histogram.bins).partition_point(|bin| middle(bin) < from_ns);
    &histogram.bins[first..]
}

/// Percentiles, as the upper edge of their bins. `missing` samples may lie in any of the absent rows: what they could move is left
/// out.
pub fn percentiles(histogram: &Histogram, percents: &[f64], missing: f64) -> Vec<Percentile> {
    let samples = histogram.samples as f64;
    let absent_from = histogram
        .absent
        .first()
        .map_or(f64::INFINITY, |absent| absent.0);
    let at = |percent: f64| {
        let with = |missing: f64| quantile(&histogram.bins, percent / 100.0 * (samples + missing));
        // Without any of them, and with all of them beyond it: where both agree before the first absent row it is certain.
        let ns = with(0.0)?;
        (with(missing) == Some(ns) && ns <= absent_from).then_some(Percentile { percent, ns })
    };
    percents.iter().filter_map(|percent| at(*percent)).collect()
}

/// The middle half.
pub fn middle(bins: &[Bin]) -> Option<(f64, f64)> {
    let sum = bins.iter().map(|bin| bin.count).sum::<u64>() as f64;
    Some((quantile(bins, 0.25 * sum)?, quantile(bins, 0.75 * sum)?))
}

/// Upper edge of the bin that holds the sample of this rank.
fn quantile(bins: &[Bin], rank: f64) -> Option<f64> {
    let mut below = 0.0;
    let holds = |bin: &&Bin| {
        below += bin.count as f64;
        below >= rank
    };
    bins.iter().find(holds).map(|bin| bin.to_ns)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn histogram(counts: &[(f64, u64)], width: f64) -> Histogram {
        Histogram {
            samples: counts.iter().map(|row| row.1).sum(),
            bins: (counts.iter())
                .map(|(from, count)| (*from, from + width, *count).into())
                .collect(),
            ..Histogram::default()
        }
    }

    #[test]
    fn the_body_ends_in_the_valley() {
        let published = [
            (5e3, 1_952_417),
            (6e3, 534_859),
            (7e3, 3),
            (8e3, 13_618),
            (9e3, 1_725),
        ];
        assert_eq!(end(&histogram(&published, 1e3)), 8e3);
        // Two paces, and the ticks.
        let paces = [
            (3e3, 9_000),
            (4e3, 100),
            (5e3, 4_000),
            (6e3, 10),
            (9e3, 300),
        ];
        assert_eq!(end(&histogram(&paces, 1e3)), 9e3);
        // A slow pace that is spread over many cells has none that is full.
        let mut spread = vec![(5e3, 9_000)];
        spread.extend((20..40).map(|k| (5e3 + 100.0 * f64::from(k), 900)));
        spread.push((12e3, 70));
        assert_eq!(end(&histogram(&spread, 100.0)), 12e3);
        // A bump that touches the body: 12 % of the samples cost 3 us of 500.
        let touching = [
            (500e3, 80_000),
            (502.5e3, 8_000),
            (505e3, 13_000),
            (507.5e3, 400),
        ];
        assert_eq!(end(&histogram(&touching, 2.5e3)), 505e3);
    }

    #[test]
    fn percentiles_that_absent_rows_could_move_are_left_out() {
        let mut it = histogram(&[(5.0, 900), (6.0, 90), (9.0, 10)], 1.0);
        let all = percentiles(&it, &PERCENTS, 0.0);
        assert_eq!(
            all.iter().map(|p| p.ns).collect::<Vec<_>>(),
            [6.0, 6.0, 7.0, 10.0]
        );
        it.absent = vec![(7.0, 9.0)];
        let certain = percentiles(&it, &PERCENTS, 20.0);
        assert_eq!(certain.len(), 1);
        assert_eq!(middle(&it.bins[1..]), Some((7.0, 7.0)));
    }
    const PERCENTS: [f64; 4] = [50.0, 90.0, 99.0, 100.0];

    proptest! {
        #[test]
        fn any_histogram_has_an_end(rows in prop::collection::vec((0.0f64..1e14, 0u64..1 << 50), 1..20)) {
            let mut rows = rows;
            rows.sort_by(|a, b| a.0.total_cmp(&b.0));
            let it = histogram(&rows, 1.0);
            prop_assert!(end(&it).is_finite());
            prop_assert!(slow(&it, end(&it)).len() <= rows.len());
        }
    }
}
