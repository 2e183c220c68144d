//! Controlled experiments on this CPU: which states its core has, and what switches them.
//!
//! [`pairs`] says what is held against what; [`loops`] has the assembly; [`pieces`] times it, [`signals`] interrupts it, and
//! [`run()`] does it all, in alternation. What comes out is [`bandscope_recording::experiments`].

pub mod loops;
pub mod pairs;
mod passes;
pub mod pieces;
mod plan;
mod run;
pub mod signals;

pub use plan::{Plan, SWITCHING, names};
pub use run::run;
