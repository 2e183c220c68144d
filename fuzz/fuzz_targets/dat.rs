//! Any bytes as a file of the original FTQ: rows or an error of one line, and rows in order.
#![no_main]

use libfuzzer_sys::fuzz_target;
use std::path::Path;

fuzz_target!(|text: &[u8]| {
    match bandscope_recording::dat::parse(Path::new("fuzz.dat"), text) {
        Ok((series, quanta)) => {
            assert!(series.rate_hz > 0.0);
            assert!(!quanta.is_empty());
            assert!(
                quanta
                    .start
                    .iter()
                    .zip(&quanta.end)
                    .all(|(start, end)| start <= end)
            );
            assert!(
                quanta
                    .end
                    .iter()
                    .zip(&quanta.start[1..])
                    .all(|(end, next)| end <= next)
            );
        }
        Err(error) => assert_eq!(error.to_string().lines().count(), 1),
    }
});
