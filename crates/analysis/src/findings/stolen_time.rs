//! `stolen-time`: gaps in which this kernel did nothing: the hypervisor ran something else, or firmware did.
//!
//! Evidence is silence: kernel events were recorded, none lies in the gap, none was lost there, and nothing preempted the thread, or the silence outlasted the kernel's tick. Where no events were recorded there may be more gaps than all
//! interrupts that the kernel counted, and all preemptions, can have made: each makes one. A tripwire tells of those that leave no
//! gap (`unseen.rs`).

mod unseen;

use super::pooled::{Pooled, relatives};
use super::{Analysed, Case, Phenomenon, always, cpu, figure, first_series, subject};
use crate::periods::rates;
use bandscope_recording::manifest::EventsState;
use bandscope_report::evidence::{self, OfKind};
use bandscope_report::format;
use bandscope_report::remedies::{self, Remedy};
use bandscope_report::{Cause, Certainty, Finding, GapCause, Gaps, Kind, Series, Signal};

pub(super) const PHENOMENON: Phenomenon = Phenomenon {
    kind: Kind::StolenTime,
    recognise,
    same: always,
    settle: |_, _| true,
    consequence: |finding, _| {
        figure(finding, |stolen: &evidence::StolenTime| {
            stolen.share.unwrap_or(0.0)
        })
    },
    remedy,
};

/// What shows who it was, or whether it was anybody.
fn remedy(finding: &Finding, analysed: Analysed<'_>) -> Option<Remedy> {
    let stolen = evidence::StolenTime::of(&finding.evidence)?;
    let series = first_series(finding, analysed);
    let is_counted = stolen.counted_per_second.is_some();
    Some(match (is_counted, stolen.without_gap_per_second) {
        (_, Some(_)) => remedies::switching(&cpu(series)),
        (true, None) => remedies::trace_events(&cpu(series)),
        (false, None) => match analysed.manifest.machine.known_hypervisor() {
            Some(_) => remedies::trace_host(&cpu(series)),
            None => remedies::count_firmware(&cpu(series)),
        },
    })
}

/// A part per million of the time is nobody's problem; nor are ten of them, unless a gap is long or firmware counted.
const MIN_SHARE: f64 = 1e-6;
const MIN_SHARE_OF_SHORT: f64 = 1e-5;
const MIN_LONG_NS: f64 = 20_000.0;
/// A smaller part of the host's time on its way to what this kernel does is not told; chosen.
const MIN_WAY: f64 = 0.1;

fn recognise(case: Case<'_>) -> Vec<Finding> {
    let Some(gaps) = &case.series.gaps else {
        return Vec::new();
    };
    // Only events make gaps the host's.
    let Some(host) = gaps.causes.iter().find(|cause| cause.cause == Cause::Host) else {
        return without_events(case, gaps).into_iter().collect();
    };
    let share = host.lost_ns as f64 / (case.series.ledger.wall_ns as f64).max(1.0);
    let firmware = Firmware::of(case);
    if share < smallest_share(host, &firmware) {
        return Vec::new();
    }
    let has_hypervisor = case.analysed.manifest.machine.known_hypervisor().is_some();
    let is_its = |signal: &&Signal| signal.cause == Some(Cause::Host);
    let period = case.series.signals.iter().find(is_its);
    let regular = period.map_or(String::new(), |signal| {
        let frequency = format::frequency(signal.frequency_hz, signal.uncertainty_hz);
        format!(" Some of that recurs at {frequency}.")
    });
    // Of all series, as the ledger of the report has it.
    let pooled = Pooled::new(&Cause::Host, case);
    // On bare metal there is none.
    let way_share = has_hypervisor.then(|| way_share(case).min(pooled.share));
    let way = match way_share.filter(|share| *share >= MIN_WAY * pooled.share) {
        Some(share) => format!(
            " Up to {} of the time was the host's way to interrupts and tasks of this kernel and back.",
            format::percent(share)
        ),
        None => String::new(),
    };
    let evidence = evidence::StolenTime {
        way_share,
        frequency_hz: period.map(|signal| signal.frequency_hz),
        longest_ns: Some(pooled.longest_ns),
        lost_ns: Some(pooled.lost_ns as f64),
        per_second: pooled.per_second,
        share: Some(pooled.share),
        system_management_interrupts: firmware.0,
        ..evidence::StolenTime::default()
    };
    vec![Finding {
        kind: Kind::StolenTime,
        series: vec![case.index],
        // Silence says that it was not this kernel. Only a count says who it was, and this kernel's count of stolen time may read 0 whatever
        // the host takes.
        certainty: if firmware.is_most(case) && !has_hypervisor {
            Certainty::Certain
        } else {
            Certainty::Likely
        },
        summary: format!(
            "{} lost {} of its time to {}: part of {} gaps a second, up to {} of one.{regular}{way}{}{}",
            subject(case.series),
            format::percent(pooled.share),
            who(case),
            format::per_second(pooled.per_second, 0),
            format::duration(pooled.longest_ns),
            aside(case),
            firmware.words(),
        ),
        evidence: evidence.into(),
        next_step: None,
    }]
}

/// Share of the time that the host was on its way to what this kernel does, and back: it goes where that goes.
fn way_share(case: Case<'_>) -> f64 {
    let (mut way_ns, mut wall_ns) = (0, 0);
    for series in relatives(case) {
        wall_ns += series.ledger.wall_ns;
        let causes = series.gaps.iter().flat_map(|gaps| &gaps.causes);
        let others = causes.filter(|one| one.cause != Cause::Host);
        way_ns += others.map(|one| one.host_ns).sum::<u64>();
    }
    way_ns as f64 / (wall_ns as f64).max(1.0)
}

/// What counts say where no gap has a cause.
fn without_events(case: Case<'_>, gaps: &Gaps) -> Option<Finding> {
    // With several recordings the manifest is that of one.
    let silent = case.analysed.manifest.events.state == EventsState::On
        || !rates::is_one_recording(case.analysed.series);
    match &case.series.tripwire {
        Some(tripwire) => unseen::more_than_counted(case, gaps, tripwire),
        None if silent => None,
        None => more_than_counted(case),
    }
}

/// Share of the time from which on it is somebody's problem.
fn smallest_share(host: &GapCause, firmware: &Firmware) -> f64 {
    let is_counted = firmware.0.is_some_and(|interrupts| interrupts > 0);
    match host.longest_ns < MIN_LONG_NS && !is_counted {
        true => MIN_SHARE_OF_SHORT,
        false => MIN_SHARE,
    }
}

/// How often firmware took the CPU during the run; `None` where that could not be read.
struct Firmware(Option<u64>);

impl Firmware {
    fn of(case: Case<'_>) -> Firmware {
        // With several recordings the counts are those of one.
        let counts = rates::is_one_recording(case.analysed.series)
            .then(|| rates::of(case.series, case.analysed.manifest));
        Firmware(
            counts
                .flatten()
                .and_then(|counts| counts.system_management_interrupts),
        )
    }

    /// Whether it was counted for half of the silent gaps or more: one interrupt is no reason for thousands.
    fn is_most(&self, case: Case<'_>) -> bool {
        let host = |one: &&Series| {
            let causes = one.gaps.iter().flat_map(|gaps| &gaps.causes);
            let is_host = causes.filter(|cause| cause.cause == Cause::Host);
            is_host.map(|cause| cause.number).sum::<u64>()
        };
        let gaps: u64 = relatives(case).map(|one| host(&one)).sum();
        // Without kernel events none is known to be silent.
        self.0
            .is_some_and(|counted| gaps > 0 && 2 * counted >= gaps)
    }

    /// A sentence where there were any.
    fn words(&self) -> String {
        match self.0 {
            None | Some(0) => String::new(),
            Some(1) => {
                " Firmware took the CPU once during the run (a system management interrupt)."
                    .to_owned()
            }
            Some(number) => format!(
                " Firmware took the CPU {number} times during the run (system management interrupts)."
            ),
        }
    }
}

/// Whoever runs beneath this kernel.
fn who(case: Case<'_>) -> String {
    match case.analysed.manifest.machine.known_hypervisor() {
        Some(hypervisor) => format!("the hypervisor ({hypervisor})"),
        None => match Firmware::of(case).0 {
            None => "firmware or a host".to_owned(),
            Some(_) if Firmware::of(case).is_most(case) => "firmware".to_owned(),
            Some(_) => "something beneath this kernel".to_owned(),
        },
    }
}

/// A sentence on why it is whom it is, where no hypervisor is known.
fn aside(case: Case<'_>) -> &'static str {
    match case.analysed.manifest.machine.known_hypervisor() {
        Some(_) => "",
        None if Firmware::of(case).0 == Some(0) => {
            " No hypervisor is known, and no system management interrupt was counted."
        }
        None => " No hypervisor is known.",
    }
}

/// So many times more gaps than what was counted can have made, and so many gaps a second more, say that the rest is not the kernel's:
/// a count that misses something does not double.
const MORE: f64 = 2.0;
const FEWEST_PER_S: f64 = 20.0;

/// Gaps that outnumber what the kernel counted.
fn more_than_counted(case: Case<'_>) -> Option<Finding> {
    let here = Excess::of(&[case.series], case)?;
    if here.per_second < FEWEST_PER_S || here.gaps < MORE * here.counted() {
        return None;
    }
    let excess = Excess::of(&relatives(case).collect::<Vec<_>>(), case)?;
    let firmware = Firmware::of(case);
    let evidence = evidence::StolenTime {
        counted_per_second: Some(excess.counted()),
        lost_ns: Some(excess.least_ns),
        per_second: excess.per_second,
        share: Some(excess.share),
        system_management_interrupts: firmware.0,
        ..evidence::StolenTime::default()
    };
    Some(Finding {
        kind: Kind::StolenTime,
        series: vec![case.index],
        certainty: Certainty::Likely,
        summary: format!(
            "{} lost at least {} of its time to {}: {:.0} gaps a second were not this kernel's. It counted {:.0} interrupts and \
             {:.1} preemptions a second.{}{}",
            subject(case.series),
            format::percent(excess.share),
            who(case),
            excess.per_second,
            excess.interrupts,
            excess.preemptions,
            aside(case),
            firmware.words(),
        ),
        evidence: evidence.into(),
        next_step: None,
    })
}

/// Gaps beyond what the kernel counted in the same time, all per second.
struct Excess {
    gaps: f64,
    interrupts: f64,
    preemptions: f64,
    per_second: f64,
    /// The least that they can have taken, ns.
    least_ns: f64,
    /// The same as a share of the time.
    share: f64,
}

impl Excess {
    /// Of some series of one CPU, weighted by their time; `None` where the kernel's counts are not known.
    fn of(series: &[&Series], case: Case<'_>) -> Option<Excess> {
        let counts = rates::of(case.series, case.analysed.manifest)?;
        let interrupts = rates::interrupts_per_second(counts)?;
        let seconds: f64 = series.iter().map(|series| series.duration_s).sum();
        let (mut number, mut preempted, mut wall_ns) = (0.0, 0.0, 0.0);
        for series in series {
            let gaps = series.gaps.as_ref()?;
            number += gaps.per_second * series.duration_s;
            preempted += rates::preemptions(gaps, series)? * series.duration_s;
            wall_ns += series.ledger.wall_ns as f64;
        }
        let (gaps, preemptions) = (number / seconds, preempted / seconds);
        let per_second = gaps - interrupts - preemptions;
        let all = series.iter().filter_map(|series| series.gaps.as_ref());
        let least_ns: f64 = all.map(|of| least_ns(of, per_second / gaps)).sum();
        Some(Excess {
            gaps,
            interrupts,
            preemptions,
            per_second,
            least_ns,
            share: least_ns / wall_ns.max(1.0),
        })
    }

    fn counted(&self) -> f64 {
        self.interrupts + self.preemptions
    }
}

/// Time in this share of the gaps, if they are the shortest: each as long as its bin's shortest.
fn least_ns(gaps: &Gaps, share: f64) -> f64 {
    let mut left = share * gaps.histogram.iter().map(|bin| bin.number).sum::<u64>() as f64;
    let mut ns = 0.0;
    for bin in &gaps.histogram {
        let taken = left.min(bin.number as f64);
        ns += taken * bin.from_ns;
        left -= taken;
    }
    ns
}

#[cfg(test)]
mod tests {
    use super::*;
    use bandscope_report::GapBin;

    #[test]
    fn the_shortest_gaps_are_taken_first() {
        let bin = |from_ns: f64, number: u64| GapBin {
            from_ns,
            number,
            total_ns: 1.5 * from_ns * number as f64,
        };
        let gaps = Gaps {
            histogram: vec![bin(1024.0, 60), bin(4096.0, 30), bin(65536.0, 10)],
            ..Gaps::default()
        };
        assert_eq!(least_ns(&gaps, 0.5), 50.0 * 1024.0);
        assert_eq!(least_ns(&gaps, 0.8), 60.0 * 1024.0 + 20.0 * 4096.0);
        assert_eq!(least_ns(&Gaps::default(), 0.5), 0.0);
    }
}
