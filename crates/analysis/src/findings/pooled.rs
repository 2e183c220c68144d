//! What a cause took of a CPU in all series of one recording, as the ledger of the report adds them up: a finding and the ledger state one figure.

use super::Case;
use bandscope_report::{Cause, GapCause, Series};

/// Sums of a cause over all series of one CPU and one recording.
#[derive(Clone, Debug, Default)]
pub(super) struct Pooled {
    /// Nanoseconds lost to it.
    pub lost_ns: u64,
    /// Of the wall time of these series, 0 to 1.
    pub share: f64,
    /// Gaps a second in which it took part.
    pub per_second: f64,
    /// Its longest part of one gap, ns.
    pub longest_ns: f64,
}

impl Pooled {
    /// Of `cause`, in the series of `case` and those beside it.
    pub fn new(cause: &Cause, case: Case<'_>) -> Pooled {
        let mut sum = GapCause::default();
        let (mut wall_ns, mut seconds) = (0, 0.0);
        for series in relatives(case) {
            wall_ns += series.ledger.wall_ns;
            seconds += series.duration_s;
            let causes = series.gaps.iter().flat_map(|gaps| &gaps.causes);
            for one in causes.filter(|one| one.cause == *cause) {
                sum.number += one.number;
                sum.lost_ns += one.lost_ns;
                sum.longest_ns = sum.longest_ns.max(one.longest_ns);
            }
        }
        Pooled {
            lost_ns: sum.lost_ns,
            share: sum.lost_ns as f64 / (wall_ns as f64).max(1.0),
            per_second: match seconds > 0.0 {
                true => sum.number as f64 / seconds,
                false => 0.0,
            },
            longest_ns: sum.longest_ns,
        }
    }
}

/// All series of the CPU and the recording of a series, itself among them.
pub(super) fn relatives(case: Case<'_>) -> impl Iterator<Item = &Series> {
    let mine = case.series;
    (case.analysed.series.iter())
        .filter(move |other| (other.cpu, &other.origin) == (mine.cpu, &mine.origin))
}
