//! The work kernels: the fixed instruction sequence of a unit, in assembly, the same bytes in every build.
//!
//! # Rules for a noise probe (docs/method.md, section 9.1)
//! Registers only; one serial dependency chain of an operation of 3 to 5 cycles on operands that are no
//! constants; values that stay normal; scalar; no inner loop; unit start aligned to 64; hashed into the
//! recording; one backward branch per unit. FTQ's published loops break these rules on purpose: they
//! are here to reproduce what was published. So does the throughput kernel, which fills the core: what shares the core
//! with it, a neighbour on its other hardware thread, slows it, and leaves a chain alone.
//!
//! Adding one: a `work_kernel!` in this architecture's file, and its name in the list at its end.

#[macro_use]
mod define;
#[cfg(target_arch = "aarch64")]
mod aarch64;
mod twin;
#[cfg(target_arch = "x86_64")]
mod x86_64;

#[cfg(target_arch = "aarch64")]
use aarch64 as native;
#[cfg(target_arch = "x86_64")]
use x86_64 as native;

use bandscope_sampler::{MachineError, WorkKernel};
pub use twin::{PLACEMENTS, Twin};

/// What is known of a work kernel without running it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Info {
    /// Name, as given to `--kernel`.
    pub name: &'static str,
    /// One line: what a unit does.
    pub description: &'static str,
    /// Operations in one unit.
    pub operations: u32,
    /// How much slower than its best the unit may become with the CPU present; see [`Info::gap_threshold`].
    pub slowest_pace: f64,
    /// Fractions of a unit that its structure declares: the shares of its inner loops.
    pub fractions: &'static [f64],
    /// What it is for.
    pub role: Role,
}

/// What a work kernel is for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Role {
    /// A noise probe: keeps all of the rules. A chain of registers, whose pace is the clock frequency's.
    Probe,
    /// Fills the core with independent operations on registers: its pace is that at which the core takes them in.
    Throughput,
    /// Notices interruptions by what they leave behind, in a unit long enough for them to come within it.
    Tripwire {
        /// Time of an operation after an interruption, over that before.
        rest: f64,
    },
    /// Reproduces what was published.
    Published,
}

/// A gap is at least this much longer than the best unit, in nanoseconds.
///
/// Half a microsecond is below any interrupt's cost (about 1 us on bare metal, 2 us in a virtual
/// machine) and above cache and TLB misses of the loop's own stores.
const GAP_EXCESS_NS: f64 = 500.0;

impl Role {
    /// As in lists.
    pub fn name(self) -> &'static str {
        match self {
            Role::Probe => "probe",
            Role::Throughput => "throughput",
            Role::Tripwire { .. } => "tripwire",
            Role::Published => "published",
        }
    }
}

impl Info {
    /// A noise probe that is a chain of registers: its pace follows the clock frequency alone.
    pub(crate) const fn chain(
        name: &'static str,
        description: &'static str,
        operations: u32,
    ) -> Info {
        Info {
            name,
            description,
            operations,
            slowest_pace: 5.0,
            fractions: &[],
            role: Role::Probe,
        }
    }

    /// Independent operations on registers that fill the core.
    pub(crate) const fn throughput(
        name: &'static str,
        description: &'static str,
        operations: u32,
    ) -> Info {
        Info {
            // The clock's 5 and a core shared by two.
            slowest_pace: 10.0,
            role: Role::Throughput,
            ..Info::chain(name, description, operations)
        }
    }

    /// A unit that takes longer than this many ticks is a gap.
    ///
    /// `max(slowest_pace * best, best + 500 ns)`. A pace change must never be booked as a gap, so the
    /// first term lies beyond every pace that a unit can take: register chains follow the clock
    /// frequency alone, of which cores offer less than 5 to 1 under load (0.8 to 3.8 GHz); chains
    /// through memory were seen up to 7.4 times slower (docs/method.md, section 9.3), so they get 10.
    pub fn gap_threshold(&self, best_ticks: f64, ticks_per_ns: f64) -> u64 {
        let slow = self.slowest_pace * best_ticks;
        let excess = best_ticks + GAP_EXCESS_NS * ticks_per_ns;
        slow.max(excess).ceil() as u64
    }

    /// The unit from which [`Info::gap_threshold`] made this threshold.
    pub fn unit_of_threshold(&self, threshold: u64, ticks_per_ns: f64) -> f64 {
        let by_pace = threshold as f64 / self.slowest_pace;
        let by_excess = threshold as f64 - GAP_EXCESS_NS * ticks_per_ns;
        by_pace.min(by_excess).max(1.0)
    }
}

/// A work kernel of this architecture.
pub trait NativeKernel: WorkKernel + Default + Send + 'static {
    /// What is known of it.
    const INFO: Info;

    /// Its bytes, assembled a second time apart from any loop, and 64 placed copies of them.
    fn twin() -> Twin;

    /// Executes placed copy `index` in place of the inlined one.
    ///
    /// # Panics
    /// If `index` is not below [`PLACEMENTS`].
    fn execute_copy(&mut self, index: usize);

    /// Why this CPU cannot run it.
    ///
    /// # Errors
    /// If it lacks an instruction: which.
    fn supported() -> Result<(), &'static str>;
}

/// Something to do with a work kernel whose type is known only at run time.
pub trait Visitor {
    /// What comes of it.
    type Output;
    /// Is called with the type of the work kernel that was named.
    fn visit<K: NativeKernel>(self) -> Self::Output;
}

/// Calls `visitor` with the work kernel of that name; `None` if there is none.
pub fn dispatch<V: Visitor>(name: &str, visitor: V) -> Option<V::Output> {
    native::dispatch(name, visitor)
}

/// All work kernels of this architecture.
pub fn kernels() -> Vec<Info> {
    native::ALL.to_vec()
}

/// The work kernel that is used unless another is asked for.
pub fn default_kernel() -> &'static str {
    native::DEFAULT
}

/// Rate in hertz above which quanta are short: below 10 us, a unit of the default kernel is more than a hundredth of a
/// quantum, and what a plain clock read shifts between two units would be as much.
pub const SHORT_QUANTA_HZ: f64 = 100_000.0;

/// The work kernel that is used for quanta of up to `rate_hz` unless another is asked for.
pub fn kernel_for_rate(rate_hz: f64) -> &'static str {
    if rate_hz > SHORT_QUANTA_HZ {
        native::SHORT
    } else {
        native::DEFAULT
    }
}

/// Whether to read the clock ordered inside quanta of up to `rate_hz` unless the user says. A plain read
/// comes before the unit's work is done and so moves time from a quantum's first unit to its last: nothing that matters in a long
/// quantum, 2 % of one of 1 us (docs/figures.md).
pub fn ordered_for_rate(rate_hz: f64) -> bool {
    rate_hz > SHORT_QUANTA_HZ
}

/// Why a work kernel cannot be run here; the sentence names one that can.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum KernelError {
    /// The CPU lacks an instruction.
    #[error(
        "work kernel {name}: this CPU has no {lacks}; choose another, such as {}",
        default_kernel()
    )]
    Unsupported {
        /// The work kernel.
        name: &'static str,
        /// The instruction set extension.
        lacks: &'static str,
    },
    /// No work kernel of this architecture has that name.
    #[error(
        "found work kernel {name:?}, expected one of those on {}: {}",
        std::env::consts::ARCH,
        kernels().iter().map(|info| info.name).collect::<Vec<_>>().join(", ")
    )]
    Unknown {
        /// The name that was given. Untrusted.
        name: String,
    },
}

impl From<KernelError> for MachineError {
    fn from(error: KernelError) -> MachineError {
        MachineError::Request(error.to_string())
    }
}

/// Checks that this CPU can run the work kernel `name`.
///
/// # Errors
/// If there is no such work kernel, or the CPU lacks an instruction.
pub fn check(name: &str) -> Result<Info, KernelError> {
    struct Check;
    impl Visitor for Check {
        type Output = Result<Info, KernelError>;
        fn visit<K: NativeKernel>(self) -> Self::Output {
            let name = K::INFO.name;
            (K::supported().map(|()| K::INFO))
                .map_err(|lacks| KernelError::Unsupported { name, lacks })
        }
    }
    dispatch(name, Check).unwrap_or_else(|| {
        Err(KernelError::Unknown {
            name: name.to_owned(),
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn names_are_unique_and_lead_back() {
        let names: BTreeSet<_> = kernels().iter().map(|info| info.name).collect();
        assert_eq!(names.len(), kernels().len());
        assert!(names.contains(default_kernel()));
        let error = check("mulss\u{1b}81").unwrap_err().to_string();
        assert!(error.contains("mulss\\u{1b}81") && error.contains(default_kernel()));
    }

    #[test]
    fn a_pace_change_is_no_gap_and_a_microsecond_is() {
        let info = check(default_kernel()).unwrap();
        // 116 ns a unit at 2.3 GHz.
        let threshold = info.gap_threshold(268.0, 2.3);
        assert!(threshold as f64 > 268.0 * 4.75);
        assert!((threshold as f64) < 268.0 + 2.3 * 1000.0);
        for unit in [20.0, 268.0, 3_000.0] {
            let threshold = info.gap_threshold(unit, 2.3);
            assert!((info.unit_of_threshold(threshold, 2.3) - unit).abs() <= 1.0);
        }
    }

    /// Runs every kernel, inlined and each placed copy, and looks at its bytes.
    struct Exercise;
    impl Visitor for Exercise {
        type Output = (Info, Vec<u8>, String);
        fn visit<K: NativeKernel>(self) -> Self::Output {
            let mut kernel = K::default();
            if K::supported().is_ok() {
                for index in 0..PLACEMENTS {
                    kernel.execute();
                    kernel.execute_copy(index);
                }
            }
            (K::INFO, K::twin().bytes().to_vec(), K::twin().hash())
        }
    }

    #[test]
    fn all_kernels_run_and_differ_in_their_bytes() {
        let mut hashes = BTreeSet::new();
        for info in kernels() {
            let (seen, bytes, hash) = dispatch(info.name, Exercise).unwrap();
            assert_eq!(seen, info);
            assert!(bytes.len() >= 4, "{}", info.name);
            assert!(hash.starts_with("fnv1a64:") && hash.len() == 24, "{hash}");
            assert!(hashes.insert(hash), "{}", info.name);
        }
    }
}
