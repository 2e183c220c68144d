//! Any bytes as a file of a node's summary, and of its clock: what it holds, or an error of one line.
#![no_main]

use libfuzzer_sys::fuzz_target;
use std::path::Path;

fuzz_target!(|bytes: &[u8]| {
    let path = Path::new("fuzz.json");
    if let Err(error) = bandscope_recording::summary::Summary::parse(path, bytes) {
        assert_eq!(error.to_string().lines().count(), 1);
    }
    match bandscope_recording::job_clock::JobClock::parse(path, bytes) {
        Ok(clock) => assert!(clock.at(1).0.is_finite()),
        Err(error) => assert_eq!(error.to_string().lines().count(), 1),
    }
});
