//! Numbers inside sentences: the verdict's, the findings' and the warnings'.

use crate::{Cause, Chain};
use bandscope_recording::cpu_list;

/// A share with as many digits as keep what is lost visible.
pub fn percent(share: f64) -> String {
    let percent = share * 100.0;
    let lost = percent.min((100.0 - percent).abs());
    match lost {
        lost if lost >= 1.0 => format!("{percent:.1} %"),
        lost if lost >= 0.1 => format!("{percent:.2} %"),
        _ => format!("{percent:.3} %"),
    }
}

/// Digits after the point with which a share is written in hundredths if it is known to `half_width`: one that counts of the latter. Where that is 0
/// or not known, as many as keep the share visible.
pub fn share_decimals(share: f64, half_width: Option<f64>) -> usize {
    let known = half_width.map(f64::abs).filter(|half| *half > 0.0);
    let size = 100.0 * known.unwrap_or(share.abs());
    match size > 0.0 {
        true => (-size.log10()).ceil().clamp(1.0, 3.0) as usize,
        false => 1,
    }
}

/// A share in per cent, as exactly as its interval says: the last digit is one that half of the interval's width counts, or the next one where rounding
/// would move the share by a tenth of itself. At most three count.
pub fn share_within(share: f64, (low, high): (f64, f64)) -> String {
    let half = ((high - low).abs() / 2.0).max(share.abs() / 100.0);
    if half < 0.01 {
        let decimals = share_decimals(share, Some(half));
        return format!("{} %", hundredths(share, decimals));
    }
    let percent = (100.0 * share).max(0.0);
    let unit = 10_f64.powf((100.0 * half).log10().floor());
    let rounded = |unit: f64| (percent / unit).round() * unit;
    match (rounded(unit) - percent).abs() > MOST_MOVED * percent {
        true if unit <= 1.0 => format!("{percent:.1} %"),
        true => format!("{} %", count(rounded(unit / 10.0) as u64)),
        false => format!("{} %", count(rounded(unit) as u64)),
    }
}

/// Part of itself by which a share may be rounded.
const MOST_MOVED: f64 = 0.1;

/// A share in hundredths with so many digits after the point, without its unit: percent, or points where it is a difference. Nothing is never negative.
pub fn hundredths(share: f64, decimals: usize) -> String {
    let text = format!("{:.decimals$}", 100.0 * share);
    match text.strip_prefix('-') {
        Some(size) if size.chars().all(|digit| "0.".contains(digit)) => size.to_owned(),
        _ => text,
    }
}

/// So many a second: with so many digits after the point, and more where all of them would be 0.
pub fn per_second(number: f64, decimals: usize) -> String {
    let first = match number > 0.0 {
        true => (-number.log10().floor()).clamp(0.0, 9.0) as usize,
        false => 0,
    };
    format!("{number:.*}", decimals.max(first))
}

/// A duration in the unit that suits it, once it is rounded.
pub fn duration(ns: f64) -> String {
    match ns {
        ns if ns < 999.5 => format!("{ns:.0} ns"),
        ns if ns < 999.95e3 => format!("{:.1} µs", ns / 1e3),
        ns if ns < 999.95e6 => format!("{:.1} ms", ns / 1e6),
        ns => format!("{:.2} s", ns / 1e9),
    }
}

/// A duration without zeros behind the point: `1 ms`, `2.5 µs`.
pub fn duration_round(ns: f64) -> String {
    let text = duration(ns);
    match text.split_once(' ') {
        Some((number, unit)) if number.contains('.') => {
            let number = number.trim_end_matches('0').trim_end_matches('.');
            format!("{number} {unit}")
        }
        _ => text,
    }
}

/// Significant digits of a frequency in a sentence: they tell a guest's tick from its host's. The evidence and the table of signals have the rest.
const FREQUENCY_DIGITS: f64 = 6.0;

/// A frequency with the digits that its uncertainty leaves, at most six.
pub fn frequency(hertz: f64, uncertainty: f64) -> String {
    let known = match uncertainty > 0.0 {
        true => (-uncertainty.log10()).ceil(),
        false => 3.0,
    };
    let readable = FREQUENCY_DIGITS - 1.0 - hertz.abs().max(1.0).log10().floor();
    let digits = known.min(readable).max(0.0);
    format!("{hertz:.*} Hz", digits as usize)
}

/// A cause as the subject of a sentence.
pub fn cause(cause: &Cause) -> String {
    let plain = match cause {
        Cause::Interrupt(name) => return format!("Interrupts of {name}"),
        Cause::Softirq(name) => return format!("Softirqs of kind {name}"),
        Cause::Task(name) => return format!("The task {name}"),
        Cause::Exception(name) => return format!("Exceptions ({name})"),
        Cause::Timer(name) => return format!("The timer of {name}"),
        Cause::OtherTasks => "Many tasks that took little each",
        Cause::RealTimeThrottled => "The limit on the CPU time of real-time tasks",
        Cause::QuotaThrottled => "The CPU quota",
        Cause::Tick => "The timer tick",
        Cause::Nmi => "Non-maskable interrupts",
        Cause::Host => "The host",
        Cause::Preempted => "Other tasks that nothing names",
        Cause::Stopped => "A signal or a debugger that stopped the thread",
        Cause::Frozen => "A freeze of the thread's group or another wait",
        Cause::Held(_) | Cause::Unnamed => "Something",
    };
    plain.to_owned()
}

/// A cause within a sentence.
pub fn cause_in_sentence(of: &Cause) -> String {
    let subject = cause(of);
    let mut characters = subject.chars();
    let first = characters.next().map(|first| first.to_ascii_lowercase());
    first.into_iter().chain(characters).collect()
}

/// A rate without digits that say nothing: `10 kHz`, `7777 Hz`.
pub fn rate(hertz: f64) -> String {
    let hertz = (hertz * 1e3).round() / 1e3;
    match hertz / 1e3 {
        thousands if (1.0..1e6).contains(&thousands) && thousands.fract() == 0.0 => {
            format!("{thousands} kHz")
        }
        _ => format!("{hertz} Hz"),
    }
}

/// Ids of processes, the costliest first, after the name of a task: ` (PID 4711)`. Nothing of none.
pub fn ids(processes: &[u32]) -> String {
    match processes {
        [] => String::new(),
        [one] => format!(" (PID {one})"),
        [few @ .., last] if few.len() < 3 => {
            let few: Vec<String> = few.iter().map(u32::to_string).collect();
            format!(" (PIDs {} and {last})", few.join(", "))
        }
        [most, others @ ..] => format!(" (PID {most} and {} more)", others.len()),
    }
}

/// A chain, without a full stop: `kworker/u8 ran flush_to_ldisc, woken by task:make on CPU 0, 3.0 µs before it ran here`.
pub fn behind(chain: &Chain) -> String {
    let (name, then) = match chain.cause.strip_prefix("task:") {
        // It may have run on another CPU meanwhile, of which nothing is known.
        Some(task) => (task, "it ran here"),
        None => (&*chain.cause, "it came"),
    };
    let cpus = cpu_list::named(&cpu_list::parse(&chain.cpus));
    let mean = if chain.number > 1 { "on average " } else { "" };
    let waited = format!("{mean}{}", duration(chain.waited_ns));
    if chain.ran_on() {
        let ran = and_ran(chain);
        return format!("{name} resumed, {waited} after it was preempted on {cpus}{ran}");
    }
    let mut sentence = name.to_owned();
    if !chain.function.is_empty() {
        sentence += &format!(" ran {}", chain.function);
    }
    if !chain.sender.is_empty() {
        sentence += &format!(
            ", {} on {cpus}, {waited} before {then}{}",
            sent(chain),
            setter(chain)
        );
    }
    sentence
}

/// The same for all that one maker made: who did what, and who is behind it, wherever and whenever.
pub fn made_by(chain: &Chain) -> String {
    if chain.ran_on() {
        return format!("{} resumed{}", chain.cause, and_ran(chain));
    }
    let mut name = chain.cause.clone();
    if !chain.function.is_empty() {
        name += &format!(" ran {}", chain.function);
    }
    if !chain.sender.is_empty() {
        name += &format!(", {}{}", sent(chain), setter(chain));
    }
    name
}

/// What a task that resumed began besides.
fn and_ran(chain: &Chain) -> String {
    match &*chain.function {
        "" => String::new(),
        function => format!(", and ran {function}"),
    }
}

/// What is done to a cause that somebody is behind, by how its name begins; the page says the same (`script/moments.js`).
const DONE: [(&str, &str); 3] = [
    ("task:", "woken"),
    ("softirq:", "raised"),
    ("timer:", "set"),
];

/// What was done to it, by whom and where in the kernel: `woken by task:make in pipe_write`.
fn sent(chain: &Chain) -> String {
    let done = DONE.iter().find(|(kind, _)| chain.cause.starts_with(kind));
    let done = done.map_or("sent", |(_, done)| done);
    let sender = match &*chain.sender {
        // Its name was not recorded.
        "task" => "a task",
        sender => sender,
    };
    match (&*chain.set_by, &*chain.sender_function) {
        ("", function) if !function.is_empty() => format!("{done} by {sender} in {function}"),
        _ => format!("{done} by {sender}"),
    }
}

/// Who set the timer that did it: `; task:make set that timer in ep_poll`. Nothing where nobody is known.
fn setter(chain: &Chain) -> String {
    match (&*chain.set_by, &*chain.sender_function) {
        ("", _) => String::new(),
        (setter, "") => format!("; {setter} set that timer"),
        (setter, function) => format!("; {setter} set that timer in {function}"),
    }
}

/// A whole number with its thousands apart: `1,234,567`.
pub fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// The last part of a path, or all of it.
pub fn file_name(path: &str) -> &str {
    let name = path.trim_end_matches('/').rsplit('/').next();
    name.filter(|name| !name.is_empty()).unwrap_or(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_rare_is_no_zero() {
        let texts = [253.4, 12.34, 0.5, 0.1, 0.017, 0.0].map(|number| per_second(number, 0));
        assert_eq!(texts, ["253", "12", "0.5", "0.1", "0.02", "0"]);
        assert_eq!(per_second(12.34, 1), "12.3");
    }

    #[test]
    fn a_share_has_the_digits_that_its_interval_allows() {
        for (share, low, high, expected) in [
            (0.4183, 0.35, 0.49, "42 %"),
            (0.0266, 0.022, 0.031, "2.7 %"),
            (0.0266, 0.0265, 0.0267, "2.66 %"),
            (1.4943, 1.1, 1.9, "150 %"),
            (138.5449, 90.0, 200.0, "14,000 %"),
            (4.0, 3.999, 4.001, "400 %"),
            (1.2, 1.199, 1.201, "120 %"),
            (0.15, 0.15, 0.15, "15.0 %"),
            (0.0047, 0.0, 0.0, "0.470 %"),
            (0.0, 0.0, 0.0, "0.0 %"),
            (0.156, 0.0316, 0.846, "16 %"),
            (0.0316, 0.0316, 0.846, "3 %"),
            (0.014, 0.0, 0.06, "1.4 %"),
        ] {
            assert_eq!(share_within(share, (low, high)), expected);
        }
    }

    #[test]
    fn digits_follow_what_is_known() {
        assert_eq!(frequency(249.99994, 0.00007), "250.000 Hz");
        assert_eq!(frequency(99.99584, 0.000_01), "99.9958 Hz");
        assert_eq!(frequency(12_345.678, 0.001), "12345.7 Hz");
        assert_eq!(frequency(75.99, 2.0), "76 Hz");
        assert_eq!(frequency(250.0, 0.0), "250.000 Hz");
        assert_eq!(rate(7777.0), "7777 Hz");
        assert_eq!(rate(10_000.0), "10 kHz");
        assert_eq!(duration(2_500.0), "2.5 µs");
        let rounded = [999.7, 999_999.6, 999_999_999.7];
        assert_eq!(rounded.map(duration), ["1.0 µs", "1.0 ms", "1.00 s"]);
        let written = [400.0, 999_999.6, 1.5e6, 1e9].map(duration_round);
        assert_eq!(written, ["400 ns", "1 ms", "1.5 ms", "1 s"]);
    }

    #[test]
    fn a_chain_is_a_sentence() {
        let chain = Chain {
            cause: "task:kworker/u8".into(),
            function: "flush_to_ldisc".into(),
            sender: "task:make".into(),
            cpus: "0,2".into(),
            waited_ns: 3e3,
            ..Chain::default()
        };
        let told = "kworker/u8 ran flush_to_ldisc, woken by task:make on CPUs 0,2, 3.0 µs before it ran here";
        assert_eq!(behind(&chain), told);
        let many = Chain {
            number: 2,
            ..chain.clone()
        };
        assert_eq!(behind(&many), told.replace("3.0", "on average 3.0"));
        let unknown = Chain {
            sender: String::new(),
            ..chain.clone()
        };
        assert_eq!(behind(&unknown), "kworker/u8 ran flush_to_ldisc");
        let call = Chain {
            cause: "irq:call_function".into(),
            function: "flush_tlb_func".into(),
            ..chain
        };
        let told = "irq:call_function ran flush_tlb_func, sent by task:make on CPUs 0,2, 3.0 µs before it came";
        assert_eq!(behind(&call), told);
        let sleeper = Chain {
            cause: "task:make".into(),
            function: String::new(),
            sender: "timer:timerfd_tmrproc".into(),
            set_by: "task:make".into(),
            sender_function: "do_timerfd_settime".into(),
            ..call
        };
        let woken = "woken by timer:timerfd_tmrproc";
        let set = "task:make set that timer in do_timerfd_settime";
        assert_eq!(
            behind(&sleeper),
            format!("make, {woken} on CPUs 0,2, 3.0 µs before it ran here; {set}")
        );
        assert_eq!(made_by(&sleeper), format!("task:make, {woken}; {set}"));
        let mut on = Chain {
            cause: "task:kworker/1".into(),
            sender: "runnable".into(),
            cpus: "1".into(),
            waited_ns: 4e6,
            ..Chain::default()
        };
        let told = "kworker/1 resumed, 4.0 ms after it was preempted on CPU 1";
        assert_eq!(behind(&on), told);
        assert_eq!(made_by(&on), "task:kworker/1 resumed");
        on.function = "vmstat_update".into();
        assert_eq!(behind(&on), format!("{told}, and ran vmstat_update"));
        assert_eq!(
            made_by(&on),
            "task:kworker/1 resumed, and ran vmstat_update"
        );
        for (cause, done) in [("timer:make", "set"), ("softirq:RCU", "raised")] {
            let other = Chain {
                cause: cause.into(),
                sender: "idle".into(),
                ..Chain::default()
            };
            assert_eq!(made_by(&other), format!("{cause}, {done} by idle"));
        }
    }

    #[test]
    fn few_processes_are_told_by_their_ids_and_of_many_the_costliest() {
        assert_eq!(ids(&[]), "");
        assert_eq!(ids(&[4711]), " (PID 4711)");
        assert_eq!(ids(&[4711, 12, 13]), " (PIDs 4711, 12 and 13)");
        assert_eq!(ids(&[4711, 12, 13, 14]), " (PID 4711 and 3 more)");
    }

    #[test]
    fn a_share_has_the_digits_that_its_interval_leaves() {
        let written = |share, half| hundredths(share, share_decimals(share, half));
        assert_eq!(written(0.0487, Some(0.003)), "4.9");
        assert_eq!(written(0.0030, Some(0.0002)), "0.30");
        assert_eq!(written(0.0030, Some(1e-9)), "0.300");
        assert_eq!(written(0.5, Some(0.2)), "50.0");
        assert_eq!(written(0.000_4, None), "0.04");
        assert_eq!(written(0.0, None), "0.0");
        assert_eq!(written(-1e-6, Some(0.001)), "0.0");
        assert_eq!(written(-0.012, Some(0.001)), "-1.2");
    }
}
