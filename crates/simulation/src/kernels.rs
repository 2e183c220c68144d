//! The work kernels of the simulated machine: names as on a real one, and the time of an undisturbed unit.

use bandscope_recording::manifest::Kernel;
use bandscope_sampler::MachineError;

/// Work kernels: name, nanoseconds of an undisturbed unit, what it feels, and the shares of its inner loops. The times are of
/// the order of what real cores do; `ftq-o2` is the published 23.96 ns.
const KERNELS: &[(&str, f64, Feels, &[f64])] = &[
    ("mulss80", 112.25, Feels::Clock, &[]),
    ("fmul80", 112.25, Feels::Clock, &[]),
    ("mulss20", 37.125, Feels::Clock, &[]),
    ("fmul20", 37.125, Feels::Clock, &[]),
    ("imul20", 30.5, Feels::Clock, &[]),
    ("crc32x20", 30.5, Feels::Clock, &[]),
    ("add6x80", 49.5, Feels::Throughput, &[]),
    ("ftq-o2", 23.96, Feels::Memory, &OLD_LOOPS),
    ("ftq-unrolled", 22.5, Feels::Memory, &OLD_LOOPS),
    ("ftq-o0", 128.2, Feels::Memory, &OLD_LOOPS),
    ("ftq-float20-stack", 101.0, Feels::Memory, &[]),
];

/// The shares of the two inner loops of FTQ's old unit, as the real work kernels declare them.
const OLD_LOOPS: [f64; 2] = [32.0 / 63.0, 31.0 / 63.0];

/// What of the core a work kernel feels, besides its clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Feels {
    /// Nothing else: a chain of registers.
    Clock,
    /// How loads and stores are doing.
    Memory,
    /// How many operations at a time it gets in.
    Throughput,
}

/// Whether the states that concern memory change the pace of the work kernel called `name`.
pub fn through_memory(name: &str) -> bool {
    feels(name) == Feels::Memory
}

/// Whether the work kernel called `name` has inner loops that may be in states of their own.
pub fn has_inner_loops(name: &str) -> bool {
    let mut kernels = KERNELS.iter();
    kernels.any(|(known, .., loops)| *known == name && !loops.is_empty())
}

/// What of the core the work kernel called `name` feels.
pub fn feels(name: &str) -> Feels {
    let mut kernels = KERNELS.iter();
    let known = kernels.find(|(known, ..)| *known == name);
    known.map_or(Feels::Clock, |(_, _, feels, _)| *feels)
}

/// The names, in order.
pub fn names() -> impl Iterator<Item = &'static str> {
    KERNELS.iter().map(|(name, ..)| *name)
}

/// The work kernel called `name` on a machine whose clock counts `ticks_per_ns`, each unit taking `ratio`
/// times as long as usual.
pub(crate) fn kernel(name: &str, ticks_per_ns: f64, ratio: f64) -> Result<Kernel, MachineError> {
    let Some((name, ns, feels, loops)) = KERNELS.iter().find(|(known, ..)| *known == name) else {
        return Err(MachineError::Request(format!(
            "no work kernel is called {name:?}; the simulated machine has: {}",
            names().collect::<Vec<_>>().join(", ")
        )));
    };
    let ticks = ns * ratio * ticks_per_ns;
    // Ten units, and at least half a microsecond beyond one: as on a real machine, where a register chain has five.
    let threshold = (ticks * 10.0).max(ticks + 500.0 * ticks_per_ns);
    Ok(Kernel {
        name: (*name).into(),
        description: "simulated".into(),
        gap_threshold_ticks: threshold as u64,
        best_ticks_per_unit: Some(ticks),
        placement_spread: Some(0.0),
        invariant: Some(true),
        boundary_ticks: Some(0.0),
        registers_only: *feels == Feels::Clock,
        throughput: *feels == Feels::Throughput,
        fractions: loops.to_vec(),
        ..Kernel::default()
    })
}
