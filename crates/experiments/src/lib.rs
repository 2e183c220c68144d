//! What is done to a machine on purpose, and measured.
//!
//! * [`inject`] disturbs a CPU, and logs what it did on the clock of a recording;
//! * [`lab`] experiments on a CPU: code that differs in one thing, and interruptions made on demand;
//! * `program` finds the hot loop of a command, and times it with and without hidden states (x86-64);
//! * [`repeat`] runs a command many times, under conditions that it varies;
//! * [`histogram`] times fixed work;
//! * [`cure`] changes the machine, and puts it back.
//!
//! What all of it says is for `bandscope-studies` to explain. With `bandscope-probe`, which watches the machine, this is the one crate of the
//! workspace that may use `unsafe`.

#![cfg_attr(not(test), deny(clippy::unwrap_used))]

mod bound;
pub mod cure;
mod error;
pub mod histogram;
pub mod inject;
pub mod lab;
mod processes;
#[cfg(target_arch = "x86_64")]
pub mod program;
pub mod repeat;

pub use error::Error;
