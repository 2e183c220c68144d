//! A work kernel's bytes, and 64 copies of them at 64 placements.
//!
//! `work_kernel!` assembles the text of a unit a second time, outside any loop: once between two labels,
//! which gives the bytes to hash, and in 64 copies that start 0, 1, ... 63 steps past an aligned address
//! (a step is one byte, or one instruction where these have a fixed length). The self-test calls the
//! copies to see whether the pace depends on the address (1.9x for FTQ's loop on Zen 3; docs/method.md,
//! section 9.2).

/// Number of placed copies.
pub const PLACEMENTS: usize = 64;

/// The assembled twin of a work kernel.
#[derive(Clone, Copy, Debug)]
pub struct Twin {
    bytes: &'static [u8],
    /// Distance of each copy from the first byte.
    offsets: &'static [u32; PLACEMENTS],
}

impl Twin {
    /// The twin that lies from `start` to `end`, with the table `offsets` of its copies.
    ///
    /// # Safety
    /// `start` and `end` must be the labels around the assembled unit, and `offsets` the table of 64
    /// offsets that was assembled with it.
    pub unsafe fn new(start: *const u8, end: *const u8, offsets: *const u32) -> Twin {
        let length = end as usize - start as usize;
        // SAFETY: by contract the bytes between the labels are part of the program's text, and the
        // table part of its read-only data; both are initialised and live as long as the program.
        unsafe {
            Twin {
                bytes: core::slice::from_raw_parts(start, length),
                offsets: &*offsets.cast(),
            }
        }
    }

    /// The machine code of a unit.
    pub fn bytes(&self) -> &'static [u8] {
        self.bytes
    }

    /// Address of placed copy `index`, which ends in a return.
    pub fn copy(&self, index: usize) -> *const u8 {
        self.bytes
            .as_ptr()
            .wrapping_add(self.offsets[index] as usize)
    }

    /// FNV-1a over the machine code, as `fnv1a64:HEX`.
    pub fn hash(&self) -> String {
        format!("fnv1a64:{:016x}", fnv1a64(self.bytes))
    }
}

/// The 64-bit FNV-1a hash (Fowler, Noll, Vo; draft-eastlake-fnv).
fn fnv1a64(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, &byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

#[cfg(test)]
mod tests {
    use super::super::{NativeKernel, Visitor, dispatch, kernels};
    use super::*;

    #[test]
    fn fnv1a64_has_its_published_values() {
        assert_eq!(fnv1a64(b""), 0xcbf2_9ce4_8422_2325);
        assert_eq!(fnv1a64(b"foobar"), 0x8594_4171_f739_67e8);
    }

    /// One unit, compiled into a function of its own.
    #[inline(never)]
    fn inlined<K: NativeKernel>(kernel: &mut K) {
        kernel.execute();
    }

    struct SameBytes;
    impl Visitor for SameBytes {
        type Output = ();
        fn visit<K: NativeKernel>(self) {
            let twin = K::twin();
            // SAFETY: the function holds at most one unit, its alignment and a few moves, and more
            // text follows it than is read here: at least the 64 copies of some kernel.
            let text = unsafe {
                core::slice::from_raw_parts(
                    inlined::<K> as *const () as *const u8,
                    twin.bytes().len() + 256,
                )
            };
            assert!(
                text.windows(twin.bytes().len())
                    .any(|window| window == twin.bytes()),
                "{}: the inlined unit is not its twin",
                K::INFO.name
            );
            for index in 0..PLACEMENTS {
                // SAFETY: a copy is as long as the unit and lies in the program's text.
                let copy =
                    unsafe { core::slice::from_raw_parts(twin.copy(index), twin.bytes().len()) };
                assert_eq!(copy, twin.bytes());
                let step = if cfg!(target_arch = "x86_64") { 1 } else { 4 };
                assert_eq!(twin.copy(index) as usize % (64 * step), index * step);
            }
        }
    }

    #[test]
    fn the_inlined_unit_and_all_copies_have_the_same_bytes() {
        for info in kernels() {
            dispatch(info.name, SameBytes).unwrap();
        }
    }
}
