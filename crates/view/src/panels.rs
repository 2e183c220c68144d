//! What text and picture have in common: which series belong together, what to call them, and quanta
//! by time and pace on a grid of any size.

use crate::numbers;
use bandscope_analysis::Pyramid;
use bandscope_analysis::pyramid::Density;
use bandscope_report::{Place, Report, Series};
use std::ops::Range;

/// The pace axis spans at least this ratio, so that a quiet CPU looks like a flat line and not like its
/// own rounding enlarged.
const LEAST_RATIO: f64 = 1.1;

/// Series of one CPU.
#[derive(Clone, Debug)]
pub(crate) struct Group {
    pub(crate) cpu: Option<u32>,
    /// The task of a job that measured it.
    pub(crate) place: Option<Place>,
    /// Indices into the report's series.
    pub(crate) members: Vec<usize>,
}

impl Group {
    pub(crate) fn name(&self) -> String {
        cpu_name(self.cpu, self.place.as_ref())
    }
}

/// The series of a report by CPU, in the report's order.
pub(crate) fn groups(report: &Report) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    for (index, series) in report.series.iter().enumerate() {
        let is_its = |group: &&mut Group| (group.cpu, &group.place) == (series.cpu, &series.place);
        match groups.iter_mut().find(is_its) {
            Some(group) => group.members.push(index),
            None => groups.push(Group {
                cpu: series.cpu,
                place: series.place.clone(),
                members: vec![index],
            }),
        }
    }
    groups
}

/// `CPU 3`, with the task of a job that measured it, or what there is to say where it is not known.
pub(crate) fn cpu_name(cpu: Option<u32>, place: Option<&Place>) -> String {
    cpu.map_or_else(
        || "unknown CPU".into(),
        |cpu| bandscope_report::cpu_name(cpu, place),
    )
}

/// Names that tell the series of `members` apart in as few words as will do: rate, then work kernel, then file.
pub(crate) fn labels(report: &Report, members: &[usize]) -> Vec<String> {
    let series: Vec<&Series> = members.iter().map(|&index| &report.series[index]).collect();
    let differ = |key: &dyn Fn(&Series) -> String| {
        series
            .iter()
            .any(|other| Some(key(other)) != series.first().map(|first| key(first)))
    };
    let by_rate = |s: &Series| numbers::rate(s.rate_hz);
    let mut labels: Vec<String> = series.iter().map(|s| by_rate(s)).collect();
    let mut append = |key: &dyn Fn(&Series) -> String| {
        if differ(key) {
            for (label, series) in labels.iter_mut().zip(&series) {
                *label = format!("{label} {}", key(series));
            }
        }
    };
    append(&|s| s.kernel.clone());
    append(&|s| match &s.place {
        Some(place) => place.to_string(),
        None => file_name(&s.origin).to_owned(),
    });
    labels
}

/// The last part of a path.
pub(crate) fn file_name(path: &str) -> &str {
    path.trim_end_matches('/')
        .rsplit('/')
        .next()
        .unwrap_or(path)
}

/// Some words as a list: `a, b and c`.
pub(crate) fn listed(words: &[String]) -> String {
    match words {
        [] => String::new(),
        [only] => only.clone(),
        [most @ .., last] => format!("{} and {last}", most.join(", ")),
    }
}

/// The time axis that holds all of `pyramids`, in seconds.
pub(crate) fn time_range<'a>(pyramids: impl Iterator<Item = &'a Pyramid>) -> Option<(f64, f64)> {
    pyramids
        .map(|pyramid| pyramid.time_s)
        .filter(|(from, to)| from.is_finite() && to.is_finite() && from < to)
        .reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)))
}

/// A density whose shape and range make sense.
fn sound(density: &Density) -> Option<&Density> {
    let (low, high) = density.pace_ns;
    let cells = density.columns.checked_mul(density.rows)?;
    let sound = cells > 0
        && cells == density.counts.len()
        && low.is_finite()
        && high.is_finite()
        && 0.0 < low
        && low < high
        && (high / low).is_finite();
    sound.then_some(density)
}

/// Pace at the lower edge of `row`.
fn edge(density: &Density, row: usize) -> f64 {
    let (low, high) = density.pace_ns;
    low * (high / low).powf(row as f64 / density.rows as f64)
}

/// The paces at which there are quanta, a little widened: the pace axis.
///
/// At either end the share `beyond` of a series' quanta may lie outside where that at least doubles the
/// room for the others, so that a handful of slow quanta does not press all others into one line; they
/// are drawn at the edge.
pub(crate) fn pace_range<'a>(
    pyramids: impl Iterator<Item = &'a Pyramid>,
    beyond: f64,
) -> Option<(f64, f64)> {
    let densities: Vec<&Density> = pyramids
        .filter_map(|pyramid| sound(&pyramid.density))
        .collect();
    let holding = |beyond: f64| {
        let ranges = densities
            .iter()
            .filter_map(|density| occupied(density, beyond));
        ranges.reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)))
    };
    let (all, most) = (holding(0.0)?, holding(beyond)?);
    let room = |(low, high): (f64, f64)| (high / low).max(LEAST_RATIO).ln();
    let (low, high) = if room(all) > 2.0 * room(most) {
        most
    } else {
        all
    };
    let missing = (LEAST_RATIO / (high / low)).max(1.0).sqrt();
    let margin = (high / low).max(LEAST_RATIO).powf(0.06);
    Some((low / missing / margin, high * missing * margin))
}

/// Edges of the lowest and highest row, but for the share `beyond` of the quanta at either end.
fn occupied(density: &Density, beyond: f64) -> Option<(f64, f64)> {
    let mut rows = vec![0u64; density.rows];
    for column in density.counts.chunks_exact(density.rows) {
        for (row, count) in rows.iter_mut().zip(column) {
            *row += u64::from(*count);
        }
    }
    let outside = (rows.iter().sum::<u64>() as f64 * beyond) as u64;
    let reaches = |so_far: &mut u64, count: &u64| {
        *so_far += count;
        Some(*so_far > outside)
    };
    let first = rows.iter().scan(0, reaches).position(|reached| reached)?;
    let last = rows
        .iter()
        .rev()
        .scan(0, reaches)
        .position(|reached| reached)?;
    Some((edge(density, first), edge(density, density.rows - last)))
}

/// Whether a series has quanta faster and slower than `pace_ns`.
pub(crate) fn beyond(pyramid: &Pyramid, pace_ns: (f64, f64)) -> (bool, bool) {
    extremes(pyramid).map_or((false, false), |(low, high)| {
        (low < pace_ns.0, high > pace_ns.1)
    })
}

/// The fastest and the slowest pace of a series.
pub(crate) fn extremes(pyramid: &Pyramid) -> Option<(f64, f64)> {
    sound(&pyramid.density).and_then(|density| occupied(density, 0.0))
}

/// Quanta by time and pace, as many cells as there are to draw.
#[derive(Clone, Debug)]
pub(crate) struct Grid {
    pub(crate) columns: usize,
    /// Row 0 is the fastest pace.
    pub(crate) rows: usize,
    /// `counts[row * columns + column]`.
    pub(crate) counts: Vec<u64>,
}

impl Grid {
    pub(crate) fn new(columns: usize, rows: usize) -> Grid {
        Grid {
            columns,
            rows,
            counts: vec![0; columns * rows],
        }
    }

    pub(crate) fn at(&self, column: usize, row: usize) -> u64 {
        self.counts[row * self.columns + column]
    }

    /// The fullest cell.
    pub(crate) fn most(&self) -> u64 {
        self.counts.iter().copied().max().unwrap_or(0)
    }

    /// Quanta in each row.
    pub(crate) fn by_pace(&self) -> Vec<u64> {
        self.counts
            .chunks_exact(self.columns.max(1))
            .map(|row| row.iter().sum())
            .collect()
    }

    /// Adds the quanta of a series. A quantum is as long as it lasted, and its pace is known to a row of
    /// the density: on a finer grid it fills several cells.
    pub(crate) fn add(
        &mut self,
        pyramid: &Pyramid,
        quantum_s: f64,
        time_s: (f64, f64),
        pace_ns: (f64, f64),
    ) {
        let Some(density) = sound(&pyramid.density) else {
            return;
        };
        if self.counts.is_empty() || time_range(std::iter::once(pyramid)).is_none() {
            return;
        }
        let rows = self.target_rows(density, pace_ns);
        let step_s = (pyramid.time_s.1 - pyramid.time_s.0) / density.columns as f64;
        let length_s = if quantum_s.is_finite() {
            quantum_s.max(0.0)
        } else {
            0.0
        };
        let column_at = |t: f64| (t - time_s.0) / (time_s.1 - time_s.0) * self.columns as f64;
        let last_column = self.columns - 1;
        let first_of = |index: usize| {
            let centre_s = pyramid.time_s.0 + (index as f64 + 0.5) * step_s;
            (column_at(centre_s) as usize).min(last_column)
        };
        let mut begins = vec![false; self.columns];
        for (index, column) in density.counts.chunks_exact(density.rows).enumerate() {
            begins[first_of(index)] |= column.iter().any(|&count| count > 0);
        }
        for (index, column) in density.counts.chunks_exact(density.rows).enumerate() {
            let first = first_of(index);
            // As long as it lasted, or until the next one begins.
            let reach = column_at(time_s.0 + length_s).round() as usize;
            let end = (first + 1..self.columns.min(first.saturating_add(reach)))
                .find(|&target| begins[target])
                .unwrap_or(self.columns.min(first.saturating_add(reach.max(1))));
            for (count, rows) in column.iter().zip(&rows).filter(|(count, _)| **count > 0) {
                for row in rows.clone() {
                    for target in first..end {
                        self.counts[row * self.columns + target] += u64::from(*count);
                    }
                }
            }
        }
    }

    /// The rows of this grid for each row of `density`: all that it covers, at least one. What lies
    /// beyond the axis falls into the first or the last row.
    fn target_rows(&self, density: &Density, pace_ns: (f64, f64)) -> Vec<Range<usize>> {
        let span = (pace_ns.1 / pace_ns.0).ln();
        let height = |row: usize| (edge(density, row) / pace_ns.0).ln() / span * self.rows as f64;
        let last = self.rows - 1;
        (0..density.rows)
            .map(|row| {
                let (from, to) = (height(row), height(row + 1));
                if to - from <= 1.0 {
                    let first = (((from + to) / 2.0).max(0.0) as usize).min(last);
                    return first..first + 1;
                }
                // Coarser than the grid: rounded edges leave no row out and share none.
                let first = (from.round().max(0.0) as usize).min(last);
                first..(to.round().max(0.0) as usize).clamp(first + 1, self.rows)
            })
            .collect()
    }
}

#[cfg(test)]
mod tests;
