//! Touches the machine: its clock, its work kernels, counters, facts.
pub mod calibration;
pub mod clock;
pub mod counters;
pub mod kernels;
pub mod memory;
pub mod pin;
pub mod ring;
pub mod rseq;
