//! The paces held in the last second, and the largest gaps: two small tables.

use super::canvas::{Canvas, Tone};
use crate::numbers;
use bandscope_analysis::live::{Band, Cpu};

/// Columns of a figure.
const FIGURE: u16 = 9;

/// Lines that the bands would like to have.
pub fn wanted_bands(cpu: &Cpu) -> u16 {
    1 + rows(cpu).len() as u16
}

/// Lines that the gaps would like to have.
pub fn wanted_gaps(cpu: &Cpu) -> u16 {
    1 + cpu.longest.len() as u16
}

/// Work kernel and band of each row; the kernel where there are several.
fn rows(cpu: &Cpu) -> Vec<(&str, &Band)> {
    let several = cpu.now.paces.len() > 1;
    let paces = cpu.now.paces.iter();
    paces
        .flat_map(|pace| {
            let name = if several { pace.kernel.as_str() } else { "" };
            pace.bands.iter().map(move |band| (name, band))
        })
        .collect()
}

/// The paces, the most frequent where not all fit.
pub fn bands(cpu: &Cpu, canvas: &mut Canvas<'_>) {
    let paces = &cpu.now.paces;
    let now: Vec<String> = paces
        .iter()
        .map(|pace| {
            let now = numbers::pace(pace.ns_per_unit);
            match pace.best_ns > 0.0 {
                true => format!("{now} ns/unit, best {}", numbers::pace(pace.best_ns)),
                false => format!("{now} ns/unit"),
            }
        })
        .collect();
    canvas.put(0, 0, 9, "Pace now", Tone::Bold);
    canvas.put(10, 0, canvas.width, &now.join("; "), Tone::Plain);
    let mut rows = rows(cpu);
    let room = usize::from(canvas.height.saturating_sub(1));
    if rows.len() > room {
        let mut shares: Vec<f64> = rows.iter().map(|row| row.1.share).collect();
        shares.sort_by(|a, b| b.total_cmp(a));
        let least = room.checked_sub(1).map_or(f64::INFINITY, |n| shares[n]);
        rows.retain(|row| row.1.share >= least);
    }
    for (y, (kernel, band)) in (1..canvas.height).zip(rows) {
        let within = format!("±{}", numbers::percent(band.half_width));
        let since = format!("{} since start", numbers::percent(band.share_since_start));
        canvas.put_right(
            FIGURE,
            y,
            FIGURE,
            &numbers::pace(band.ns_per_unit),
            Tone::Plain,
        );
        canvas.put_right(2 * FIGURE, y, FIGURE, &within, Tone::Dim);
        canvas.put_right(
            3 * FIGURE,
            y,
            FIGURE,
            &numbers::percent(band.share),
            Tone::Plain,
        );
        let last = match kernel {
            "" => format!("now, {since}"),
            kernel => format!("now, {kernel}"),
        };
        canvas.put(3 * FIGURE + 1, y, canvas.width, &last, Tone::Dim);
    }
}

/// The largest gaps: how long, how long ago, when, what.
pub fn gaps(cpu: &Cpu, canvas: &mut Canvas<'_>) {
    let now = &cpu.now;
    let seconds = now.ledger.wall_ns as f64 / 1e9;
    let rate = if seconds > 0.0 {
        now.gaps as f64 / seconds
    } else {
        0.0
    };
    let head = format!(
        "{} per s now, {} since start",
        numbers::significant(rate, 3),
        numbers::count(cpu.gaps)
    );
    canvas.put(0, 0, 12, "Largest gaps", Tone::Bold);
    canvas.put(14, 0, canvas.width, &head, Tone::Plain);
    for (y, gap) in (1..canvas.height).zip(&cpu.longest) {
        let ago = (cpu.measured_s - gap.at_s).max(0.0);
        let ago = format!(
            "{} ago",
            numbers::duration_round(ago.max(1.0).floor() * 1e9)
        );
        let at = format!("at {} s", numbers::significant(gap.at_s, 4));
        canvas.put_right(FIGURE, y, FIGURE, &numbers::duration(gap.ns), Tone::Plain);
        let cause = gap.cause.to_string();
        canvas.put(FIGURE + 2, y, canvas.width, &cause, Tone::Loss);
        // Names are cut off by when it was, not the other way round.
        let when = match canvas.width {
            60.. => format!("  {at}, {ago}"),
            38.. => format!("  {ago}"),
            _ => String::new(),
        };
        canvas.put_right(canvas.width, y, canvas.width, &when, Tone::Dim);
    }
}
