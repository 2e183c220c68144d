//! What pictures are drawn from: a series at bounded size, whatever its length.
//!
//! Time runs over the wall time of the recording, since its start, in seconds; where segments of
//! several series alternate, bins in which this series was not measured are empty.

pub use crate::periods::spectrum::Spectrum;
use bandscope_report::LongGap;

/// A series at every zoom.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Pyramid {
    /// Start and end of the time axis in seconds: the same for all series of one recording.
    pub time_s: (f64, f64),
    /// Finest level first; each further level halves the number of bins.
    pub levels: Vec<Level>,
    /// Quanta by time and pace.
    pub density: Density,
    /// Quanta by pace: the row sums of `density`, for the histogram beside the picture.
    pub pace_histogram: Vec<u64>,
    /// The longest gaps, at most 64, in order of time.
    pub gaps: Vec<LongGap>,
    /// The first edges, at most 65,536, in order of time.
    pub edges: Vec<EdgeMark>,
    /// Spectrum of the time lost per quantum.
    pub spectrum: Spectrum,
}

impl Pyramid {
    /// Moves all times by so many seconds: a stretch of a recording at its place in the whole.
    pub fn shift(&mut self, seconds: f64) {
        self.time_s.0 += seconds;
        self.time_s.1 += seconds;
        self.gaps.iter_mut().for_each(|gap| gap.at_s += seconds);
        self.edges.iter_mut().for_each(|edge| edge.at_s += seconds);
    }
}

/// Bins of equal length over the time axis.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Level {
    /// In order of time.
    pub bins: Vec<Bin>,
}

/// Some quanta of one stretch of time.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Bin {
    /// Quanta that start in the bin.
    pub quanta: u64,
    /// Fastest pace, ns per unit; infinite in an empty bin.
    pub pace_min: f64,
    /// Slowest pace; 0 in an empty bin.
    pub pace_max: f64,
    /// Sum of paces, for the mean.
    pub pace_sum: f64,
    /// Lowest count of its quanta.
    pub count_min: u32,
    /// Highest count of its quanta.
    pub count_max: u32,
    /// Time in gaps, ns.
    pub gap_ns: f64,
}

/// A two-dimensional histogram of quanta, for a raster.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Density {
    /// Bins of time, over [`Pyramid::time_s`].
    pub columns: usize,
    /// Bins of pace, logarithmic over `pace_ns`.
    pub rows: usize,
    /// Paces at the lower edge of the first row and the upper edge of the last, ns per unit.
    pub pace_ns: (f64, f64),
    /// `counts[column * rows + row]`.
    pub counts: Vec<u32>,
    /// Quanta whose pace lies outside `pace_ns`, or that have none.
    pub outside: u64,
}

/// One edge in a picture.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct EdgeMark {
    /// Since the start of the recording.
    pub at_s: f64,
    /// Band before, an index into the bands of the series.
    pub from: u8,
    /// Band after the edge.
    pub to: u8,
}
