//! What the reader of a check has to know beside its result, in sentences.

use super::cpu::{is_steady, past_of};
use super::judge::runs_to_notice;
use super::{Change, CpuCheck, Criteria, JUDGED, differences};
use crate::conditions::{Condition, is_any_name, is_line};
use bandscope_recording::baseline::Baseline;
use bandscope_recording::{Manifest, cpu_list};
use std::collections::BTreeSet;

/// Names that a note lists, at most.
const MAX_NAMES: usize = 5;

/// What the reader has to know beside the result, a sentence each.
pub(super) fn of(
    cpus: &[CpuCheck],
    criteria: &Criteria<'_>,
    settings: Option<&Manifest>,
) -> Vec<String> {
    let mut notes = Vec::new();
    if let (Some(baseline), Some(manifest)) = (criteria.baseline, settings) {
        notes.extend(differences(baseline, manifest));
        notes.extend(cpus.iter().filter_map(|cpu| not_judged(cpu, baseline)));
        let passing = cpus.iter().filter(|of| of.passes);
        let changes = passing.flat_map(|of| of.changes.iter().map(|one| (of.cpu, one)));
        notes.extend(far_figures(changes));
        if let Some(one) = criteria.conditions.iter().find(|one| one.is_change()) {
            notes.push(format!(
                "Only conditions with a sign, as \"{}\", are held against the baseline now: nothing else of it is judged.",
                one.text()
            ));
        }
    }
    // What never happens fails where less is worse.
    let bounded = (criteria.conditions.iter()).filter(|condition| condition.is_upper_bound());
    let asked: BTreeSet<&str> = bounded.map(Condition::figure).collect();
    notes.extend((asked.iter()).filter_map(|name| never_seen(name, cpus, criteria.baseline)));
    notes
}

/// That a line of the ledger was never seen, of which any name may be asked for: one that is misspelt never fails.
fn never_seen(name: &str, cpus: &[CpuCheck], baseline: Option<&Baseline>) -> Option<String> {
    let (family, _) = name.split_once(':').filter(|_| is_any_name(name))?;
    let is_known = |cpu: &CpuCheck| {
        let past = baseline.and_then(|baseline| past_of(baseline, cpu.cpu?, name));
        let past = past.filter(|values| values.iter().any(|value| *value > 0.0));
        let now = cpu.figures.iter().find(|one| one.name == name);
        past.is_some() || now.is_some_and(|one| one.value != Some(0.0))
    };
    if cpus.iter().any(is_known) {
        return None;
    }
    let mut seen: Vec<(&str, f64)> = (cpus.iter().flat_map(|cpu| &cpu.figures))
        .filter_map(|one| Some((one.name.as_str(), one.value.filter(|share| *share > 0.0)?)))
        .filter(|(other, _)| {
            is_line(other)
                && is_any_name(other)
                && other.split_once(':').is_some_and(|of| of.0 == family)
        })
        .collect();
    seen.sort_by(|a, b| b.1.total_cmp(&a.1));
    let mut once = BTreeSet::new();
    let names = seen.into_iter().map(|(name, _)| name);
    let names: Vec<&str> = names
        .filter(|name| once.insert(*name))
        .take(MAX_NAMES)
        .collect();
    let seen = match names.is_empty() {
        true => format!("nothing of {family}: was seen"),
        false => format!("seen were {}", names.join(", ")),
    };
    Some(format!(
        "{name} was never seen, and a name that is misspelt passes for ever; {seen}."
    ))
}

/// What a baseline says nothing about on a CPU, in a sentence.
fn not_judged(cpu: &CpuCheck, baseline: &Baseline) -> Option<String> {
    let known = |figure: &str| {
        cpu.cpu
            .is_some_and(|cpu| past_of(baseline, cpu, figure).is_some())
    };
    let here = |figure: &str| {
        cpu.figures
            .iter()
            .any(|one| one.name == figure && one.value.is_some())
    };
    let mut lacking = JUDGED.to_vec();
    lacking.retain(|figure| !(known(figure) && here(figure)));
    let (name, lacking) = (cpu.name(), lacking.join(", "));
    (!lacking.is_empty()).then(|| format!("{name}: not compared with the baseline: {lacking}."))
}

/// Figures whose limits are far off, each with its CPUs, in one sentence: what to do was said when the baseline was saved.
fn far_figures<'a>(changes: impl Iterator<Item = (Option<u32>, &'a Change)>) -> Option<String> {
    let far: Vec<(u32, &str)> = changes
        .filter(|(_, change)| change.is_far_off)
        .filter_map(|(cpu, change)| Some((cpu?, &*change.name)))
        .collect();
    let of_figure = |figure: &&str| {
        let such = far.iter().filter(|(_, name)| name == figure);
        let cpus: Vec<u32> = such.map(|(cpu, _)| *cpu).collect();
        (!cpus.is_empty()).then(|| format!("{figure} ({})", cpu_list::named(&cpus)))
    };
    let figures: Vec<String> = JUDGED.iter().filter_map(of_figure).collect();
    (!figures.is_empty()).then(|| {
        format!(
            "A pass says little of {}: the runs are too few, or those of this baseline scatter too much. Check more runs, bound what matters by --fail-if, or save a baseline of more, longer or quieter runs.",
            figures.join(", ")
        )
    })
}

/// Beyond what one more run fails, of each figure on the CPU where that is most, unless it is far off: a sentence.
pub(super) fn limits<'a>(
    changes: impl Iterator<Item = (Option<u32>, &'a Change)>,
) -> Option<String> {
    let changes: Vec<(Option<u32>, &Change)> = changes.collect();
    let cpus: BTreeSet<u32> = changes.iter().filter_map(|(cpu, _)| *cpu).collect();
    let cpus: Vec<u32> = cpus.into_iter().collect();
    let most = |name: &&str| {
        let of_figure = changes.iter().filter(|(_, change)| change.name == **name);
        let most = of_figure.max_by(|a, b| a.1.limit.total_cmp(&b.1.limit))?.1;
        (!most.is_far_off).then(|| format!("{name} {}", most.unit.written(most.limit)))
    };
    let limits: Vec<String> = JUDGED.iter().filter_map(most).collect();
    (!limits.is_empty()).then(|| {
        format!(
            "{}: one more such run fails beyond {}{}.",
            cpu_list::named(&cpus),
            if cpus.len() > 1 { "at most " } else { "" },
            limits.join(", ")
        )
    })
}

/// Limits that are far off, why, and what to do: a sentence for each figure, whatever the number of CPUs.
pub(super) fn far_limits<'a>(
    changes: impl Iterator<Item = (Option<u32>, &'a Change)>,
    baseline: &Baseline,
) -> Vec<String> {
    let far: Vec<(u32, &Change)> = changes
        .filter_map(|(cpu, change)| Some((cpu?, change)))
        .collect();
    let tests = far.len();
    let is_far = |one: &(u32, &Change)| one.1.is_far_off;
    let (steady, far): (Vec<_>, Vec<_>) = (far.into_iter().filter(is_far))
        .partition(|(cpu, change)| is_steady(baseline, *cpu, &change.name));
    let of_figure = |name: &&str| -> Option<String> {
        let such = far.iter().filter(|(_, change)| change.name == **name);
        let (cpus, such): (Vec<u32>, Vec<&Change>) = such.copied().unzip();
        let farthest = such.iter().max_by(|a, b| a.limit.total_cmp(&b.limit))?;
        let enough: Option<Vec<u32>> = such.iter().map(|change| change.enough_runs).collect();
        let what_to_do = match enough.and_then(|runs| runs.into_iter().max()) {
            // Shorter runs would scatter more.
            Some(enough) => format!(
                "too much; save {enough} runs as long as these (--runs {enough} --duration {:.0}s)",
                (f64::from(enough) * baseline.settings.duration_s).ceil()
            ),
            None => "so much that no number of runs would do; make longer ones, or bound it by --fail-if".into(),
        };
        Some(format!(
            "{}: the limit of {name} is far off: {}{}, of {} in the baseline. Its {} runs scatter {what_to_do}.",
            cpu_list::named(&cpus),
            if cpus.len() > 1 { "up to " } else { "" },
            farthest.unit.written(farthest.limit),
            farthest.unit.written(farthest.baseline),
            baseline.runs
        ))
    };
    let far = JUDGED.iter().filter_map(of_figure);
    far.chain(steady_figures(&steady, baseline, tests))
        .collect()
}

/// Figures that did not vary in a baseline, and how many runs notice a change: a sentence.
fn steady_figures(steady: &[(u32, &Change)], baseline: &Baseline, tests: usize) -> Option<String> {
    let is_of = |name: &&&str| steady.iter().any(|(_, change)| change.name == ***name);
    let names: Vec<&str> = JUDGED.iter().filter(is_of).copied().collect();
    let cpus: BTreeSet<u32> = steady.iter().map(|(cpu, _)| *cpu).collect();
    let enough = runs_to_notice(baseline.runs as usize, tests);
    (!names.is_empty()).then(|| {
        format!(
            "{}: {} did not vary in these runs. One run cannot fail on it; {enough} runs can (--duration {:.0}s).",
            cpu_list::named(&cpus.into_iter().collect::<Vec<u32>>()),
            names.join(", "),
            (enough as f64 * baseline.settings.duration_s).ceil()
        )
    })
}
