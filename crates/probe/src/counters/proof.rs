//! Counters lie: some events always read 0. Before one is believed, what it counts is made to happen.

use super::events::Proof;
use crate::kernels::{self, NativeKernel, Visitor};
use crate::memory::Region;
use std::io;
use std::time::Duration;

/// Units of work for a spin: some 100 us.
const SPIN_UNITS: u32 = 1000;

/// Why an event is not believed.
#[derive(Debug, thiserror::Error)]
pub enum Unproven {
    /// The kernel refuses to open or to read it, or to provoke what it counts.
    #[error(transparent)]
    Refused(#[from] io::Error),
    /// It counted less than was made to happen.
    #[error("counted {moved} where at least {least} happened")]
    Idle {
        /// What it counted.
        moved: u64,
        /// What it must have counted.
        least: u64,
    },
    /// A later value was smaller.
    #[error("ran backwards")]
    Backwards,
}

/// Checks twice that the event moves when it must.
///
/// # Errors
/// What it did instead.
pub fn prove(proof: Proof, mut read: impl FnMut() -> io::Result<u64>) -> Result<(), Unproven> {
    for _ in 0..2 {
        let before = read()?;
        provoke(proof)?;
        let after = read()?;
        let least = match proof {
            Proof::Spin => u64::from(SPIN_UNITS),
            Proof::Sleep | Proof::Fault => 1,
            Proof::None => 0,
        };
        match after.checked_sub(before) {
            Some(moved) if moved >= least => {}
            Some(moved) => return Err(Unproven::Idle { moved, least }),
            None => return Err(Unproven::Backwards),
        }
    }
    Ok(())
}

fn provoke(proof: Proof) -> io::Result<()> {
    match proof {
        Proof::Spin => {
            // The name is this program's own, so there is such a kernel.
            kernels::dispatch(kernels::default_kernel(), Spin);
        }
        Proof::Sleep => std::thread::sleep(Duration::from_micros(50)),
        // A region of our own: the allocator may hand out a page that was touched before.
        Proof::Fault => return fault(),
        Proof::None => {}
    }
    Ok(())
}

struct Spin;
impl Visitor for Spin {
    type Output = ();
    fn visit<K: NativeKernel>(self) {
        let mut kernel = K::default();
        (0..SPIN_UNITS).for_each(|_| kernel.execute());
    }
}

/// Makes a page fault: a populated page is given back and touched again.
fn fault() -> io::Result<()> {
    let region = Region::new(4096)?;
    if region.locked() {
        // SAFETY: the region's own page.
        unsafe { rustix::mm::munlock(region.start().as_ptr().cast(), 4096) }?;
    }
    // SAFETY: the region's own page, whose contents nobody needs.
    unsafe {
        rustix::mm::madvise(
            region.start().as_ptr().cast(),
            4096,
            rustix::mm::Advice::LinuxDontNeed,
        )?;
        region.start().as_ptr().write_volatile(1);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_counter_that_stands_still_is_not_believed() {
        let still = prove(Proof::Sleep, || Ok(7)).unwrap_err();
        assert_eq!(still.to_string(), "counted 0 where at least 1 happened");
        let mut falling = 100;
        let fall = || {
            falling -= 1;
            Ok(falling)
        };
        let falls = prove(Proof::None, fall).unwrap_err();
        assert_eq!(falls.to_string(), "ran backwards");
    }

    #[test]
    fn a_counter_that_moves_is_believed() {
        let mut value = 0;
        prove(Proof::Spin, || {
            value += 1_000_000;
            Ok(value)
        })
        .unwrap();
    }
}
