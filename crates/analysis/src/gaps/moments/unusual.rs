//! What is different about a moment: what ran in it, and hardly in others of the same main cause.

use super::PARTS;
use crate::gaps::chains::without_number;
use bandscope_report::{Cause, Moment, Part, Unusual};
use std::collections::{BTreeMap, HashMap, HashSet};

/// Moments of the same main cause besides, at least (chosen). Of fewer, chance alone leaves many causes out.
const MIN_OTHERS: u64 = 10;
/// Share of those in which it may have run as well (chosen).
const MAX_SHARE_SEEN: f64 = 0.1;
/// Share of the moment that it took at least: less explains little of it (chosen).
const MIN_PART: f64 = 0.1;

/// Whether it ran on the CPU that was away, and what it was.
type Ran = (bool, String);

/// Marks what is unusual in each.
pub fn mark(moments: &mut [Moment]) {
    let mut alike: BTreeMap<Cause, Vec<usize>> = BTreeMap::new();
    for (place, moment) in moments.iter().enumerate() {
        if let Some(main) = moment.causes.first() {
            alike.entry(main.cause.clone()).or_default().push(place);
        }
    }
    for places in alike.into_values() {
        let others = places.len() as u64 - 1;
        if others < MIN_OTHERS {
            continue;
        }
        let mut seen: HashMap<Ran, u64> = HashMap::new();
        for &place in &places {
            let ran: HashSet<Ran> = ran(&moments[place]).map(|(ran, ..)| ran).collect();
            ran.into_iter()
                .for_each(|ran| *seen.entry(ran).or_default() += 1);
        }
        for place in places {
            let moment = &moments[place];
            let worth = |part: &Part| part.ns >= MIN_PART * moment.length_ns;
            let seldom = ran(moment).filter_map(|((is_own, cause), cpu, part)| {
                let seen_in = seen[&(is_own, cause.clone())] - 1;
                let is_unusual = seen_in as f64 <= MAX_SHARE_SEEN * others as f64 && worth(part);
                is_unusual.then_some(Unusual {
                    cause,
                    cpu,
                    ns: part.ns,
                    seen_in,
                    others,
                })
            });
            let mut unusual: Vec<Unusual> = seldom.collect();
            unusual.sort_by(|a, b| b.ns.total_cmp(&a.ns));
            unusual.truncate(PARTS);
            moments[place].unusual = unusual;
        }
    }
}

/// The longest that ran in a moment, and where.
fn ran(moment: &Moment) -> impl Iterator<Item = (Ran, u32, &Part)> {
    let name = |part: &Part| without_number(&part.cause.to_string());
    let own = moment.cpu.into_iter().flat_map(move |cpu| {
        let parts = moment.causes.iter();
        parts.map(move |part| ((true, name(part)), cpu, part))
    });
    let others = moment.others.iter().flat_map(move |other| {
        let parts = other.ran.iter();
        parts.map(move |part| ((false, name(part)), other.cpu, part))
    });
    own.chain(others)
}

#[cfg(test)]
mod tests {
    use super::*;
    use bandscope_report::Elsewhere;

    #[test]
    fn what_runs_in_one_of_many_is_unusual() {
        let part = |name: &str, ns| {
            let cause = match name.split_once(':') {
                Some(("task", task)) => Cause::Task(task.into()),
                Some(("irq", interrupt)) => Cause::Interrupt(interrupt.into()),
                Some((_, softirq)) => Cause::Softirq(softirq.into()),
                None => Cause::Tick,
            };
            Part { cause, ns }
        };
        let moment = |parts: &[(&str, f64)], elsewhere: &str| Moment {
            cpu: Some(1),
            length_ns: 100.0,
            causes: parts.iter().map(|&(name, ns)| part(name, ns)).collect(),
            others: vec![Elsewhere {
                cpu: 3,
                ran: vec![part(elsewhere, 50.0)],
            }],
            ..Moment::default()
        };
        let usual = moment(&[("task:make", 90.0), ("tick", 10.0)], "task:kworker/3:1");
        let mut moments = vec![usual; 11];
        // Too short to say much, and another worker of the same pool.
        moments[2] = moment(
            &[("task:make", 95.0), ("irq:eth0", 5.0)],
            "task:kworker/3:7",
        );
        moments[5] = moment(&[("task:make", 80.0), ("softirq:NET_RX", 20.0)], "task:cc1");
        mark(&mut moments);
        let told: Vec<(usize, &str, u32, u64)> = (moments.iter().enumerate())
            .flat_map(|(place, moment)| {
                let unusual = moment.unusual.iter();
                unusual.map(move |one| (place, &*one.cause, one.cpu, one.seen_in))
            })
            .collect();
        assert_eq!(told, [(5, "task:cc1", 3, 0), (5, "softirq:NET_RX", 1, 0)]);
        assert_eq!(moments[5].unusual[0].others, 10);
        // Of ten nothing is usual.
        let mut few = moments[..10].to_vec();
        few.iter_mut().for_each(|moment| moment.unusual.clear());
        mark(&mut few);
        assert!(few.iter().all(|moment| moment.unusual.is_empty()));
    }
}
