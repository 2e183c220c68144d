//! What bandscope measured: the types, the files, import and export.
//!
//! The ground floor of the workspace. A real machine (`probe`) and a simulated one (`simulation`)
//! produce what is described here, `analysis` consumes it, and nothing else passes between them.
//! This crate knows no other crate of the workspace.
//!
//! * [`quanta`] and [`gaps`]: the measured columns; [`events`]: what the operating system says it did;
//! * [`manifest`]: everything about a run that is not a column, `recording.json`;
//! * [`source`]: how an analysis reads a recording, wherever it lies;
//! * [`mod@write`] and [`read`]: the recording on disk, a directory of Parquet files;
//! * [`dat`]: files of the original FTQ, in and out; [`csv`]: out;
//! * [`gap_table`]: gaps with their causes as one Parquet file, out;
//! * [`counter_files`]: counters of runs that other tools wrote: `perf stat`, tables, hyperfine;
//! * [`baseline`]: figures of several runs, to hold later ones against;
//! * [`summary`]: what a node lost, in some kB, for the report of a fleet; [`job_clock`]: its clock against another node's;
//! * [`disturbances`]: logs of injected disturbances, in and out, the truth to hold a recording against;
//! * [`experiments`]: what the lab measured;
//! * [`program`]: the hot loop of somebody's program, with and without hidden states;
//! * [`runs`]: runs of somebody's command, one process each;
//! * [`histogram`]: how often fixed work took how long, measured or published;
//! * [`inputs`]: whatever the user names, as series of one machine.
#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::unwrap_used))]

mod appended;
pub mod baseline;
mod checksum;
mod columns;
pub mod counter_files;
pub mod cpu_list;
pub mod csv;
pub mod cures;
pub mod dat;
pub mod disturbances;
mod document;
pub mod error;
pub mod events;
pub mod experiments;
mod export;
mod files;
pub mod gap_table;
pub mod gaps;
pub mod histogram;
pub mod inputs;
pub mod job_clock;
pub mod json;
mod layout;
pub mod manifest;
mod order;
pub mod program;
pub mod quanta;
pub mod read;
pub mod runs;
pub mod source;
pub mod summary;
pub mod text;
pub mod window;
pub mod write;

pub use checksum::of as checksum_of;
pub use error::Error;
pub use events::{EventKind, EventStream, KernelEvent, RUNNABLE, Sender};
pub use gaps::{Gap, GapKind};
pub use layout::{TaskDirectory, is_node_name};
pub use manifest::Manifest;
pub use order::MAX_TICKS;
pub use quanta::{Chunk, Quanta, Quantum};
pub use source::{Series, Source};
pub use window::Window;
pub use write::Writer;
