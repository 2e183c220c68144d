//! The report itself, and what it is made of.

use crate::remedies::Remedy;
use crate::{Cpu, Finding, Moment, Series, Truth, Warning};
use serde::Serialize;

/// The schema that this version writes.
pub const SCHEMA: &str = "bandscope.report/1";

/// What was found in one or more recordings of one machine.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Report {
    /// Name and version of this contract.
    #[cfg_attr(feature = "schema", schemars(extend("const" = SCHEMA)))]
    pub schema: &'static str,
    /// The inputs, as named by the user.
    pub inputs: Vec<String>,
    /// One sentence: what a reader who reads one sentence must know.
    pub verdict: String,
    /// One for each CPU, rate and work kernel.
    pub series: Vec<Series>,
    /// The CPUs, best first, all series of one together; those whose number is not known are left out.
    pub cpus: Vec<Cpu>,
    /// Phenomena that were recognised, most consequential first.
    pub findings: Vec<Finding>,
    /// What to do: fixes, then what answers an open question, each once, most consequential first.
    pub remedies: Vec<Remedy>,
    /// What a flight recorder caught, the longest first: the 100 longest, and of each of 64 main causes the 8 longest. Empty where everything was kept.
    pub moments: Vec<Moment>,
    /// What was booked against what logs of disturbances say really happened, one for each log; empty where none was given.
    pub truth: Vec<Truth>,
    /// What a reader must know before believing the rest, with advice.
    pub warnings: Vec<Warning>,
    /// Facts about the machine and the run, as recorded; `null` for imported files.
    #[cfg_attr(feature = "schema", schemars(schema_with = "crate::schema::recording"))]
    pub recording: Option<bandscope_recording::Manifest>,
}
