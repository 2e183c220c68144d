//! Values of options.

use super::*;

#[test]
fn durations_as_people_write_them() {
    for (text, seconds) in [
        ("10s", 10.0),
        ("10", 10.0),
        ("1.5 s", 1.5),
        ("250ms", 0.25),
        ("50us", 5e-5),
        ("2min", 120.0),
        ("1h", 3600.0),
        ("1e2", 100.0),
    ] {
        assert_eq!(duration(text), Ok(seconds), "{text}");
    }
    for text in [
        "",
        "s",
        "-1s",
        "10 parsecs",
        "nan",
        "inf",
        "1e400",
        "10s10s",
    ] {
        assert!(duration(text).is_err(), "{text}");
    }
    assert!(positive_duration("0s").is_err());
}

#[test]
fn both_ends_of_a_range_belong_to_it() {
    assert_eq!(duration("31622400s"), Ok(LONGEST_S));
    for text in ["31622401s", "1e20s", "1e300h", "8785h"] {
        let refused = positive_duration(text).unwrap_err().to_string();
        let wanted = format!("found {text:?}, expected a duration of at most 366 days");
        assert_eq!(refused, wanted);
    }
    assert_eq!(samples("1000000000000"), Ok(MOST_SAMPLES));
    for text in ["0", "-1", "1000000000001", "18446744073709551615"] {
        assert!(samples(text).is_err(), "{text}");
    }
    assert_eq!((rate("0.0001"), rate("1e11")), (Ok(1e-4), Ok(1e11)));
    for text in ["0.00009", "1.1e11", "1e300MHz"] {
        let refused = rate(text).unwrap_err().to_string();
        let wanted = format!(
            "found {text:?}, expected a rate between 0.0001Hz and 100000000000Hz, such as 10kHz"
        );
        assert_eq!(refused, wanted);
    }
}

#[test]
fn jitters_as_people_write_them() {
    for (text, expected) in [
        ("10%", Jitter::Share(0.1)),
        ("0", Jitter::Seconds(0.0)),
        ("100 %", Jitter::Share(1.0)),
        ("20us", Jitter::Seconds(2e-5)),
    ] {
        assert_eq!(jitter(text), Ok(expected), "{text}");
    }
    for text in ["", "%", "101%", "-1%", "NaN%", "10 percent"] {
        assert!(jitter(text).is_err(), "{text}");
    }
}

#[test]
fn rates_as_people_write_them() {
    for (text, hertz) in [
        ("7777", 7777.0),
        ("10kHz", 10_000.0),
        ("1 MHz", 1e6),
        ("100hz", 100.0),
        ("1e6", 1e6),
    ] {
        assert_eq!(rate(text), Ok(hertz), "{text}");
    }
    for text in ["0", "-5", "fast", "10 kilo", "NaN"] {
        assert!(rate(text).is_err(), "{text}");
    }
}

#[test]
fn cpu_lists_as_people_write_them() {
    assert_eq!(cpu_list("0,2-5"), Ok(CpuList(vec![0, 2, 3, 4, 5])));
    assert_eq!(cpu_list("3, 1,1"), Ok(CpuList(vec![1, 3])));
    for text in ["", "a", "5-2", "1-", "0-4294967295", "-1"] {
        assert!(cpu_list(text).is_err(), "{text}");
        assert!(cpus(text).is_err(), "{text}");
    }
    assert_eq!(cpus("all"), Ok(Cpus::All));
    assert_eq!(cpus("0,2-3"), Ok(Cpus::These(vec![0, 2, 3])));
}

#[test]
fn nodes_are_numbers_and_ranges() {
    assert_eq!(nodes("16,1000,64k").unwrap().0, [16, 1000, 65_536]);
    assert_eq!(nodes("16..1k").unwrap().0, [16, 64, 256, 1024]);
    assert_eq!(nodes("10..50,7").unwrap().0, [7, 10, 40, 50]);
    for wrong in ["", "0", "5..2", "1..", "17M", "-1", "1k1"] {
        assert_eq!(nodes(wrong), Err(Wrong::Nodes(wrong.into())), "{wrong}");
    }
}
