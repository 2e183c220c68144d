//! Threads get back what was taken from them, and those that were born meanwhile what was taken from their parents.

use super::{Found, MAX_LOOKS, Move, Thread, ask, is_there, of, threads};
use bandscope_recording::cpu_list;
use rustix::thread::CpuSet;
use std::io;

impl Move {
    fn narrowing(&self) -> Narrowing<'_> {
        Narrowing {
            before: &self.before,
            during: &self.during,
        }
    }
}

/// What a move took from a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Narrowing<'a> {
    /// CPUs that it might use before any move, as a list.
    pub(super) before: &'a str,
    /// Those that the move left it with.
    pub(super) during: &'a str,
}

/// Gives a thread that may use the CPUs `now` back what was taken from it, or as much of that as its cpuset has by now; whether it had what the move left it
/// with. What somebody else chose it keeps. One that might use every CPU of its cpuset is set free: from a list the kernel would keep it from CPUs that come
/// later (`user_cpus_ptr`, since Linux 6.2).
fn restore(thread: Thread, now: &[u32], taken: Narrowing<'_>) -> io::Result<bool> {
    let all: Vec<u32> = (0..CpuSet::MAX_CPU as u32).collect();
    ask(thread, &all)?;
    let Some(full) = of(thread) else {
        // It has ended.
        return Ok(true);
    };
    let within_it = |list: &str| -> Vec<u32> {
        let cpus = cpu_list::parse(list).into_iter();
        cpus.filter(|cpu| full.contains(cpu)).collect()
    };
    let is_left = within_it(taken.during) == now;
    let wanted = match is_left {
        true => within_it(taken.before),
        false => now.to_vec(),
    };
    if wanted == full || wanted.is_empty() {
        return Ok(is_left);
    }
    ask(thread, &wanted)?;
    match of(thread) {
        Some(found) if found != wanted => {
            let found = cpu_list::written(&found);
            Err(io::Error::other(format!("it has CPUs {found} afterwards")))
        }
        _ => Ok(is_left),
    }
}

/// What came of giving CPUs back.
#[derive(Debug, Default)]
pub struct GivenBack {
    /// The moves that could not be undone, each with the kernel's answer.
    pub failed: Vec<(Move, io::Error)>,
    /// Whether somebody else set the CPUs of a thread meanwhile, which keeps those.
    pub others_set: bool,
}

/// Gives threads the CPUs back that were taken from them, the last move first, and those born since `since`, if that is known.
pub fn give_back(moves: &[Move], since: Option<u64>) -> GivenBack {
    let mut given = GivenBack::default();
    for one in moves.iter().rev() {
        let Some(now) = of(one.thread).filter(|_| is_there(one.thread)) else {
            continue;
        };
        // A cpuset that changed since leaves a part of it.
        if !is_within(&now, &one.during) {
            given.others_set |= !was_of(one.thread, &cpu_list::written(&now), moves);
            continue;
        }
        match restore(one.thread, &now, one.narrowing()) {
            Ok(is_left) => given.others_set |= !is_left,
            Err(error) if is_there(one.thread) => given.failed.push((one.clone(), error)),
            Err(_) => {}
        }
    }
    if let Some(since) = since {
        widen_born(moves, since);
    }
    given
}

/// Whether all of these CPUs are in a list.
fn is_within(cpus: &[u32], list: &str) -> bool {
    let list = cpu_list::parse(list);
    !cpus.is_empty() && cpus.iter().all(|cpu| list.contains(cpu))
}

/// Whether a move found a thread with these CPUs, or left it with them.
fn was_of(thread: Thread, cpus: &str, moves: &[Move]) -> bool {
    let mut own = moves.iter().filter(|one| one.thread == thread);
    own.any(|one| one.before == cpus || one.during == cpus)
}

/// Gives threads that were born since the CPUs that they would have without the moves. The kernel does not tell a set that was inherited from one that was chosen:
/// whoever has the set of a moved ancestor inherited it.
fn widen_born(moves: &[Move], since: u64) {
    // Children are born while others are looked at.
    for _ in 0..MAX_LOOKS {
        let all = threads();
        let mut is_done = true;
        for born in all
            .iter()
            .filter(|one| one.thread.started >= since && !one.is_fixed)
        {
            let Some(now) = of(born.thread) else {
                continue;
            };
            let kept = |one: &Found| {
                one.thread.started < since && of(one.thread).as_deref() == Some(&now[..])
            };
            let taken_if = |is_left: IsLeft<'_>| inherited(born, &all, moves, (is_left, &kept));
            let written = cpu_list::written(&now);
            let taken = taken_if(&|during| during == written)
                // Of what its parent was left with its cpuset may have a part alone.
                .or_else(|| taken_if(&|during| is_within(&now, during)))
                .filter(|taken| taken.before != written);
            if let Some(taken) = taken {
                // One that ends meanwhile needs nothing.
                is_done &= !matches!(restore(born.thread, &now, taken), Ok(true));
            }
        }
        if is_done {
            return;
        }
    }
}

/// Whether a thread that was left with these CPUs may be the one that a set comes from.
pub(super) type IsLeft<'a> = &'a dyn Fn(&str) -> bool;

/// What was taken from the nearest ancestor that was left so, be it alive or gone; of a thread whose ancestors are gone, what was taken from all that were left so.
/// None if it has its set from an ancestor that was not moved and `has_kept` it.
pub(super) fn inherited<'a>(
    born: &Found,
    all: &[Found],
    moves: &'a [Move],
    (is_left, has_kept): (IsLeft<'_>, &dyn Fn(&Found) -> bool),
) -> Option<Narrowing<'a>> {
    let mut process = born.process;
    // A chain of parents has no loop, but numbers are used again while it is read.
    for _ in 0..64 {
        let mut moved = moves.iter().filter(|one| one.process == process);
        if let Some(taken) = moved.find_map(|one| former(one.thread, is_left, moves)) {
            return Some(taken);
        }
        let mut members = all.iter().filter(|one| one.process == process);
        let parent = members.clone().next().map(|one| one.parent);
        if members.any(has_kept) {
            return None;
        }
        match parent {
            Some(parent) if parent != 0 => process = parent,
            _ => break,
        }
    }
    let mut left = moves.iter().filter(|one| is_left(&one.during));
    let first = left.next()?.narrowing();
    left.all(|one| one.narrowing() == first).then_some(first)
}

/// What a thread had before any move, if one of its moves left it so.
fn former<'a>(thread: Thread, is_left: IsLeft<'_>, moves: &'a [Move]) -> Option<Narrowing<'a>> {
    let own = || moves.iter().filter(|one| one.thread == thread);
    let left = own().find(|one| is_left(&one.during))?;
    Some(Narrowing {
        before: &own().next()?.before,
        during: &left.during,
    })
}
