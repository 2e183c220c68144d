//! Touches the machine: its clock, its work kernels, counters, facts.
pub mod boundary;
pub mod calibration;
pub mod clock;
pub mod counters;
pub mod facts;
pub mod kernels;
pub mod measuring_thread;
pub mod memory;
pub mod pin;
pub mod ring;
pub mod rseq;
pub mod self_test;
pub mod sink;
