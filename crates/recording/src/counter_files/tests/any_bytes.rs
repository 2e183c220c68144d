//! Whatever the bytes of a file are: counters or an error, never a panic.

use super::super::parse;
use super::cases;
use proptest::prelude::*;
use std::path::Path;

/// Bytes that look like something.
fn alike() -> impl Strategy<Value = Vec<u8>> {
    let pieces = [
        "Performance counter stats for 'x':\n",
        "# time counts unit events\n",
        "1.234.567",
        "12,5",
        "\u{202f}",
        " ",
        ",",
        ";",
        "\n",
        "cycles",
        "msec",
        "seconds time elapsed",
        "+-",
        "(",
        ")",
        "%",
        "#",
        "<not counted>",
        "<not supported>",
        "{\"counter-value\" : \"",
        "\"event\" : \"x\"",
        "\"",
        "}",
        "{\"results\":[",
        "\t",
        "CPU0",
        "S0",
        "0.100000000",
        "name a b\n",
        "99999999999999999999",
        "\u{1b}[2J",
        "\u{fffd}",
        "/",
        "=",
    ];
    prop::collection::vec(prop::sample::select(pieces.to_vec()), 0..40)
        .prop_map(|pieces| pieces.concat().into_bytes())
}

proptest! {
    #[test]
    fn any_bytes_are_counters_or_an_error(bytes in prop_oneof![prop::collection::vec(any::<u8>(), 0..99), alike()]) {
        match parse(Path::new("it"), &bytes) {
            Ok(sets) => {
                prop_assert!(!sets.is_empty());
                for counter in sets.iter().flat_map(|set| &set.counters) {
                    prop_assert!(counter.runs.iter().all(|value| *value >= 0.0 && value.is_finite()));
                    prop_assert!((0.0..=1.0).contains(&counter.running));
                }
            }
            Err(error) => {
                let error = error.to_string();
                prop_assert!(!error.chars().any(char::is_control), "{error:?}");
            }
        }
    }

    #[test]
    fn a_published_file_with_one_byte_changed_is_read_or_refused(at in 0usize..950, byte: u8) {
        let mut bytes = std::fs::read(cases().join("perfstat-good.txt")).unwrap();
        let at = at % bytes.len();
        bytes[at] = byte;
        let _ = parse(Path::new("it"), &bytes);
    }
}
