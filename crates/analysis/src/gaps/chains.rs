//! Who made tasks run and sent interrupts, and what for: their time in gaps, by chain.
//!
//! A chain is a cause, what it did (the functions that a kernel worker ran, or another CPU asked for), and who is behind it. A worker has another number every few minutes, so its number
//! is left out of its name.

use crate::gaps::causes::per_second;
use crate::gaps::naming::{Key, Namer};
use crate::series::context::Context;
use bandscope_recording::cpu_list;
pub use bandscope_report::without_number;
use bandscope_report::{self as report, Cause};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

/// Chains that the report lists.
const CHAINS: usize = 32;
/// Chains that are told apart; a machine has some hundreds.
const MOST_CHAINS: usize = 4096;

/// Task, function, sender.
type Chain = (Key, Arc<str>, Arc<str>);

/// What the gaps of a chain come to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Sum {
    number: u64,
    ticks: u128,
    longest: u64,
    waited: u128,
    cpus: BTreeSet<u32>,
}

impl Sum {
    fn add(&mut self, other: &Sum) {
        self.number += other.number;
        self.ticks += other.ticks;
        self.longest = self.longest.max(other.longest);
        self.waited += other.waited;
        self.cpus.extend(&other.cpus);
    }
}

/// The chains of the gaps of a series.
#[derive(Clone, Debug, Default)]
pub struct Chains(HashMap<Chain, Sum>);

impl Chains {
    /// Takes the gap that `namer` split last.
    pub fn push(&mut self, namer: &Namer<'_>) {
        for (piece, sender, waited) in namer.sent() {
            let chain = (
                piece.share.key,
                sender.function.clone(),
                sender.name.clone(),
            );
            if self.0.len() >= MOST_CHAINS && !self.0.contains_key(&chain) {
                continue;
            }
            self.0.entry(chain).or_default().add(&Sum {
                number: 1,
                ticks: piece.share.ticks.into(),
                longest: piece.share.ticks,
                waited: waited.into(),
                cpus: BTreeSet::from([sender.cpu]),
            });
        }
    }

    /// The costliest ones, last those that only ran on; `names` are those of the keys, and the series lasted `seconds`.
    pub fn report(&self, names: &[Cause], seconds: f64, context: &Context) -> Vec<report::Chain> {
        let mut sums: BTreeMap<(String, &str, String), Sum> = BTreeMap::new();
        for ((key, function, sender), sum) in &self.0 {
            let cause = names.get(*key as usize).cloned().unwrap_or_default();
            let cause = without_number(&cause.to_string());
            let chain = (cause, &**function, without_number(sender));
            sums.entry(chain).or_default().add(sum);
        }
        let mut chains: Vec<report::Chain> = sums
            .into_iter()
            .map(|((cause, function, sender), sum)| report::Chain {
                cause,
                function: function.to_owned(),
                cpus: match sender.is_empty() {
                    true => String::new(),
                    false => cpu_list::written(&sum.cpus.into_iter().collect::<Vec<_>>()),
                },
                sender,
                sender_function: String::new(),
                set_by: String::new(),
                number: sum.number,
                per_second: per_second(sum.number, seconds),
                ns: context.ns(sum.ticks as f64).round() as u64,
                longest_ns: context.ns(sum.longest as f64),
                waited_ns: context.ns(sum.waited as f64) / sum.number.max(1) as f64,
            })
            .collect();
        let rank = |chain: &report::Chain| (chain.ran_on(), Reverse(chain.ns));
        chains.sort_by(|a, b| rank(a).cmp(&rank(b)).then_with(|| a.cause.cmp(&b.cause)));
        chains.truncate(CHAINS);
        chains
    }
}
