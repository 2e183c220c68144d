//! Threads are kept off CPUs, and get them back: by their affinities (sched_setaffinity(2)).
//!
//! Affinities and no control groups: each thread gets back exactly what it had, nothing has to be moved from its group, and the
//! measuring thread need not be in a group of its own. A cpuset of version 1 forgets affinities that were narrower; an isolated partition of version 2
//! takes only threads that are moved into it.

use bandscope_probe::facts::Stat;
use bandscope_recording::cpu_list;
use rustix::process::Pid;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;

/// How often all threads are looked at: those born during one look are found by the next.
const MAX_LOOKS: usize = 10;

/// A thread that no other can be mistaken for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Thread {
    /// Its number.
    pub id: u32,
    /// When it began, in clock ticks since the boot.
    pub started: u64,
}

/// A thread as it was found.
#[derive(Clone, Debug)]
struct Found {
    thread: Thread,
    /// The process that it belongs to, or that made its process.
    parent: u32,
    is_fixed: bool,
}

/// A thread to be moved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Move {
    /// Which.
    pub thread: Thread,
    /// CPUs that it may use, as a list.
    pub before: String,
    /// Those that it is left with.
    pub during: String,
}

/// All threads but those of this process.
fn threads() -> Vec<Found> {
    let own = std::process::id();
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
        let name = entry.file_name();
        let Some(process) = name.to_str().and_then(|name| name.parse::<u32>().ok()) else {
            continue;
        };
        if process == own {
            continue;
        }
        let tasks = fs::read_dir(entry.path().join("task"));
        for task in tasks.into_iter().flatten().flatten() {
            let id = task.file_name().to_str().and_then(|id| id.parse().ok());
            let stat = fs::read(task.path().join("stat")).ok();
            let stat = stat.and_then(|stat| Stat::parse(&stat));
            if let (Some(id), Some(stat)) = (id, stat) {
                found.push(Found {
                    thread: Thread {
                        id,
                        started: stat.started,
                    },
                    parent: if id == process { stat.parent } else { process },
                    is_fixed: stat.is_fixed(),
                });
            }
        }
    }
    found
}

fn pid(thread: Thread) -> Option<Pid> {
    Pid::from_raw(i32::try_from(thread.id).ok()?)
}

/// The CPUs that a thread may use; `None` if it is gone.
fn of(thread: Thread) -> Option<Vec<u32>> {
    let set = sched_getaffinity(Some(pid(thread)?)).ok()?;
    let is_member = |cpu: &u32| set.is_set(*cpu as usize);
    Some((0..CpuSet::MAX_CPU as u32).filter(is_member).collect())
}

/// Whether a thread of that number and that start is there.
fn is_there(thread: Thread) -> bool {
    let stat = fs::read(format!("/proc/{}/stat", thread.id)).ok();
    let stat = stat.and_then(|stat| Stat::parse(&stat));
    stat.is_some_and(|stat| stat.started == thread.started)
}

/// Gives a thread these CPUs. Reads them back.
fn set(thread: Thread, list: &str) -> io::Result<()> {
    let cpus = cpu_list::parse(list);
    let mut set = CpuSet::new();
    let known = cpus.iter().filter(|&&cpu| (cpu as usize) < CpuSet::MAX_CPU);
    known.for_each(|&cpu| set.set(cpu as usize));
    sched_setaffinity(pid(thread), &set)?;
    match of(thread) {
        Some(found) if found != cpus => Err(io::Error::other(format!(
            "it may use CPUs {} afterwards",
            cpu_list::written(&found)
        ))),
        _ => Ok(()),
    }
}

/// Threads that may use `taken` and that can be moved. A thread that may use nothing else gets `others`.
pub fn movable(taken: &[u32], others: &[u32]) -> Vec<Move> {
    let moves = threads().into_iter().filter(|found| !found.is_fixed);
    let moves = moves.filter_map(|found| {
        let before = of(found.thread)?;
        let during = narrowed(&before, taken, others)?;
        Some(Move {
            thread: found.thread,
            before: cpu_list::written(&before),
            during: cpu_list::written(&during),
        })
    });
    moves.collect()
}

/// What is left of a set of CPUs; `None` if nothing is taken from it.
fn narrowed(before: &[u32], taken: &[u32], others: &[u32]) -> Option<Vec<u32>> {
    let left: Vec<u32> = before
        .iter()
        .copied()
        .filter(|cpu| !taken.contains(cpu))
        .collect();
    match left.len() {
        0 => Some(others.to_vec()),
        kept if kept < before.len() => Some(left),
        _ => None,
    }
}

/// Moves threads away from `taken` until none is left that can be moved. `note` is told of each before it is moved.
/// Numbers of threads that were moved and that could not be.
///
/// # Errors
/// If `note` fails.
pub fn take(
    taken: &[u32],
    others: &[u32],
    note: &mut dyn FnMut(&[Move]) -> io::Result<()>,
) -> io::Result<(usize, usize)> {
    let mut moved = 0;
    let mut refused = BTreeSet::new();
    for _ in 0..MAX_LOOKS {
        let mut moves = movable(taken, others);
        moves.retain(|one| !refused.contains(&one.thread));
        if moves.is_empty() {
            break;
        }
        note(&moves)?;
        for one in &moves {
            match set(one.thread, &one.during) {
                Ok(()) => moved += 1,
                Err(_) if !is_there(one.thread) => {}
                Err(_) => drop(refused.insert(one.thread)),
            }
        }
    }
    Ok((moved, refused.len()))
}

/// Gives threads the CPUs back that were taken from them, and from their children since. One sentence for each that could not be.
///
/// `former` are the threads that were moved, with what they may use before and during. A thread that was born since, with the set that its nearest
/// moved ancestor had during, gets what that had before: the kernel does not tell a set that it inherited from one that it chose.
pub fn give_back(former: &[(Thread, &str, &str)], since: u64, taken: &[u32]) -> Vec<String> {
    let mut problems = Vec::new();
    let mut known: BTreeMap<Thread, (&str, &str)> = BTreeMap::new();
    // The first time that it was moved tells how it was.
    for (thread, before, during) in former {
        known.entry(*thread).or_insert((before, during));
    }
    for (&thread, (before, during)) in &known {
        let is_narrow = of(thread).is_some_and(|now| cpu_list::written(&now) == *during);
        if is_narrow
            && is_there(thread)
            && let Err(error) = set(thread, before)
            && is_there(thread)
        {
            problems.push(format!(
                "thread {}: cannot get CPUs {before} back: {error}",
                thread.id
            ));
        }
    }
    // Children are born while others are looked at.
    for _ in 0..MAX_LOOKS {
        let mut is_done = true;
        let all = threads();
        let parents: BTreeMap<u32, &Found> = all.iter().map(|one| (one.thread.id, one)).collect();
        for born in all.iter().filter(|one| one.thread.started >= since) {
            if known.contains_key(&born.thread) || born.is_fixed {
                continue;
            }
            let Some(before) = inherited(born, &parents, &known) else {
                continue;
            };
            let before = cpu_list::parse(before);
            let Some(during) = narrowed(&before, taken, &[]) else {
                continue;
            };
            if of(born.thread) == Some(during) {
                is_done = false;
                // One that ends meanwhile needs nothing.
                let _ = set(born.thread, &cpu_list::written(&before));
            }
        }
        if is_done {
            break;
        }
    }
    problems
}

/// What a thread would have inherited: what its nearest ancestor had that was moved.
fn inherited<'a>(
    born: &Found,
    parents: &BTreeMap<u32, &Found>,
    known: &BTreeMap<Thread, (&'a str, &str)>,
) -> Option<&'a str> {
    let mut at = born.parent;
    // A chain of parents has no loop, but numbers are used again while it is read.
    for _ in 0..64 {
        let parent = parents.get(&at)?;
        if let Some((before, _)) = known.get(&parent.thread) {
            return Some(before);
        }
        at = parent.parent;
    }
    None
}

/// Now, in clock ticks since the boot.
pub fn now() -> u64 {
    let boot = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
    let ticks = rustix::param::clock_ticks_per_second();
    boot.tv_sec as u64 * ticks + boot.tv_nsec as u64 * ticks / 1_000_000_000
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{BufRead, BufReader, Write};
    use std::process::{Command, Stdio};

    fn thread(id: u32) -> Thread {
        let stat = fs::read(format!("/proc/{id}/stat")).unwrap();
        Thread {
            id,
            started: Stat::parse(&stat).unwrap().started,
        }
    }

    #[test]
    fn what_is_left_of_a_set() {
        assert_eq!(narrowed(&[0, 1], &[1], &[0]), Some(vec![0]));
        assert_eq!(narrowed(&[1], &[1], &[0, 2]), Some(vec![0, 2]));
        assert_eq!(narrowed(&[0], &[1], &[0]), None);
    }

    #[test]
    fn a_thread_gets_back_what_it_had_and_a_child_what_its_parent_had() {
        let cpus = bandscope_probe::pin::allowed().unwrap();
        let [first, second, ..] = cpus[..] else {
            println!("SKIPPED: affinities: one CPU");
            return;
        };
        let shell = "read line; sleep 60 & echo $!; read line; kill $!";
        let mut parent = Command::new("sh")
            .args(["-c", shell])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let (mut input, output) = (parent.stdin.take().unwrap(), parent.stdout.take().unwrap());
        let (moved, since) = (thread(parent.id()), now());
        let (wide, narrow) = (cpu_list::written(&[first, second]), first.to_string());
        set(moved, &wide).unwrap();
        let moves: Vec<Move> = movable(&[second], &[first]);
        let own: Vec<&Move> = moves.iter().filter(|one| one.thread == moved).collect();
        assert_eq!((&own[0].before, &own[0].during), (&wide, &narrow));
        set(moved, &narrow).unwrap();
        writeln!(input, "now").unwrap();
        let mut child = String::new();
        BufReader::new(output).read_line(&mut child).unwrap();
        let child = thread(child.trim().parse().unwrap());
        assert_eq!(of(child), Some(vec![first]));
        let former = [(moved, &*wide, &*narrow)];
        let problems = give_back(&former, since, &[second]);
        assert_eq!(problems, [] as [String; 0]);
        assert_eq!(of(moved), Some(vec![first, second]));
        assert_eq!(of(child), Some(vec![first, second]));
        // Whoever set it meanwhile has the last word.
        set(moved, &second.to_string()).unwrap();
        give_back(&former, since, &[second]);
        assert_eq!(of(moved), Some(vec![second]));
        writeln!(input, "end").unwrap();
        parent.wait().unwrap();
    }
}
