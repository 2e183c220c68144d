//! Where the time of a series went, so that every nanosecond is booked once.

pub mod account;
pub mod inferred;
pub mod stops;
pub mod work;
