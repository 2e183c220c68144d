//! A report and its pyramid in, something to look at out: text, JSON, PNG, SVG.
//!
//! Everything here is pure: what to draw comes from [`bandscope_analysis::Analysis`], how to draw it
//! from [`Options`], and nothing looks at the terminal, the environment or the machine. The command
//! line decides those and picks a [`Format`] by name.
//!
//! * [`format`](mod@format): the trait and the list of formats, one small file each;
//! * [`text`]: the report for a terminal;
//! * [`picture`]: the report as a [`scene::Scene`], which [`svg`] and [`png`] draw.
#![forbid(unsafe_code)]

pub mod error;
pub mod escape;
pub mod format;
mod glyphs;
pub mod json;
pub mod numbers;
pub mod options;
mod palette;
mod panels;
pub mod picture;
pub mod png;
pub mod scene;
pub mod svg;
pub mod text;

#[cfg(test)]
#[path = "../tests/samples/mod.rs"]
mod samples;

pub use error::Error;
pub use format::{FORMATS, Format, find};
pub use options::Options;
