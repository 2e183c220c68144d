//! Any bytes as an executable file: what `lab -- COMMAND` says of some addresses in it, or nothing.
#![no_main]

use bandscope_experiments::program::names_in_file;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    // Programs of the linker's usual layouts have code at some of these.
    let addresses = [0, 0x1000, 0x1020, 0x1040, 0x1139, 0x2000, 0x40_1000, 0x40_1020, u64::MAX];
    assert_eq!(names_in_file(bytes, &addresses).len(), addresses.len());
});
