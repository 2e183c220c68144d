//! One set of figures of several runs.

use super::Measured;
use super::judge::is_worst;
use crate::conditions::{Condition, Unit, figures};
use bandscope_report::Report;

/// The figures of one CPU.
#[derive(Clone, Debug, Default)]
pub(super) struct Cpu {
    pub(super) cpu: Option<u32>,
    pub(super) figures: Vec<Measured>,
}

/// The figures of each CPU over all runs; a line of the ledger that a run does not have took no time in it.
pub(super) fn merged(runs: &[Report], conditions: &[Condition]) -> Vec<Cpu> {
    let mut cpus: Vec<Cpu> = Vec::new();
    for (run, report) in runs.iter().enumerate() {
        for figure in figures(report, conditions) {
            let place = cpus.iter().position(|one| one.cpu == figure.cpu);
            let place = place.unwrap_or_else(|| {
                cpus.push(Cpu {
                    cpu: figure.cpu,
                    ..Cpu::default()
                });
                cpus.len() - 1
            });
            let known = &mut cpus[place].figures;
            let at = known.iter().position(|one| one.name == figure.name);
            let at = at.unwrap_or_else(|| {
                known.push(Measured {
                    name: figure.name.clone(),
                    unit: figure.unit,
                    ..Measured::default()
                });
                known.len() - 1
            });
            let one = &mut known[at];
            one.values.resize(run, None);
            one.values.push(figure.value);
            let is_extreme = one.values[..run].iter().all(|other| {
                pooled(one, &[*other, figure.value]) == figure.value || other.is_none()
            });
            if is_extreme {
                (one.at_s, one.by) = (figure.at_s, figure.by);
            }
        }
    }
    for cpu in &mut cpus {
        complete(&mut cpu.figures, runs.len());
    }
    cpus
}

/// Fills up what some run lacks, and pools.
fn complete(figures: &mut [Measured], runs: usize) {
    let host = figures.iter().find(|one| one.name == HOST);
    let is_named: Vec<bool> = (0..runs)
        .map(|run| host.is_some_and(|one| one.values.get(run).is_some_and(Option::is_some)))
        .collect();
    for one in figures {
        one.values.resize(runs, None);
        if one.unit == Unit::Share && !is_worst(&one.name) {
            for (value, is_named) in one.values.iter_mut().zip(&is_named) {
                *value = value.or(is_named.then_some(0.0));
            }
        }
        one.value = pooled(one, &one.values);
    }
}

/// What is known of every run whose gaps have names.
pub(super) const HOST: &str = "host";

/// The worst of lengths and windows, the mean of everything else; `None` if a run does not know it.
fn pooled(of: &Measured, values: &[Option<f64>]) -> Option<f64> {
    let known: Option<Vec<f64>> = values.iter().copied().collect();
    let known = known.filter(|known| !known.is_empty())?;
    let values = known.iter().copied();
    match of.unit {
        Unit::Seconds | Unit::Number => values.reduce(f64::max),
        Unit::Share if is_worst(&of.name) => values.reduce(f64::min),
        _ => Some(values.sum::<f64>() / known.len() as f64),
    }
}
