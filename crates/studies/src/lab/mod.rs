//! What the lab's experiments say: which states a core has, and what switches them.
//!
//! [`explain`] makes of the pieces of [`bandscope_recording::experiments`] the object `bandscope.lab/1`: a ratio with its interval for each
//! level of each pair (`ratios.rs`), the paces seen (`states.rs`), the chance that an interruption changes them (`switching.rs`), one
//! sentence each on what that means for somebody's benchmark (`meaning.rs`), and findings as in a report.

mod findings;
mod meaning;
mod ratios;
mod states;
mod switching;

use bandscope_recording::experiments::Experiments;
use bandscope_recording::manifest::Machine;
use bandscope_report::Finding;
use bandscope_statistics::order::median;
pub(crate) use meaning::{avoids, digits};
pub use ratios::{Level, Pair};
use serde::Serialize;
pub use states::State;
pub use switching::{Chance, Switching};

/// Version of the object.
pub const SCHEMA: &str = "bandscope.lab/1";

/// The lab's result.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Lab {
    /// [`SCHEMA`].
    #[cfg_attr(feature = "schema", schemars(extend("const" = SCHEMA)))]
    pub schema: &'static str,
    /// One sentence.
    pub verdict: String,
    /// Program and version that measured.
    pub tool: String,
    /// When, RFC 3339 in UTC.
    pub started: String,
    /// How long, in seconds.
    pub duration_s: f64,
    /// The CPU.
    pub cpu: u32,
    /// Facts of the machine.
    #[cfg_attr(feature = "schema", schemars(schema_with = "crate::schema::facts"))]
    pub machine: Machine,
    /// What a cycle is.
    pub cycles: Cycles,
    /// A result each.
    pub pairs: Vec<Pair>,
    /// Loops under interruptions.
    pub switching: Vec<Switching>,
    /// Phenomena, as in `bandscope.report/1`; `series` is empty.
    pub findings: Vec<Finding>,
    /// What limits all of the above, in sentences.
    pub warnings: Vec<String>,
}

/// The register chain by which cycles are told.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Cycles {
    /// Its loop.
    pub chain: String,
    /// Cycles of an operation, as published.
    pub cycles_per_operation: f64,
    /// The clock frequency that follows, in hertz: median of all pieces.
    pub frequency_hz: Option<f64>,
}

/// Pieces of the reference whose pace is this much above their median were interrupted, or the frequency changed.
const DISTURBED: f64 = 1.05;
/// Share of disturbed pieces that a quiet machine stays below.
const QUIET: f64 = 0.1;

/// Explains what was measured.
pub fn explain(experiments: &Experiments) -> Lab {
    let pairs: Vec<Pair> = experiments
        .pairs
        .iter()
        .map(|pair| ratios::pair(pair, experiments.reference_cycles))
        .collect();
    let switching = switching::all(experiments);
    let (frequency_hz, disturbed) = frequency(experiments);
    let interrupted = experiments.interrupted;
    let findings = findings::all(&pairs, &switching, disturbed > QUIET, interrupted);
    Lab {
        schema: SCHEMA,
        verdict: meaning::verdict(&pairs, &switching),
        tool: experiments.tool.clone(),
        started: experiments.started.clone(),
        duration_s: experiments.duration_s,
        cpu: experiments.cpu,
        machine: experiments.machine.clone(),
        cycles: Cycles {
            chain: experiments.reference.clone(),
            cycles_per_operation: experiments.reference_cycles,
            frequency_hz,
        },
        pairs,
        switching,
        findings,
        warnings: warnings(experiments, disturbed),
    }
}

/// Median frequency by the reference, and the share of its pieces that were slower than that.
fn frequency(experiments: &Experiments) -> (Option<f64>, f64) {
    let levels = experiments.pairs.iter().flat_map(|pair| &pair.levels);
    let pieces = levels
        .flat_map(|level| &level.passes)
        .flat_map(|pass| &pass.reference);
    let ticks: Vec<f64> = pieces.map(|&ticks| f64::from(ticks)).collect();
    let Some(usual) = median(ticks.iter().copied()) else {
        return (None, 0.0);
    };
    let disturbed = ticks
        .iter()
        .filter(|ticks| **ticks > DISTURBED * usual)
        .count() as f64
        / ticks.len() as f64;
    (
        Some(experiments.reference_cycles / usual * experiments.ticks_per_ns * 1e9),
        disturbed,
    )
}

fn warnings(experiments: &Experiments, disturbed: f64) -> Vec<String> {
    let mut warnings: Vec<String> = experiments
        .missing
        .iter()
        .map(|why| format!("Not available: {why}."))
        .collect();
    if experiments.interrupted {
        let levels = experiments.pairs.iter().flat_map(|pair| &pair.levels);
        warnings.push(format!(
            "The run ended early, so the results rest on {} passes and {} loops, fewer than asked for.",
            levels.map(|level| level.passes.len()).max().unwrap_or(0),
            experiments.switching.len()
        ));
    }
    if disturbed > QUIET {
        warnings.push(format!(
            "The CPU was disturbed: {} of the reference measurements took over {} longer than their median. Intervals are wide \
             for that reason; repeat on an idle machine.",
            bandscope_report::format::percent(disturbed),
            bandscope_report::format::percent(DISTURBED - 1.0),
        ));
    }
    warnings
}
