//! What a detector is.

use crate::series::derive::Derived;

/// Looks at the quanta of a series, in order of time, with an amount of memory that does not grow.
pub trait Detector {
    /// Takes some quanta of one segment.
    fn push(&mut self, chunk: &Derived<'_>);
}

/// A detector that this series has no use for.
impl<D: Detector> Detector for Option<D> {
    fn push(&mut self, chunk: &Derived<'_>) {
        if let Some(detector) = self {
            detector.push(chunk);
        }
    }
}
