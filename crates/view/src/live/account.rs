//! The ledger on the screen: the last second beside all since the start, in the report's lines.

use super::canvas::{Canvas, Tone};
use crate::numbers;
use crate::text::account::{Kind, Line, bar, lines};
use bandscope_analysis::live::Cpu;
use bandscope_report::Ledger;

/// Columns of a time, of a percentage, of the bar.
const TIME: u16 = 9;
const SHARE: u16 = 9;
const BAR: u16 = 7;
/// The least for the names of causes.
const NAMES: u16 = 12;

/// Lines that the account would like to have, its head included.
pub fn wanted(cpu: &Cpu) -> u16 {
    lines(&[&cpu.now.ledger, &cpu.whole]).len() as u16 + 1
}

/// Draws as much of the account as fits, which adds up whatever is left out: the smallest losses become one line.
pub fn account(cpu: &Cpu, canvas: &mut Canvas<'_>) {
    let ledgers = [&cpu.now.ledger, &cpu.whole];
    let lines = fitting(lines(&ledgers), canvas.height.saturating_sub(1).into());
    let columns = Columns::of(canvas.width);
    let title = match columns.names {
        19.. => "Where the time went",
        _ => "Time",
    };
    canvas.put(0, 0, columns.names, title, Tone::Bold);
    if columns.times {
        canvas.put_right(columns.now, 0, TIME + SHARE, "last second", Tone::Dim);
        canvas.put_right(columns.since, 0, TIME + SHARE, "since start", Tone::Dim);
    } else {
        canvas.put_right(columns.now, 0, SHARE, "% now", Tone::Dim);
        canvas.put_right(columns.since, 0, SHARE, "start", Tone::Dim);
    }
    for (row, line) in (1..canvas.height).zip(&lines) {
        let tone = match line.kind {
            Kind::Wall => Tone::Dim,
            Kind::Work => Tone::Work,
            Kind::Loss => Tone::Plain,
        };
        canvas.put(1, row, columns.names.saturating_sub(1), &line.name, tone);
        figures(
            line.ns[0],
            ledgers[0],
            columns.now,
            row,
            &columns,
            tone,
            canvas,
        );
        figures(
            line.ns[1],
            ledgers[1],
            columns.since,
            row,
            &columns,
            tone,
            canvas,
        );
        let lost = cpu
            .now
            .ledger
            .wall_ns
            .saturating_sub(cpu.now.ledger.work_ns);
        if columns.bar && line.kind == Kind::Loss && lost > 0 {
            let bar = bar(
                line.ns[0] as f64 / lost as f64,
                usize::from(BAR) - 1,
                canvas.look.ascii,
            );
            canvas.raw(columns.since + 1, row, BAR - 1, &bar, Tone::Loss);
        }
    }
}

/// Right ends of the columns.
struct Columns {
    names: u16,
    now: u16,
    since: u16,
    times: bool,
    bar: bool,
}

impl Columns {
    fn of(width: u16) -> Columns {
        let bar = width >= NAMES + 2 * (TIME + SHARE) + BAR;
        let since = if bar { width - BAR } else { width };
        let times = since >= NAMES + 2 * (TIME + SHARE);
        let each = if times {
            TIME + SHARE
        } else {
            SHARE.min((since / 4).max(7)).min(since / 2)
        };
        Columns {
            names: since.saturating_sub(2 * each),
            now: since.saturating_sub(each),
            since,
            times,
            bar,
        }
    }
}

fn figures(
    ns: i128,
    ledger: &Ledger,
    end: u16,
    row: u16,
    columns: &Columns,
    tone: Tone,
    canvas: &mut Canvas<'_>,
) {
    let share = numbers::percent(ns as f64 / ledger.wall_ns as f64);
    if columns.times {
        let time = numbers::duration_fine(ns);
        canvas.put_right(end.saturating_sub(SHARE), row, TIME, &time, tone);
        canvas.put_right(end, row, SHARE - 1, &share, tone);
    } else {
        let share = share.trim_end_matches(" %");
        canvas.put_right(end, row, SHARE - 1, share, tone);
    }
}

/// The lines in `most` rows: wall time and work stand first; of the losses the largest since the start, the rest in one.
fn fitting(mut lines: Vec<Line>, most: usize) -> Vec<Line> {
    if lines.len() <= most {
        return lines;
    }
    if most < 4 {
        // Not room for an account: work, and the largest loss.
        lines.retain(|line| line.kind != Kind::Wall);
    }
    let first = lines.iter().position(|line| line.kind == Kind::Loss);
    let mut losses = lines.split_off(first.unwrap_or(lines.len()));
    losses.sort_by_key(|line| std::cmp::Reverse(line.ns[1]));
    let room = most.saturating_sub(lines.len());
    if room > 0 && losses.len() > room {
        let rest = losses.split_off(room - 1);
        losses.push(Line {
            name: match room {
                1 => "lost".into(),
                _ => format!("{} smaller losses", rest.len()),
            },
            ns: (0..2)
                .map(|index| rest.iter().map(|line| line.ns[index]).sum())
                .collect(),
            kind: Kind::Loss,
        });
    }
    lines.extend(losses);
    lines.truncate(most);
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use bandscope_report::Cause;

    #[test]
    fn what_is_left_out_is_added_up() {
        let mut ledger = Ledger {
            wall_ns: 1_000,
            work_ns: 900,
            unexplained_ns: 5,
            ..Ledger::default()
        };
        for (index, name) in "abcdef".chars().enumerate() {
            ledger
                .gaps_ns
                .insert(Cause::Task(name.to_string().into()), 10 + index as u64);
        }
        for most in 1..12 {
            let lines = fitting(lines(&[&ledger, &ledger]), most);
            assert!(lines.len() <= most);
            let sum: i128 = lines
                .iter()
                .filter(|line| line.kind != Kind::Wall)
                .map(|line| line.ns[1])
                .sum();
            assert!(sum == 980 || most < 2, "{most}: {sum}");
        }
        let two = fitting(lines(&[&ledger, &ledger]), 2);
        let names: Vec<&str> = two.iter().map(|line| line.name.as_str()).collect();
        assert_eq!(names, ["work", "lost"]);
    }
}
