//! The simulated machine does what its catalogue says.

mod crowds;
mod events;
mod scenarios;
mod several_cpus;
