//! What a detector is.

use crate::derive::Derived;

/// Looks at the quanta of a series, in order of time, with an amount of memory that does not grow.
pub trait Detector {
    /// Takes some quanta of one segment.
    fn push(&mut self, chunk: &Derived<'_>);

    /// Takes over what another detector of the same kind saw of a later part of the same series. Parts
    /// are cut between segments, which no window, stay or spectrum crosses.
    fn merge(&mut self, later: Self)
    where
        Self: Sized;
}

/// A detector that this series has no use for.
impl<D: Detector> Detector for Option<D> {
    fn push(&mut self, chunk: &Derived<'_>) {
        if let Some(detector) = self {
            detector.push(chunk);
        }
    }

    fn merge(&mut self, later: Option<D>) {
        if let (Some(detector), Some(later)) = (self, later) {
            detector.merge(later);
        }
    }
}
