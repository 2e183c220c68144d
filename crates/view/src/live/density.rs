//! Pace over time, as the report's strip draws it: a row a pace, a column a stretch of time, denser where more quanta are.

use super::canvas::{Canvas, Tone};
use super::strip::visible;
use crate::numbers;
use crate::text::strip::shade;
use bandscope_analysis::live::{Level, pace_of_bin};

/// Share of the quanta that may be off the axis at either end; they stand in the first or last row.
const BEYOND: f64 = 0.003;

/// Draws the paces, fast ones at the top, into the whole of `canvas`, whose first `axis` columns are for the axis. `to_ns` makes a
/// pace nanoseconds.
pub fn density(level: &Level, last: u64, axis: u16, to_ns: f64, canvas: &mut Canvas<'_>) {
    let (rows, columns) = (canvas.height, canvas.width.saturating_sub(axis));
    let cells: Vec<_> = visible(level, last, columns).collect();
    let Some((low, high)) = range(cells.iter().flat_map(|(_, cell)| cell.paces.iter())) else {
        return;
    };
    // A row is at least a bin, so that none is empty for want of one; what is seen stands in the middle of what is added.
    let missing = usize::from(rows).saturating_sub(high - low + 1);
    let low = low.saturating_sub(missing / 2);
    let high = high.max(low + usize::from(rows) - 1);
    let bins = high - low + 1;
    let row_of = |bin: u16| (usize::from(bin).clamp(low, high) - low) * usize::from(rows) / bins;
    let mut counts = vec![0u64; usize::from(rows) * usize::from(columns)];
    let mut beyond = (false, false);
    for (column, cell) in cells {
        for &(bin, number) in &cell.paces {
            beyond.0 |= usize::from(bin) < low;
            beyond.1 |= usize::from(bin) > high;
            counts[row_of(bin) * usize::from(columns) + column] += u64::from(number);
        }
    }
    let most = counts.iter().copied().max().unwrap_or(0);
    for row in 0..rows {
        let label = match row {
            0 if beyond.0 => "faster".to_owned(),
            _ if row + 1 == rows && beyond.1 => "slower".to_owned(),
            // The ends are the fastest and the slowest pace, not the middles of their rows.
            0 => numbers::pace(pace_of_bin(low as u16) * to_ns),
            _ if row + 1 == rows => numbers::pace(pace_of_bin(high as u16) * to_ns),
            _ if row == rows / 2 => {
                let centre = low + (2 * usize::from(row) + 1) * bins / (2 * usize::from(rows));
                numbers::pace(pace_of_bin(centre as u16) * to_ns)
            }
            _ => String::new(),
        };
        let line = canvas.sign("│", "|");
        canvas.put_right(axis.saturating_sub(2), row, axis, &label, Tone::Dim);
        canvas.raw(axis.saturating_sub(1), row, 1, line, Tone::Dim);
        let from = usize::from(row) * usize::from(columns);
        let ascii = canvas.look.ascii;
        let shades: String = counts[from..from + usize::from(columns)]
            .iter()
            .map(|&count| shade(count, most, ascii))
            .collect();
        canvas.raw(axis, row, columns, &shades, Tone::Plain);
    }
}

/// The bins between which all but few quanta lie.
fn range<'a>(paces: impl Iterator<Item = &'a (u16, u32)>) -> Option<(usize, usize)> {
    let mut sums: Vec<(u16, u64)> = Vec::new();
    for &(bin, number) in paces {
        match sums.binary_search_by_key(&bin, |sum| sum.0) {
            Ok(index) => sums[index].1 += u64::from(number),
            Err(index) => sums.insert(index, (bin, number.into())),
        }
    }
    let all: u64 = sums.iter().map(|sum| sum.1).sum();
    let few = (all as f64 * BEYOND) as u64;
    let mut seen = 0;
    let mut reached = |sum: &(u16, u64)| {
        seen += sum.1;
        (seen > few).then_some(usize::from(sum.0))
    };
    let low = sums.iter().find_map(&mut reached)?;
    let mut seen = 0;
    let high = sums.iter().rev().find_map(|sum| {
        seen += sum.1;
        (seen > few).then_some(usize::from(sum.0))
    })?;
    Some((low, high))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_few_stragglers_do_not_set_the_axis() {
        let paces = [(10, 1), (200, 500), (210, 500), (900, 2)];
        assert_eq!(range(paces.iter()), Some((200, 210)));
        let paces = [(10, 100), (200, 500), (900, 100)];
        assert_eq!(range(paces.iter()), Some((10, 900)));
        assert_eq!(range([].iter()), None);
    }
}
