//! Who made tasks run and sent interrupts, and what for.

use super::table::{Page, Paint};
use super::{View, share};
use crate::numbers;
use bandscope_recording::cpu_list;
use bandscope_report::{Chain, SenderTime, format};
use std::collections::BTreeMap;

/// Chains on one screen, and the least share of the time that one takes there.
const ON_ONE_SCREEN: usize = 3;
const WORTH_NAMING: f64 = 1e-3;

/// The costliest ones.
pub(super) fn on_one_screen(view: &View<'_>, page: &mut Page<'_>) {
    let (chains, wall_ns) = summed(view);
    let worth = |chain: &Chain| !chain.ran_on() && share(chain.ns, wall_ns) >= WORTH_NAMING;
    let shown = chains.iter().filter(|chain| worth(chain));
    list(
        &shown.take(ON_ONE_SCREEN).collect::<Vec<_>>(),
        wall_ns,
        page,
    );
}

/// All that the report has.
pub(super) fn chains(view: &View<'_>, page: &mut Page<'_>) {
    let (chains, wall_ns) = summed(view);
    list(&chains.iter().collect::<Vec<_>>(), wall_ns, page);
    if !chains.is_empty() {
        let gaps = view.series.iter().filter_map(|series| series.gaps.as_ref());
        let parts = how_much(&gaps.map(|gaps| gaps.senders).collect::<Vec<_>>());
        page.wrapped(("  ", Paint::Plain), &parts, Paint::Dim);
    }
}

/// How much of the time in gaps has a sender, and why the rest has none.
fn how_much(of_series: &[SenderTime]) -> String {
    let sum = |part: fn(&SenderTime) -> u64| of_series.iter().map(part).sum::<u64>();
    let parts = [
        (sum(|time| time.known_ns), "known for", ""),
        (
            sum(|time| time.none_ns),
            "none for",
            " (the tick, devices, the host, tasks that resumed)",
        ),
        (sum(|time| time.not_recorded_ns), "not recorded for", ""),
        (sum(|time| time.unknown_ns), "not known for", ""),
    ];
    let all = parts.iter().map(|(ns, ..)| ns).sum();
    let parts = parts.iter().filter(|(ns, ..)| *ns > 0);
    let parts = parts
        .map(|(ns, for_, which)| format!("{for_} {}{which}", format::percent(share(*ns, all))));
    format!(
        "Senders, of the time in gaps: {}.",
        parts.collect::<Vec<_>>().join("; ")
    )
}

fn list(chains: &[&Chain], wall_ns: u64, page: &mut Page<'_>) {
    if chains.is_empty() {
        return;
    }
    page.blank();
    page.line(&[
        ("Who is behind it", Paint::Bold),
        ("  share of the time, times per second", Paint::Dim),
    ]);
    for chain in chains {
        let share = numbers::percent(share(chain.ns, wall_ns));
        let rate = format!("{}/s", numbers::significant(chain.per_second, 3));
        let label = format!("  {share:>7} {rate:>8}  ");
        page.hanging(
            &[(&label, Paint::Plain)],
            &format::behind(chain),
            Paint::Plain,
        );
    }
}

/// The chains of all series of a CPU, last those that only ran on, and their time.
fn summed(view: &View<'_>) -> (Vec<Chain>, u64) {
    let mut sums: BTreeMap<(&str, &str, &str), Chain> = BTreeMap::new();
    let (mut wall_ns, mut seconds) = (0u64, 0.0);
    for series in &view.series {
        wall_ns = wall_ns.saturating_add(series.ledger.wall_ns);
        seconds += series.ledger.wall_ns as f64 / 1e9;
        for chain in series.gaps.iter().flat_map(|gaps| &gaps.chains) {
            let key = (&*chain.cause, &*chain.function, &*chain.sender);
            match sums.get_mut(&key) {
                Some(sum) => add(sum, chain),
                None => {
                    sums.insert(key, chain.clone());
                }
            }
        }
    }
    let mut chains: Vec<Chain> = sums.into_values().collect();
    for chain in &mut chains {
        chain.per_second = chain.number as f64 / seconds;
    }
    chains.sort_by_key(|chain| (chain.ran_on(), std::cmp::Reverse(chain.ns)));
    (chains, wall_ns)
}

fn add(sum: &mut Chain, chain: &Chain) {
    let number = sum.number.saturating_add(chain.number);
    let waited = sum.waited_ns * sum.number as f64 + chain.waited_ns * chain.number as f64;
    sum.waited_ns = waited / number.max(1) as f64;
    sum.number = number;
    sum.ns = sum.ns.saturating_add(chain.ns);
    sum.longest_ns = sum.longest_ns.max(chain.longest_ns);
    if sum.cpus != chain.cpus {
        let mut cpus = cpu_list::parse(&format!("{},{}", sum.cpus, chain.cpus));
        cpus.sort_unstable();
        cpus.dedup();
        sum.cpus = cpu_list::written(&cpus);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chain() -> Chain {
        Chain {
            cause: "task:kworker/u8".into(),
            function: "flush_to_ldisc".into(),
            sender: "task:make".into(),
            cpus: "0,2".into(),
            number: 2,
            ns: 100,
            longest_ns: 60.0,
            waited_ns: 3e3,
            ..Chain::default()
        }
    }

    #[test]
    fn what_has_no_sender_is_told_with_its_reason() {
        let one = SenderTime {
            known_ns: 30,
            none_ns: 60,
            ..SenderTime::default()
        };
        let other = SenderTime {
            unknown_ns: 10,
            ..SenderTime::default()
        };
        let told = "Senders, of the time in gaps: known for 30.0 %; \
            none for 60.0 % (the tick, devices, the host, tasks that resumed); not known for 10.0 %.";
        assert_eq!(how_much(&[one, other]), told);
    }

    #[test]
    fn chains_of_two_series_are_one() {
        let mut sum = chain();
        let other = Chain {
            cpus: "1".into(),
            number: 6,
            longest_ns: 70.0,
            waited_ns: 7e3,
            ..chain()
        };
        add(&mut sum, &other);
        let wanted = Chain {
            cpus: "0-2".into(),
            number: 8,
            ns: 200,
            longest_ns: 70.0,
            waited_ns: 6e3,
            ..chain()
        };
        assert_eq!(sum, wanted);
    }
}
