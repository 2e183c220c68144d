//! The loops of the lab, and of fixed work: so many turns of a few operations, in assembly, timed from outside.
//!
//! A work kernel ([`mod@bandscope_probe::kernels`]) is one unit inside the measuring loop; a loop here runs by itself until its turns are over, because
//! some of what is looked for lasts only as long as a loop is not left: a base register that is set once before it, a count
//! that a register got from an immediate. Each operation waits for the one before, unless the description says otherwise, so
//! the time of an operation is its latency. Adding one: an entry in this architecture's file.

#[macro_use]
mod define;
#[cfg(target_arch = "aarch64")]
mod aarch64;
#[cfg(target_arch = "x86_64")]
mod x86_64;

#[cfg(target_arch = "aarch64")]
use aarch64 as native;
#[cfg(target_arch = "x86_64")]
use x86_64 as native;

use std::ops::Range;

/// Memory that loops load from and store to: two pages of 4,096 bytes, so that addresses a page apart are in it.
#[derive(Debug)]
#[repr(C, align(4096))]
pub struct Scratch([u8; 8192]);

impl Default for Scratch {
    fn default() -> Scratch {
        Scratch([0; 8192])
    }
}

/// A loop.
#[derive(Debug)]
pub struct Loop {
    /// By which experiments and results call it.
    pub name: &'static str,
    /// One line: what a turn does.
    pub description: &'static str,
    /// Operations of a turn.
    pub operations: u32,
    supported: fn() -> Result<(), &'static str>,
    code: unsafe extern "C" fn(u64, *mut Scratch),
    end: fn() -> *const u8,
}

impl Loop {
    /// Runs so many turns, at least one.
    ///
    /// # Panics
    /// If this CPU lacks an instruction of it; [`Loop::supported`] says so before.
    #[inline]
    pub fn run(&self, turns: u64, scratch: &mut Scratch) {
        assert!(self.supported().is_ok(), "{} cannot run here", self.name);
        // SAFETY: the code is that of an entry of `native::ALL`: it keeps to the calling convention, ends after so many turns (0 would
        // wrap, so 1 at least), and touches no memory but its scratch, its own stack and a word that nothing in Rust refers to.
        unsafe { (self.code)(turns.max(1), scratch) }
    }

    /// Where its instructions lie.
    pub fn text(&self) -> Range<usize> {
        self.code as usize..(self.end)() as usize
    }

    /// Why this CPU cannot run it.
    ///
    /// # Errors
    /// If it lacks an instruction: which.
    pub fn supported(&self) -> Result<(), &'static str> {
        (self.supported)()
    }
}

/// All loops of this architecture.
pub fn loops() -> &'static [Loop] {
    native::ALL
}

/// The loop of that name.
pub fn named(name: &str) -> Option<&'static Loop> {
    native::ALL.iter().find(|one| one.name == name)
}

/// The chain of registers that is the clock of the lab: its name, and the cycles of one operation.
pub const CYCLES: (&str, f64) = native::CYCLES;

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn all_loops_run_and_are_told_apart() {
        let mut scratch = Box::<Scratch>::default();
        let mut names = BTreeSet::new();
        for one in loops() {
            assert!(names.insert(one.name), "{}", one.name);
            assert!(one.operations > 0 && !one.description.is_empty());
            match one.supported() {
                Ok(()) => [0, 1, 2, 100].map(|turns| one.run(turns, &mut scratch)),
                Err(lacks) => {
                    println!("SKIPPED: loop {}: this CPU has no {lacks}", one.name);
                    continue;
                }
            };
        }
        assert!(named(CYCLES.0).is_some() && named("none such").is_none());
    }
}
