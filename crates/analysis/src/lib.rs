//! A recording in, a report and a pyramid out.
//!
//! The analysis reads a [`bandscope_recording::Source`] in two passes and keeps an amount of memory that does not
//! depend on the length of the run. It decides everything that a report says; `view` only draws it.
//!
//! * [`report`]: the JSON contract `bandscope.report/1`;
//! * [`pyramid`]: what pictures are drawn from.
#![forbid(unsafe_code)]

pub mod pyramid;
pub mod report;

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
