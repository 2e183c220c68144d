//! The pairs of x86-64.

use super::{Code, Level, Pair, of_loops, of_placements};

/// The register chain that must not move whatever is done.
pub const CHAIN: &str = "mulss";

/// The loops that are interrupted: those whose state may last as long as they are not left, and their controls.
pub const SWITCHED: &[&str] = &[
    "stack-64",
    "frame-64",
    "frame-64-reloaded",
    "body-1",
    "old-unit",
    "shift-count-32",
    "shift-count-64",
    "shift-count-reloaded",
    "shift-count-renewed",
];

#[expect(clippy::too_many_lines, reason = "a table")]
pub fn pairs() -> Vec<Pair> {
    vec![
        of_loops(
            "base-register",
            &[
                ("rsp", "stack-64"),
                ("rbp set once", "frame-64"),
                ("rbp set each turn", "frame-64-renewed"),
                ("rbp reloaded each turn", "frame-64-reloaded"),
                ("copy of rsp", "copied-64"),
                ("pointer", "pointer-64"),
                ("pointer and index", "indexed-64"),
                ("instruction pointer", "global-64"),
            ],
        ),
        store_bypass(),
        of_loops(
            "operand-size",
            &[
                ("64 bits", "stack-64"),
                ("32 bits", "stack-32"),
                ("16 bits", "stack-16"),
                ("8 bits", "stack-8"),
            ],
        ),
        of_loops(
            "register-file",
            &[("general", "stack-64"), ("vector", "stack-vector")],
        ),
        of_loops(
            "live-slots",
            &[
                ("1", "slots-1"),
                ("2", "slots-2"),
                ("4", "slots-4"),
                ("8", "slots-8"),
                ("16", "slots-16"),
                ("32", "slots-32"),
                ("64", "slots-64"),
            ],
        ),
        distance(),
        of_loops(
            "add-immediate",
            &[("register", "add-register"), ("immediate", "add-immediate")],
        ),
        of_loops(
            "shift-count",
            &[
                ("32-bit immediate", "shift-count-32"),
                ("64-bit immediate", "shift-count-64"),
                ("pushed and popped", "shift-count-reloaded"),
                ("64-bit, each turn", "shift-count-renewed"),
            ],
        ),
        of_loops(
            "loop-body",
            &[
                ("64 operations", "stack-64"),
                ("1 operation", "body-1"),
                ("2 operations", "body-2"),
                ("4 operations", "body-4"),
                ("8 operations", "body-8"),
                ("16 operations", "body-16"),
                ("32 operations", "body-32"),
                ("128 operations", "body-128"),
            ],
        ),
        of_placements("placement", "ftq-o2"),
        of_placements("placement-of-registers", "mulss80"),
        of_loops(
            "failed-forwarding",
            &[("whole", "forwarded"), ("two halves", "forwarding-failed")],
        ),
        of_loops(
            "4k-aliasing",
            &[
                ("4,160 bytes apart", "page-and-line-apart"),
                ("4,096 bytes apart", "page-apart"),
            ],
        ),
        of_loops(
            "denormals",
            &[("normal", "normal"), ("denormal", "denormal")],
        ),
        of_loops("chains", &[("one", "mulss"), ("four", "mulss-4")]),
    ]
}

/// The same chain with and without the right to load ahead of stores.
fn store_bypass() -> Pair {
    let level = |name: &str, allowed| Level {
        name: name.to_owned(),
        code: Code::Loop("stack-64"),
        control: 0,
        store_bypass: Some(allowed),
    };
    Pair {
        name: "store-bypass",
        levels: vec![level("allowed", true), level("forbidden", false)],
    }
}

/// No-operations between a store and its load cost time by themselves: each level has a control of its own, whose chain is in a register.
fn distance() -> Pair {
    let mut pair = of_loops(
        "distance",
        &[
            ("0, in a register", "add-register"),
            ("0", "stack-64"),
            ("4, in a register", "register-distance-4"),
            ("4", "distance-4"),
            ("16, in a register", "register-distance-16"),
            ("16", "distance-16"),
            ("64, in a register", "register-distance-64"),
            ("64", "distance-64"),
        ],
    );
    for (index, level) in pair.levels.iter_mut().enumerate() {
        level.control = index & !1;
    }
    pair
}
