//! Touches the machine: its clock, its work kernels, counters, facts.
pub mod calibration;
pub mod clock;
pub mod kernels;
