//! Conditions of a flight recorder, in the grammar of the others: `gap > 100 us`, `gap:task:* > 50 us on cpu 1`, `gap except task:make > 1 ms`,
//! `worst 1 ms < 50 %`.

use super::figures::{is_family, is_line};
use super::grammar::{Basis, Comparison, Condition};
use super::unit::{SUFFIXES, Suffix};
use bandscope_recording::manifest::Trigger;

/// What a figure of the whole gap is, and what one of a cause's part begins with.
const GAP: &str = "gap";
const OF_CAUSE: &str = "gap:";
/// What stands before the causes that do not count, and between them.
const EXCEPT: &str = " except ";
const AND: char = ',';
/// What a cause may be.
const CAUSES: &str = "`gap:` and a cause: tick, host, nmi, preempted, unnamed, stopped, frozen, task:NAME, timer:NAME, irq:NAME, softirq:NAME, exception:NAME, throttled:quota or throttled:realtime; task:* are all names, task:kworker* those that begin so. Softirqs are HI, TIMER, NET_TX, NET_RX, BLOCK, IRQ_POLL, TASKLET, SCHED, HRTIMER and RCU";
/// What a stretch begins with, and how long it is at most, in seconds: all of it waits in memory.
const WORST: &str = "worst ";
const LONGEST_STRETCH_S: f64 = 1.0;

/// What is wrong with a condition of a flight recorder.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("found {found:?}, expected {expected}")]
pub struct CatchError {
    found: String,
    expected: &'static str,
}

/// Reads a condition.
///
/// # Errors
/// What was found, and what is expected.
pub fn trigger(text: &str) -> Result<Trigger, CatchError> {
    let wrong = |expected: &'static str| CatchError {
        found: text.to_owned(),
        expected,
    };
    let any = "a condition such as \"gap > 100 us\", \"gap:task:* > 50 us on cpu 1\", \"gap except task:make > 1 ms\" or \"worst 1 ms < 50 %\"";
    let condition = Condition::parse(text).map_err(|_| wrong(any))?;
    let trigger = Trigger {
        text: condition.text.clone(),
        cpu: condition.cpu,
        ..Trigger::default()
    };
    let figure = condition.figure.as_str();
    if let Some(window) = figure.strip_prefix(WORST) {
        return stretch(window, &condition, trigger).map_err(wrong);
    }
    let (figure, except) = match figure.split_once(EXCEPT) {
        Some((figure, except)) => (figure.trim(), except),
        None => (figure, ""),
    };
    let cause = match (figure == GAP, figure.strip_prefix(OF_CAUSE)) {
        (true, _) => "",
        (false, Some(cause)) if is_cause(cause) => cause,
        (false, Some(_)) => return Err(wrong(CAUSES)),
        (false, None) => return Err(wrong(any)),
    };
    let except: Vec<String> = match except {
        "" => Vec::new(),
        list => list.split(AND).map(|one| one.trim().to_owned()).collect(),
    };
    if !(except.iter()).all(|one| is_cause(one) && !one.contains(EXCEPT) && !covers(one, cause)) {
        return Err(wrong(
            "causes after `except` that leave some, as in \"gap except task:make, task:cc* > 1 ms\"",
        ));
    }
    let is_more = matches!(
        condition.comparison,
        Comparison::Above | Comparison::AtLeast
    );
    let is_time = condition.suffix == Suffix::Time && condition.value > 0.0;
    match is_more && is_time && condition.basis == Basis::Itself {
        true => Ok(Trigger {
            cause: cause.to_owned(),
            except,
            longer_than_s: Some(condition.value),
            ..trigger
        }),
        false => Err(wrong(
            "a length of time that a gap exceeds, as in \"gap > 100 us\"",
        )),
    }
}

/// The condition on stretches of that length; what is expected if it cannot be one.
fn stretch(window: &str, condition: &Condition, trigger: Trigger) -> Result<Trigger, &'static str> {
    let window = seconds(window)
        .ok_or("`worst` and a length of time up to 1 s, as in \"worst 1 ms < 50 %\"")?;
    let is_less = matches!(condition.comparison, Comparison::Below | Comparison::AtMost);
    // Nothing is less than nothing.
    let is_possible = condition.value > 0.0 || condition.comparison == Comparison::AtMost;
    let is_share = is_possible
        && condition.suffix == Suffix::Percent
        && (0.0..=1.0).contains(&condition.value);
    match is_less && is_share && condition.basis == Basis::Itself {
        true => Ok(Trigger {
            window_s: Some(window),
            less_than: Some(condition.value),
            ..trigger
        }),
        false => Err("a share that gaps leave at least, as in \"worst 1 ms < 50 %\""),
    }
}

/// Whether nothing is left of a cause, or a family, without another.
fn covers(except: &str, cause: &str) -> bool {
    match except.strip_suffix('*') {
        Some(beginning) => cause.starts_with(beginning),
        None => cause == except,
    }
}

/// Whether gaps may have it.
fn is_cause(name: &str) -> bool {
    // "slower pace" is a line of the ledger that no gap has.
    match name.strip_suffix('*') {
        Some(beginning) => is_family(beginning),
        None => is_line(name) && !name.starts_with("slower"),
    }
}

/// A length of time as people write it.
fn seconds(text: &str) -> Option<f64> {
    let times = SUFFIXES
        .iter()
        .filter(|(_, suffix, _)| *suffix == Suffix::Time);
    let (number, scale) = times
        .clone()
        .find_map(|(end, _, scale)| Some((text.trim().strip_suffix(end)?, *scale)))?;
    let seconds = number.trim().parse::<f64>().ok()? * scale;
    (seconds > 0.0 && seconds <= LONGEST_STRETCH_S).then_some(seconds)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conditions_are_read_as_people_write_them() {
        let longer = |text: &str| {
            let trigger = trigger(text).unwrap();
            (trigger.cause, trigger.cpu, trigger.longer_than_s.unwrap())
        };
        assert_eq!(longer("gap > 100 us"), (String::new(), None, 100.0 * 1e-6));
        assert_eq!(
            longer("gap>0.5ms on cpu 3"),
            (String::new(), Some(3), 0.5 * 1e-3)
        );
        for cause in [
            "host",
            "tick",
            "task:*",
            "task:kworker*",
            "task:kworker/3:1",
            "irq:*",
            "throttled:quota",
            "softirq:NET_RX",
            "softirq:*",
            "preempted",
        ] {
            let wanted = (cause.to_owned(), None, 50.0 * 1e-6);
            assert_eq!(longer(&format!("gap:{cause} > 50 us")), wanted);
        }
        let without = trigger("gap except task:make, task:cc* > 1 ms on cpu 2").unwrap();
        assert_eq!(without.except, ["task:make", "task:cc*"]);
        assert_eq!((without.cause.as_str(), without.cpu), ("", Some(2)));
        let without = trigger("gap:task:* except task:make > 1 ms").unwrap();
        assert_eq!(
            (&*without.cause, &*without.except[0]),
            ("task:*", "task:make")
        );
        let stretch = trigger("worst 10 ms < 50 % on cpu 1").unwrap();
        let found = (stretch.window_s, stretch.less_than, stretch.cpu);
        assert_eq!(found, (Some(10.0 * 1e-3), Some(0.5), Some(1)));
        assert_eq!(stretch.text, "worst 10 ms < 50 % on cpu 1");
    }

    #[test]
    fn what_is_no_condition_of_a_flight_recorder() {
        for (text, expected) in [
            ("", "a condition"),
            ("lost > 1 %", "a condition"),
            ("finding:throttled", "a condition"),
            ("gap > 5", "a length of time"),
            ("gap < 5 us", "a length of time"),
            ("gap > +5 us", "a length of time"),
            ("gap > 0 us", "a length of time"),
            ("gap:nobody > 5 us", "`gap:` and a cause"),
            ("gap:slower pace > 5 us", "`gap:` and a cause"),
            ("gap:softirq:NOPE > 5 us", "`gap:` and a cause"),
            ("gap:task: > 5 us", "`gap:` and a cause"),
            ("gap:task:** > 5 us", "`gap:` and a cause"),
            ("gap:softirq:NET* > 5 us", "`gap:` and a cause"),
            ("gap except > 5 us", "a condition"),
            ("gap except nobody > 5 us", "causes after"),
            ("gap except task:make, > 5 us", "causes after"),
            ("gap except task:a except task:b > 5 us", "causes after"),
            ("gap:host except host > 5 us", "causes after"),
            ("gap:task:cc1 except task:c* > 5 us", "causes after"),
            ("gap:task:cc* except task:* > 5 us", "causes after"),
            ("worst 1 ms except task:make < 50 %", "`worst` and"),
            ("worst 1 ms < 0 %", "a share"),
            ("worst 1 ms > 50 %", "a share"),
            ("worst 1 ms < 150 %", "a share"),
            ("worst 1 ms < 5 us", "a share"),
            ("worst thing < 50 %", "`worst` and"),
            ("worst 2 s < 50 %", "`worst` and"),
        ] {
            let error = trigger(text).unwrap_err();
            assert!(error.expected.starts_with(expected), "{text}: {error}");
        }
    }
}
