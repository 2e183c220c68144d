//! A fleet's report in words.

use super::{Fleet, judge};
use bandscope_report::cpu_name;
use bandscope_report::format;

/// `1 node`, `12 nodes`.
fn nodes(number: usize) -> String {
    match number {
        1 => "1 node".into(),
        number => format!("{number} nodes"),
    }
}

/// The answer in a sentence or two.
pub(super) fn verdict(fleet: &Fleet) -> String {
    let cost = &fleet.cost;
    let number: u64 = fleet
        .groups
        .iter()
        .filter(|group| group.judged)
        .map(|group| group.nodes)
        .sum();
    let cpu = cost
        .cpu
        .map_or_else(String::new, |cpu| format!("{} of ", cpu_name(cpu, None)));
    let slowest = format!("{cpu}{}", cost.node);
    if number == 0 {
        return format!(
            "{}: too few to say which stands out. The slowest CPU is {slowest}: it loses {}.",
            nodes(fleet.nodes.len()),
            format::percent(cost.lost)
        );
    }
    let stand_out = match fleet.outliers.len() {
        0 => "None stands out".to_owned(),
        1 => format!("{} stands out", fleet.outliers[0].node),
        many => format!("{many} stand out"),
    };
    let of_job = "a job that waits for all of them loses";
    let loses = match fleet.outliers.is_empty() {
        true => format!(
            "{of_job} {} or more, as {slowest} does",
            format::percent(cost.lost)
        ),
        false => format!(
            "{of_job} {} or more, without {} {}",
            format::percent(cost.lost),
            if fleet.outliers.len() == 1 {
                "it"
            } else {
                "them"
            },
            format::percent(cost.without_outliers)
        ),
    };
    format!("{stand_out} of {}: {loses}.", nodes(number as usize))
}

/// What has to be known to read it.
pub(super) fn notes(fleet: &Fleet, short: usize) -> Vec<String> {
    let mut notes = Vec::new();
    if short > 0 {
        notes.push(format!(
            "Left out: {}, measured for less than half of the usual time.",
            nodes(short)
        ));
    }
    let few: usize = fleet
        .groups
        .iter()
        .filter(|group| !group.judged)
        .map(|group| group.nodes as usize)
        .sum();
    if few > 0 {
        notes.push(format!(
            "Not judged: {}, of a CPU and kernel that fewer than {} nodes have.",
            nodes(few),
            judge::MIN_NODES
        ));
    }
    if !fleet.outliers.is_empty() || fleet.groups.iter().any(|group| group.judged) {
        notes.push(format!(
            "A node stands out by {} of a CPU's time or more, and beyond the scatter of the others.",
            format::percent(judge::LEAST_EXCESS)
        ));
    }
    notes
}
