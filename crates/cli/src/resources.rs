//! What the program needs of the system before it begins: room, and the threads that analyse.

use anyhow::{Result, bail, ensure};
use bandscope_probe::memory;
use rustix::process::{Resource, getrlimit};
use std::error::Error;

/// Below this the allocator fails in the midst of a report, which ends the program without a word of what to do: a report of half a million
/// counts took 64 to 200 MiB.
const MIN_ADDRESS_SPACE_MIB: u64 = 256;

/// Refuses an address space that is too small.
///
/// # Errors
/// If it is.
pub fn check_address_space() -> Result<()> {
    for (resource, what, option) in [
        (Resource::As, "address space", "-v"),
        (Resource::Data, "data segment", "-d"),
    ] {
        let limit = getrlimit(resource).current.map(|bytes| bytes >> 20);
        ensure!(
            limit.is_none_or(|limit| limit >= MIN_ADDRESS_SPACE_MIB),
            "the {what} is limited to {} MiB; expected {MIN_ADDRESS_SPACE_MIB} or more: ulimit {option} unlimited",
            limit.unwrap_or_default()
        );
    }
    Ok(())
}

/// With less the kernel kills the program without a word in the midst of a small report; a large one takes hundreds of MiB, and says nothing either.
const MIN_MEMORY_MIB: u64 = 64;

/// Refuses a machine, or a control group, with too little memory left.
///
/// # Errors
/// If it has.
pub fn check_memory() -> Result<()> {
    let left = memory::available().map(|bytes| (bytes + memory::swap()) >> 20);
    ensure!(
        left.is_none_or(|left| left >= MIN_MEMORY_MIB),
        "{} MiB of memory are left for this process; expected {MIN_MEMORY_MIB} or more: free some, or raise the limit of its control group (memory.max)",
        left.unwrap_or_default()
    );
    Ok(())
}

/// Makes the threads that analyse, once: what analyses takes them for granted.
///
/// # Errors
/// If the system refuses one.
pub fn start_threads() -> Result<()> {
    match rayon::ThreadPoolBuilder::new().build_global() {
        // Without a cause they were there before.
        Err(error) => match error.source().and_then(|cause| cause.downcast_ref()) {
            Some(cause) => bail!(bandscope_probe::no_thread(cause)),
            None => Ok(()),
        },
        Ok(()) => Ok(()),
    }
}
