//! `interrupted-loop` by fixed work, and what a histogram says in a sentence.
//!
//! One length of work cannot tell a loop that goes on slower from interrupts whose costs happen to be spread evenly: `possible`. Over
//! several lengths the smear grows with the work or it does not: where the longest work that was hit often enough shows none,
//! there is none; else it is `likely`. Injected interrupts or another placement would decide it.

use super::ladder::{self, Line};
use super::{Described, Fast, Spread, Summary};
use bandscope_recording::histogram::{Histogram, SmearEnd};
use bandscope_report::evidence::{self, OfKind};
use bandscope_report::format;
use bandscope_report::{Certainty, Finding, Kind};
use std::fmt::Write as _;

/// What must be spent on short work at most, as a share of a long work's smear, for that to be no mere cost of interrupts.
const COST_SHARE: f64 = 0.2;
/// The slope of the line and that of the longest smear alone agree within this share.
const AGREE: f64 = 0.25;
/// A published end belongs to a published histogram of the same work whose smear ends within this share of it.
const SAME_END: f64 = 0.15;
/// A line says something from this slope on, as a smear does.
const LEAST_SLOPE: f64 = 1.5;

/// Findings of everything that was measured, the strongest slope first.
pub fn findings(histograms: &[Described], ends: &[SmearEnd]) -> Vec<Finding> {
    let mut found = Vec::new();
    let mut used = Vec::new();
    for (origin, ends) in by_origin(ends) {
        found.extend(of_ends(&origin, &ends, histograms, &mut used));
    }
    for group in groups(histograms) {
        if !group.iter().any(|index| used.contains(index)) {
            found.extend(of_group(&group, histograms));
            found.extend(faster(&group, histograms));
        }
    }
    found.sort_by(|a, b| {
        let slope = |finding: &Finding| {
            evidence::InterruptedLoop::of(&finding.evidence).map_or(0.0, |shown| shown.slope)
        };
        (b.certainty.cmp(&a.certainty)).then(slope(b).total_cmp(&slope(a)))
    });
    found
}

/// Histograms of one CPU and one work kernel, the shortest work first.
fn groups(histograms: &[Described]) -> Vec<Vec<usize>> {
    let of = |index: usize| {
        let it = &histograms[index].histogram;
        (&it.origin, it.cpu, &it.kernel)
    };
    let mut groups: Vec<Vec<usize>> = Vec::new();
    for index in 0..histograms.len() {
        match groups.iter_mut().find(|group| of(group[0]) == of(index)) {
            Some(group) => group.push(index),
            None => groups.push(vec![index]),
        }
    }
    for group in &mut groups {
        group.sort_by(|a, b| {
            histograms[*a]
                .work_ns()
                .total_cmp(&histograms[*b].work_ns())
        });
    }
    groups
}

fn by_origin(ends: &[SmearEnd]) -> Vec<(String, Vec<&SmearEnd>)> {
    let mut origins: Vec<(String, Vec<&SmearEnd>)> = Vec::new();
    for end in ends {
        match origins.iter_mut().find(|(origin, _)| *origin == end.origin) {
            Some((_, ends)) => ends.push(end),
            None => origins.push((end.origin.clone(), vec![end])),
        }
    }
    origins
}

/// Factors of several lengths agree within this ratio.
const SAME_FACTOR: f64 = 1.2;

/// A loop that runs faster after an interruption until it ends: the same factor at two lengths and more, for one is `possible` only.
fn faster(group: &[usize], histograms: &[Described]) -> Option<Finding> {
    let shown: Vec<(usize, Fast)> = group
        .iter()
        .filter_map(|&index| Some((index, histograms[index].summary.fast?)))
        .collect();
    let factors: Vec<f64> = shown.iter().map(|(_, fast)| fast.factor).collect();
    let (least, most) = (
        factors.iter().copied().reduce(f64::min)?,
        factors.iter().copied().reduce(f64::max)?,
    );
    let agree = factors.len() >= 2 && most / least <= SAME_FACTOR;
    let samples: u64 = shown.iter().map(|(_, fast)| fast.samples).sum();
    let what = subject(&histograms[shown[0].0].histogram);
    let [low, high] = [least, most].map(|factor| format!("{factor:.2}"));
    let times = match low == high {
        true => high,
        false => format!("{low} to {high}"),
    };
    let runs = if agree { "runs" } else { "may run" };
    let bodies: Vec<String> = shown
        .iter()
        .map(|(_, fast)| {
            format!(
                "{} instead of {}",
                format::duration(fast.from_ns),
                format::duration(fast.body_ns)
            )
        })
        .collect();
    Some(Finding {
        kind: Kind::InterruptHelps,
        series: shown.iter().map(|(index, _)| *index).collect(),
        certainty: if agree {
            Certainty::Likely
        } else {
            Certainty::Possible
        },
        summary: format!(
            "After an interruption {what} {runs} {times} times as fast until it ends. {samples} samples were faster than the rest, spread evenly down to {}.",
            bodies.join(", "),
        ),
        evidence: evidence::FasterWork {
            body_us: shown.iter().map(|(_, fast)| fast.body_ns / 1e3).collect(),
            factors,
            fast_samples: samples,
        }
        .into(),
        next_step: Some(NEXT.into()),
    })
}

/// Published ends, and the published histograms that belong to them.
fn of_ends(
    origin: &str,
    ends: &[&SmearEnd],
    histograms: &[Described],
    used: &mut Vec<usize>,
) -> Option<Finding> {
    let points: Vec<(f64, f64)> = (ends.iter())
        .map(|end| (end.work_us * 1e3, end.end_us * 1e3))
        .collect();
    let line = ladder::line(&points).filter(|line| line.slope >= LEAST_SLOPE)?;
    let belongs = |it: &Described| {
        let (Some(smear), None) = (&it.summary.smear, it.histogram.cpu) else {
            return false;
        };
        let same = |(work, end): &(f64, f64)| {
            it.work_ns() == *work && (smear.to_ns - end).abs() <= SAME_END * end
        };
        points.iter().any(same)
    };
    let series: Vec<usize> = (0..histograms.len())
        .filter(|index| belongs(&histograms[*index]))
        .collect();
    used.extend(&series);
    let counted = series.first().map(|index| &histograms[*index]);
    let exact = line.error.is_some_and(|error| error < 0.1 * line.slope);
    let what = format!("the loop of {}", format::file_name(origin));
    Some(Finding {
        kind: Kind::InterruptedLoop,
        certainty: if exact {
            Certainty::Likely
        } else {
            Certainty::Possible
        },
        summary: ladder_sentence(&what, &line, &points, counted),
        evidence: shown(line.slope, Some(&line), counted).into(),
        series,
        next_step: Some(NEXT.into()),
    })
}

/// What decides it.
const NEXT: &str = "bandscope lab --only switching: which loops of this core change their pace when they are interrupted";

/// Measured histograms of several lengths of work.
fn of_group(group: &[usize], histograms: &[Described]) -> Option<Finding> {
    let judged: Vec<&Described> = (group.iter().map(|index| &histograms[*index]))
        .filter(|it| it.summary.spread != Spread::Few)
        .collect();
    let (longest, shortest) = (*judged.last()?, *judged.first()?);
    let smear = longest.summary.smear?;
    let points: Vec<(f64, f64)> = (judged.iter())
        .filter_map(|it| Some((it.work_ns(), it.summary.smear?.to_ns)))
        .collect();
    let line = ladder::line(&points).filter(|_| points.len() > 1);
    let certainty = if let Some(line) = line {
        if line.slope < LEAST_SLOPE {
            return None;
        }
        match (line.slope / smear.slope - 1.0).abs() <= AGREE {
            true => Certainty::Likely,
            false => Certainty::Possible,
        }
    } else {
        let cost = (shortest.summary.middle_ns)
            .map_or(f64::INFINITY, |middle| middle.1 - shortest.work_ns());
        match cost <= COST_SHARE * (smear.to_ns - smear.from_ns) {
            true => Certainty::Likely,
            false => Certainty::Possible,
        }
    };
    let what = subject(&longest.histogram);
    let summary = match &line {
        Some(line) => ladder_sentence(&what, line, &points, Some(shortest)),
        None => format!(
            "When interrupted, {what} takes {} to {} instead of {}, spread evenly. It runs up to {:.2} times slower until it \
             ends, or interrupts cost that much{}.",
            format::duration(smear.from_ns),
            format::duration(smear.to_ns),
            format::duration(longest.work_ns()),
            smear.slope,
            counts(longest),
        ),
    };
    let slope = line.map_or(smear.slope, |line| line.slope);
    Some(Finding {
        kind: Kind::InterruptedLoop,
        series: group.to_vec(),
        certainty,
        summary,
        evidence: shown(slope, line.as_ref(), Some(shortest)).into(),
        next_step: Some(
            if judged.len() > 1 {
                NEXT
            } else {
                "bandscope histogram --work 5us,100us,500us: a smear grows with the work, what interrupts cost does not"
            }
            .into(),
        ),
    })
}

fn shown(
    slope: f64,
    line: Option<&Line>,
    counted: Option<&Described>,
) -> evidence::InterruptedLoop {
    evidence::InterruptedLoop {
        intercept_us: line.map(|line| line.intercept_ns / 1e3),
        ns_per_tick: None,
        slope,
        slope_uncertainty: line.and_then(|line| line.error),
        slow_samples: counted.map(|it| it.summary.slow_samples),
        ticks: counted.and_then(|it| it.summary.ticks),
    }
}

fn ladder_sentence(
    what: &str,
    line: &Line,
    points: &[(f64, f64)],
    counted: Option<&Described>,
) -> String {
    let (first, last) = (points[0], points[points.len() - 1]);
    let mut sentence = format!(
        "After an interrupt {what} runs {:.2} times slower until it ends, and the interrupt costs {} more. {} of work \
         smear up to {}, {} of work up to {}",
        line.slope,
        format::duration(line.intercept_ns.max(0.0)),
        format::duration(first.0),
        format::duration(first.1),
        format::duration(last.0),
        format::duration(last.1),
    );
    sentence += &counted.map_or(String::new(), counts);
    sentence.push('.');
    sentence
}

/// Slow samples against ticks.
fn counts(it: &Described) -> String {
    let summary = &it.summary;
    let mut text = format!("; {} slow samples", summary.slow_samples);
    if let Some(ticks) = summary.ticks {
        let _ = write!(text, " against {ticks:.0} ticks");
        if !it.is_ticks() && summary.slow_samples as f64 > ticks {
            text += ", so more than this tick interrupts";
        }
    }
    text
}

fn subject(histogram: &Histogram) -> String {
    let kernel = match histogram.kernel.as_str() {
        "" | "unknown" => "the loop",
        kernel => kernel,
    };
    match (histogram.cpu, histogram.origin.as_str()) {
        (Some(cpu), _) => format!("{kernel} on CPU {cpu}"),
        (None, "") => kernel.to_owned(),
        (None, origin) => format!("{kernel} of {}", format::file_name(origin)),
    }
}

/// What one histogram says; its certainty is the finding's.
pub fn sentence(histogram: &Histogram, summary: &Summary) -> String {
    let work = histogram.work_us.map_or(summary.best_ns, |us| us * 1e3);
    let mut text = format!(
        "{} of work took {} or more in {} of {} samples",
        format::duration(work),
        format::duration(summary.slow_from_ns),
        summary.slow_samples,
        histogram.samples,
    );
    if let Some(ticks) = summary.ticks {
        let _ = write!(text, ", against {ticks:.0} ticks");
    }
    match (&summary.smear, summary.middle_ns, summary.spread) {
        (Some(smear), ..) => {
            let _ = write!(
                text,
                ", spread evenly up to {}",
                format::duration(smear.to_ns)
            );
        }
        (None, Some((from, to)), Spread::Compact | Spread::Uneven) => {
            let _ = write!(
                text,
                ", half of them from {} to {}: no smear",
                format::duration(from),
                format::duration(to)
            );
        }
        _ => text += ": too few to say how they are spread",
    }
    text.push('.');
    if let Some(hidden) = summary.ticks_unaccounted {
        let _ = write!(text, " The published rows lack {hidden:.0} of the ticks.");
    }
    text
}
