//! Any bytes as a file of a node's summary: what it holds, or an error of one line.
#![no_main]

use libfuzzer_sys::fuzz_target;
use std::path::Path;

fuzz_target!(|bytes: &[u8]| {
    if let Err(error) = bandscope_recording::summary::Summary::parse(Path::new("fuzz.json"), bytes) {
        assert_eq!(error.to_string().lines().count(), 1);
    }
});
