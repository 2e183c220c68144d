//! A machine with known truth: a scenario in, a clock, a work kernel and their truth out.
//!
//! The measuring loop of `sampler` runs over it unchanged, so overshoot, catch-up quanta and the
//! bookkeeping of gaps are the loop's own, and whole-program tests need neither privileges nor a quiet
//! machine.
//!
//! * [`scenario`]: what a user writes, `tick:hz=250,cost=2.5us+flips:ratio=5.35`;
//! * [`catalogue`]: the named scenarios, their [`parameters`] and the findings that they are examples of;
//! * [`disturbances`]: what they do to a machine;
//! * [`world`]: the machine's time, work rate and disturbances; [`kernels`]: its work kernels;
//! * [`machine`]: the run of many segments, as `sampler::Machine`;
//! * [`RealTime`]: the same at the pace of the clock on the wall;
//! * [`synthesise`](synthesise()): a scenario in, a recording in memory and its truth out;
//! * [`truth`]: what really happened, [`document`]: that as JSON; [`presets`]: published scenes.
#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::unwrap_used))]

pub mod catalogue;
pub mod disturbances;
pub mod document;
mod events;
pub mod kernels;
pub mod machine;
pub mod parameters;
pub mod presets;
mod real_time;
pub mod scenario;
mod sink;
mod synthesise;
pub mod truth;
mod wobble;
pub mod world;

pub use machine::{SimulatedMachine, request};
pub use real_time::RealTime;
pub use scenario::{Scenario, ScenarioError};
pub use synthesise::{synthesise, synthesise_until};
pub use truth::Truth;
