//! One CPU: its conditions and its changes.

use super::cause::cause;
use super::judge::{ERROR_RATE, Judged, Test, judge};
use super::line::sentence;
use super::merge::Cpu;
use super::{Change, CpuCheck, Criteria, JUDGED, Measured};
use crate::conditions::{
    Checked, Condition, ConditionError, Figure, LONGEST_GAP, Outcome, Past, all_of, is_line,
    next_step,
};
use bandscope_recording::baseline::Baseline;
use bandscope_statistics::holm;

/// Judges all CPUs together: they share one error rate. None passes if a condition ended the run.
pub(super) fn judged(
    cpus: &[Cpu],
    criteria: &Criteria<'_>,
    stopped_by: Option<&str>,
) -> Result<Vec<CpuCheck>, ConditionError> {
    let asks_for_changes = criteria.conditions.iter().any(Condition::is_change);
    let baseline = criteria.baseline.filter(|_| !asks_for_changes);
    let mut changes = baseline.map_or_else(Vec::new, |baseline| changes(cpus, baseline, None));
    let (of_limits, of_changes) = (limited(cpus), with_past(cpus, criteria));
    let figures = |condition: &Condition| match condition.is_change() {
        true => &of_changes,
        false => &of_limits,
    };
    for condition in criteria.conditions {
        // One that names no CPU of these is a mistake.
        let held = condition.hold(figures(condition)).map(drop);
        held.map_err(|error| match (error, criteria.baseline) {
            (ConditionError::NoBaseline(_), Some(_)) => no_change(condition, &of_limits),
            (other, _) => other,
        })?;
    }
    let mut checks = Vec::new();
    for (place, cpu) in cpus.iter().enumerate() {
        let mut check = CpuCheck {
            cpu: cpu.cpu,
            changes: changes
                .extract_if(.., |(of, _)| *of == place)
                .map(|(_, one)| one)
                .collect(),
            figures: cpu.figures.clone(),
            ..CpuCheck::default()
        };
        if baseline.is_some() && check.changes.is_empty() {
            return Err(ConditionError::NotJudged(check.name()));
        }
        let mut outcomes = Vec::new();
        for condition in criteria.conditions {
            if condition.cpu().is_none_or(|of| Some(of) == cpu.cpu) {
                let own = figures(condition).iter().filter(|one| one.cpu == cpu.cpu);
                let own: Vec<Figure> = own.cloned().collect();
                outcomes.push(outcome(condition, &own)?);
            }
        }
        outcomes.extend(stopped_by.map(|by| stopped(by, cpu)));
        let is_worse = check.changes.iter().any(|one| one.fails);
        check.passes = !is_worse && !outcomes.iter().any(|one| one.checked.met);
        // A gap that has a name says itself what it was, and so does a line of the ledger.
        if is_worse || (outcomes.iter()).any(|one| one.checked.met && !one.says_itself) {
            let of_conditions = outcomes.iter().filter(|one| one.checked.met);
            let failed = of_conditions.map(|one| &*one.checked.figure);
            let worse = check.changes.iter().filter(|one| one.fails);
            let failed = failed.filter(|figure| !figure.is_empty());
            let failed: Vec<&str> = failed.chain(worse.map(|one| &*one.name)).collect();
            check.cause = cause(cpu, criteria.baseline, &failed);
        }
        check.conditions = outcomes.into_iter().map(|one| one.checked).collect();
        check.sentence = sentence(&check);
        checks.push(check);
    }
    Ok(checks)
}

/// What came of a condition, in words.
struct Told {
    checked: Checked,
    /// Whether its figure is one event that has a name, or one line of the ledger.
    says_itself: bool,
}

/// That a condition ended the run before its end, and the longest gap until then: most conditions are about that.
fn stopped(by: &str, cpu: &Cpu) -> Told {
    let condition = format!("ended by \"{by}\"");
    let longest = cpu.figures.iter().find(|one| one.name == LONGEST_GAP);
    let longest = longest.and_then(|one| {
        let length = one.unit.written(one.value?);
        let by = one
            .by
            .as_ref()
            .map_or_else(String::new, |by| format!(", {by}"));
        Some(format!(
            "; its longest gap: {length} at {}{by}",
            moment_of(one.at_s?)
        ))
    });
    Told {
        checked: Checked {
            found: condition.clone() + &longest.unwrap_or_default(),
            condition,
            met: true,
            figure: String::new(),
        },
        says_itself: true,
    }
}

/// Why a condition on a change finds none: one of both does not know its figure.
fn no_change(condition: &Condition, now: &[Figure]) -> ConditionError {
    let (text, figure) = (condition.text().into(), condition.figure().into());
    let mut named = (now.iter()).filter(|one| condition.is_about(&one.name, one.cpu));
    match named.any(|one| one.value.is_some()) {
        true => ConditionError::NotInBaseline {
            condition: text,
            figure,
        },
        false => ConditionError::NotMeasured {
            condition: text,
            figure,
            why: next_step(condition.figure()),
        },
    }
}

/// What comes of a condition on one CPU.
fn outcome(condition: &Condition, figures: &[Figure]) -> Result<Told, ConditionError> {
    let outcomes = condition.hold(figures)?;
    let told = outcomes.iter().find(|one| one.met).or(outcomes.first());
    let known = told.filter(|one| one.figure.value.is_some());
    match known {
        Some(one) => Ok(Told {
            checked: Checked {
                figure: one.figure.name.clone(),
                ..condition.checked(one.met, found(condition, one))
            },
            says_itself: one.figure.by.is_some() || is_line(&one.figure.name),
        }),
        None => Err(ConditionError::NotMeasured {
            condition: condition.text().into(),
            figure: condition.figure().into(),
            why: next_step(condition.figure()),
        }),
    }
}

/// `lost 2.40 % (limit 1 %)`, with the moment where it has one.
fn found(condition: &Condition, outcome: &Outcome<'_>) -> String {
    let figure = outcome.figure;
    let value = figure.value.unwrap_or_default();
    let limit = match (condition.is_change(), figure.past) {
        (true, Some(past)) => format!(
            "baseline {}, limit {}",
            figure.unit.written(past.value),
            figure.unit.written(outcome.limit)
        ),
        _ => format!("limit {}", condition.limit()),
    };
    let moment = figure.at_s.filter(|_| outcome.met);
    let mut moment = moment.map_or(String::new(), |at| format!(" at {}", moment_of(at)));
    if let (Some(by), true) = (&figure.by, outcome.met) {
        moment += &format!(", {by}");
    }
    let scatter = match outcome.beyond && !outcome.met {
        true => ", within its scatter",
        false => "",
    };
    format!(
        "{} {}{moment} ({limit}){scatter}",
        figure.name,
        figure.unit.written_beside(value, outcome.limit)
    )
}

/// A moment of a run.
fn moment_of(at_s: f64) -> String {
    let (minutes, seconds) = ((at_s / 60.0).floor(), at_s % 60.0);
    match at_s < 60.0 {
        true => format!("{at_s:.3} s"),
        false => format!("{minutes} min {seconds:.1} s"),
    }
}

/// Figures as limits bound them: over all runs.
fn limited(cpus: &[Cpu]) -> Vec<Figure> {
    let of = |cpu: &Cpu, one: &Measured| Figure {
        name: one.name.clone(),
        cpu: cpu.cpu,
        unit: one.unit,
        value: one.value,
        past: None,
        at_s: one.at_s,
        by: one.by.clone(),
    };
    let all = cpus
        .iter()
        .flat_map(|cpu| cpu.figures.iter().map(move |one| of(cpu, one)));
    all.collect()
}

/// Figures as changes compare them, with those of the baseline, and whether they changed.
fn with_past(cpus: &[Cpu], criteria: &Criteria<'_>) -> Vec<Figure> {
    let mut figures = Vec::new();
    // Of those that a condition asks a change of: where, and how likely it is by chance.
    let mut asked: Vec<(usize, f64)> = Vec::new();
    for cpu in cpus {
        for one in &cpu.figures {
            let test = test(cpu, one, criteria.baseline);
            let mut changes = criteria.conditions.iter().filter(|one| one.is_change());
            let is_asked = changes.any(|of| of.is_about(&one.name, cpu.cpu));
            if let Some(test) = test.filter(|_| is_asked) {
                asked.push((figures.len(), test.p_differs()));
            }
            figures.push(Figure {
                name: one.name.clone(),
                cpu: cpu.cpu,
                unit: one.unit,
                value: test.map(|test| test.value()),
                past: test.map(|test| Past {
                    value: test.baseline(),
                    changed: false,
                }),
                ..Figure::default()
            });
        }
    }
    let chances: Vec<f64> = asked.iter().map(|(_, chance)| *chance).collect();
    for ((place, _), chance) in asked.iter().zip(holm(&chances)) {
        if let Some(past) = &mut figures[*place].past {
            past.changed = chance <= ERROR_RATE;
        }
    }
    figures
}

/// A figure against the same of the baseline, where both know it.
fn test(cpu: &Cpu, one: &Measured, baseline: Option<&Baseline>) -> Option<Test> {
    let past = past_of(baseline?, cpu.cpu?, &one.name)?;
    let now: Option<Vec<f64>> = one.values.iter().copied().collect();
    Test::new(&one.name, one.unit, &past, &now?)
}

/// The figure in each run of a baseline. What took no time in any of its runs has no line, and a family of lines may have no sum.
pub(super) fn past_of(baseline: &Baseline, cpu: u32, name: &str) -> Option<Vec<f64>> {
    if let Some(known) = baseline.values(cpu, name) {
        return Some(known.to_vec());
    }
    let family = all_of(name);
    if !baseline.events || !(is_line(name) || family.is_some()) {
        return None;
    }
    let of = baseline.cpus.iter().find(|of| of.cpu == cpu)?;
    let mut sums = vec![0.0; baseline.runs as usize];
    let Some(family) = family else {
        return Some(sums);
    };
    let is_meant = |line: &str| line.starts_with(family) && is_line(line);
    for line in of.figures.iter().filter(|line| is_meant(&line.name)) {
        for (sum, value) in sums.iter_mut().zip(&line.values) {
            *sum += value;
        }
    }
    Some(sums)
}

/// Whether a figure was the same in all runs of a baseline, so that nobody knows how it scatters.
pub(super) fn is_steady(baseline: &Baseline, cpu: u32, name: &str) -> bool {
    let values = past_of(baseline, cpu, name).unwrap_or_default();
    values.windows(2).all(|two| two[0] == two[1])
}

/// The judged figures of each CPU, by its place; as if `runs` were judged, where that is not the number of these.
pub(super) fn changes(
    cpus: &[Cpu],
    baseline: &Baseline,
    runs: Option<usize>,
) -> Vec<(usize, Change)> {
    let mut named = Vec::new();
    let mut tests = Vec::new();
    for (place, cpu) in cpus.iter().enumerate() {
        for one in cpu
            .figures
            .iter()
            .filter(|one| JUDGED.contains(&&*one.name))
        {
            if let Some(test) = test(cpu, one, Some(baseline)) {
                named.push((place, one));
                tests.push(runs.map_or(test, |runs| test.of_runs(runs)));
            }
        }
    }
    let judged = judge(&tests);
    let change = |(((place, one), test), judged): (((usize, &Measured), &Test), Judged)| {
        let change = Change {
            name: one.name.clone(),
            unit: one.unit,
            value: test.value(),
            baseline: test.baseline(),
            limit: judged.bound,
            p_value: judged.p_value,
            fails: judged.worse,
            is_far_off: judged.far.is_some(),
            enough_runs: judged.far.and_then(|far| far.enough_runs),
        };
        (place, change)
    };
    named
        .into_iter()
        .zip(&tests)
        .zip(judged)
        .map(change)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use bandscope_recording::baseline::{BaselineCpu, BaselineFigure};

    /// Baselines of before had no sums but that of tasks.
    #[test]
    fn a_family_without_a_sum_is_that_of_its_lines() {
        let figure = |name: &str, values: [f64; 2]| BaselineFigure {
            name: name.into(),
            values: values.into(),
        };
        let mut baseline = Baseline {
            runs: 2,
            events: true,
            cpus: vec![BaselineCpu {
                cpu: 3,
                figures: vec![
                    figure("timer:a", [0.25, 0.0]),
                    figure("timer:b", [0.5, 0.125]),
                    figure("task:*", [0.75, 0.75]),
                ],
            }],
            ..Baseline::default()
        };
        let of = |baseline: &Baseline, name| past_of(baseline, 3, name);
        assert_eq!(of(&baseline, "timer:*"), Some(vec![0.75, 0.125]));
        assert_eq!(of(&baseline, "irq:*"), Some(vec![0.0; 2]));
        assert_eq!(of(&baseline, "task:*"), Some(vec![0.75; 2]));
        assert_eq!(of(&baseline, "gaps"), None);
        baseline.events = false;
        assert_eq!(of(&baseline, "timer:*"), None);
    }
}
