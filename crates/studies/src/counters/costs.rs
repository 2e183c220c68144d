//! What an event may cost in cycles: without that, counts cannot be held against lost time.
//!
//! A counter has the first entry of [`COSTS`] whose pattern its name holds, in small letters and with `-` and `.` for `_`. Bounds are wide on purpose: a
//! counter that cannot pay at the upper one cannot pay at all. Each says where it comes from.

use serde::Serialize;

/// Cycles of one event.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Cost {
    /// At least.
    pub low: f64,
    /// At most.
    pub high: f64,
    /// Where the bounds come from.
    pub source: &'static str,
}

/// What a counter is to the account.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Cycles of the whole run: what is to be explained.
    Cycles,
    /// A time, or another measure of how long it took.
    Time,
    /// Instructions, or a kind of them: costs what an instruction of A does.
    Instructions,
    /// An event of a known cost.
    Event,
    /// An event after which the core may go on in another state, whatever it costs itself.
    Switch,
    /// Nothing is known of it.
    Unknown,
}

/// Of a counter of [`Role::Event`] or [`Role::Switch`].
struct Entry {
    pattern: &'static str,
    role: Role,
    low: f64,
    high: f64,
    source: &'static str,
}

/// The clock that bounds in cycles were made from times with, and times are made from them again.
const CLOCK_HZ: f64 = 4.5e9;

const fn event(pattern: &'static str, low: f64, high: f64, source: &'static str) -> Entry {
    Entry {
        pattern,
        role: Role::Event,
        low,
        high,
        source,
    }
}

const fn switch(pattern: &'static str, low: f64, high: f64, source: &'static str) -> Entry {
    Entry {
        pattern,
        role: Role::Switch,
        low,
        high,
        source,
    }
}

const ITSELF: &str = "it counts cycles";
/// libpfm4's tables of the Itanium 2 give these events an increment of at most 2 a cycle.
const BUNDLES: &str = "it counts lost bundles, of which an Itanium 2 issues two a cycle";
/// docs/method.md, section 9.8: a tick with tracing takes 9 to 21 us on Zen 3, at 4.5 GHz 95,000 cycles.
const INTERRUPT: &str = "a traced tick of 21 µs at 4.5 GHz; an interrupt's entry takes 500";
/// Li, Ding and Shen 2007: several us to a ms, where the other task took all the caches; a ms at 4.5 GHz.
const CONTEXT_SWITCH: &str = "a us or so, to a ms where caches were lost (Li, Ding and Shen 2007)";
/// Half a ms: what a busy network card's takes.
const SOFTIRQ: &str = "a softirq, which may work for half a ms (assumed)";
/// docs/method.md, section 9.8.
const FAULT: &str = "a minor fault; 28,000 ticks were measured in a virtual machine";
const MAJOR_FAULT: &str = "a major fault, which waits for a disk: 10 µs to 50 ms";
/// A page of 2 MiB at 10 GB/s takes 200 us.
const MAYBE_HUGE: &str = "a minor fault, to the zeroing of a huge page in 300 µs";
/// Fog: 10 to 20 cycles of today's pipelines, 24 and more of the Pentium 4.
const MISPREDICTION: &str =
    "a pipeline's length (Fog, The microarchitecture of Intel, AMD and VIA CPUs)";
const NEAR_MISS: &str = "an access to the second or third level (assumed: 4 to 80)";
const FAR_MISS: &str = "an access to memory (assumed: 50 to 500)";
const WALK: &str = "a walk of page tables (assumed: 7 to 200)";

/// The more special pattern first.
const COSTS: [Entry; 30] = [
    event("be_lost_bw", 0.5, 1.0, BUNDLES),
    event("fe_lost_bw", 0.5, 1.0, BUNDLES),
    event("stall", 1.0, 1.0, ITSELF),
    event("bubble", 1.0, 1.0, ITSELF),
    event("cycle_activity", 1.0, 1.0, ITSELF),
    event("walk_active", 1.0, 1.0, ITSELF),
    event("walk_duration", 1.0, 1.0, ITSELF),
    switch("hw_interrupts", 500.0, 95_000.0, INTERRUPT),
    switch("interrupt", 500.0, 95_000.0, INTERRUPT),
    switch("irq_vectors", 500.0, 95_000.0, INTERRUPT),
    switch("softirq:", 500.0, 2.25e6, SOFTIRQ),
    switch("irq:", 500.0, 95_000.0, INTERRUPT),
    switch("nmi", 500.0, 95_000.0, INTERRUPT),
    switch("context_switches", 1_000.0, 4.5e6, CONTEXT_SWITCH),
    switch("cpu_migrations", 1_000.0, 4.5e6, CONTEXT_SWITCH),
    switch("sched_switch", 1_000.0, 4.5e6, CONTEXT_SWITCH),
    switch("switches:", 1_000.0, 4.5e6, CONTEXT_SWITCH),
    event("major_faults", 45_000.0, 2.25e8, MAJOR_FAULT),
    event("faults:major", 45_000.0, 2.25e8, MAJOR_FAULT),
    event("faults:minor", 500.0, 1.35e6, MAYBE_HUGE),
    event("faults", 500.0, 28_000.0, FAULT),
    event("branch_misses", 10.0, 30.0, MISPREDICTION),
    event("mispred", 10.0, 30.0, MISPREDICTION),
    event("tlb", 7.0, 200.0, WALK),
    event("llc_load_misses", 50.0, 500.0, FAR_MISS),
    event("llc_store_misses", 50.0, 500.0, FAR_MISS),
    event("cache_misses", 50.0, 500.0, FAR_MISS),
    event("llc", 4.0, 80.0, NEAR_MISS),
    event("l1_", 4.0, 80.0, NEAR_MISS),
    event("cache_references", 4.0, 80.0, NEAR_MISS),
];

/// A name as patterns are written.
fn plain(name: &str) -> String {
    name.to_lowercase().replace(['-', '.'], "_")
}

/// The last part of a name: of `cpu_core/cycles/u` and `cycles:u`, `cycles`.
fn bare(plain: &str) -> &str {
    let inside = plain.split('/').nth(1).unwrap_or(plain);
    inside.split(':').next().unwrap_or(inside)
}

/// Whether a counter is the one of that bare name, whatever it is restricted to.
pub fn is(name: &str, bare_name: &str) -> bool {
    bare(&plain(name)) == bare_name
}

/// Whether it is, and counts in user and kernel mode alike.
pub fn is_of_all(name: &str, bare_name: &str) -> bool {
    plain(name) == bare_name
}

/// What the counter of this name and unit is.
pub fn role(name: &str, unit: &str) -> Role {
    let plain = plain(name);
    match bare(&plain) {
        "cycles" | "cpu_cycles" | "cpu_clk_unhalted_thread" => return Role::Cycles,
        "ref_cycles" | "bus_cycles" | "slots" | "task_clock" | "cpu_clock" => return Role::Time,
        "instructions" | "branches" | "branch_instructions" | "uops" | "loads" | "stores" => {
            return Role::Instructions;
        }
        // `LLC-loads` are those that missed before.
        name if name.starts_with("llc") => {}
        name if name.ends_with("_loads") || name.ends_with("_stores") => {
            return Role::Instructions;
        }
        _ => {}
    }
    match unit {
        "" => entry(&plain).map_or(Role::Unknown, |entry| entry.role),
        unit if seconds_of(unit).is_some() => Role::Time,
        _ => Role::Unknown,
    }
}

/// Units of time as tools write them, in seconds.
const TIME_UNITS: [(&str, f64); 7] = [
    ("s", 1.0),
    ("sec", 1.0),
    ("msec", 1e-3),
    ("ms", 1e-3),
    ("usec", 1e-6),
    ("us", 1e-6),
    ("ns", 1e-9),
];

/// A unit of a counter in seconds; `None` if it is none of time.
pub fn seconds_of(unit: &str) -> Option<f64> {
    let known = TIME_UNITS.iter().find(|(name, _)| *name == unit);
    known.map(|(_, seconds)| *seconds)
}

fn entry(plain: &str) -> Option<&'static Entry> {
    // The timer's interrupt, as `repeat` names it; `ticks` of other counters are no interrupts.
    let plain = if plain == "tick" { "interrupt" } else { plain };
    COSTS.iter().find(|entry| plain.contains(entry.pattern))
}

/// What an event of the counter of this name costs, where that is known.
pub fn cost(name: &str) -> Option<Cost> {
    entry(&plain(name)).map(|entry| Cost {
        low: entry.low,
        high: entry.high,
        source: entry.source,
    })
}

/// So many seconds in the cycles that costs are stated in.
pub fn cycles(seconds: f64) -> f64 {
    seconds * CLOCK_HZ
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_counters_are() {
        for (name, unit, expected) in [
            ("cycles", "", Role::Cycles),
            ("cycles:u", "", Role::Cycles),
            ("cpu_core/cycles/u", "", Role::Cycles),
            ("ref-cycles", "", Role::Time),
            ("elapsed", "s", Role::Time),
            ("task-clock", "msec", Role::Time),
            ("instructions", "", Role::Instructions),
            ("L1-dcache-loads", "", Role::Instructions),
            ("L1-dcache-load-misses", "", Role::Event),
            ("LLC-loads", "", Role::Event),
            ("hw_interrupts.received", "", Role::Switch),
            ("user BE_LOST_BW_DUE_TO_FE_BR_ILOCK", "", Role::Event),
            ("kernel L2_FILLB_FULL_THIS", "", Role::Unknown),
            ("power/energy-pkg/", "Joules", Role::Unknown),
        ] {
            assert_eq!(role(name, unit), expected, "{name}");
        }
        assert_eq!(
            cost("stalled-cycles-backend").map(|cost| cost.high),
            Some(1.0)
        );
        assert_eq!(cost("LLC-load-misses").map(|cost| cost.low), Some(50.0));
        assert_eq!(cost("something"), None);
    }

    #[test]
    fn bounds_are_in_order_and_patterns_are_plain() {
        for entry in &COSTS {
            assert!(
                0.0 < entry.low && entry.low <= entry.high,
                "{}",
                entry.pattern
            );
            assert_eq!(entry.pattern, plain(entry.pattern));
        }
        // A pattern that an earlier one holds would never be reached.
        for (place, entry) in COSTS.iter().enumerate() {
            let hidden = COSTS[..place]
                .iter()
                .any(|earlier| entry.pattern.contains(earlier.pattern));
            assert!(!hidden, "{}", entry.pattern);
        }
    }
}
