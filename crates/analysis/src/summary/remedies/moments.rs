//! What helps against the moments that a flight recorder caught.

use super::{MIN_SHARE_OF_COSTLIEST, once};
use bandscope_recording::Manifest;
use bandscope_recording::manifest::EventsState;
use bandscope_recording::manifest::setup::paths;
use bandscope_report::remedies::{self, Remedy, Tasks};
use bandscope_report::{Cause, Moment};
use std::collections::BTreeSet;

/// What the names of kernel workers begin with.
const WORKER: &str = "kworker/";
/// Seconds between updates of memory statistics that are rare enough: tuned's profile cpu-partitioning sets 10.
const STAT_INTERVAL_S: u32 = 10;

/// What took most of some moments.
struct Taker<'a> {
    cause: &'a Cause,
    /// What it ran, of a kernel worker: one of [`ADVISED`], or all that is known.
    function: &'a str,
    cpus: BTreeSet<u32>,
    ns: f64,
}

/// What helps against the moments that a flight recorder caught: against what took most of them first, and not against what took little.
pub fn of_moments(moments: &[Moment], manifest: &Manifest) -> Vec<Remedy> {
    let machine = &manifest.machine;
    let takers = takers(moments);
    let (mut names, mut of_tasks) = (Vec::new(), BTreeSet::new());
    for taker in &takers {
        match taker.cause {
            Cause::Task(name) if remedies::is_movable(name) => {
                names.push(Tasks::from(&**name));
                of_tasks.extend(&taker.cpus);
            }
            _ => {}
        }
    }
    let mut all = Vec::new();
    for taker in &takers {
        let Some(first) = taker.cpus.first().map(u32::to_string) else {
            continue;
        };
        match taker.cause {
            Cause::Task(name) if name.starts_with(WORKER) => {
                all.extend(of_function(taker.function, manifest));
            }
            Cause::Task(_) => all.extend(of_cpus(&of_tasks, |cpus| {
                remedies::move_tasks(cpus, &names, machine)
            })),
            Cause::Interrupt(name) => all.extend(of_cpus(&taker.cpus, |cpus| {
                remedies::move_interrupts(cpus, name, machine)
            })),
            Cause::Tick => all.extend(of_cpus(&taker.cpus, |cpus| {
                remedies::stop_tick(cpus, machine)
            })),
            Cause::Host => all.push(remedies::trace_host(&first)),
            Cause::Unnamed | Cause::Preempted if manifest.events.state != EventsState::On => {
                all.push(remedies::trace_events(&first));
            }
            _ => {}
        }
    }
    once(all, manifest)
}

/// A remedy for all of these CPUs, or for the first where they leave no other CPU.
fn of_cpus(cpus: &BTreeSet<u32>, remedy: impl Fn(&[u32]) -> Option<Remedy>) -> Option<Remedy> {
    let cpus: Vec<u32> = cpus.iter().copied().collect();
    remedy(&cpus).or_else(|| remedy(cpus.get(..1)?))
}

/// What took most of moments, the costliest first; without what took little beside that.
fn takers(moments: &[Moment]) -> Vec<Taker<'_>> {
    let mut takers: Vec<Taker<'_>> = Vec::new();
    for moment in moments {
        let (Some(cpu), Some(main)) = (moment.cpu, moment.causes.first()) else {
            continue;
        };
        let is_worker = matches!(&main.cause, Cause::Task(name) if name.starts_with(WORKER));
        let chain = (moment.behind.iter()).find(|chain| is_worker && chain.is_of(&main.cause));
        let ran = chain.map_or("", |chain| &*chain.function);
        let advised = ADVISED.into_iter().find(|name| has(ran, name));
        let function = advised.unwrap_or(ran);
        // Which worker of a pool ran it is chance.
        let is_same = |known: &&mut Taker<'_>| {
            known.function == function && (!function.is_empty() || *known.cause == main.cause)
        };
        match takers.iter_mut().find(is_same) {
            Some(known) => {
                known.ns += main.ns;
                known.cpus.insert(cpu);
            }
            None => takers.push(Taker {
                cause: &main.cause,
                function,
                cpus: BTreeSet::from([cpu]),
                ns: main.ns,
            }),
        }
    }
    takers.sort_by(|a, b| b.ns.total_cmp(&a.ns));
    let least = (takers.first()).map_or(0.0, |first| MIN_SHARE_OF_COSTLIEST * first.ns);
    takers.retain(|taker| taker.ns >= least);
    takers
}

/// Functions of kernel workers that something makes rarer.
const ADVISED: [&str; 2] = ["vmstat_update", "psi_avgs_work"];

/// Whether a list has a function in it.
fn has(functions: &str, name: &str) -> bool {
    functions.split(", ").any(|function| function == name)
}

/// What makes a function of a kernel worker rarer, of [`ADVISED`].
fn of_function(function: &str, manifest: &Manifest) -> Option<Remedy> {
    if function == ADVISED[0] {
        // Linux, mm/vmstat.c: each CPU's counters are added up so often, as long as they change.
        let was = manifest
            .machine
            .setup
            .settings
            .get(paths::STAT_INTERVAL)?
            .trim();
        let is_rare = |seconds: u32| seconds >= STAT_INTERVAL_S;
        let now = STAT_INTERVAL_S.to_string();
        let what = "update memory statistics less often";
        return (!was.parse().is_ok_and(is_rare))
            .then(|| remedies::set_parameter("vm.stat_interval", &now, was, what));
    }
    (function == ADVISED[1]).then(|| {
        // Linux, kernel/sched/psi.c: averages are computed every 2 s, as long as tasks wait.
        remedies::boot_with("psi=0", "to keep no pressure statistics")
    })
}

#[cfg(test)]
mod tests {
    use super::super::tests::{kinds, manifest};
    use super::*;
    use bandscope_report::remedies::RemedyKind;

    fn moment(cause: Cause, function: &str) -> Moment {
        let chain = bandscope_report::Chain {
            cause: "task:kworker/1".into(),
            function: function.into(),
            ..Default::default()
        };
        Moment {
            cpu: Some(1),
            causes: vec![bandscope_report::Part { cause, ns: 1e5 }],
            behind: vec![chain],
            ..Moment::default()
        }
    }

    #[test]
    fn what_a_worker_ran_says_what_to_set() {
        let worker = |function| moment(Cause::Task("kworker/1:0".into()), function);
        let mut manifest = manifest(EventsState::On);
        let moments = [
            worker("psi_avgs_work, vmstat_update"),
            worker("flush_to_ldisc"),
            moment(Cause::Task("cc1".into()), ""),
        ];
        let commands = |manifest: &Manifest| {
            let all = of_moments(&moments, manifest);
            (kinds(&all), all.first().and_then(|one| one.command.clone()))
        };
        assert_eq!(
            commands(&manifest).0,
            [RemedyKind::MoveTasks],
            "nobody knows the interval"
        );
        let mut interval = |seconds: &str| {
            let settings = &mut manifest.machine.setup.settings;
            settings.insert(paths::STAT_INTERVAL.into(), seconds.into());
            commands(&manifest)
        };
        let (all, first) = interval("1\n");
        assert_eq!(all, [RemedyKind::SetParameter, RemedyKind::MoveTasks]);
        assert_eq!(first.as_deref(), Some("sudo sysctl vm.stat_interval=10"));
        assert_eq!(
            interval("10\n").0,
            [RemedyKind::MoveTasks],
            "it is rare already"
        );
    }

    #[test]
    fn what_took_little_of_all_moments_is_left() {
        let mut manifest = manifest(EventsState::On);
        let settings = &mut manifest.machine.setup.settings;
        settings.insert(paths::STAT_INTERVAL.into(), "1".into());
        let task = |name: &str| moment(Cause::Task(name.into()), "");
        let mut moments = vec![
            moment(Cause::Task("kworker/1:0".into()), "vmstat_update"),
            task("less"),
        ];
        moments.extend((0..6).flat_map(|_| [task("more"), task("most"), task("most")]));
        let all = of_moments(&moments, &manifest);
        assert_eq!(kinds(&all), [RemedyKind::MoveTasks]);
        assert_eq!(all[0].what, "move every most, more off CPU 1");
        // On all CPUs there is none to move them to, but from one there is.
        moments.push(Moment {
            cpu: Some(0),
            ..task("most")
        });
        let all = of_moments(&moments, &manifest);
        assert_eq!(all[0].what, "move every most, more off CPU 0");
        // What nothing moves does not count.
        moments.pop();
        moments.extend((0..9).map(|_| Moment {
            cpu: Some(0),
            ..task("ksoftirqd/0")
        }));
        let all = of_moments(&moments, &manifest);
        assert_eq!(all[0].what, "move every most, more off CPU 1");
    }

    #[test]
    fn a_worker_is_known_by_what_it_ran_besides_others() {
        let worker = |ran| moment(Cause::Task("kworker/1:0".into()), ran);
        let moments = ["a, vmstat_update", "", "vmstat_update, b"].map(worker);
        let takers = takers(&moments);
        let told: Vec<_> = takers.iter().map(|one| (one.function, one.ns)).collect();
        assert_eq!(told, [("vmstat_update", 2e5), ("", 1e5)]);
    }
}
