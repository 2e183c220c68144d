//! Touches the machine: its clock, its work kernels, counters, facts.
//!
//! [`ThisMachine`] implements [`bandscope_sampler::Machine`]. `prepare` chooses CPUs, calibrates the
//! [`clock`], tests [`mod@kernels`] and [`counters`], asks for kernel events ([`trace`]) and gathers [`facts`]; `run` starts a measuring thread
//! for each CPU, whose loop (`bandscope_sampler::measure`) writes into a ring that the calling thread
//! empties. It only watches; `bandscope-experiments` is what does something to it.
//! These two crates are the ones of the workspace that may use `unsafe`.

#![cfg_attr(not(test), deny(clippy::unwrap_used))]

#[cfg(not(all(
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64")
)))]
compile_error!("bandscope measures Linux on x86-64 and aarch64");

pub mod boundary;
pub mod calibration;
mod claim;
pub mod clock;
mod consumer;
pub mod control_groups;
pub mod counters;
pub mod facts;
mod housekeeping;
pub mod kernels;
pub mod measuring_thread;
pub mod memory;
mod owned;
pub mod pin;
pub mod plan;
pub mod preparation;
pub mod priority;
pub mod quietest;
pub mod rank;
pub mod ring;
pub mod rseq;
mod run;
pub mod self_test;
#[cfg(target_arch = "x86_64")]
pub mod shift_counts;
pub mod sink;
pub mod store_bypass;
mod this_machine;
pub mod trace;

pub use kernels::{default_kernel, kernels};
pub use preparation::no_thread;
pub use this_machine::{ThisMachine, unix_ns};
