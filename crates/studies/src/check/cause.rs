//! What a failure came from: a line of the ledger.

use super::Line;
use super::cpu::past_of;
use super::judge::LEAST_OF_A_SHARE;
use super::merge::{Cpu, HOST};
use crate::conditions::{LINE_OF_PACE, all_of, is_line};
use bandscope_recording::baseline::Baseline;
use bandscope_report::format;

/// The line of the ledger that grew most, or is the largest, among those that figures which failed are made of.
pub(super) fn cause(cpu: &Cpu, baseline: Option<&Baseline>, failed: &[&str]) -> Option<Line> {
    let past = |name: &str| -> Option<f64> {
        let baseline = baseline?;
        let values = past_of(baseline, cpu.cpu?, name)?;
        Some(values.iter().sum::<f64>() / values.len().max(1) as f64)
    };
    let explains = |line: &str| failed.iter().any(|figure| is_made_of(figure, line));
    let lines = cpu.figures.iter();
    let lines = lines.filter(|one| is_line(&one.name) && explains(&one.name));
    let lines = lines.filter_map(|one| {
        Some(Line {
            name: one.name.clone(),
            share: one.value?,
            baseline: past(&one.name),
        })
    });
    // Without names the slower pace would be the largest line, as the only one.
    let is_named = cpu
        .figures
        .iter()
        .any(|one| one.name == HOST && one.value.is_some());
    let grown = |line: &Line| line.share - line.baseline.unwrap_or(0.0);
    // A pace may be slower than it was, throughout; then nearly nothing is slower than the best.
    let least = |line: &Line| match line.name == LINE_OF_PACE {
        true => LEAST_OF_A_SHARE,
        false => 0.0,
    };
    lines
        .max_by(|a, b| grown(a).total_cmp(&grown(b)))
        .filter(|line| is_named && grown(line) > least(line))
}

/// All tasks, and the lines of tasks that have no name of theirs.
const TASKS: &str = "task:";
const OF_TASKS: [&str; 2] = ["other-tasks", "preempted"];
/// Figures of gaps alone, and of what lies between them.
const OF_GAPS: [&str; 2] = ["gaps", "lost to gaps"];
const PACE: &str = "pace";

/// Whether a line of the ledger can be a reason why a figure failed.
pub(super) fn is_made_of(figure: &str, line: &str) -> bool {
    match all_of(figure) {
        Some(family) => line.starts_with(family) || (family == TASKS && OF_TASKS.contains(&line)),
        None if is_line(figure) => figure == line,
        None if OF_GAPS.contains(&figure) || figure.ends_with(" gap") => line != LINE_OF_PACE,
        None => figure != PACE || line == LINE_OF_PACE,
    }
}

/// The end of a sentence: what a failure came from.
pub(super) fn cause_in_words(line: &Line) -> String {
    let now = format::percent(line.share);
    match line.baseline {
        Some(past) => format!(
            "; {} grew from {} to {now}",
            line.name,
            format::percent(past)
        ),
        None => format!("; most to {} ({now})", line.name),
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Change, CpuCheck};
    use super::*;
    use crate::conditions::Checked;

    #[test]
    fn only_what_is_made_of_the_cause_is_told_it() {
        let change = |name: &str| Change {
            name: name.into(),
            fails: true,
            ..Change::default()
        };
        // What ended the run is no figure.
        let failed = |figure: &str| Checked {
            met: true,
            figure: figure.into(),
            ..Checked::default()
        };
        let check = CpuCheck {
            conditions: ["timer:*", ""].map(failed).into(),
            changes: vec![change("host"), change("gaps")],
            cause: Some(Line {
                name: "timer:a".into(),
                share: 0.004,
                baseline: Some(0.0),
            }),
            ..CpuCheck::default()
        };
        let told = check.checked_with_cause();
        let with_cause: Vec<bool> = told
            .iter()
            .map(|one| one.found.contains("timer:a grew"))
            .collect();
        assert_eq!(with_cause, [true, false, false, true], "{told:?}");
    }

    #[test]
    fn a_failure_comes_from_what_its_figure_is_made_of() {
        for (figure, line, wanted) in [
            ("gaps", "slower pace", false),
            ("gaps", "timer:python3", true),
            ("longest gap", "slower pace", false),
            ("pace", "timer:python3", false),
            ("pace", "slower pace", true),
            ("timer:*", "timer:python3", true),
            ("timer:*", "task:python3", false),
            ("task:*", "preempted", true),
            ("host", "task:python3", false),
            ("lost", "slower pace", true),
            ("lost", "host", true),
        ] {
            assert_eq!(is_made_of(figure, line), wanted, "{figure}: {line}");
        }
    }
}
