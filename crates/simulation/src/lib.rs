//! A machine with known truth: a scenario in, a clock, a work kernel and their truth out.
//!
//! The measuring loop of `sampler` runs over it unchanged, so overshoot, catch-up quanta and the
//! bookkeeping of gaps are the loop's own, and whole-program tests need neither privileges nor a quiet
//! machine.
//!
//! * [`scenario`]: what a user writes, `tick:hz=250,cost=2.5us+flips:ratio=5.35`;
//! * [`catalogue`]: the named scenarios and their parameters, one line each;
//! * [`world`]: the machine's time, work rate and disturbances;
//! * [`machine`]: the run of many segments, as `sampler::Machine`;
//! * [`truth`]: what really happened.
#![forbid(unsafe_code)]

pub mod catalogue;
pub mod machine;
pub mod scenario;
pub mod truth;
pub mod world;

pub use machine::SimulatedMachine;
pub use scenario::{Scenario, ScenarioError};
pub use truth::Truth;
