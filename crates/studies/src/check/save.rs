//! A baseline of reports, and in what another machine differs from it.

use super::Change;
use super::cpu::changes;
use super::merge::merged;
use super::notes::far_limits;
use crate::conditions::{Unit, same};
use bandscope_recording::Manifest;
use bandscope_recording::baseline::{Baseline, BaselineCpu, BaselineFigure, SCHEMA};
use bandscope_recording::cpu_list;
use bandscope_recording::manifest::{EventsState, Machine};
use bandscope_report::Report;

/// The baseline of several runs of the same CPUs; `None` without a recording.
pub fn baseline(runs: &[Report]) -> Option<Baseline> {
    let manifest = runs.iter().find_map(|run| run.recording.as_ref())?;
    let cpus = merged(runs, &[]).into_iter().filter_map(|cpu| {
        let figures = cpu.figures.into_iter().filter_map(|one| {
            Some(BaselineFigure {
                name: one.name,
                values: one.values.into_iter().collect::<Option<Vec<f64>>>()?,
            })
        });
        Some(BaselineCpu {
            cpu: cpu.cpu?,
            figures: figures.collect(),
        })
    });
    Some(Baseline {
        schema: SCHEMA.into(),
        tool: manifest.tool.clone(),
        started: manifest.started.clone(),
        settings: manifest.settings.clone(),
        machine: manifest.machine.clone(),
        events: manifest.events.state == EventsState::On,
        runs: runs.len() as u32,
        cpus: cpus.collect(),
    })
}

/// Limits of a baseline that are so far off that they hardly bound anything, for as many runs as it was made of: a sentence each.
pub fn far_off(runs: &[Report], baseline: &Baseline) -> Vec<String> {
    let cpus = merged(runs, &[]);
    let changes = changes(&cpus, baseline);
    let of_cpus = changes.iter().map(|(place, one)| (cpus[*place].cpu, one));
    far_limits(of_cpus, baseline)
}

/// The figure that no CPU can have more of than 1.
const LOST: &str = "lost";
/// A CPU that lost so much is no quiet one: a limit above that hides whatever comes later. Chosen, not measured.
const DISTURBED: f64 = 0.1;

/// Why these runs are no baseline: no loss could exceed the limit that they set. `None` if they are one.
pub fn cannot_fail(runs: &[Report], baseline: &Baseline) -> Option<String> {
    let cpus = merged(runs, &[]);
    let changes = changes(&cpus, baseline);
    let of_all = |one: &Change| same(&one.name, LOST) && one.limit >= 1.0;
    let (place, change) = changes.iter().find(|(_, one)| of_all(one))?;
    Some(format!(
        "{} lost {} in runs that scatter so much that no loss would be too much",
        cpu_list::named(&[cpus[*place].cpu?]),
        change.unit.written(change.baseline)
    ))
}

/// CPUs that were disturbed while a baseline was made: a sentence each.
pub fn disturbed(baseline: &Baseline) -> Vec<String> {
    let of_cpu = |cpu: &BaselineCpu| {
        let lost = cpu.figures.iter().find(|figure| same(&figure.name, LOST))?;
        let mean = lost.values.iter().sum::<f64>() / lost.values.len() as f64;
        (mean >= DISTURBED).then(|| {
            format!(
                "CPU {} lost {} when this baseline was made: what comes later is seen only beyond that. Make it quieter, and save it anew.",
                cpu.cpu,
                Unit::Share.written(mean)
            )
        })
    };
    baseline.cpus.iter().filter_map(of_cpu).collect()
}

/// In what a machine differs from that of a baseline, so that figures may differ too: a sentence each.
pub fn differences(baseline: &Baseline, now: &Manifest) -> Vec<String> {
    let of = |machine: &Machine| {
        [
            ("CPU model", machine.cpu_model.clone()),
            ("microcode", machine.microcode.clone()),
            ("kernel", machine.kernel.clone()),
            ("hypervisor", machine.hypervisor.clone()),
            ("list of online CPUs", machine.online_cpus.clone()),
            ("list of isolated CPUs", machine.isolated_cpus.clone()),
            ("frequency driver", machine.frequency_driver.clone()),
        ]
    };
    // A simulated machine says what it is in its settings.
    let is_real = !now.settings.machine.starts_with("simulated:");
    let shown = |value: Option<String>| value.unwrap_or_else(|| "not known".into());
    let pairs = of(&baseline.machine).into_iter().zip(of(&now.machine));
    let mut notes: Vec<String> = pairs
        .filter(|(past, now)| is_real && past.1 != now.1)
        .map(|((what, past), (_, now))| {
            format!(
                "The {what} differs from the baseline: {}, then {}.",
                shown(now),
                shown(past)
            )
        })
        .collect();
    let has_events = now.events.state == EventsState::On;
    match (baseline.events, has_events) {
        (true, false) => notes.push(
            "The baseline names what gaps were, and this run does not: run it as root.".into(),
        ),
        (false, true) => {
            notes.push("The baseline does not name what gaps were: save it anew as root.".into())
        }
        _ => {}
    }
    notes
}
