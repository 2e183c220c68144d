//! Any bytes as `recording.json`: a manifest that can be written and read again, or an error of one line.
#![no_main]

use libfuzzer_sys::fuzz_target;
use std::path::Path;

fuzz_target!(|bytes: &[u8]| {
    match bandscope_recording::json::parse(Path::new("recording.json"), bytes) {
        Ok(manifest) => {
            let again =
                serde_json::to_vec(&manifest).expect("a manifest that was read can be written");
            let again = bandscope_recording::json::parse(Path::new("recording.json"), &again);
            assert_eq!(again.expect("what was written can be read"), manifest);
        }
        Err(error) => assert_eq!(error.to_string().lines().count(), 1),
    }
});
