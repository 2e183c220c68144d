//! What pictures are drawn from: a series at bounded size, and its quanta and gaps themselves.

pub mod detail;
pub mod pyramid;
pub mod rasterise;

use bandscope_report::Report;
pub use pyramid::Pyramid;

/// What [`Report`] and [`pyramid`] of one analysis are.
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
