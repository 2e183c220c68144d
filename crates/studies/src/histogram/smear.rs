//! Whether slow samples are spread evenly: a smear, or a bump.
//!
//! A loop of N that runs k times slower from an interrupt to its end takes N + s + (k - 1) (1 - f) N if the interrupt, which costs s, hits it
//! when a share f of its work is done. As f is anything, durations are even over (k - 1) N. An interrupt
//! that costs only itself makes a bump, whose width is that of s. Some samples are long for another reason, so the end of the smear is
//! where a piecewise density, even up to it and falling like 1/x beyond, makes the samples the likeliest; and what lies before it is even if no
//! part of it is farther than [`EVEN`] from a straight line (the distance of Kolmogorov and Smirnov). It is a measure, not a test of
//! chance: of a million samples none is perfectly even. Durations of which nothing is known count neither as
//! samples nor as room for them.

use bandscope_recording::histogram::Bin;
use serde::Serialize;

/// Fewer slow samples say nothing: of so many even ones the distance is below 0.07 in 95 of 100 cases (1.36 / sqrt(400)).
pub const FEWEST: u64 = 400;
/// The largest distance from even: of exponential costs it is 0.18, of costs that fall off along a line 0.1 or more (synthetic.rs).
const EVEN: f64 = 0.1;
/// Share of the slow samples that must lie in the smear.
const IN_SMEAR: f64 = 0.8;
/// Beyond its end there is at most this share of the density before it.
const FALLS: f64 = 0.5;
/// What it must at least add to the work to be one: a loop that goes on at two thirds of its pace.
const LEAST_SLOPE: f64 = 1.5;

/// Slow samples that are spread evenly.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Smear {
    /// Where it begins.
    pub from_ns: f64,
    /// Where it ends.
    pub to_ns: f64,
    /// Share of the slow samples in it.
    pub share: f64,
    /// Largest distance of their distribution from an even one.
    pub unevenness: f64,
    /// How many times slower the loop is, if all of the smear grows with the work.
    pub slope: f64,
}

/// The smear in slow samples of `work_ns` from `from_ns` on, if there is one.
pub fn smear(slow: &[Bin], absent: &[(f64, f64)], from_ns: f64, work_ns: f64) -> Option<Smear> {
    let samples: u64 = slow.iter().map(|bin| bin.count).sum();
    let last = slow.last()?.to_ns;
    if samples < FEWEST || from_ns <= 0.0 || work_ns <= 0.0 {
        return None;
    }
    let known = Known { from_ns, absent };
    let to_ns = likeliest_end(slow, &known, samples as f64, last)?;
    let inside = slow.iter().take_while(|bin| bin.to_ns <= to_ns);
    let number: u64 = inside.clone().map(|bin| bin.count).sum();
    let room = known.length(to_ns);
    let mut below = 0.0;
    let mut unevenness = 0.0f64;
    for bin in inside {
        let mut look = |at: f64, below: f64| {
            let even = known.length(at) / room;
            unevenness = unevenness.max((below / number as f64 - even).abs());
        };
        look(bin.from_ns.max(from_ns), below);
        below += bin.count as f64;
        look(bin.to_ns, below);
    }
    let slope = 1.0 + (to_ns - from_ns) / work_ns;
    let found = Smear {
        from_ns,
        to_ns,
        share: number as f64 / samples as f64,
        unevenness,
        slope,
    };
    (unevenness <= EVEN && slope >= LEAST_SLOPE).then_some(found)
}

/// The end that makes the samples the likeliest.
fn likeliest_end(slow: &[Bin], known: &Known<'_>, samples: f64, last: f64) -> Option<f64> {
    // Of everything beyond the bin at hand: sum of count * ln(duration).
    let logs = |bin: &Bin| bin.count as f64 * ((bin.from_ns + bin.to_ns) / 2.0).ln();
    let mut beyond: f64 = slow.iter().map(logs).sum();
    let mut inside = 0.0;
    let mut best: Option<(f64, f64)> = None;
    for bin in slow {
        inside += bin.count as f64;
        beyond -= logs(bin);
        let share = inside / samples;
        let length = known.length(bin.to_ns);
        if share < IN_SMEAR || length <= 0.0 {
            continue;
        }
        let mut likelihood = inside * (share / length).ln();
        let outside = samples - inside;
        if outside > 0.0 {
            let room = (last.ln() - bin.to_ns.ln()).max(f64::MIN_POSITIVE);
            // Where it goes on as before there is no end.
            if outside / room / bin.to_ns > FALLS * inside / length {
                continue;
            }
            likelihood += outside * ((1.0 - share) / room).ln() - beyond;
        }
        if best.is_none_or(|best| likelihood > best.0) {
            best = Some((likelihood, bin.to_ns));
        }
    }
    best.map(|best| best.1)
}

/// Durations of which something is known.
struct Known<'a> {
    from_ns: f64,
    absent: &'a [(f64, f64)],
}

impl Known<'_> {
    /// How long they are from the start of the smear to `to_ns`.
    fn length(&self, to_ns: f64) -> f64 {
        let hidden = self.absent.iter().map(|(from, to)| {
            let (from, to) = (from.max(self.from_ns), to.min(to_ns));
            (to - from).max(0.0)
        });
        to_ns - self.from_ns - hidden.sum::<f64>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(first: f64, counts: &[u64]) -> Vec<Bin> {
        let froms = (0..).map(|index| first + f64::from(index) * 1e3);
        (froms.zip(counts))
            .map(|(from, count)| (from, from + 1e3, *count).into())
            .collect()
    }

    #[test]
    fn even_rows_are_a_smear_and_end_where_they_end() {
        let mut counts = vec![100; 20];
        counts.extend([1, 0, 2, 1]);
        let it = smear(&rows(8e3, &counts), &[], 8e3, 5e3).unwrap();
        assert_eq!((it.from_ns, it.to_ns), (8e3, 28e3));
        assert!(
            it.unevenness < 1e-9 && (it.slope - 5.0).abs() < 1e-9,
            "{it:?}"
        );
    }

    #[test]
    fn absent_rows_are_neither_samples_nor_room() {
        let mut bins = rows(8e3, &[100; 9]);
        bins.extend(rows(29e3, &[100]));
        let it = smear(&bins, &[(17e3, 29e3)], 8e3, 5e3).unwrap();
        assert!(it.unevenness < 1e-9 && it.to_ns == 30e3, "{it:?}");
        // As rows that hold nothing they would make it two bumps, of which the end goes to what is beyond.
        let it = smear(&bins, &[], 8e3, 5e3).unwrap();
        assert_eq!(it.to_ns, 17e3);
    }

    #[test]
    fn a_bump_is_none() {
        assert_eq!(smear(&rows(8e3, &[13_618, 1_725, 8]), &[], 8e3, 5e3), None);
        let falling: Vec<u64> = (0..40).map(|k| 4000 >> (k / 4)).collect();
        assert_eq!(smear(&rows(8e3, &falling), &[], 8e3, 5e3), None);
        assert_eq!(smear(&rows(8e3, &[19; 20]), &[], 8e3, 5e3), None);
        assert_eq!(smear(&rows(8e3, &[100; 20]), &[], 8e3, 0.0), None);
    }
}
