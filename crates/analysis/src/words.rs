//! Numbers inside sentences: the verdict's, the findings' and the warnings'.

use crate::gaps::OTHER_TASKS;

/// A share with as many digits as keep what is lost visible.
pub(crate) fn percent(share: f64) -> String {
    let percent = share * 100.0;
    let lost = percent.min((100.0 - percent).abs());
    match lost {
        lost if lost >= 1.0 => format!("{percent:.1} %"),
        lost if lost >= 0.1 => format!("{percent:.2} %"),
        _ => format!("{percent:.3} %"),
    }
}

/// A duration in the unit that suits it.
pub(crate) fn duration(ns: f64) -> String {
    match ns {
        ns if ns < 1e3 => format!("{ns:.0} ns"),
        ns if ns < 1e6 => format!("{:.1} us", ns / 1e3),
        ns if ns < 1e9 => format!("{:.1} ms", ns / 1e6),
        ns => format!("{:.2} s", ns / 1e9),
    }
}

/// A frequency with the digits that its uncertainty leaves.
pub(crate) fn frequency(hertz: f64, uncertainty: f64) -> String {
    let digits = if uncertainty > 0.0 {
        (-uncertainty.log10()).ceil().clamp(0.0, 6.0)
    } else {
        3.0
    };
    format!("{hertz:.*} Hz", digits as usize)
}

/// A key of `gaps_ns` as the subject of a sentence.
pub(crate) fn cause(key: &str) -> String {
    match key.split_once(':') {
        Some(("irq", name)) => format!("Interrupts of {name}"),
        Some(("softirq", name)) => format!("Softirqs of kind {name}"),
        _ if key == OTHER_TASKS => "Many tasks, each of which took little,".to_owned(),
        Some(("task", name)) => format!("The task {name}"),
        Some(("exception", name)) => format!("Exceptions ({name})"),
        Some(("timer", name)) => format!("The timer of {name}"),
        Some(("throttled", "realtime")) => {
            "The limit on the CPU time of real-time tasks".to_owned()
        }
        Some(("throttled", _)) => "The CPU quota".to_owned(),
        _ => match key {
            "tick" => "The timer tick".to_owned(),
            "nmi" => "Non-maskable interrupts".to_owned(),
            "host" => "The host".to_owned(),
            "preempted" => "Other tasks, which nothing names,".to_owned(),
            "stopped" => "A signal or a debugger that stopped the thread".to_owned(),
            "frozen" => "A freeze of the thread's group, or another wait,".to_owned(),
            _ => "Something".to_owned(),
        },
    }
}

/// A rate without digits that say nothing.
pub(crate) fn rate(hertz: f64) -> String {
    format!("{} Hz", (hertz * 1e3).round() / 1e3)
}

/// The last part of a path, or all of it.
pub(crate) fn file_name(path: &str) -> &str {
    let name = path.trim_end_matches('/').rsplit('/').next();
    name.filter(|name| !name.is_empty()).unwrap_or(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_follow_what_is_known() {
        assert_eq!(frequency(249.99994, 0.00007), "249.99994 Hz");
        assert_eq!(frequency(75.99, 2.0), "76 Hz");
        assert_eq!(frequency(250.0, 0.0), "250.000 Hz");
        assert_eq!(rate(7777.0), "7777 Hz");
    }
}
