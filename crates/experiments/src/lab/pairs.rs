//! What is held against what: the pairs of docs/method.md, section 9.6, as a table for each architecture.

#[cfg(target_arch = "aarch64")]
mod aarch64;
#[cfg(target_arch = "x86_64")]
mod x86_64;

#[cfg(target_arch = "aarch64")]
use aarch64 as native;
#[cfg(target_arch = "x86_64")]
use x86_64 as native;

pub use native::{CHAIN, SWITCHED};

/// Levels of one thing; the first is the control, unless a level names another.
#[derive(Clone, Debug)]
pub struct Pair {
    /// As users call it.
    pub name: &'static str,
    /// The control, then the others.
    pub levels: Vec<Level>,
}

/// One level of a pair.
#[derive(Clone, Debug)]
pub struct Level {
    /// What tells it from the others.
    pub name: String,
    /// What is executed.
    pub code: Code,
    /// Index of the level that it is held against.
    pub control: usize,
    /// Whether the thread may bypass stores meanwhile; `None` to leave it as it is.
    pub store_bypass: Option<bool>,
}

/// What is executed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Code {
    /// A loop of [`super::loops`].
    Loop(&'static str),
    /// A work kernel, its placed copy of that index.
    Placed(&'static str, usize),
}

/// All pairs of this architecture.
pub fn pairs() -> Vec<Pair> {
    native::pairs()
}

/// A pair of loops: a name for each level.
fn of_loops(name: &'static str, levels: &[(&str, &'static str)]) -> Pair {
    let levels = levels.iter().map(|&(name, code)| Level {
        name: name.to_owned(),
        code: Code::Loop(code),
        control: 0,
        store_bypass: None,
    });
    Pair {
        name,
        levels: levels.collect(),
    }
}

/// A work kernel at all its placements.
fn of_placements(name: &'static str, kernel: &'static str) -> Pair {
    let levels = (0..bandscope_probe::kernels::PLACEMENTS).map(|index| Level {
        name: index.to_string(),
        code: Code::Placed(kernel, index),
        control: 0,
        store_bypass: None,
    });
    Pair {
        name,
        levels: levels.collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lab::loops;
    use bandscope_probe::kernels;
    use std::collections::BTreeSet;

    #[test]
    fn every_pair_has_a_control_and_what_it_names() {
        let mut names = BTreeSet::new();
        for pair in pairs() {
            assert!(names.insert(pair.name), "{}", pair.name);
            assert!(
                pair.levels.len() >= 2 && pair.levels[0].control == 0,
                "{}",
                pair.name
            );
            for level in &pair.levels {
                assert!(level.control < pair.levels.len(), "{}", pair.name);
                match level.code {
                    Code::Loop(name) => assert!(loops::named(name).is_some(), "{name}"),
                    Code::Placed(name, index) => {
                        assert!(
                            index < kernels::PLACEMENTS
                                && kernels::kernels().iter().any(|kernel| kernel.name == name)
                        );
                    }
                }
            }
        }
        for name in SWITCHED.iter().chain([&CHAIN]) {
            assert!(loops::named(name).is_some(), "{name}");
        }
    }
}
