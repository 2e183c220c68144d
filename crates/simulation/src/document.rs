//! The truth of a simulated run as a JSON document, `"schema": "bandscope.truth/1"`: the file `truth.json`.
//!
//! Times are seconds since the recording's origin and lengths nanoseconds, both by the true clock and not by the
//! one that the recording was made with. Lists are written one entry after the other, so a document of a
//! million entries takes no memory for them. docs/simulation.md describes each key.

use crate::scenario::Scenario;
use crate::truth::{Segment, Truth};
use bandscope_sampler::Request;
use serde::ser::{SerializeStruct, Serializer};
use serde::{Serialize, ser::SerializeMap};

/// The schema; only ever extended.
pub const SCHEMA: &str = "bandscope.truth/1";

/// A run and its truth, to be serialised.
#[derive(Clone, Copy, Debug)]
pub struct Document<'a> {
    /// The disturbances, as the user wrote them.
    pub scenario: &'a Scenario,
    /// What was asked for.
    pub request: &'a Request,
    /// One a CPU.
    pub truths: &'a [Truth],
}

impl Serialize for Document<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut document = serializer.serialize_struct("Document", 8)?;
        document.serialize_field("schema", SCHEMA)?;
        document.serialize_field("scenario", self.scenario.text())?;
        document.serialize_field("seed", &self.scenario.seed())?;
        let truth = self.truths.first();
        document.serialize_field("clock", &truth.map(clock))?;
        document.serialize_field("request", &asked(self.request))?;
        let drift = |rate: &f64| Drift {
            rate_hz: *rate,
            drift_ppm: truth.map_or(0.0, |truth| truth.drift_ppm(*rate)),
        };
        let drifts: Vec<_> = self.request.rates_hz.iter().map(drift).collect();
        document.serialize_field("drift", &drifts)?;
        let parts: Vec<_> = truth
            .iter()
            .flat_map(|truth| &truth.parts)
            .map(part)
            .collect();
        document.serialize_field("parts", &parts)?;
        let series = self.request.series();
        let cpus = self.truths.iter().map(|truth| OneCpu {
            truth,
            series: &series,
        });
        document.serialize_field("cpus", &cpus.collect::<Vec<_>>())?;
        document.end()
    }
}

#[derive(Serialize)]
struct Clock {
    true_ticks_per_ns: f64,
    used_ticks_per_ns: f64,
    truncated: bool,
}

fn clock(truth: &Truth) -> Clock {
    Clock {
        true_ticks_per_ns: truth.ticks_per_ns,
        used_ticks_per_ns: truth.used_ticks_per_ns,
        truncated: truth.truncated,
    }
}

#[derive(Serialize)]
struct Asked<'a> {
    rates_hz: &'a [f64],
    kernels: &'a [String],
    duration_s: f64,
    segment_s: f64,
    start_delay_s: f64,
}

fn asked(request: &Request) -> Asked<'_> {
    Asked {
        rates_hz: &request.rates_hz,
        kernels: &request.kernels,
        duration_s: request.duration_s(),
        segment_s: request.segment_s,
        start_delay_s: request.start_delay_s,
    }
}

#[derive(Serialize)]
struct Drift {
    rate_hz: f64,
    drift_ppm: f64,
}

#[derive(Serialize)]
struct Part<'a> {
    name: &'static str,
    parameters: Parameters<'a>,
    frequency_hz: Option<f64>,
    kinds: &'a [&'static str],
}

struct Parameters<'a>(&'a [(&'static str, f64)]);

impl Serialize for Parameters<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (name, value) in self.0 {
            map.serialize_entry(name, value)?;
        }
        map.end()
    }
}

fn part(part: &crate::truth::Part) -> Part<'_> {
    Part {
        name: part.name,
        parameters: Parameters(&part.values),
        frequency_hz: part.frequency_hz,
        kinds: &part.kinds,
    }
}

/// One CPU, in seconds and nanoseconds.
struct OneCpu<'a> {
    truth: &'a Truth,
    series: &'a [(f64, String)],
}

#[derive(Serialize)]
struct OneSegment<'a> {
    rate_hz: f64,
    kernel: &'a str,
    start_s: f64,
    end_s: f64,
    ns_per_unit: f64,
    quantum_ns: f64,
}

#[derive(Serialize)]
struct OneAbsence {
    start_s: f64,
    ns: f64,
    part: usize,
    measured: bool,
}

#[derive(Serialize)]
struct OneState {
    start_s: f64,
    ns_per_unit: f64,
    part: Option<usize>,
    slowdown: f64,
}

#[derive(Serialize)]
struct OneArtefact {
    at_s: f64,
    ns: f64,
    part: usize,
}

#[derive(Serialize)]
struct OneJump {
    at_s: f64,
    delay_ns: f64,
    from_cpu: u32,
    to_cpu: u32,
    part: usize,
}

/// A list that is serialised as it is iterated.
struct Sequence<F>(F);

impl<F, I> Serialize for Sequence<F>
where
    F: Fn() -> I,
    I: Iterator,
    I::Item: Serialize,
{
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq((self.0)())
    }
}

impl OneCpu<'_> {
    fn ns(&self, ticks: f64) -> f64 {
        ticks / self.truth.ticks_per_ns
    }

    fn seconds(&self, ticks: f64) -> f64 {
        self.ns(ticks) * 1e-9
    }

    fn segment(&self, segment: &Segment) -> OneSegment<'_> {
        let (rate_hz, kernel) = &self.series[segment.series];
        OneSegment {
            rate_hz: *rate_hz,
            kernel,
            start_s: self.seconds(segment.start),
            end_s: self.seconds(segment.end),
            ns_per_unit: self.ns(segment.ticks_per_unit),
            quantum_ns: self.ns(segment.quantum_ticks),
        }
    }

    /// When a warm-up ends.
    fn warm_up_end_s(&self) -> Option<f64> {
        let durations = self.truth.parts.iter().filter_map(|part| part.warm_up_s);
        durations
            .map(|duration| duration - self.seconds(self.truth.origin))
            .reduce(f64::max)
    }
}

impl Serialize for OneCpu<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let truth = self.truth;
        let mut cpu = serializer.serialize_struct("OneCpu", 10)?;
        cpu.serialize_field("cpu", &truth.cpu)?;
        cpu.serialize_field("warm_up_end_s", &self.warm_up_end_s())?;
        cpu.serialize_field("away_ns", &self.ns(truth.away_ticks))?;
        cpu.serialize_field("artefact_ns", &self.ns(truth.boundary_ticks))?;
        cpu.serialize_field("omitted", &truth.omitted)?;
        let segments = || truth.segments.iter().map(|segment| self.segment(segment));
        cpu.serialize_field("segments", &Sequence(segments))?;
        let absences = || {
            truth.absences.iter().map(|absence| OneAbsence {
                start_s: self.seconds(absence.start),
                ns: self.ns(absence.length),
                part: absence.source,
                measured: truth.measured_at(absence.start),
            })
        };
        cpu.serialize_field("absences", &Sequence(absences))?;
        let states = || {
            truth.paces.iter().map(|pace| OneState {
                start_s: self.seconds(pace.at),
                ns_per_unit: self.ns(pace.ticks_per_unit),
                part: pace.source,
                slowdown: pace.slowdown,
            })
        };
        cpu.serialize_field("states", &Sequence(states))?;
        let artefacts = || {
            truth.boundaries.iter().map(|boundary| OneArtefact {
                at_s: self.seconds(boundary.at),
                ns: self.ns(boundary.cost),
                part: boundary.source,
            })
        };
        cpu.serialize_field("artefacts", &Sequence(artefacts))?;
        let jumps = || {
            truth.jumps.iter().map(|jump| OneJump {
                at_s: self.seconds(jump.at),
                delay_ns: self.ns(jump.delay),
                from_cpu: jump.from,
                to_cpu: jump.to,
                part: jump.source,
            })
        };
        cpu.serialize_field("jumps", &Sequence(jumps))?;
        cpu.end()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{request, synthesise};

    #[test]
    fn the_document_says_what_happened_in_seconds_and_nanoseconds() {
        let text =
            "clock:ghz=2.5+tick:hz=1000,cost=2us+warmup:duration=50ms+jump:every=20ms,cpu=1:seed=4";
        let text = text.replace(":seed=4", ",seed=4");
        let scenario = Scenario::parse(&text).unwrap();
        let request = request(&[1e4], &["mulss80"], 0.1);
        let (_, truths) = synthesise(&scenario, &request).unwrap();
        let document = Document {
            scenario: &scenario,
            request: &request,
            truths: &truths,
        };
        let json = serde_json::to_value(document).unwrap();
        assert_eq!(json["schema"], SCHEMA);
        assert_eq!(json["seed"], 4);
        assert_eq!(json["clock"]["true_ticks_per_ns"], 2.5);
        assert_eq!(json["parts"][1]["parameters"]["cost"], 2e-6);
        assert_eq!(json["parts"][1]["frequency_hz"], 1000.0);
        assert_eq!(json["parts"][1]["kinds"][0], "periodic-interference");
        let cpu = &json["cpus"][0];
        assert_eq!(cpu["warm_up_end_s"], 0.05);
        let absence = &cpu["absences"][0];
        assert!((absence["start_s"].as_f64().unwrap() - 1e-3).abs() < 1e-12);
        assert!((absence["ns"].as_f64().unwrap() - 2000.0).abs() < 1e-9);
        assert_eq!(
            (&absence["part"], &absence["measured"]),
            (&1.into(), &true.into())
        );
        assert!((cpu["states"][1]["ns_per_unit"].as_f64().unwrap() - 134.7).abs() < 1e-3);
        assert_eq!(
            cpu["jumps"].as_array().unwrap().len(),
            truths[0].jumps.len()
        );
        assert_eq!(cpu["segments"][0]["kernel"], "mulss80");
        let lost: f64 = cpu["absences"]
            .as_array()
            .unwrap()
            .iter()
            .map(|a| a["ns"].as_f64().unwrap())
            .sum();
        assert!((cpu["away_ns"].as_f64().unwrap() / lost - 1.0).abs() < 1e-12);
    }
}
