//! A recording in, a report and a pyramid out.
//!
//! The analysis reads a [`bandscope_recording::Source`] in two passes and keeps an amount of memory that does not
//! depend on the length of the run. It decides everything that a report says; `view` only draws it.
//!
//! * [`analyse()`]: the whole of it;
//! * [`analyse_against`]: the same, held against logs of real disturbances;
//! * [`report`]: the JSON contract `bandscope.report/1`;
//! * [`pyramid`]: what pictures are drawn from;
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
pub mod context;
pub mod cpus;
pub mod derive;
pub mod detector;
mod distribution;
mod drift;
mod dwell;
mod edges;
mod events;
mod findings;
mod fold;
mod follow;
mod fraction;
mod gaps;
mod helps;
mod histogram;
mod inferred;
mod interrupted;
mod kept;
mod lattice;
mod ledger;
pub mod levels;
mod limits;
mod mixture;
mod naming;
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
mod signals;
mod spectrum;
pub mod survey;
mod teeth;
mod totals;
pub mod truth;
mod turns;
mod verdict;
mod warm_up;
mod warnings;
mod words;

pub use analyse::{analyse, analyse_against};
pub use pyramid::Pyramid;
pub use report::Report;

/// What [`report`] and [`pyramid`] of one analysis are.
#[derive(Clone, Debug)]
pub struct Analysis {
    /// What was found.
    pub report: Report,
    /// One for each series of the report, in its order.
    pub pyramids: Vec<Pyramid>,
}

/// Why an analysis could not be done.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The recording could not be read.
    #[error(transparent)]
    Recording(#[from] bandscope_recording::Error),
}
