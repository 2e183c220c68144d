//! The pairs of aarch64: those that its loops can show.

use super::{Pair, of_loops, of_placements};

/// The register chain that must not move whatever is done.
pub const CHAIN: &str = "multiply";

/// The loops that are interrupted.
pub const SWITCHED: &[&str] = &["stack-64", "pointer-64"];

pub fn pairs() -> Vec<Pair> {
    vec![
        of_loops(
            "base-register",
            &[("sp", "stack-64"), ("pointer", "pointer-64")],
        ),
        of_loops(
            "add-immediate",
            &[("register", "add-register"), ("immediate", "add-immediate")],
        ),
        of_loops("chains", &[("one", "multiply"), ("four", "multiply-4")]),
        of_placements("placement-of-registers", "fmul80"),
    ]
}
