//! Interruptions that left no gap, noticed by a tripwire: where they are more than this kernel counted, the rest were never its own.

use super::{FEWEST_PER_S, Firmware, MORE, aside, who};
use crate::findings::{Case, subject};
use crate::periods::rates;
use bandscope_report::evidence;
use bandscope_report::format;
use bandscope_report::{Certainty, Finding, Gaps, Kind, Period, Tripwire};

/// A period is the kernel's own tick's if it is as near to it as the tick may be to its name. One at a multiple is another's: a guest's tick is often
/// a part of its host's.
const OWN: f64 = 1e-3;

/// What a tripwire noticed beyond what the kernel counted.
pub fn more_than_counted(case: Case<'_>, gaps: &Gaps, tripwire: &Tripwire) -> Option<Finding> {
    let counts = rates::is_one_recording(case.analysed.series)
        .then(|| rates::of(case.series, case.analysed.manifest))??;
    let interrupts = rates::interrupts_per_second(counts)?;
    // Whether a gap was a preemption is known of gaps only, and each preemption is one.
    let preemptions = match gaps.number {
        0 => 0.0,
        _ => rates::preemptions(gaps, case.series)?,
    };
    let counted = interrupts + preemptions;
    // A gap is an interruption, too, and its quantum was left out.
    let noticed = tripwire.per_second + gaps.per_second;
    if noticed - counted < FEWEST_PER_S || noticed < MORE * counted {
        return None;
    }
    let tick_hz = case.analysed.manifest.machine.tick_hz;
    let others = || {
        tripwire
            .periods
            .iter()
            .filter(|period| !is_own(period, tick_hz))
    };
    let regular: Vec<String> = others()
        .map(|period| format::frequency(period.frequency_hz, period.uncertainty_hz))
        .collect();
    let regular = match &regular[..] {
        [] => "They have no period of their own.".to_owned(),
        some => format!("In part they are regular, at {}.", some.join(", ")),
    };
    let firmware = Firmware::of(case);
    let evidence = evidence::StolenTime {
        counted_per_second: Some(counted),
        frequencies_hz: Some(others().map(|period| period.frequency_hz).collect()),
        per_second: noticed,
        system_management_interrupts: firmware.0,
        without_gap_per_second: Some(tripwire.per_second),
        ..evidence::StolenTime::default()
    };
    Some(Finding {
        kind: Kind::StolenTime,
        series: vec![case.index],
        certainty: Certainty::Likely,
        summary: format!(
            "{} was interrupted at least {noticed:.0} times a second, {:.0} of them too short for a gap. This kernel counted \
             {counted:.0}, so the others are probably those of {}. {regular}{}{}",
            subject(case.series),
            tripwire.per_second,
            who(case),
            aside(case),
            firmware.words(),
        ),
        evidence: evidence.into(),
        next_step: None,
    })
}

/// Whether a period is that of this kernel's tick, which it counted.
fn is_own(period: &Period, tick_hz: Option<f64>) -> bool {
    tick_hz.is_some_and(|tick| (period.frequency_hz / tick - 1.0).abs() <= OWN)
}
