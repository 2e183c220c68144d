//! The CPUs, best first: one line each, and where there are many the best and the worst.

use super::table::{Cell, Page, Paint, Side, Table};
use crate::{numbers, panels};
use bandscope_report::Cpu;
use bandscope_report::Report;

/// Of more than `most` CPUs, the best and the worst. Nothing where there is one CPU: its own account says it.
pub(super) fn cpus(report: &Report, most: usize, one_follows: bool, page: &mut Page<'_>) {
    let cpus = &report.cpus;
    if cpus.len() < 2 {
        return;
    }
    // One window for all: the shortest that the best CPU has.
    let window = cpus[0].availability.first().map(|one| one.window_s);
    let worst = window.map_or("worst".to_owned(), |seconds| {
        format!("worst {}", numbers::duration_round(seconds * 1e9))
    });
    let several = cpus.iter().any(|cpu| cpu.origin != cpus[0].origin);
    let mut table = Table::new("CPUs")
        .column("lost", Side::Right)
        .column("gaps", Side::Right)
        .column("pace", Side::Right)
        .column(&worst, Side::Right)
        .column("bands", Side::Right)
        .column("longest", Side::Right)
        .column("at once", Side::Right);
    let either_end = most / 2 - 1;
    let left = match cpus.len() {
        few if few <= most => 0,
        many => many - 2 * either_end,
    };
    let upper = if left > 0 { either_end } else { cpus.len() };
    for cpu in &cpus[..upper] {
        table.row(row(cpu, window, several));
    }
    if left > 0 {
        table.row(vec![Cell::painted(format!("... {left} more"), Paint::Dim)]);
        for cpu in &cpus[cpus.len() - either_end..] {
            table.row(row(cpu, window, several));
        }
    }
    page.blank();
    page.table(&table);
    let mut note = "Best first.".to_owned();
    if cpus.iter().any(|cpu| cpu.synchronous.is_some()) {
        note += " At once: share of its gap time in which others were away, too.";
    }
    if one_follows {
        note += " The CPU that lost most follows; --format json has all of them.";
    }
    page.wrapped(("  ", Paint::Plain), &note, Paint::Dim);
}

fn row(cpu: &Cpu, window: Option<f64>, several: bool) -> Vec<Cell> {
    let mut name = panels::cpu_name(Some(cpu.cpu), cpu.place.as_ref());
    if several && cpu.place.is_none() {
        name = format!("{name} {}", panels::file_name(&cpu.origin));
    }
    let none = || numbers::NONE.to_owned();
    let availability = cpu
        .availability
        .iter()
        .find(|one| Some(one.window_s) == window);
    vec![
        name.into(),
        Cell::painted(numbers::percent(cpu.lost), Paint::Loss),
        numbers::percent(cpu.gaps).into(),
        numbers::percent(cpu.pace).into(),
        availability
            .map_or_else(none, |one| numbers::percent(one.worst))
            .into(),
        cpu.bands.to_string().into(),
        cpu.longest_gap_ns
            .map_or_else(none, numbers::duration)
            .into(),
        cpu.synchronous.map_or_else(none, numbers::percent).into(),
    ]
}
