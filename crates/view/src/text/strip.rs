//! The strip: quanta by time and pace as shaded characters, fast paces at the top as in FTQ's plots.

use super::View;
use super::table::{Page, Paint};
use crate::numbers;
use crate::panels::{self, Grid};
use bandscope_analysis::Pyramid;
use bandscope_report::Series;

/// From one quantum to as many as the fullest cell holds, in equal steps of the logarithm.
const SHADES: [char; 5] = ['·', '░', '▒', '▓', '█'];
/// The same in ASCII, by ink.
const ASCII_SHADES: [char; 5] = ['.', ':', '+', '%', '@'];
/// Share of the quanta that may be off the axis at either end; they stand in the first or last row.
const BEYOND: f64 = 0.003;
/// Characters of a pace on the axis.
const AXIS: usize = 7;

/// A strip for each work kernel: a unit of one takes another time than that of another, which is no pace.
pub(super) fn strips(view: &View<'_>, rows: usize, page: &mut Page<'_>) {
    for kernel in kernels(&view.series) {
        strip(view, kernel, rows, page);
    }
}

/// Names of the work kernels, in the order in which they alternate.
pub(super) fn kernels<'a>(series: &[&'a Series]) -> Vec<&'a str> {
    let mut kernels = Vec::new();
    for one in series {
        if !kernels.contains(&one.kernel.as_str()) {
            kernels.push(one.kernel.as_str());
        }
    }
    kernels
}

pub(super) fn strip(view: &View<'_>, kernel: &str, rows: usize, page: &mut Page<'_>) {
    let all = view.pyramids.iter().zip(&view.series);
    let of_kernel: Vec<(&Pyramid, &Series)> = all
        .filter(|(_, series)| series.kernel == kernel)
        .filter_map(|(pyramid, series)| Some(((*pyramid)?, *series)))
        .collect();
    let pyramids: Vec<&Pyramid> = of_kernel.iter().map(|one| one.0).collect();
    let pace = panels::pace_range(pyramids.iter().copied(), BEYOND);
    let time = panels::time_range(pyramids.iter().copied());
    let (Some(pace_ns), Some(time_s)) = (pace, time) else {
        return;
    };
    let columns = page.width() - 2 - AXIS - 2;
    let rows = rows.clamp(4, 40);
    let beyond = pyramids
        .iter()
        .map(|pyramid| panels::beyond(pyramid, pace_ns))
        .fold((false, false), |a, b| (a.0 || b.0, a.1 || b.1));
    let pace_ns = with_rows_beyond(pace_ns, beyond, rows);
    let mut grid = Grid::new(columns, rows);
    for (pyramid, series) in of_kernel {
        grid.add(pyramid, 1.0 / series.rate_hz, time_s, pace_ns);
    }
    let (title, legend) = match kernels(&view.series)[..] {
        [_, _, ..] => (format!("Pace over time, {kernel}"), ""),
        _ => (
            "Pace over time".to_owned(),
            ", denser where more quanta are",
        ),
    };
    let legend = format!("  ns/unit, faster at the top{legend}");
    page.blank();
    page.line(&[(&title, Paint::Bold), (&legend, Paint::Dim)]);
    for row in 0..rows {
        let label: String = axis_label(row, rows, pace_ns, beyond)
            .chars()
            .take(AXIS)
            .collect();
        let shades: String = (0..columns)
            .map(|column| shade(grid.at(column, row), grid.most(), page.options.ascii))
            .collect();
        page.shaded(
            &format!("  {label:>AXIS$} {}", page.sign("│", "|")),
            &shades,
        );
    }
    time_axis(time_s, columns, page);
}

/// `pace_ns` widened by a row of its own at each end beyond which there are quanta.
fn with_rows_beyond(pace_ns: (f64, f64), beyond: (bool, bool), rows: usize) -> (f64, f64) {
    let ends = usize::from(beyond.0) + usize::from(beyond.1);
    let row = (pace_ns.1 / pace_ns.0).powf(1.0 / (rows - ends) as f64);
    let low = if beyond.0 { pace_ns.0 / row } else { pace_ns.0 };
    let high = if beyond.1 { pace_ns.1 * row } else { pace_ns.1 };
    (low, high)
}

/// Paces at the top, the middle and the bottom; where quanta lie beyond an end, its row holds them.
fn axis_label(row: usize, rows: usize, pace_ns: (f64, f64), beyond: (bool, bool)) -> String {
    match row {
        0 if beyond.0 => return "faster".into(),
        _ if row == rows - 1 && beyond.1 => return "slower".into(),
        _ => {}
    }
    let (first, last) = (usize::from(beyond.0), rows - 1 - usize::from(beyond.1));
    if row != first && row != last && row != rows / 2 {
        return String::new();
    }
    let centre = (row as f64 + 0.5) / rows as f64;
    numbers::pace(pace_ns.0 * (pace_ns.1 / pace_ns.0).powf(centre))
}

/// The character for so many quanta, where the fullest cell has `most`.
pub(crate) fn shade(count: u64, most: u64, ascii: bool) -> char {
    if count == 0 {
        return ' ';
    }
    let shades = if ascii { ASCII_SHADES } else { SHADES };
    let full = (most as f64).ln();
    let filled = if full > 0.0 {
        (count as f64).ln() / full
    } else {
        1.0
    };
    shades[((filled * shades.len() as f64) as usize).min(shades.len() - 1)]
}

/// Both ends of the time and its middle.
fn time_axis(time_s: (f64, f64), columns: usize, page: &mut Page<'_>) {
    let length_ns = (time_s.1 - time_s.0) * 1e9;
    let middle = numbers::duration_round((time_s.0 + (time_s.1 - time_s.0) / 2.0) * 1e9);
    let end = numbers::duration_round(time_s.0 * 1e9 + length_ns);
    let start = match time_s.0 {
        0.0 => "0".into(),
        from => numbers::duration_round(from * 1e9),
    };
    let half = columns / 2;
    let first = format!(
        "{start}{middle:>width$}",
        width = half.saturating_sub(start.len())
    );
    let rest = columns.saturating_sub(first.chars().count());
    let line = format!("  {:AXIS$}  {first}{end:>rest$}", "");
    page.line(&[(&line, Paint::Dim)]);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_single_quantum_shows_beside_a_million() {
        assert_eq!(shade(0, 1_000_000, false), ' ');
        assert_eq!(shade(1, 1_000_000, false), '·');
        assert_eq!(shade(1_000, 1_000_000, false), '▒');
        assert_eq!(shade(1_000_000, 1_000_000, false), '█');
        assert_eq!(shade(1, 1, true), '@');
    }
}
