//! Whole numbers of the evidence, which version 1 of the contract writes as it writes all of its numbers: `12.0`.

use serde::{Serialize, Serializer};

/// What a whole number is as a float; those of a report are far below 2^53.
pub(super) trait Whole: Copy {
    /// The same number.
    fn float(self) -> f64;
}

macro_rules! whole {
    ($($of:ty),+) => {$(
        impl Whole for $of {
            fn float(self) -> f64 {
                self as f64
            }
        }
    )+};
}

whole!(i64, u32, u64);

/// One number.
pub(super) fn serialize<N: Whole, S: Serializer>(number: &N, out: S) -> Result<S::Ok, S::Error> {
    number.float().serialize(out)
}

/// Several.
pub(super) fn serialize_list<N: Whole, S: Serializer>(
    numbers: impl AsRef<[N]>,
    out: S,
) -> Result<S::Ok, S::Error> {
    out.collect_seq(numbers.as_ref().iter().map(|number| number.float()))
}

/// A number, or `null`.
pub(super) fn serialize_optional<N: Whole, S: Serializer>(
    number: &Option<N>,
    out: S,
) -> Result<S::Ok, S::Error> {
    number.map(N::float).serialize(out)
}
