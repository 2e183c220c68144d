//! A baseline of reports, and in what another machine differs from it.

use super::Change;
use super::cpu::{changes, is_steady};
use super::merge::merged;
use super::notes::{far_limits, limits};
use crate::conditions::{Unit, is_line, same};
use bandscope_recording::Manifest;
use bandscope_recording::baseline::{Baseline, BaselineCpu, BaselineFigure, SCHEMA};
use bandscope_recording::cpu_list;
use bandscope_recording::manifest::{EventsState, Machine, Settings};
use bandscope_report::Report;
use bandscope_statistics::order::median_between;

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

/// The limits of a baseline for one more run, and those that are so far off that they hardly bound anything: a sentence each.
pub fn limits_of(runs: &[Report], baseline: &Baseline) -> Vec<String> {
    let cpus = merged(runs, &[]);
    let changes = changes(&cpus, baseline, Some(1));
    let of_cpus = || changes.iter().map(|(place, one)| (cpus[*place].cpu, one));
    let mut told: Vec<String> = limits(of_cpus()).into_iter().collect();
    told.extend(far_limits(of_cpus(), baseline));
    told
}

/// The figure that no CPU can have more of than 1.
const LOST: &str = "lost";
/// A CPU that lost so much is no quiet one: a limit above that hides whatever comes later. Chosen, not measured.
const DISTURBED: f64 = 0.1;
/// A run was disturbed if it lost so many times as much as the median, and so much more. Chosen, not measured.
const UNEVEN: f64 = 2.0;
const UNEVEN_BY: f64 = 0.005;
/// CPUs of which that is told, at most.
const MAX_TOLD: usize = 4;

/// Why these runs are no baseline: no loss could exceed the limit that they set. `None` if they are one.
pub fn cannot_fail(runs: &[Report], baseline: &Baseline) -> Option<String> {
    let cpus = merged(runs, &[]);
    let changes = changes(&cpus, baseline, None);
    let scatters = |place: usize| {
        cpus[place]
            .cpu
            .is_some_and(|cpu| !is_steady(baseline, cpu, LOST))
    };
    let of_all = |one: &Change| same(&one.name, LOST) && one.limit >= 1.0;
    let mut changes = changes.iter();
    let (place, change) = changes.find(|(place, one)| of_all(one) && scatters(*place))?;
    Some(format!(
        "{} lost {}, and its runs scatter so much that no loss could fail",
        cpu_list::named(&[cpus[*place].cpu?]),
        change.unit.written(change.baseline)
    ))
}

/// CPUs that were disturbed while a baseline was made, all the time or in some runs: a sentence each, and how many more.
pub fn disturbed(baseline: &Baseline) -> Vec<String> {
    let of_cpu = |cpu: &BaselineCpu| {
        let lost = cpu.figures.iter().find(|figure| same(&figure.name, LOST))?;
        let median = median_between(lost.values.clone())?;
        match median >= DISTURBED {
            true => Some(format!(
                "CPU {} lost {} when this baseline was made: what comes later is seen only beyond that. Make it quieter, and save it anew.",
                cpu.cpu,
                Unit::Share.written(median)
            )),
            false => uneven(cpu, (&lost.values, median), baseline.events),
        }
    };
    let mut told: Vec<String> = baseline.cpus.iter().filter_map(of_cpu).collect();
    let more = told.len().saturating_sub(MAX_TOLD);
    told.truncate(MAX_TOLD);
    told.extend(
        (more > 0).then(|| format!("{more} more CPUs were disturbed when this baseline was made.")),
    );
    told
}

/// That some runs of a CPU lost far more than the median, and what grew most in them.
fn uneven(cpu: &BaselineCpu, (lost, median): (&[f64], f64), is_named: bool) -> Option<String> {
    let is_uneven = |lost: &f64| *lost > UNEVEN * median && *lost > median + UNEVEN_BY;
    let uneven: Vec<bool> = lost.iter().map(is_uneven).collect();
    let number = uneven.iter().filter(|one| **one).count();
    if number == 0 {
        return None;
    }
    let grew = |values: &[f64]| {
        let mean = |of: bool| {
            let such = values.iter().zip(&uneven).filter(|(_, one)| **one == of);
            let (sum, n) = such.fold((0.0, 0.0), |(sum, n), (value, _)| (sum + value, n + 1.0));
            sum / f64::max(n, 1.0)
        };
        mean(true) - mean(false)
    };
    // Without names the slower pace would be the culprit, as the only line.
    let lines = (cpu.figures.iter()).filter(|figure| is_named && is_line(&figure.name));
    let culprit = lines.max_by(|a, b| grew(&a.values).total_cmp(&grew(&b.values)));
    let culprit = culprit.filter(|line| grew(&line.values) > 0.0);
    Some(format!(
        "CPU {} was disturbed in {number} of {} runs: up to {} was lost, and in half of the runs {} or less{}. That widens limits; save it anew \
         without that.",
        cpu.cpu,
        lost.len(),
        Unit::Share.written(lost.iter().copied().fold(0.0, f64::max)),
        Unit::Share.written(median),
        culprit.map_or(String::new(), |line| format!("; {} grew most", line.name))
    ))
}

/// In what a machine, or how it was measured, differs from that of a baseline, so that figures may differ too: a sentence each.
pub fn differences(baseline: &Baseline, now: &Manifest) -> Vec<String> {
    let or_none = |text: String| match text.is_empty() {
        true => Some("none".to_owned()),
        false => Some(text),
    };
    let of = |machine: &Machine, settings: &Settings| {
        [
            ("CPU model", machine.cpu_model.clone()),
            ("microcode", machine.microcode.clone()),
            ("kernel", machine.kernel.clone()),
            ("hypervisor", machine.hypervisor.clone()),
            ("list of online CPUs", machine.online_cpus.clone()),
            ("list of isolated CPUs", machine.isolated_cpus.clone()),
            ("frequency driver", machine.frequency_driver.clone()),
            ("real-time priority", or_none(settings.priority.clone())),
            (
                "joined control group",
                or_none(settings.control_groups.join(", ")),
            ),
        ]
    };
    // A simulated machine says what it is in its settings.
    let is_real = !now.settings.machine.starts_with("simulated:");
    let shown = |value: Option<String>| value.unwrap_or_else(|| "not known".into());
    let past = of(&baseline.machine, &baseline.settings);
    let pairs = past.into_iter().zip(of(&now.machine, &now.settings));
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_that_were_disturbed_are_told_with_what_grew() {
        let of = |lost: &[f64]| {
            let figure = |name: &str, values: Vec<f64>| BaselineFigure {
                name: name.into(),
                values,
            };
            disturbed(&Baseline {
                cpus: vec![BaselineCpu {
                    cpu: 1,
                    figures: vec![
                        figure(LOST, lost.to_vec()),
                        figure("tick", vec![0.004; lost.len()]),
                        figure("task:*", lost.to_vec()),
                        figure("task:make", lost.iter().map(|lost| lost / 2.0).collect()),
                    ],
                }],
                events: true,
                ..Baseline::default()
            })
        };
        assert_eq!(of(&[0.01, 0.011, 0.009, 0.012, 0.013]), [""; 0]);
        let told = of(&[0.01, 0.011, 0.05, 0.012, 0.009]);
        let wanted = "CPU 1 was disturbed in 1 of 5 runs: up to 5.0 % was lost, and in half of the runs 1.1 % or less; task:make grew most. ";
        assert!(told[0].starts_with(wanted), "{told:?}");
        // One bad run is no busy CPU.
        assert!(of(&[0.01, 0.01, 0.01, 0.5])[0].starts_with("CPU 1 was disturbed in 1 of 4 runs"));
        assert!(of(&[0.2; 4])[0].starts_with("CPU 1 lost 20.0 % when"));
    }

    #[test]
    fn another_priority_and_another_control_group_are_told() {
        let mut now = Manifest::default();
        assert_eq!(differences(&Baseline::default(), &now), [""; 0]);
        now.settings.priority = "fifo:1".into();
        now.settings.control_groups = vec!["/sys/fs/cgroup/a".into()];
        assert_eq!(
            differences(&Baseline::default(), &now),
            [
                "The real-time priority differs from the baseline: fifo:1, then none.",
                "The joined control group differs from the baseline: /sys/fs/cgroup/a, then none.",
            ]
        );
    }
}
