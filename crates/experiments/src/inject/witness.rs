//! What the kernel counted on a CPU, where that bears witness to what a disturber did.

use super::kinds::Kind;
use bandscope_probe::facts::{cpu_list, rows, text};
use std::collections::BTreeMap;

/// States of an idle CPU that are looked at; the kernel knows 10 (CPUIDLE_STATE_MAX).
const MOST_STATES: u32 = 10;

/// The counts that bear witness to `kind` on `cpu`, as they stand; empty where the kernel does not tell.
pub fn counts(kind: Kind, cpu: u32) -> BTreeMap<String, u64> {
    match kind {
        Kind::Softirq => softirqs(cpu).into_iter().collect(),
        Kind::Neighbour(_) => idle(cpu),
        Kind::Task | Kind::Signal | Kind::Faults => BTreeMap::new(),
    }
}

/// How much each count has grown.
pub fn grown(
    before: &BTreeMap<String, u64>,
    after: BTreeMap<String, u64>,
) -> BTreeMap<String, u64> {
    let pairs = after.into_iter().filter_map(|(name, count)| {
        let grown = count.saturating_sub(*before.get(&name)?);
        Some((name, grown))
    });
    pairs.collect()
}

fn softirqs(cpu: u32) -> Option<(String, u64)> {
    let table = std::fs::read_to_string("/proc/softirqs").ok()?;
    let row = rows(&table, cpu).find(|row| row.name == "NET_RX")?;
    Some(("softirq:NET_RX".to_owned(), row.number))
}

/// Microseconds in each idle state.
fn idle(cpu: u32) -> BTreeMap<String, u64> {
    let states = (0..MOST_STATES).filter_map(|state| {
        let directory = format!("/sys/devices/system/cpu/cpu{cpu}/cpuidle/state{state}");
        let name = text(format!("{directory}/name"))?;
        let time = text(format!("{directory}/time"))?.parse().ok()?;
        Some((format!("idle:{name}:us"), time))
    });
    states.collect()
}

/// The SMT siblings of a CPU, itself apart; empty where it has none or the kernel does not tell.
pub fn siblings(cpu: u32) -> Vec<u32> {
    let list = cpu_list(&format!("cpu{cpu}/topology/thread_siblings_list"));
    let mut siblings = list.unwrap_or_default();
    siblings.retain(|&sibling| sibling != cpu);
    siblings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn growth_is_of_what_was_known_before() {
        let map = |pairs: &[(&str, u64)]| {
            pairs
                .iter()
                .map(|(name, count)| ((*name).to_owned(), *count))
                .collect::<BTreeMap<_, _>>()
        };
        let grown = grown(
            &map(&[("a", 3), ("b", 9)]),
            map(&[("a", 10), ("b", 2), ("c", 5)]),
        );
        assert_eq!(grown, map(&[("a", 7), ("b", 0)]));
    }
}
