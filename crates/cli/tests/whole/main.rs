//! Tests of the whole program, as its users start it. One binary: tests that wait for the clock do so beside those that compute,
//! and nothing is linked thirty times.

mod bad_input;
mod catching;
mod check;
mod common;
mod compare;
mod cure;
mod doctor;
mod fleet;
mod gap_table;
mod histogram;
mod hostile;
mod inject;
mod kept;
mod lab;
mod live;
mod lost_cpu;
mod nothing_lost;
mod program_elsewhere;
mod prometheus;
mod repeat;
mod results;
mod scale;
mod screen;
mod signals;
mod simulated;
mod starved;
mod stopped;
mod synth;
mod tasks;
mod this_machine;
mod truth;
