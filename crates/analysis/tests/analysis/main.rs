//! The analysis as a whole: published files, generated recordings of known truth, and input of the worst kind.

mod anything;
mod counts;
mod cpus;
mod edges;
mod evidence;
mod generated;
mod grids;
mod limits;
mod naming;
mod pace;
mod pieces;
mod published;
mod reference_pace;
mod several;
mod signals;
mod support;
mod trains;
mod trends;
mod tripwire;
mod truth;
mod worst;
