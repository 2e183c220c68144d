//! Durations, rates and CPU lists as people write them: `10s`, `7777`, `10kHz`, `0,2-5`.

use bandscope_recording::manifest::{RATE_HZ, TICKS_PER_NS};
use bandscope_sampler::machine::Priority;
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::{SystemTime, UNIX_EPOCH};

/// What does not read, and what was expected.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Wrong {
    /// No duration.
    #[error("found {0:?}, expected a duration such as 10s, 500ms or 2min")]
    Duration(String),
    /// A duration beyond [`LONGEST_S`].
    #[error("found {0:?}, expected a duration of at most 366 days")]
    TooLong(String),
    /// A duration below [`SHORTEST_S`].
    #[error("found {0:?}, expected a duration of at least 0.001us")]
    TooShort(String),
    /// A duration that must not be 0.
    #[error("found 0, expected a duration above 0, such as 10s")]
    NoTime,
    /// A phase below [`SHORTEST_PHASE_S`].
    #[error("found {0:?}, expected a phase of at least 1us: a barrier takes that long")]
    Phase(String),
    /// More than a flight recorder holds in memory.
    #[error(
        "found {0:?}, expected a duration up to {LONGEST_AROUND_S} s, such as 10ms: so much of all CPUs waits in memory"
    )]
    Around(String),
    /// No priority.
    #[error("found {0:?}, expected fifo:N or rr:N with N from 1 to 99, such as fifo:1")]
    Priority(String),
    /// No jitter.
    #[error("found {0:?}, expected a share of the period such as 10%, or a duration such as 20us")]
    Jitter(String),
    /// No rate.
    #[error("found {0:?}, expected a rate above 0 such as 10000, 7777Hz, 10kHz or 1MHz")]
    Rate(String),
    /// A rate beyond [`RATE_HZ`].
    #[error("found {:?}, expected a rate between {}Hz and {}Hz, such as 10kHz", .0, RATE_HZ.start(), RATE_HZ.end())]
    RateRange(String),
    /// No number of quanta.
    #[error(
        "found {0:?}, expected a whole number above 0 and at most {MOST_SAMPLES}, such as 100000"
    )]
    Samples(String),
    /// No rate of a clock.
    #[error("found {:?}, expected ticks per nanosecond between {} and {}, such as 2.3982", .0, TICKS_PER_NS.start(), TICKS_PER_NS.end())]
    TicksPerNs(String),
    /// No list of CPUs.
    #[error("found {part:?} in {list:?}, expected CPU numbers and ranges such as 0,2-5{}", if *.or_all { ", or all" } else { "" })]
    CpuList {
        /// The part that does not read.
        part: String,
        /// The list.
        list: String,
        /// Whether `all` would do.
        or_all: bool,
    },
    /// More values of an option than [`MAX_VALUES`].
    #[error("{option}: found {found} values, expected {MAX_VALUES} at most")]
    TooMany {
        /// The option.
        option: &'static str,
        /// Number of its values.
        found: usize,
    },
    /// No numbers of nodes.
    #[error(
        "found {0:?}, expected numbers of nodes from 1 to 16M such as 16,1000 or 64k, or a range such as 16..1M"
    )]
    Nodes(String),
    /// No view of a picture.
    #[error("found {0:?}, expected series, density, histogram, gaps, spectrum or fold[:PERIOD]")]
    View(String),
    /// A view that has no period.
    #[error("found {found:?}, expected {name}: only fold has a period")]
    ViewWithPeriod {
        /// What was found.
        found: String,
        /// The view.
        name: String,
    },
    /// No period to fold by.
    #[error("found {0:?}, expected a period such as 1ms or 250Hz")]
    Period(String),
}

/// The longest duration that is waited or measured for, in seconds.
const LONGEST_S: f64 = 366.0 * 86_400.0;
/// The shortest that is not 0, in seconds: clocks count nanoseconds.
const SHORTEST_S: f64 = 1e-9;
/// The shortest phase of a job: what it needs of a recording grows with the number of phases, and no barrier of many nodes is faster.
const SHORTEST_PHASE_S: f64 = 1e-6;
/// At 10 kHz 50 MB of quanta a CPU, and what the kernel's events take.
const LONGEST_AROUND_S: f64 = 10.0;

/// The most quanta of a series.
const MOST_SAMPLES: u64 = 1_000_000_000_000;

/// The most values of an option that takes several: each is a series or a table of its own.
const MAX_VALUES: usize = 100;

/// Refuses more values of an option than anybody reads the results of.
///
/// # Errors
/// If there are more than 100.
pub fn not_too_many<T>(option: &'static str, values: &[T]) -> Result<(), Wrong> {
    match values.len() {
        ..=MAX_VALUES => Ok(()),
        found => Err(Wrong::TooMany { option, found }),
    }
}

/// A duration in seconds.
///
/// # Errors
/// Says what was found and how a duration is written.
pub fn duration(text: &str) -> Result<f64, Wrong> {
    let seconds = number_with_unit(
        text,
        &[
            ("", 1.0),
            ("s", 1.0),
            ("ms", 1e-3),
            ("us", 1e-6),
            ("min", 60.0),
            ("m", 60.0),
            ("h", 3600.0),
        ],
    );
    match seconds {
        Some(seconds) if seconds > LONGEST_S => Err(Wrong::TooLong(text.to_owned())),
        Some(seconds) if seconds >= 0.0 => Ok(seconds),
        _ => Err(Wrong::Duration(text.to_owned())),
    }
}

/// A duration in seconds that is not 0.
///
/// # Errors
/// As [`duration`].
pub fn positive_duration(text: &str) -> Result<f64, Wrong> {
    match duration(text)? {
        0.0 => Err(Wrong::NoTime),
        seconds if seconds < SHORTEST_S => Err(Wrong::TooShort(text.to_owned())),
        seconds => Ok(seconds),
    }
}

/// A phase of a job, in seconds.
///
/// # Errors
/// As [`positive_duration`], or if no job has it.
pub fn phase(text: &str) -> Result<f64, Wrong> {
    match positive_duration(text)? {
        seconds if seconds < SHORTEST_PHASE_S => Err(Wrong::Phase(text.to_owned())),
        seconds => Ok(seconds),
    }
}

/// Numbers of nodes, ascending.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Nodes(pub Vec<u64>);

/// The most nodes that are asked for.
const MOST_NODES: u64 = 16 << 20;

/// Numbers of nodes, with k and M for 1,024 and its square; `A..B` goes by factors of 4.
///
/// # Errors
/// If they do not read, or a range is empty.
pub fn nodes(text: &str) -> Result<Nodes, Wrong> {
    let wrong = || Wrong::Nodes(text.into());
    let one = |text: &str| {
        let (digits, unit) = match text.strip_suffix('k') {
            Some(digits) => (digits, 1 << 10),
            None => text
                .strip_suffix('M')
                .map_or((text, 1), |digits| (digits, 1 << 20)),
        };
        let number = digits
            .parse::<u64>()
            .ok()
            .and_then(|number| number.checked_mul(unit));
        number
            .filter(|number| (1..=MOST_NODES).contains(number))
            .ok_or_else(wrong)
    };
    let mut nodes = Vec::new();
    for part in text.split(',') {
        match part.split_once("..") {
            None => nodes.push(one(part)?),
            Some((first, last)) => {
                let (first, last) = (one(first)?, one(last)?);
                let steps = std::iter::successors(Some(first), |number| Some(number * 4));
                nodes.extend(steps.take_while(|number| *number < last));
                nodes.push(Some(last).filter(|last| first <= *last).ok_or_else(wrong)?);
            }
        }
    }
    nodes.sort_unstable();
    nodes.dedup();
    Ok(Nodes(nodes))
}

/// How much a flight recorder keeps around what it catches, in seconds.
pub fn around(text: &str) -> Result<f64, Wrong> {
    match positive_duration(text)? {
        seconds if seconds > LONGEST_AROUND_S => Err(Wrong::Around(text.into())),
        seconds => Ok(seconds),
    }
}

/// A real-time priority.
///
/// # Errors
/// If it is none that the kernel knows (sched(7)).
pub fn priority(text: &str) -> Result<Priority, Wrong> {
    let wrong = || Wrong::Priority(text.into());
    let (policy, level) = text.split_once(':').ok_or_else(wrong)?;
    let takes_turns = match policy {
        "fifo" => false,
        "rr" => true,
        _ => return Err(wrong()),
    };
    let level = level.parse().ok().filter(|level| (1..=99).contains(level));
    Ok(Priority {
        takes_turns,
        level: level.ok_or_else(wrong)?,
    })
}

/// How far starts scatter.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Jitter {
    /// A share of the period, 0 to 1.
    Share(f64),
    /// Seconds.
    Seconds(f64),
}

/// A jitter: a share in percent, or a duration.
///
/// # Errors
/// Says what was found and how a jitter is written.
pub fn jitter(text: &str) -> Result<Jitter, Wrong> {
    let wrong = || Wrong::Jitter(text.to_owned());
    let jitter = match text.trim().strip_suffix('%') {
        None => Jitter::Seconds(duration(text).map_err(|_| wrong())?),
        Some(number) => Jitter::Share(number.trim().parse::<f64>().map_err(|_| wrong())? / 100.0),
    };
    match jitter {
        Jitter::Share(share) if !(0.0..=1.0).contains(&share) => Err(wrong()),
        jitter => Ok(jitter),
    }
}

/// A rate in hertz.
///
/// # Errors
/// Says what was found and how a rate is written.
pub fn rate(text: &str) -> Result<f64, Wrong> {
    let units = [("", 1.0), ("Hz", 1.0), ("kHz", 1e3), ("MHz", 1e6)];
    match number_with_unit(text, &units) {
        Some(hertz) if RATE_HZ.contains(&hertz) => Ok(hertz),
        Some(hertz) if hertz > 0.0 => Err(Wrong::RateRange(text.to_owned())),
        _ => Err(Wrong::Rate(text.to_owned())),
    }
}

/// A number of quanta.
///
/// # Errors
/// Says what was found and what a number of samples is.
pub fn samples(text: &str) -> Result<u64, Wrong> {
    match text.parse::<u64>() {
        Ok(number) if (1..=MOST_SAMPLES).contains(&number) => Ok(number),
        _ => Err(Wrong::Samples(text.to_owned())),
    }
}

/// Ticks per nanosecond.
///
/// # Errors
/// Says what was found and which values can be.
pub fn ticks_per_ns(text: &str) -> Result<f64, Wrong> {
    match text.parse::<f64>() {
        Ok(ticks) if TICKS_PER_NS.contains(&ticks) => Ok(ticks),
        _ => Err(Wrong::TicksPerNs(text.to_owned())),
    }
}

/// A list of CPUs. `clap` keeps it whole, so that its order and ranges are this type's own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CpuList(pub Vec<u32>);

/// A list of CPUs such as `0,2-5`, sorted, without doubles.
///
/// # Errors
/// Says which part was found and how a list is written.
pub fn cpu_list(text: &str) -> Result<CpuList, Wrong> {
    Ok(CpuList(numbers(text, false)?))
}

fn numbers(text: &str, or_all: bool) -> Result<Vec<u32>, Wrong> {
    let wrong = |part: &str| Wrong::CpuList {
        part: part.to_owned(),
        list: text.to_owned(),
        or_all,
    };
    let number = |part: &str| part.trim().parse::<u32>().map_err(|_| wrong(part));
    let mut cpus = BTreeSet::new();
    for part in text.split(',') {
        let (first, last) = match part.split_once('-') {
            Some((first, last)) => (number(first)?, number(last)?),
            None => (number(part)?, number(part)?),
        };
        // The largest machines have a few thousand CPUs; a slip of the finger should not take 2^32.
        if first > last || last - first > 65_535 {
            return Err(wrong(part));
        }
        cpus.extend(first..=last);
    }
    Ok(cpus.into_iter().collect())
}

/// CPUs by number, or all that there are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cpus {
    /// All, as far as that can be.
    All,
    /// These, sorted, without doubles.
    These(Vec<u32>),
}

/// `all`, or a list of CPUs such as `0,2-5`.
///
/// # Errors
/// Says which part was found and how a list is written.
pub fn cpus(text: &str) -> Result<Cpus, Wrong> {
    match text.trim() {
        "all" => Ok(Cpus::All),
        list => numbers(list, true).map(Cpus::These),
    }
}

/// A finite number and one of `units`, multiplied.
fn number_with_unit(text: &str, units: &[(&str, f64)]) -> Option<f64> {
    let text = text.trim();
    // An exponent's `e` is followed by a digit or a sign, a unit's never is.
    let digits = text
        .char_indices()
        .find(|&(at, c)| {
            let next = text[at + c.len_utf8()..].chars().next();
            c.is_ascii_alphabetic()
                && !(matches!(c, 'e' | 'E')
                    && next.is_some_and(|n| n.is_ascii_digit() || matches!(n, '+' | '-')))
        })
        .map_or(text.len(), |(at, _)| at);
    let number: f64 = text[..digits].trim_end().parse().ok()?;
    let unit = &text[digits..];
    let scale = units
        .iter()
        .find(|(name, _)| name.eq_ignore_ascii_case(unit))?
        .1;
    // A power of ten divides exactly where its inverse does not multiply so: 20us are 2e-5 s to the last bit.
    let value = match scale < 1.0 {
        true => number / scale.recip().round(),
        false => number * scale,
    };
    Some(value).filter(|value| value.is_finite())
}

/// A seed of the time, where nobody names one: six digits are enough to differ, and few enough to be typed again.
pub fn seed_of_the_time() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.unwrap_or_default().as_micros() as u64 % 1_000_000
}

/// What a file is called that nobody names: by the time of this call.
pub fn name_of_the_time(suffix: &str) -> PathBuf {
    let now = chrono::Local::now().format("%Y%m%d-%H%M%S");
    PathBuf::from(format!("bandscope-{now}.{suffix}"))
}

#[cfg(test)]
mod tests;
