//! Where everything stands, by the size of the screen.

use super::canvas::{Canvas, Tone};
use super::{Picture, account, density, heads, paces, strip};
use crate::numbers;
use bandscope_analysis::live::{Cpu, Level};
use ratatui_core::buffer::Buffer;

/// From this width on the tables stand beside each other.
const WIDE: u16 = 116;
/// Columns left of the strips, for the names of CPUs and for paces.
const AXIS: u16 = 10;
/// Columns right of the strips, for what was lost in the last second.
const LOST: u16 = 9;
/// From this many rows for one CPU on, its paces are drawn, in a third of them at most.
const ROOM_FOR_PACES: u16 = 13;
/// Rows of the paces, without their axis.
const PACES: std::ops::RangeInclusive<u16> = 4..=16;

/// Draws the whole screen.
pub fn draw(picture: &Picture<'_>, buffer: &mut Buffer) {
    let area = buffer.area;
    let mut canvas = Canvas {
        buffer,
        look: picture.look,
        x: area.x,
        y: area.y,
        width: area.width,
        height: area.height,
    };
    let (width, height) = (area.width, area.height);
    if height == 0 || width == 0 {
        return;
    }
    heads::head(picture, &mut canvas);
    let mut top = 1;
    if height >= 4 {
        let empty = Level::default();
        let first = picture.snapshot.cpus.first();
        let level = first.map_or(&empty, |cpu| level(cpu, picture));
        heads::foot(picture, level, height - 1, &mut canvas);
    }
    let bottom = if height >= 4 { height - 1 } else { height };
    if picture.state.help {
        return heads::help(&mut canvas.part(0, 2, width, bottom.saturating_sub(2)));
    }
    let chosen = picture.state.chosen;
    let Some(cpu) = picture.snapshot.cpus.get(chosen) else {
        return;
    };
    let rows = bottom - top.min(bottom);
    let strips = rows_for_cpus(picture.snapshot.cpus.len(), rows);
    cpus(picture, &mut canvas.part(0, top, width, strips));
    top += strips;
    if cpu.now.number == 0 {
        let text = "measuring the first second";
        return canvas.put(1, top + 1, width, text, Tone::Dim);
    }
    let left = bottom - top.min(bottom);
    if left >= ROOM_FOR_PACES {
        let rows = (left / 3).clamp(*PACES.start(), *PACES.end());
        over_time(cpu, picture, &mut canvas.part(0, top, width, rows + 1));
        top += rows + 1;
    }
    tables(
        cpu,
        &mut canvas.part(0, top, width, bottom - top.min(bottom)),
    );
}

/// Rows for the strips of all CPUs: a third of the screen, or as many as there are.
fn rows_for_cpus(cpus: usize, rows: u16) -> u16 {
    let most = (rows / 3).max(1);
    u16::try_from(cpus).unwrap_or(u16::MAX).min(most).min(rows)
}

fn level<'a>(cpu: &'a Cpu, picture: &Picture<'_>) -> &'a Level {
    let levels = &cpu.history.levels;
    &levels[picture.state.width.min(levels.len() - 1)]
}

/// Number of the newest cell of any CPU.
fn newest(picture: &Picture<'_>) -> u64 {
    let cpus = picture.snapshot.cpus.iter();
    let last = cpus.filter_map(|cpu| level(cpu, picture).cells.back());
    last.map(|cell| cell.number).max().unwrap_or(0)
}

/// Axis and strip columns, by the width.
fn strip_columns(width: u16) -> (u16, u16) {
    let axis = if width >= 40 { AXIS } else { 7.min(width) };
    (axis, width.saturating_sub(axis + LOST))
}

/// A line for each CPU, around the chosen one where not all have room.
fn cpus(picture: &Picture<'_>, canvas: &mut Canvas<'_>) {
    let all = &picture.snapshot.cpus;
    let chosen = picture.state.chosen;
    let rows = usize::from(canvas.height);
    let first = (chosen + 1).saturating_sub(rows.div_ceil(2).max(1) + rows / 2);
    let first = first.min(all.len().saturating_sub(rows));
    let last = newest(picture);
    let (axis, columns) = strip_columns(canvas.width);
    for (y, (index, cpu)) in (0..canvas.height).zip(all.iter().enumerate().skip(first)) {
        let mine = index == chosen && all.len() > 1;
        let mark = if mine { ">" } else { " " };
        let tone = if mine { Tone::Bold } else { Tone::Plain };
        canvas.put(0, y, axis, &format!("{mark}CPU {}", cpu.cpu), tone);
        let strip = strip::strip(level(cpu, picture), last, columns, canvas.look.ascii);
        canvas.raw(axis, y, columns, &strip, Tone::Loss);
        let ledger = &cpu.now.ledger;
        if ledger.wall_ns > 0 {
            let lost = ledger
                .wall_ns
                .saturating_sub(ledger.work_ns + ledger.measurement_ns);
            let lost = numbers::percent(lost as f64 / ledger.wall_ns as f64);
            canvas.put_right(canvas.width, y, LOST - 1, &lost, tone);
        }
    }
}

/// The paces of the chosen CPU over time, and the axis of all strips.
fn over_time(cpu: &Cpu, picture: &Picture<'_>, canvas: &mut Canvas<'_>) {
    let (axis, columns) = strip_columns(canvas.width);
    let level = level(cpu, picture);
    let rows = canvas.height - 1;
    let to_ns = cpu.history.ns_per_tick;
    let width = axis + columns;
    density::density(
        level,
        newest(picture),
        axis,
        to_ns,
        &mut canvas.part(0, 0, width, rows),
    );
    let ago = |columns: u16| {
        let seconds = f64::from(columns) * level.width_s;
        format!("-{}", numbers::duration_round(seconds * 1e9))
    };
    canvas.put_right(axis.saturating_sub(2), rows, axis, "ns/unit", Tone::Dim);
    canvas.put(axis, rows, columns, &ago(columns), Tone::Dim);
    if columns >= 40 {
        canvas.put(
            axis + columns / 2,
            rows,
            columns,
            &ago(columns - columns / 2),
            Tone::Dim,
        );
    }
    canvas.put_right(width, rows, columns, "now", Tone::Dim);
    canvas.put_right(canvas.width, rows, LOST, "lost", Tone::Dim);
}

/// Account, bands and gaps: beside each other where there is room, else below each other.
fn tables(cpu: &Cpu, canvas: &mut Canvas<'_>) {
    let (width, height) = (canvas.width, canvas.height);
    let wanted = [
        account::wanted(cpu),
        paces::wanted_bands(cpu),
        paces::wanted_gaps(cpu),
    ];
    if width >= WIDE {
        // The account has the longer lines; the others need no more than this.
        let half = width - 52.max(2 * width / 5);
        account::account(cpu, &mut canvas.part(1, 0, half - 3, height));
        let [_, bands, gaps] = shared([0, wanted[1], wanted[2]], height.saturating_sub(1));
        let right = width - half - 1;
        paces::bands(cpu, &mut canvas.part(half, 0, right, bands));
        paces::gaps(cpu, &mut canvas.part(half, bands + 1, right, gaps));
        return;
    }
    let [account, bands, gaps] = shared(wanted, height);
    let inner = width.saturating_sub(1);
    account::account(cpu, &mut canvas.part(0, 0, inner, account));
    paces::bands(cpu, &mut canvas.part(0, account, inner, bands));
    paces::gaps(cpu, &mut canvas.part(0, account + bands, inner, gaps));
}

/// Shares rows among the three: first what makes each of them worth having, in this order, then a row each in turn, two for the
/// account.
fn shared(wanted: [u16; 3], rows: u16) -> [u16; 3] {
    const LEAST: [u16; 3] = [4, 2, 2];
    let mut given = [0; 3];
    let mut left = rows;
    for index in 0..3 {
        let least = LEAST[index].min(wanted[index]);
        if left >= least {
            given[index] = least;
            left -= least;
        } else if index == 0 {
            given[0] = left;
            left = 0;
        }
    }
    while left > 0 {
        let before = left;
        for index in [0, 0, 1, 2] {
            if left > 0 && given[index] > 0 && given[index] < wanted[index] {
                given[index] += 1;
                left -= 1;
            }
        }
        if left == before {
            break;
        }
    }
    given
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_shared() {
        assert_eq!(shared([10, 4, 9], 30), [10, 4, 9]);
        assert_eq!(shared([10, 4, 9], 15), [8, 4, 3]);
        assert_eq!(shared([10, 4, 9], 5), [5, 0, 0]);
        assert_eq!(shared([10, 4, 9], 2), [2, 0, 0]);
        assert_eq!(shared([0, 4, 9], 7), [0, 4, 3]);
        for rows in 0..40 {
            assert!(shared([9, 5, 17], rows).iter().sum::<u16>() <= rows);
        }
    }
}
