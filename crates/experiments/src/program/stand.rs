//! A program that stands at the head of its loop, and what it does from there on.

use super::code::Code;
use super::find::{Hot, NoLoop};
use super::follow::{Followed, Step};
use super::fork::{Fork, busy_is_later};
use super::tracee::Memory;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Instructions that are watched from the head of the loop on: so many turns, but at least and at most so many instructions.
const TURNS: f64 = 32.0;
const FEWEST: usize = 4_000;
const MOST: usize = 40_000;
/// Instructions until the head must have come, and until any turn will do as the first.
const TO_HEAD: usize = 60_000;
const TO_FIRST: usize = 15_000;
/// How often the program is caught until it is in its loop, and how often such a fork is brought to the head.
const TRIES: usize = 100;
const FORKS: usize = 5;
/// The control register of floats in what XSAVE saves (Intel SDM, volume 1, section 13.4.1).
const MXCSR: usize = 24;
/// Its flags: an operand was denormal, a result was too small. Operations set them, nothing clears them.
const SEEN_DENORMALS: u32 = 0b01_0010;
/// Its settings that take denormals for zero, and make zeros of them.
const NO_DENORMALS: u32 = 0x8040;

/// A fork of the program at the head of its loop: in a first turn, where the loop is left and entered again and again.
pub fn at_head(followed: &mut Followed, hot: &Hot, stop: &AtomicBool) -> Result<Fork, NoLoop> {
    let memory = Memory::of(followed.thread_of(hot.process))?;
    let mut code = Code::of(&memory);
    let mut forks = 0;
    for _ in 0..TRIES {
        followed.rest(Duration::from_millis(2))?;
        if stop.load(Ordering::Relaxed) {
            return Err(NoLoop::Interrupted);
        }
        if forks == FORKS || followed.ended() {
            break;
        }
        let Some(caught) = followed.catch(Some(hot.process))? else {
            continue;
        };
        let is_inside = hot.seen.body.contains(&caught.sample.at) && !caught.sample.is_odd;
        let fork = is_inside.then(|| Fork::of(caught.tracee));
        followed.release(caught)?;
        if let Some(fork) = fork {
            let Some(fork) = busy_is_later(fork)? else {
                continue;
            };
            let mut fork = fork.unshare()?;
            forks += 1;
            if to_head(&mut fork, hot, &mut code, followed)? {
                return Ok(fork);
            }
        }
    }
    Err(NoLoop::NotThereAgain)
}

fn to_head(
    fork: &mut Fork,
    hot: &Hot,
    code: &mut Code<'_>,
    followed: &mut Followed,
) -> io::Result<bool> {
    let mut is_first = !hot.seen.is_left();
    let (mut number, mut has_come) = (0, false);
    fork.watch(TO_HEAD, code, &mut || followed.attend(), &mut |step| {
        number += 1;
        has_come = step.at() == hot.head && is_first;
        is_first |= !hot.seen.body.contains(&step.at()) || number >= TO_FIRST;
        has_come
    })?;
    Ok(has_come)
}

/// Watches the loop from its head, in a fork of its own; also whether a float was denormal.
pub fn watch_floats(
    fork: &Fork,
    hot: &Hot,
    code: &mut Code<'_>,
    followed: &mut Followed,
) -> io::Result<(Vec<Step>, bool)> {
    let mut fork = fork.again()?;
    let mut before = fork.tracee.extended_state()?;
    let flags = control(&before) & !SEEN_DENORMALS;
    set_control(&mut before, flags);
    fork.tracee.set_extended_state(&before)?;
    let most = (TURNS * hot.seen.instructions()) as usize;
    let steps = fork.watch(
        most.clamp(FEWEST, MOST),
        code,
        &mut || followed.attend(),
        &mut |_| false,
    )?;
    let seen = control(&fork.tracee.extended_state()?);
    Ok((steps, seen & SEEN_DENORMALS != 0))
}

/// The same state, with denormals taken for zero.
pub fn without_denormals(extended: &[u8]) -> Vec<u8> {
    let mut without = extended.to_vec();
    let settings = control(&without) | NO_DENORMALS;
    set_control(&mut without, settings);
    without
}

fn control(state: &[u8]) -> u32 {
    let bytes = state.get(MXCSR..MXCSR + 4);
    bytes
        .and_then(|bytes| bytes.try_into().ok())
        .map_or(0, u32::from_le_bytes)
}

fn set_control(state: &mut [u8], value: u32) {
    if let Some(bytes) = state.get_mut(MXCSR..MXCSR + 4) {
        bytes.copy_from_slice(&value.to_le_bytes());
    }
}
