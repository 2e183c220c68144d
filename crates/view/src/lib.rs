//! A report and its pyramid in, something to look at out: text, JSON, PNG, SVG, HTML, traces.
//!
//! Everything here is pure: what to draw comes from [`bandscope_analysis::Analysis`], how to draw it
//! from [`Options`], and nothing looks at the terminal, the environment or the machine. The command
//! line decides those and picks a [`Format`] by name.
//!
//! * [`format`](mod@format): the trait and the list of formats, one small file each;
//! * [`text`]: the report for a terminal;
//! * [`markdown`] and [`junit`]: comparisons for pull requests and CI;
//! * [`doctor`](mod@doctor) and [`cure`](mod@cure): verdicts with tables, for issues and browsers;
//! * [`picture`]: the report as a [`scene::Scene`], which [`svg`] and [`png`] draw;
//! * [`scale`]: what noise costs many nodes, as a picture and as a page;
//! * [`html`]: the report as a page for the browser;
//! * [`live`]: what is being measured, on a terminal;
//! * [`prometheus`]: a report and a check as metrics;
//! * [`perfetto`]: a recording as a trace for Perfetto; [`gaps_csv`] and [`gaps_parquet`]: its gaps as a table.
#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::unwrap_used))]

pub mod cure;
pub mod doctor;
pub mod error;
pub mod escape;
pub mod fleet;
mod fold;
pub mod format;
pub mod gaps_csv;
pub mod gaps_parquet;
mod glyphs;
pub mod html;
pub mod json;
pub mod junit;
pub mod live;
pub mod markdown;
pub mod numbers;
pub mod options;
mod palette;
mod panels;
pub mod perfetto;
pub mod picture;
pub mod png;
pub mod prometheus;
pub mod scale;
pub mod scene;
pub mod svg;
mod tables;
pub mod text;

#[cfg(test)]
#[path = "../tests/samples/mod.rs"]
mod samples;

pub use error::Error;
pub use format::{FORMATS, Format, find};
pub use options::{Options, Rights, Theme, View};
