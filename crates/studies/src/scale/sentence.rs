//! Scale in sentences.

use super::{Basis, Cell, Phase, Scale, Together};
use bandscope_report::{Report, format};

/// A number of nodes, in the units of 1,024 that options take where it is one of them.
pub fn nodes(number: u64) -> String {
    match number {
        _ if number >= 1 << 20 && number.is_multiple_of(1 << 20) => format!("{}M", number >> 20),
        _ if number >= 1 << 10 && number.is_multiple_of(1 << 10) => format!("{}k", number >> 10),
        _ => number.to_string(),
    }
}

/// A length of phases, without digits that say nothing.
fn length(seconds: f64) -> String {
    format::duration(seconds * 1e9)
        .replace(".00 ", " ")
        .replace(".0 ", " ")
}

/// That it takes so much longer, to three digits.
fn longer(share: f64) -> String {
    match share {
        share if share < 1.0 => format!("{} longer", format::percent(share.max(0.0))),
        share if share < 9.0 => format!("{:.2} times as long", 1.0 + share),
        share => format!("{:.0} times as long", 1.0 + share),
    }
}

/// The same with its interval, and no more digits than that allows.
fn longer_within(share: f64, (low, high): (f64, f64)) -> String {
    let digits = |times: f64| {
        let half = (high - low).abs() / 2.0;
        let decimals = (-half.log10().floor()).clamp(0.0, 2.0) as usize;
        format!("{times:.decimals$}")
    };
    if share < 1.0 {
        let end = |end: f64| format::share_within(end.max(0.0), (low, high));
        let from = end(low).replace(" %", "");
        return format!("{} longer ({from} to {})", end(share), end(high));
    }
    let [about, low, high] = [share, low, high].map(|share| digits(1.0 + share));
    format!("{about} times as long ({low} to {high})")
}

/// The answer: the largest cost that is known, against that of one node, and what it comes from.
pub(super) fn verdict(scale: &Scale) -> String {
    let alone = format!("one node alone takes {}", longer(scale.alone));
    let known = scale
        .phases
        .iter()
        .flat_map(|phase| phase.cells.iter().map(move |cell| (phase, cell)));
    let known = known.filter(|(_, cell)| cell.basis == Basis::Observed);
    let worst = known.filter_map(|(phase, cell)| Some((phase, cell, cell.cost?)));
    let Some((phase, cell, cost)) = worst.max_by(|a, b| a.2.longer.total_cmp(&b.2.longer)) else {
        return format!("What was measured is too short to say what many nodes lose; {alone}.");
    };
    let mut text = format!(
        "On {} {} phases of {} take {}; {alone}.",
        nodes(cell.nodes),
        if cell.nodes == 1 { "node" } else { "nodes" },
        length(phase.phase_s),
        longer_within(cost.longer, cost.interval)
    );
    if let Some((first, less)) = cell.from.first().and_then(|one| Some((one, one.less?))) {
        let rest = longer(cost.longer - less);
        text += &format!(" Without {} they would take {rest}.", first.name);
    }
    text
}

/// Excesses that differ by this factor are told, a point or so aside.
const UNLIKE: f64 = 1.25;
const ROUGHLY: f64 = 0.01;

/// What has to be known to read it.
pub(super) fn notes(scale: &Scale, report: &Report) -> Vec<String> {
    let mut notes = vec![
        "Nodes are taken to lose independently of each other, each as the CPUs that were measured."
            .to_owned(),
        format!(
            "Nodes that all lose at the same time take {}, however many they are.",
            longer(scale.alone)
        ),
    ];
    notes.extend(fall_together(scale));
    if scale
        .phases
        .iter()
        .flat_map(|phase| &phase.cells)
        .any(|cell| cell.basis == Basis::Extrapolated)
    {
        notes.push(
            "An extrapolated figure holds if the causes that were seen are all that there are."
                .to_owned(),
        );
    }
    let cells = scale.phases.iter().flat_map(|phase| &phase.cells);
    if cells
        .flat_map(|cell| &cell.from)
        .any(|saving| saving.less.is_none())
    {
        notes.push(
            "What a cause costs is refused where no tail fits what is left without it: it may cost most.".to_owned(),
        );
    }
    // Beside a cost that is known and larger, it says nothing.
    if let Some((phase, cell)) = largest(scale).filter(|(phase, cell)| cell.unseen > known(phase)) {
        let all = if scale.cpus.len() > 1 {
            " of all CPUs together"
        } else {
            ""
        };
        notes.push(format!(
            "An absence of 1 ms that was not seen can still come three times in {}{all}: on {} nodes phases of {} would take up to {} by it.",
            length(scale.measured_s),
            nodes(cell.nodes),
            length(phase.phase_s),
            longer(cell.unseen)
        ));
    }
    let unknown = report.series.iter().any(|series| series.gaps.is_none());
    if unknown {
        notes.push(
            "A file of counts does not tell gaps from pace, so nothing is taken away.".to_owned(),
        );
    }
    notes
}

/// Of curves that are not kept whole.
pub(super) const NOT_FOLLOWED: &str = "More was recorded than jobs can be followed on: periodic gaps are taken to come at new times in each phase.";

/// How the measured CPUs themselves fare, where that is not as if they lost independently.
pub(super) fn fall_together(scale: &Scale) -> Option<String> {
    let off = |together: &Together| {
        let times = (together.independent? + ROUGHLY) / (together.longer + ROUGHLY);
        Some(times.max(1.0 / times))
    };
    let phases = scale.phases.iter().filter_map(|phase| {
        let together = phase.together.as_ref()?;
        Some((phase, together, off(together)?))
    });
    let (phase, together, times) = phases.max_by(|a, b| a.2.total_cmp(&b.2))?;
    let of = match together.is_one_of_several(scale) {
        true => format!(" of {}", together.input),
        false => String::new(),
    };
    (times > UNLIKE).then(|| {
        format!(
            "The measured CPUs{of} do not lose independently of each other. With phases of {}, a job on these {} at that time took {}. On {1} independent nodes it takes {}.",
            length(phase.phase_s),
            together.cpus,
            longer(together.longer),
            longer(together.independent.unwrap_or_default()),
        )
    })
}

/// The largest cost of a phase that is known.
fn known(phase: &Phase) -> f64 {
    let costs = phase.cells.iter().filter_map(|cell| cell.cost);
    costs.fold(0.0, |most, cost| most.max(cost.longer))
}

/// The shortest phase on the most nodes.
fn largest(scale: &Scale) -> Option<(&Phase, &Cell)> {
    let phase = scale.phases.first()?;
    Some((phase, phase.cells.last()?))
}
