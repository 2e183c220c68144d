//! The measuring loop, over any clock, work kernel and sink.
//!
//! A real machine (`probe`) and a simulated one (`simulation`) run the same code:
//!
//! * [`mod@measure`]: the loop itself, one file that knows no operating system;
//! * [`grid`]: the deadlines of the quanta, fixed-point;
//! * [`record`]: what the loop hands to its sink, packed into 16 bytes a quantum;
//! * [`assemble`]: packed records in, the columns of a recording out;
//! * [`machine`]: what a machine must offer for a run of many segments;
//! * [`schedule`]: when these segments end, on a CPU that may be away.
#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::unwrap_used))]

pub mod assemble;
pub mod grid;
pub mod machine;
pub mod measure;
pub mod record;
pub mod schedule;

pub use assemble::Assembler;
pub use grid::Grid;
pub use machine::{Batch, Machine, MachineError, RateError, Request, Segments, check_quantum};
pub use measure::{Clock, Flow, Outcome, Segment, Sink, WorkKernel, measure};
pub use record::{GapRecord, QuantumRecord};
pub use schedule::Schedule;
