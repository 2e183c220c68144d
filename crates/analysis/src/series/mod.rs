//! A series as detectors see it: what its clock and machine say, its quanta with what follows from them, and the sums of the first pass.

pub mod bins;
pub mod blocks;
pub mod context;
pub mod derive;
pub mod detector;
pub mod drift;
pub mod histogram;
pub mod levels;
pub mod totals;
