//! Counters that are read after a gap, and rarely otherwise.
//!
//! [`choose`] opens what the microarchitecture's list wants, believes what moves when it must, prices
//! each read and takes what the budget permits; that is done once, on the CPU to be measured.
//! [`Counters::open`] then opens the same set on the measuring thread. Everything is optional: what is
//! not there becomes a [`Missing`].

pub mod events;
mod hardware;
pub mod open;
mod proof;
mod software;

use crate::clock;
use bandscope_recording::gaps::MAX_COUNTERS;
use bandscope_recording::manifest::{Counter, Missing};
use events::Event;
use hardware::Hardware;
use open::Scope;
use proof::Unproven;
use software::Software;
use std::io;

/// What reading all counters after a gap may cost, in nanoseconds: 4000 gaps a second then cost
/// 2.8 %, and 300 cost 0.2 % (docs/method.md, section 11, allows 3 % and 1 %).
const BUDGET_NS: f64 = 7_000.0;
/// A read may cost so many times its price, which is a median with warm caches, before it is interrupted. The cheapest of system calls is dear where its code
/// has left the caches. Of the gaps of a quiet CPU, recorded with events, 2 of 1,000 had another one right after them with the least price, 5 without it, and
/// 40 when perf events were read at about that price (Zen 4, `export --what gaps`, medians of three).
const MOST_PRICES: f64 = 4.0;
const LEAST_PRICE_NS: f64 = 1e3;
/// Reads timed for a price.
const PRICE_READS: usize = 101;

/// The set that was chosen, so that it can be opened again on another thread.
#[derive(Clone, Debug, Default)]
pub struct Plan {
    hardware: Vec<(Event, Scope)>,
    software: Software,
    /// Cost of one read of all, in ticks.
    pub read_ticks: f64,
}

impl Plan {
    /// Whether there is nothing to read.
    pub fn is_empty(&self) -> bool {
        self.hardware.is_empty() && self.software.number() == 0
    }

    /// The most that a read of all takes without an interruption, in ticks.
    pub fn most_ticks(&self, ticks_per_ns: f64) -> u64 {
        let price = match self.is_empty() {
            true => 0.0,
            false => self.read_ticks.max(LEAST_PRICE_NS * ticks_per_ns),
        };
        (price * MOST_PRICES) as u64
    }

    /// Whether it has counters of the CPU, and not the kernel's alone.
    pub fn has_hardware(&self) -> bool {
        !self.hardware.is_empty()
    }

    /// Whether a quiet stretch holds anything to read: cycles pass without a gap, context switches
    /// and faults do not.
    pub fn needs_checkpoints(&self) -> bool {
        self.has_hardware()
    }
}

/// What [`choose`] found.
#[derive(Clone, Debug, Default)]
pub struct Choice {
    /// To be opened by the measuring thread.
    pub plan: Plan,
    /// For the manifest, in the order in which values are read.
    pub counters: Vec<Counter>,
    /// What is not there.
    pub missing: Vec<Missing>,
}

/// Opens, proves, prices and chooses, on the calling thread.
pub fn choose(microarchitecture: Option<&str>, ticks_per_ns: f64) -> Choice {
    let wanted = events::wanted(microarchitecture);
    let (software, hardware): (Vec<_>, Vec<_>) = wanted.into_iter().partition(Event::is_software);
    let mut choice = Choice::default();
    let budget = BUDGET_NS * ticks_per_ns;
    // The kernel's own counts come first: they are few, cost less than a microsecond together, and decide
    // what no hardware counter can.
    choose_software(&software, budget, &mut choice);
    let software_counters = std::mem::take(&mut choice.counters);
    let room = MAX_COUNTERS - software_counters.len();
    choose_hardware(&hardware, room, budget, &mut choice);
    choice.counters.extend(software_counters);
    choice
}

/// Why the kernel's own counts are not read.
#[derive(Debug, thiserror::Error)]
enum NoSoftware {
    #[error("getrusage(2) has none of that name")]
    Unknown,
    #[error("{event} {why}")]
    Unproven { event: String, why: Unproven },
    #[error("a read costs {ticks:.0} ticks, above {budget:.0}")]
    Dear { ticks: f64, budget: f64 },
}

fn choose_software(events: &[Event], budget: f64, choice: &mut Choice) {
    match proven_software(events, budget) {
        Ok((software, ticks)) => {
            choice.plan.read_ticks += ticks;
            choice.plan.software = software;
            choice.counters.extend(events.iter().map(|event| Counter {
                name: event.name.clone(),
                method: "getrusage".into(),
                read_ticks: ticks / events.len() as f64,
            }));
        }
        Err(why) => choice.missing.push(missing(
            "counters: context-switches, page-faults",
            why.to_string(),
            "which gaps were another task, and which a page fault",
        )),
    }
}

/// With the cost of a read of all, in ticks.
fn proven_software(events: &[Event], budget: f64) -> Result<(Software, f64), NoSoftware> {
    let software = Software::of(events).ok_or(NoSoftware::Unknown)?;
    let mut values = vec![0; events.len()];
    for (index, event) in events.iter().enumerate() {
        let read = || software.read(&mut values).map(|()| values[index]);
        proof::prove(event.proof, read).map_err(|why| NoSoftware::Unproven {
            event: event.name.clone(),
            why,
        })?;
    }
    let ticks = price(|| software.read(&mut values));
    match ticks < budget {
        true => Ok((software, ticks)),
        false => Err(NoSoftware::Dear { ticks, budget }),
    }
}

fn choose_hardware(events: &[Event], room: usize, budget: f64, choice: &mut Choice) {
    let mut refused: Vec<String> = Vec::new();
    // Those that are kept stay open: a counter that reads well alone may find no room beside others.
    let mut kept: Vec<Hardware> = Vec::new();
    for event in events {
        if kept.len() == room {
            refused.push(format!("{} finds no room in a gap's record", event.name));
            continue;
        }
        match proven_hardware(event) {
            Ok((hardware, scope)) => {
                let price = price(|| hardware.read().map(drop));
                if choice.plan.read_ticks + price >= budget {
                    refused.push(format!("{} costs {price:.0} ticks a read", event.name));
                    continue;
                }
                choice.plan.read_ticks += price;
                choice.plan.hardware.push((event.clone(), scope));
                choice.counters.push(Counter {
                    name: match scope {
                        Scope::All => event.name.clone(),
                        Scope::User => format!("{}:u", event.name),
                    },
                    method: hardware.method().to_owned(),
                    read_ticks: price,
                });
                kept.push(hardware);
            }
            Err(error) => refused.push(format!("{}: {error}", event.name)),
        }
    }
    if !refused.is_empty() {
        choice.missing.push(missing(
            "hardware counters",
            refused.join("; "),
            "whether a slower pace is a lower clock frequency or a slower core state, and how much time firmware takes",
        ));
    }
}

fn proven_hardware(event: &Event) -> Result<(Hardware, Scope), Unproven> {
    let attempt = |scope| {
        let hardware = Hardware::open(event, scope)?;
        proof::prove(event.proof, || hardware.read())?;
        Ok((hardware, scope))
    };
    attempt(Scope::All).or_else(|_: Unproven| attempt(Scope::User))
}

/// Median cost of a read in ticks; infinite if it fails.
fn price(mut read: impl FnMut() -> io::Result<()>) -> f64 {
    let mut prices = [0u64; PRICE_READS];
    for price in &mut prices {
        let start = clock::ticks();
        if read().is_err() {
            return f64::INFINITY;
        }
        *price = clock::ticks().wrapping_sub(start);
    }
    prices.sort_unstable();
    prices[PRICE_READS / 2] as f64
}

fn missing(what: &str, why: String, leaves_undecided: &str) -> Missing {
    Missing {
        what: what.to_owned(),
        why,
        leaves_undecided: leaves_undecided.to_owned(),
    }
}

/// The chosen counters, open on the measuring thread.
#[derive(Debug)]
pub struct Counters {
    hardware: Vec<Hardware>,
    software: Software,
}

impl Counters {
    /// Opens what `plan` names for the calling thread; `None` if it names nothing.
    ///
    /// # Errors
    /// If the kernel refuses by now what it allowed before.
    pub fn open(plan: &Plan) -> io::Result<Option<Counters>> {
        if plan.is_empty() {
            return Ok(None);
        }
        let hardware: Vec<Hardware> = plan
            .hardware
            .iter()
            .map(|(event, scope)| Hardware::open(event, *scope))
            .collect::<io::Result<_>>()?;
        let software = plan.software.clone();
        Ok(Some(Counters { hardware, software }))
    }

    /// Reads all into `values`. A counter that fails keeps its value, so its increment is 0.
    #[inline]
    pub fn read(&self, values: &mut [u64; MAX_COUNTERS]) {
        for (value, hardware) in values.iter_mut().zip(&self.hardware) {
            if let Ok(read) = hardware.read() {
                *value = read;
            }
        }
        if self.software.number() > 0 {
            // On failure the values stay as they were.
            let _ = self.software.read(&mut values[self.hardware.len()..]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_chosen_can_be_opened_again_and_never_runs_backwards() {
        let choice = choose(None, 2.0);
        println!("{:?}", choice.counters);
        println!("{:?}", choice.missing);
        assert!(choice.counters.len() <= MAX_COUNTERS);
        // Whatever the list wants is either there or accounted for.
        assert!(choice.counters.len() >= 4 || !choice.missing.is_empty());
        std::thread::spawn(move || {
            let Some(counters) = Counters::open(&choice.plan).unwrap() else {
                println!("skipped: no counter can be read here");
                return;
            };
            let mut first = [0; MAX_COUNTERS];
            counters.read(&mut first);
            std::thread::sleep(std::time::Duration::from_millis(1));
            let mut second = first;
            counters.read(&mut second);
            assert!(first.iter().zip(&second).all(|(a, b)| a <= b));
            let switches = choice
                .counters
                .iter()
                .position(|c| c.name == "context-switches");
            if let Some(index) = switches {
                assert!(second[index] > first[index]);
            }
        })
        .join()
        .unwrap();
    }

    #[test]
    fn a_budget_of_nothing_buys_nothing() {
        let choice = choose(None, 0.0);
        assert!(choice.plan.is_empty() && choice.counters.is_empty());
        assert!(!choice.missing.is_empty());
        assert!(Counters::open(&choice.plan).unwrap().is_none());
    }
}
