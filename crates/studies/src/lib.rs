//! Sets of experiments in, their reports out.
//!
//! What one recording says is `bandscope-analysis`'s; this is what several recordings or many small measurements say together:
//!
//! * [`check`]: pass or fail, `bandscope.check/1`;
//! * [`compare`]: A against B, `bandscope.compare/1`;
//! * [`conditions`]: what a gate asks of figures, one grammar for all of them;
//! * [`counters`]: two sets of counters against each other;
//! * [`cure`]: what each change of a machine saved, `bandscope.cure/1`;
//! * [`doctor`]: how a machine is set up, and what of it cost something, `bandscope.doctor/1`;
//! * [`fleet`]: which nodes of many stand out, and why, `bandscope.fleet/1`;
//! * [`histogram`]: histograms of fixed work, `bandscope.histogram/1`;
//! * [`lab`]: what controlled experiments say, `bandscope.lab/1`;
//! * [`program`]: the hot loop of a program, and what hidden states cost it, `bandscope.lab-program/1`;
//! * [`repeat`]: what the runs of a command say, `bandscope.repeat/1`;
//! * [`scale`]: what noise costs a job on many nodes, `bandscope.scale/1`.
//!
//! `docs/method.md` states the formula, the thresholds and the limits of every figure.
#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::unwrap_used))]

mod blocks;
pub mod check;
pub mod compare;
pub mod conditions;
mod costs;
pub mod counters;
pub mod cure;
pub mod doctor;
pub mod fleet;
pub mod histogram;
pub mod lab;
pub mod program;
pub mod repeat;
pub mod scale;
#[cfg(feature = "schema")]
pub mod schema;

/// Why a study could not be done.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A recording could not be read.
    #[error(transparent)]
    Recording(#[from] bandscope_recording::Error),
    /// Two recordings have no series of one rate and work kernel.
    #[error("nothing to compare: {0}")]
    NothingInCommon(String),
    /// No series has a reference pace.
    #[error(
        "found no series in which a unit of work was completed, expected one: there is no pace to lose against"
    )]
    NoPace,
}
