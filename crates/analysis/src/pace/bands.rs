//! Bands: the modes of pace, found between the two passes by persistence of the smoothed histogram.
//!
//! Zero-dimensional persistence (Edelsbrunner, Letscher, Zomorodian 2002) ranks the maxima of a density by how deep one must
//! descend to reach a higher one; it needs no number of modes and no bin edges. The density is that of
//! [`crate::series::histogram`] in log pace, smoothed with a biweight kernel whose width is the widest of four resolutions:
//! the data's own spread within stays, the histogram's bins, 1/count where ends of quanta are not
//! known, and 30 %/n because n quanta cannot tell n close levels apart.
//!
//! Limit: two bands closer than about 3.4 kernel widths are reported as one, with a half width that
//! holds both. In the twenty rows of `spr-10khz-b.dat` that makes 74.4 and 76.3 ns one band.

use crate::series::bins::pace_of;
use crate::series::context::Context;
use crate::series::histogram::{Bin, Company, PaceHistogram};
use crate::series::levels::{Levels, MAX_BANDS};

/// Distance of two points of the density in log pace: half a bin.
const STEP: f64 = 0.0005;
/// Half support of a biweight kernel over the standard deviation it stands for (sqrt 7).
const SUPPORT: f64 = 2.65;
/// A maximum is a mode if the saddle beside it is at most this share of it.
const SADDLE: f64 = 0.7;
/// A band ends where its density has fallen to this share of its mode.
const CORE: f64 = 0.05;
/// A band holds at least this share of the quanta (and two of them).
const SMALLEST_SHARE: f64 = 1e-4;
/// A mode of dips is an interruption, unless there are more of them than every third quantum.
const DIPS: f64 = 1.0 / 3.0;

/// A pace that recurs, in ticks per unit.
#[derive(Clone, Debug, PartialEq)]
pub struct Mode {
    /// First and last bin of the histogram.
    pub bins: (usize, usize),
    /// Mean pace of its quanta, ticks per unit.
    pub centre: f64,
    /// Relative half width that holds 90 %.
    pub half_width: f64,
    /// Quanta in it.
    pub quanta: u64,
}

/// The bands of a finished histogram, fastest first.
pub fn find(histogram: &PaceHistogram, context: &Context) -> Vec<Mode> {
    let occupied: Vec<(usize, Bin)> = histogram
        .bins()
        .iter()
        .enumerate()
        .filter(|(_, bin)| bin.quanta() > 0)
        .map(|(number, bin)| (number, *bin))
        .collect();
    if occupied.is_empty() {
        return Vec::new();
    }
    let density = Density::new(&occupied, histogram, context);
    let peaks = density.persistent_maxima();
    let mut modes: Vec<Mode> = density
        .regions(&peaks)
        .into_iter()
        .filter_map(|region| mode(&occupied, region, histogram.quanta()))
        .collect();
    modes.sort_by_key(|mode| std::cmp::Reverse(mode.quanta));
    modes.truncate(MAX_BANDS);
    modes.sort_by(|a, b| a.centre.total_cmp(&b.centre));
    modes
}

/// The table that the second pass looks bands up in.
pub fn levels(modes: &[Mode]) -> Levels {
    Levels::new(
        modes
            .iter()
            .map(|mode| (mode.bins.0, mode.bins.1, mode.centre)),
    )
}

/// Quanta that a band must hold, of so many in all.
pub fn smallest(all: u64) -> f64 {
    (all as f64 * SMALLEST_SHARE).max(2.0).min(all as f64)
}

/// The band in `region` of log pace, or none if what lies there comes and goes with its neighbours.
fn mode(occupied: &[(usize, Bin)], region: (f64, f64), all: u64) -> Option<Mode> {
    let from = occupied.partition_point(|entry| log_pace(entry) < region.0);
    let to = occupied.partition_point(|entry| log_pace(entry) <= region.1);
    let members = occupied.get(from..to).filter(|bins| !bins.is_empty())?;
    let quanta: u64 = members.iter().map(|(_, bin)| bin.quanta()).sum();
    let share_of = |company: Company| {
        let number: u64 = members
            .iter()
            .map(|(_, bin)| bin.by_company[company as usize])
            .sum();
        number as f64 / quanta as f64
    };
    // Of one or two quanta neighbours say nothing.
    let smallest = smallest(all);
    let passing = share_of(Company::Edge) >= 0.5
        || (share_of(Company::Dips) >= 0.5 && (quanta as f64) < all as f64 * DIPS);
    if (quanta as f64) < smallest || (all > 2 && passing) {
        return None;
    }
    Some(mode_of(members, quanta))
}

/// Two neighbouring modes as one, with what lies between them.
pub fn joined(fast: &Mode, slow: &Mode, histogram: &PaceHistogram) -> Mode {
    let bins = histogram.bins().iter().enumerate();
    let members: Vec<(usize, Bin)> = bins
        .map(|(number, bin)| (number, *bin))
        .take(slow.bins.1 + 1)
        .skip(fast.bins.0)
        .filter(|(_, bin)| bin.quanta() > 0)
        .collect();
    let quanta = members.iter().map(|(_, bin)| bin.quanta()).sum();
    mode_of(&members, quanta)
}

/// The mode that these bins make, which hold so many quanta; neither is nothing.
fn mode_of(members: &[(usize, Bin)], quanta: u64) -> Mode {
    let sum: f64 = members.iter().map(|(_, bin)| bin.sum).sum();
    let centre = sum / quanta as f64;
    let spread = quantile(members, quanta, 0.95) - quantile(members, quanta, 0.05);
    Mode {
        bins: (members[0].0, members[members.len() - 1].0),
        centre,
        half_width: (spread / 2.0 / centre).max(0.0),
        quanta,
    }
}

fn quantile(members: &[(usize, Bin)], quanta: u64, share: f64) -> f64 {
    let mut seen = 0;
    for (number, bin) in members {
        seen += bin.quanta();
        if seen as f64 >= share * quanta as f64 {
            return mean_pace(*number, bin);
        }
    }
    0.0
}

fn mean_pace(number: usize, bin: &Bin) -> f64 {
    let mean = bin.sum / bin.quanta().max(1) as f64;
    if mean.is_finite() && mean > 0.0 {
        mean
    } else {
        pace_of(number)
    }
}

fn log_pace((number, bin): &(usize, Bin)) -> f64 {
    mean_pace(*number, bin).ln()
}

/// The smoothed histogram; values are quanta under the kernel, so their Poisson error is their root.
struct Density {
    origin: f64,
    values: Vec<f64>,
}

impl Density {
    fn new(occupied: &[(usize, Bin)], histogram: &PaceHistogram, context: &Context) -> Density {
        let logs: Vec<f64> = occupied.iter().map(log_pace).collect();
        let common = (0.5 * histogram.noise())
            .clamp(0.0006, 0.02)
            .max(0.3 / histogram.quanta().max(1) as f64);
        let widest = SUPPORT * common.max(0.6);
        let (first, last) = (logs[0], logs[logs.len() - 1]);
        let margin = if context.ends_known {
            SUPPORT * common
        } else {
            widest
        };
        let origin = first - margin - 2.0 * STEP;
        let cells = ((last - origin + margin) / STEP) as usize + 4;
        let mut density = Density {
            origin,
            values: vec![0.0; cells],
        };
        for ((_, bin), log) in occupied.iter().zip(logs) {
            let width = if context.ends_known {
                common
            } else {
                // Neighbouring counts c and c + 1 must be one mode.
                let count = context.quantum_ticks / log.exp();
                common.max((0.6 / count).min(0.6))
            };
            density.add(log, bin.quanta() as f64, SUPPORT * width);
        }
        density
    }

    fn add(&mut self, log: f64, weight: f64, support: f64) {
        let centre = (log - self.origin) / STEP;
        let reach = support / STEP;
        let from = (centre - reach).ceil().max(0.0) as usize;
        let to = ((centre + reach) as usize).min(self.values.len() - 1);
        for cell in from..=to {
            let x = (cell as f64 - centre) / reach;
            let inside = 1.0 - x * x;
            self.values[cell] += weight * inside * inside;
        }
    }

    /// Cells of the maxima that persist, in order of pace.
    ///
    /// Cells are flooded from the highest down. Where two islands meet, the lower one is a mode of its own
    /// if the saddle is well below it: by a share, and by four Poisson errors of the saddle.
    fn persistent_maxima(&self) -> Vec<usize> {
        let mut order: Vec<u32> = (0..self.values.len() as u32)
            .filter(|&cell| self.values[cell as usize] > 0.0)
            .collect();
        // Of positive floats the bits are in their order, too. The cell decides between equals.
        order.sort_unstable_by_key(|&cell| (!self.values[cell as usize].to_bits(), cell));
        // The summit of the island that a cell belongs to; `u32::MAX` is water.
        let mut parent = vec![u32::MAX; self.values.len()];
        let mut peaks = Vec::new();
        for &cell in &order {
            let index = cell as usize;
            let left = index.checked_sub(1).map(|n| summit(&mut parent, n));
            let right = (index + 1 < parent.len()).then(|| summit(&mut parent, index + 1));
            let islands: Vec<u32> = [left, right].into_iter().flatten().flatten().collect();
            match islands[..] {
                [] => parent[index] = cell,
                [one] => parent[index] = one,
                [a, b, ..] => {
                    let (high, low) = if self.values[a as usize] >= self.values[b as usize] {
                        (a, b)
                    } else {
                        (b, a)
                    };
                    if self.stands_out(low as usize, self.values[index]) {
                        peaks.push(low as usize);
                    }
                    parent[low as usize] = high;
                    parent[index] = high;
                }
            }
        }
        // Islands that were never joined: the highest, and those with no density at all between.
        let roots = (0..parent.len()).filter(|&cell| parent[cell] == cell as u32);
        peaks.extend(roots);
        peaks.sort_unstable();
        peaks
    }

    fn stands_out(&self, peak: usize, saddle: f64) -> bool {
        let peak = self.values[peak];
        saddle <= SADDLE * peak && peak - saddle >= 4.0 * saddle.sqrt()
    }

    /// The stretch of log pace around each peak, cut at the lowest point between two peaks.
    fn regions(&self, peaks: &[usize]) -> Vec<(f64, f64)> {
        let mut regions = Vec::with_capacity(peaks.len());
        let mut from = 0;
        for (number, &peak) in peaks.iter().enumerate() {
            let to = peaks
                .get(number + 1)
                .map_or(self.values.len() - 1, |&next| {
                    (peak..next)
                        .min_by(|&a, &b| self.values[a].total_cmp(&self.values[b]))
                        .unwrap_or(peak)
                });
            let floor = CORE * self.values[peak];
            let low = (from..peak)
                .rev()
                .find(|&cell| self.values[cell] < floor)
                .unwrap_or(from);
            let high = (peak..to)
                .find(|&cell| self.values[cell] < floor)
                .unwrap_or(to);
            regions.push((self.log_at(low), self.log_at(high)));
            from = to;
        }
        regions
    }

    fn log_at(&self, cell: usize) -> f64 {
        self.origin + cell as f64 * STEP
    }
}

/// The summit of the island that `cell` lies on, with the path to it shortened.
fn summit(parent: &mut [u32], mut cell: usize) -> Option<u32> {
    if parent[cell] == u32::MAX {
        return None;
    }
    while parent[cell] as usize != cell {
        let above = parent[parent[cell] as usize];
        parent[cell] = above;
        cell = above as usize;
    }
    Some(cell as u32)
}
