//! A recording in, a report and a pyramid out.
//!
//! The analysis reads a [`bandscope_recording::Source`] in two passes and keeps an amount of memory that does not
//! depend on the length of the run. It decides everything that a report says; `view` only draws it.
//!
//! * [`analyse()`]: the whole of it;
//! * [`analyse_window`]: of a stretch of a recording; [`analyse_against`]: the same of all of it, held against logs of real disturbances;
//! * [`bandscope_report`], a crate of its own: the types of what it says, the contract `bandscope.report/1`;
//! * [`pyramid`]: what pictures are drawn from; [`detail`]: quanta and gaps themselves, for outputs that ask for them;
//! * [`named`]: gaps one by one, for exports;
//! * [`work`]: a series as stretches of work and of lost time, for what a job of fixed work waits for;
//! * [`live`]: what can be said while a CPU is being measured; [`caught`]: the words for what a flight recorder caught;
//! * [`detector`], [`mod@derive`] and [`passes`]: what a detector is, what it is fed with, and the list of them.
//!
//! Its rooms, each of which knows only those before it: `series`, `gaps`, `periods`, `pace`, `ledger`, `cpus`, `picture`, `findings`, `summary`, `passes`.
//!
//! `docs/method.md` states the formula, the thresholds and the limits of every figure.
#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::unwrap_used))]

mod analyse;
pub mod cpus;
mod findings;
mod gaps;
mod ledger;
pub mod live;
mod pace;
pub mod passes;
mod periods;
mod picture;
mod series;
mod summary;
pub mod truth;

pub use analyse::{analyse, analyse_against, analyse_window, replay};
pub use bandscope_recording::Error;
pub use gaps::{chains::without_number, named};
pub use ledger::work;
pub use picture::{Analysis, Pyramid, detail, pyramid};
pub use series::{context, derive, detector, levels};
pub use summary::caught;
