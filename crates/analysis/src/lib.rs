//! A recording in, a report and a pyramid out.
//!
//! The analysis reads a [`bandscope_recording::Source`] in two passes and keeps an amount of memory that does not
//! depend on the length of the run. It decides everything that a report says; `view` only draws it.
//!
//! * [`analyse()`]: the whole of it;
//! * [`analyse_window`]: of a stretch of a recording; [`analyse_against`]: the same of all of it, held against logs of real disturbances;
//! * [`compare`]: A against B, `bandscope.compare/1`;
//! * [`counters`]: two sets of counters against each other;
//! * [`fixed_work`]: histograms of fixed work, `bandscope.histogram/1`;
//! * [`report`]: the JSON contract `bandscope.report/1`;
//! * [`pyramid`]: what pictures are drawn from; [`detail`]: quanta and gaps themselves, for outputs that ask for them;
//! * [`named`]: gaps one by one, for exports;
//! * [`lab`]: what controlled experiments say, `bandscope.lab/1`;
//! * [`live`]: what can be said while a CPU is being measured;
//! * [`runs`]: what the runs of a command say, `bandscope.repeat/1`;
//! * [`statistics`]: tests and intervals that several of these use;
//! * [`detector`], [`mod@derive`] and [`passes`]: what a detector is, what it is fed with, and the list of them.
//!
//! `docs/method.md` states the formula, the thresholds and the limits of every figure.
#![forbid(unsafe_code)]

mod alternation;
mod analyse;
mod availability;
mod bands;
mod best_pace;
mod comb;
pub mod compare;
pub mod context;
mod counted;
pub mod counters;
pub mod cpus;
pub mod derive;
pub mod detail;
pub mod detector;
mod distribution;
mod drift;
mod dwell;
mod edges;
mod events;
mod findings;
pub mod fixed_work;
mod fold;
mod follow;
mod fraction;
mod gaps;
mod helps;
mod histogram;
mod inferred;
mod interrupted;
mod kept;
pub mod lab;
mod lattice;
mod ledger;
pub mod levels;
mod limits;
pub mod live;
mod mixture;
pub mod named;
mod naming;
mod order;
mod origins;
mod pace_split;
pub mod passes;
mod power;
pub mod pyramid;
mod quantisation;
mod rasterise;
mod rates;
mod recurrence;
pub mod report;
pub mod runs;
mod signals;
mod spectrum;
pub mod statistics;
pub mod survey;
mod teeth;
mod totals;
mod tripwire;
pub mod truth;
mod turns;
mod verdict;
mod warm_up;
mod warnings;
mod words;

pub use analyse::{analyse, analyse_against, analyse_window};
pub use pyramid::Pyramid;
pub use report::Report;

/// What [`report`] and [`pyramid`] of one analysis are.
#[derive(Clone, Debug)]
pub struct Analysis {
    /// What was found.
    pub report: Report,
    /// One for each series of the report, in its order.
    pub pyramids: Vec<Pyramid>,
    /// First tick of the recording, which is 0 s in all of it.
    pub origin: u64,
    /// Quanta and gaps themselves, one for each series; empty unless [`detail::collect`] was asked for them.
    pub details: Vec<detail::Detail>,
}

/// Why an analysis could not be done.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The recording could not be read.
    #[error(transparent)]
    Recording(#[from] bandscope_recording::Error),
    /// Two recordings have no series of one rate and work kernel.
    #[error("nothing to compare: {0}")]
    NothingInCommon(String),
}
