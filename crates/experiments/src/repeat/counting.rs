//! Counters of a command and all that it starts, opened anew for each run and inherited by the process.
//!
//! Each run counts cycles and two more, in rotation, so that no counter is shared within a run: what was not counted
//! all of the time is not told. They are opened disabled on this thread and start with execve(2) in the child alone
//! (`enable_on_exec`), so nothing of bandscope is in them. `instructions` is among them only on bare metal: under a
//! hypervisor it made every exit dearer (docs/method.md, section 9.7).

use bandscope_probe::counters::events::{self, Event};
use bandscope_probe::counters::open::open_inherited;
use std::fs::File;
use std::io::Read;

/// Beside cycles; general-purpose counters are 4 and more since 2006 on Intel and AMD, and others may hold one.
const AT_ONCE: usize = 2;

/// What this machine can count.
#[derive(Debug, Default)]
pub struct Counting {
    cycles: Option<Event>,
    others: Vec<Event>,
}

/// Counters that are open for one run.
#[derive(Debug, Default)]
pub struct Open(Vec<(String, File)>);

impl Counting {
    /// Tries what is known of this core; and why there is none, if there is none.
    pub fn find(microarchitecture: Option<&str>, bare_metal: bool) -> (Counting, Option<String>) {
        let mut wanted = events::wanted(microarchitecture);
        wanted.extend(events::of_commands());
        wanted.retain(|event| !event.is_software() && (bare_metal || event.name != "instructions"));
        let mut why = None;
        let mut there = Vec::new();
        for event in wanted {
            match open_inherited(&event) {
                Ok(_) => there.push(event),
                Err(error) => why = Some(format!("hardware counters: {error}")),
            }
        }
        let cycles = there
            .iter()
            .position(|event| event.name == "cycles")
            .map(|index| there.remove(index));
        let none = cycles.is_none() && there.is_empty();
        (
            Counting {
                cycles,
                others: there,
            },
            why.filter(|_| none),
        )
    }

    /// Whether there are cycles.
    pub fn has_cycles(&self) -> bool {
        self.cycles.is_some()
    }

    /// Opens those of run `number`.
    pub fn open(&self, number: usize) -> Open {
        let turn = (0..AT_ONCE.min(self.others.len()))
            .map(|index| &self.others[(number * AT_ONCE + index) % self.others.len()]);
        let events = self.cycles.iter().chain(turn);
        // What was there a moment ago and is not now is simply not told of this run.
        Open(
            events
                .filter_map(|event| Some((event.name.clone(), open_inherited(event).ok()?)))
                .collect(),
        )
    }
}

impl Open {
    /// What was counted, after the process ended.
    pub fn read(self) -> impl Iterator<Item = (String, f64)> {
        self.0.into_iter().filter_map(|(name, mut file)| {
            let mut words = [[0; 8]; 3];
            file.read_exact(words.as_flattened_mut()).ok()?;
            let [value, enabled, running] = words.map(u64::from_ne_bytes);
            (running > 0 && running == enabled).then(|| (format!("counter:{name}"), value as f64))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::settings::Settings;
    use super::*;

    #[test]
    fn a_child_is_counted_from_its_beginning_and_nobody_else() {
        // Faults are counted by any kernel; the mechanism is that of the hardware's counters.
        let faults = events::wanted(None)
            .into_iter()
            .find(|event| event.name == "page-faults")
            .unwrap();
        let count = |words: &[&str]| -> Option<f64> {
            let open = Open(vec![("page-faults".into(), open_inherited(&faults).ok()?)]);
            let words: Vec<_> = words.iter().map(Into::into).collect();
            assert!(
                Settings::default()
                    .prepare(&words)
                    .output()
                    .unwrap()
                    .status
                    .success()
            );
            open.read().next().map(|(_, value)| value)
        };
        let Some(one) = count(&["true"]) else {
            println!("SKIPPED: counters of a child: perf events cannot be opened here");
            return;
        };
        // A shell that starts others has more than one that does not; a process has some.
        let several = count(&["sh", "-c", "true; ls / ; ls /; ls /"]).unwrap();
        assert!(several > one, "{several} {one}");
        let nobody = Open(vec![(
            "page-faults".into(),
            open_inherited(&faults).unwrap(),
        )]);
        assert!(nobody.read().all(|(_, value)| value == 0.0));
    }

    #[test]
    fn what_this_machine_counts_is_found_or_it_is_said_why_not() {
        let (counting, why) = Counting::find(None, true);
        if let Some(why) = why {
            println!("SKIPPED: counters of a command: {why}");
            assert!(!counting.has_cycles() && counting.open(3).0.is_empty());
            return;
        }
        assert!(counting.has_cycles() || !counting.others.is_empty());
    }
}
