//! The rate of a `.dat` file: what its header says, held against what its times say.

use crate::read::{ReadWarning, ReadWarningKind};
use crate::text::{quoted, shown};
use std::ops::RangeInclusive;
use std::path::Path;

/// How many differences of times decide: 6.5 s at 10 kHz, half a megabyte.
const DIFFERENCES: usize = 65_536;
/// Rates in hertz that a file may have: times are whole nanoseconds, and a quantum of more than a day is none.
const RATES_HZ: RangeInclusive<f64> = 1e-5..=1e9;
/// By which factor the header may miss the times before it is not believed.
const TOLERANCE: f64 = 1.2;

/// Gathers what a file says of its rate.
#[derive(Debug, Default)]
pub struct Rate {
    header: Option<f64>,
    bad_header: Option<String>,
    last_time: Option<u64>,
    differences: Vec<u64>,
}

impl Rate {
    /// Takes a comment; the original's first line is `# Frequency 10000.000000`.
    pub fn comment(&mut self, comment: &[u8]) {
        let Some(value) = comment.strip_prefix(b"Frequency") else {
            return;
        };
        let text = std::str::from_utf8(value).unwrap_or("").trim();
        match text.parse().ok().filter(|rate| RATES_HZ.contains(rate)) {
            Some(rate) => self.header = self.header.or(Some(rate)),
            None => self.bad_header = Some(quoted(comment)),
        }
    }

    /// Takes the time of a row.
    pub fn row(&mut self, time: u64) {
        if let Some(last) = self.last_time.replace(time)
            && self.differences.len() < DIFFERENCES
        {
            self.differences.push(time - last);
        }
    }

    /// Takes the times of rows.
    pub fn rows(&mut self, times: &[u64]) {
        // Of what lies beyond these nothing is kept.
        let wanted = DIFFERENCES + 1 - self.differences.len();
        let first = times.iter().take(wanted);
        first.for_each(|&time| self.row(time));
    }

    /// The next row does not follow upon the last one in time.
    pub fn interrupted(&mut self) {
        self.last_time = None;
    }

    /// The rate in hertz, and what is to be said about it; `None` if the file says nothing of it.
    pub fn decide(mut self, path: &Path, warnings: &mut Vec<ReadWarning>) -> Option<f64> {
        let path = shown(path);
        let mut warn = |kind, message: String, advice: &str| {
            warnings.push(ReadWarning {
                kind,
                message,
                advice: advice.into(),
            });
        };
        if let Some(header) = &self.bad_header {
            warn(
                ReadWarningKind::BadHeader,
                format!("{path}: the header {header} names no rate from 0.00001 to 1000000000 Hz"),
                "it was ignored",
            );
        }
        let measured = rate_of(&mut self.differences);
        match (self.header, measured) {
            (Some(header), Some(measured))
                if header.max(measured) / header.min(measured) > TOLERANCE =>
            {
                warn(
                    ReadWarningKind::RateMismatch,
                    format!("{path}: the header says {header} Hz, the times say {measured:.3} Hz"),
                    "the times were believed; mend the header if they are right",
                );
                Some(measured)
            }
            (Some(header), _) => Some(header),
            (None, Some(measured)) => {
                warn(
                    ReadWarningKind::RateFromTimes,
                    format!("{path}: no header names the rate; the times say {measured:.3} Hz"),
                    "add a first line '# Frequency HZ' if you know it",
                );
                Some(measured)
            }
            (None, None) => None,
        }
    }
}

/// Quanta per second: the median difference tells how long a quantum is, and thereby how many quanta each
/// difference holds; their sum over the whole time is exact where a single difference jitters.
fn rate_of(differences: &mut [u64]) -> Option<f64> {
    if differences.is_empty() {
        return None;
    }
    let time: f64 = differences
        .iter()
        .map(|&difference| difference as f64)
        .sum();
    let middle = differences.len() / 2;
    let median = *differences.select_nth_unstable(middle).1 as f64;
    let quanta: f64 = differences
        .iter()
        .map(|&difference| (difference as f64 / median).round())
        .sum();
    Some(quanta / time * 1e9).filter(|rate| RATES_HZ.contains(rate))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decide(header: &[u8], times: &[u64]) -> (Option<f64>, Vec<ReadWarningKind>) {
        let mut rate = Rate::default();
        rate.comment(header);
        times.iter().for_each(|&time| rate.row(time));
        let mut warnings = Vec::new();
        let decided = rate.decide(Path::new("x.dat"), &mut warnings);
        (
            decided,
            warnings.iter().map(|warning| warning.kind).collect(),
        )
    }

    const TIMES: [u64; 6] = [0, 100_009, 200_002, 300_000, 500_004, 600_000];

    #[test]
    fn the_header_is_believed_if_the_times_agree() {
        assert_eq!(
            decide(b"Frequency 10000.000000", &TIMES),
            (Some(10_000.0), vec![])
        );
        assert_eq!(decide(b"Frequency 11900", &TIMES), (Some(11_900.0), vec![]));
        assert_eq!(
            decide(b"Frequency 12100", &TIMES),
            (Some(10_000.0), vec![ReadWarningKind::RateMismatch])
        );
        assert_eq!(decide(b"Frequency 10000", &[5]), (Some(10_000.0), vec![]));
    }

    #[test]
    fn without_a_header_the_times_decide_over_jitter_and_holes() {
        assert_eq!(
            decide(b"", &TIMES),
            (Some(10_000.0), vec![ReadWarningKind::RateFromTimes])
        );
        assert_eq!(
            decide(b"Frequency -3", &TIMES),
            (
                Some(10_000.0),
                vec![ReadWarningKind::BadHeader, ReadWarningKind::RateFromTimes]
            )
        );
        for none in [
            &b"Frequency \xff"[..],
            b"Frequency 1e300",
            b"Frequency 1e-300",
            b"Frequency nan",
            b"Frequency 0",
        ] {
            let (rate, warnings) = decide(none, &TIMES);
            assert_eq!(
                (rate, warnings[0]),
                (Some(10_000.0), ReadWarningKind::BadHeader)
            );
        }
        assert_eq!(
            decide(b"Frequency 1e300", &[5]),
            (None, vec![ReadWarningKind::BadHeader])
        );
        assert_eq!(decide(b"", &[5]), (None, vec![]));
        assert_eq!(decide(b"", &[5, 5, 5]), (None, vec![]));
    }
}
