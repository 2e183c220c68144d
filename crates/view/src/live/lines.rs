//! The same without a terminal: a line a second and CPU, and the account that is left at the end.

use super::Look;
use crate::numbers;
use crate::text::account::{Kind, lines};
use crate::{escape, text::account::Line};
use bandscope_analysis::live::{Second, Snapshot};
use bandscope_report::Ledger;

/// Losses that a line names.
const NAMED: usize = 3;

/// One second of one CPU in one line, without its end.
pub fn second(second: &Second, look: Look) -> String {
    let ledger = &second.ledger;
    let mut text = format!(
        "{:>6} s  CPU {:<3}  lost {:>8}",
        second.number,
        second.cpu,
        numbers::percent(lost(ledger))
    );
    for pace in &second.paces {
        text += &format!("  {} ns/unit", numbers::pace(pace.ns_per_unit));
    }
    text += &format!("  {}", numbers::plural(second.gaps, "gap", "gaps"));
    if let Some(gap) = &second.longest {
        text += &format!(", longest {} ({})", numbers::duration(gap.ns), gap.cause);
    }
    let mut losses: Vec<Line> = lines(&[ledger])
        .into_iter()
        .filter(|line| line.kind == Kind::Loss && line.ns[0] > 0)
        .collect();
    losses.sort_by_key(|line| std::cmp::Reverse(line.ns[0]));
    let named: Vec<String> = losses
        .iter()
        .take(NAMED)
        .map(|line| {
            let share = numbers::percent(line.ns[0] as f64 / ledger.wall_ns as f64);
            format!("{} {share}", line.name)
        })
        .collect();
    if !named.is_empty() {
        text += &format!("  {}", named.join(", "));
    }
    safe(&text, look)
}

/// What is left on the terminal when the picture is gone: the account of each CPU since the start.
pub fn summary(snapshot: &Snapshot, look: Look) -> String {
    let mut text = String::new();
    for cpu in &snapshot.cpus {
        let ledger = &cpu.whole;
        if ledger.wall_ns == 0 {
            text += &format!("CPU {}: nothing was measured\n", cpu.cpu);
            continue;
        }
        text += &format!(
            "CPU {}: {} measured, {} lost, {}\n",
            cpu.cpu,
            numbers::duration(ledger.wall_ns as f64),
            numbers::percent(lost(ledger)),
            numbers::plural(cpu.gaps, "gap", "gaps")
        );
        let mut rows = lines(&[ledger]);
        rows.retain(|line| line.kind != Kind::Wall);
        for line in rows {
            let share = numbers::percent(line.ns[0] as f64 / ledger.wall_ns as f64);
            let time = numbers::duration_fine(line.ns[0]);
            let name: String = safe(&line.name, look).chars().take(40).collect();
            text += &format!("  {name:40} {time:>9} {share:>9}\n");
        }
        if let Some(gap) = cpu.longest.first() {
            let cause = safe(&gap.cause.to_string(), look);
            let at = numbers::significant(gap.at_s, 4);
            text += &format!(
                "  longest gap {} at {at} s ({cause})\n",
                numbers::duration(gap.ns)
            );
        }
    }
    match look.ascii {
        // The unit of microseconds.
        true => text.replace('µ', "u"),
        false => text,
    }
}

/// Share of the wall time that was neither work nor the measurement's own.
fn lost(ledger: &Ledger) -> f64 {
    let lost = ledger
        .wall_ns
        .saturating_sub(ledger.work_ns + ledger.measurement_ns);
    lost as f64 / ledger.wall_ns as f64
}

fn safe(text: &str, look: Look) -> String {
    match look.ascii {
        true => escape::visible_ascii(text),
        false => escape::visible(text),
    }
}
