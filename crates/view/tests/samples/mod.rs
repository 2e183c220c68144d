//! Analyses of made-up machines, for tests and for the gallery: nothing here was measured.
//!
//! Each scene is a few lines of [`Sketch`]: a pace as a function of time and some gaps. From them the
//! quanta are drawn and a pyramid and a ledger that adds up are counted, so that what is shown is
//! consistent in itself.

mod hostile;
mod scenes;
mod sketch;

use bandscope_analysis::Analysis;
#[allow(
    unused_imports,
    reason = "each user of this module uses some of the scenes"
)]
pub use hostile::hostile;
pub use scenes::{empty, imported, noisy, quiet, two_paces};

/// Every scene with its name.
pub fn all() -> Vec<(&'static str, Analysis)> {
    vec![
        ("quiet", quiet()),
        ("noisy", noisy()),
        ("two-paces", two_paces()),
        ("imported", imported()),
        ("empty", empty()),
        ("hostile", hostile()),
    ]
}
