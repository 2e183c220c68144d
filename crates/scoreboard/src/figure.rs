//! Figures and words of the evidence that are held against the truth.

use bandscope_report::evidence::DriftCause;
use bandscope_report::{Cause, Evidence};

/// A figure of the evidence, in the order of the names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Figure {
    DriftPpm,
    DurationS,
    DwellS,
    Fraction,
    FrequencyHz,
    InterceptUs,
    NsPerEvent,
    NsPerUnit,
    PeriodQuanta,
    PeriodS,
    Ratio,
    Shares,
    Slope,
}

impl Figure {
    /// As docs/report.md names it.
    pub fn name(self) -> &'static str {
        match self {
            Figure::DriftPpm => "drift_ppm",
            Figure::DurationS => "duration_s",
            Figure::DwellS => "dwell_s",
            Figure::Fraction => "fraction",
            Figure::FrequencyHz => "frequency_hz",
            Figure::InterceptUs => "intercept_us",
            Figure::NsPerEvent => "ns_per_event",
            Figure::NsPerUnit => "ns_per_unit",
            Figure::PeriodQuanta => "period_quanta",
            Figure::PeriodS => "period_s",
            Figure::Ratio => "ratio",
            Figure::Shares => "shares",
            Figure::Slope => "slope",
        }
    }

    /// What a finding says of it, number `place` of a list; `None` where it says nothing of it.
    pub fn said(self, evidence: &Evidence, place: usize) -> Option<f64> {
        let one = |figure: f64| Some(figure).filter(|_| place == 0);
        let one_of = |list: &[f64]| list.get(place).copied();
        match (self, evidence) {
            (Figure::DriftPpm, Evidence::ClockDrift(drift)) => one(drift.drift_ppm),
            (Figure::DurationS, Evidence::WarmUp(start)) => one(start.duration_s),
            (Figure::DwellS, Evidence::MovingEdges(edges)) => one(edges.dwell_s?),
            (Figure::Fraction, Evidence::SubLoopMixture(mixture)) => one(mixture.fraction),
            (Figure::FrequencyHz, Evidence::Alias(alias)) => one(alias.frequency_hz),
            (Figure::FrequencyHz, Evidence::PeriodicInterference(periodic)) => {
                one(periodic.frequency_hz)
            }
            (Figure::FrequencyHz, Evidence::SamplingArtefact(artefact)) => {
                one(artefact.frequency_hz)
            }
            (Figure::InterceptUs, Evidence::InterruptedLoop(shown)) => one(shown.intercept_us?),
            (Figure::NsPerEvent, Evidence::Alias(alias)) => one(alias.ns_per_event),
            (Figure::NsPerEvent, Evidence::PeriodicInterference(periodic)) => {
                one(periodic.ns_per_event)
            }
            (Figure::NsPerEvent, Evidence::SamplingArtefact(artefact)) => {
                one(artefact.ns_per_event)
            }
            (Figure::NsPerUnit, Evidence::AlternatingBands(pattern)) => {
                one_of(&pattern.ns_per_unit)
            }
            (Figure::NsPerUnit, Evidence::BistablePace(paces)) => one_of(&paces.ns_per_unit),
            (Figure::NsPerUnit, Evidence::SubLoopMixture(mixture)) => one(mixture.ns_per_unit),
            (Figure::PeriodQuanta, Evidence::SamplingArtefact(artefact)) => {
                one(artefact.period_quanta)
            }
            (Figure::PeriodS, Evidence::MovingEdges(edges)) => one(edges.period_s?),
            (Figure::Ratio, Evidence::CoreCoupling(coupling)) => one(coupling.ratio),
            (Figure::Ratio, Evidence::SmtNeighbour(shown)) => one(shown.ratio),
            (Figure::Ratio, Evidence::WarmUp(start)) => one(start.ratio),
            (Figure::Shares, Evidence::AlternatingBands(pattern)) => one_of(&pattern.shares),
            (Figure::Shares, Evidence::BistablePace(paces)) => one_of(&paces.shares),
            (Figure::Shares, Evidence::Quantisation(counts)) => one_of(&counts.shares),
            (Figure::Slope, Evidence::InterruptedLoop(shown)) => one(shown.slope),
            _ => None,
        }
    }

    /// The standard deviation that a finding states beside it, if it states one.
    pub fn uncertainty(self, evidence: &Evidence) -> Option<f64> {
        match (self, evidence) {
            (Figure::DriftPpm, Evidence::ClockDrift(drift)) => Some(drift.uncertainty_ppm),
            (Figure::DurationS, Evidence::WarmUp(start)) => Some(start.uncertainty_s),
            (Figure::FrequencyHz, Evidence::Alias(alias)) => Some(alias.uncertainty_hz),
            (Figure::FrequencyHz, Evidence::PeriodicInterference(periodic)) => {
                Some(periodic.uncertainty_hz)
            }
            (Figure::PeriodS, Evidence::MovingEdges(edges)) => edges.uncertainty_s,
            (Figure::Slope, Evidence::InterruptedLoop(shown)) => shown.slope_uncertainty,
            _ => None,
        }
    }
}

/// What a finding says of why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Why {
    /// Of lost time.
    Cause(Cause),
    /// Of a drift.
    Drift(DriftCause),
}

impl Why {
    /// Of a finding's evidence.
    pub fn of(evidence: &Evidence) -> Option<Why> {
        match evidence {
            Evidence::ClockDrift(drift) => Some(Why::Drift(drift.cause)),
            Evidence::PeriodicInterference(periodic) => periodic.cause.clone().map(Why::Cause),
            Evidence::TimeAway(away) => Some(Why::Cause(away.cause.clone())),
            _ => None,
        }
    }
}
