//! Checks a request against this machine. Every refusal says what is wrong and what would do.

use crate::facts;
use crate::kernels::{self, Role};
use crate::priority;
use bandscope_recording::cpu_list;
use bandscope_recording::manifest::Kernel;
use bandscope_recording::manifest::TICKS_PER_NS;
use bandscope_sampler::machine::Length;
use bandscope_sampler::record::MAX_QUANTUM_TICKS;
use bandscope_sampler::{MachineError, Request, check_quantum};

/// A quantum holds at least so many units: with fewer, its length is that of its units.
const LEAST_UNITS: f64 = 20.0;
/// The same of a tripwire, so that the time of an interruption is known to half a quantum.
const LEAST_TRIPWIRES: f64 = 2.0;
/// The longest run, a year, and the most quanta, so that no count overflows.
const LONGEST_S: f64 = 366.0 * 86_400.0;
const MOST_SAMPLES: u64 = 1 << 48;
/// The longest start delay, in ticks: ends of quanta are counted on from the recording's origin, in 48 bits (`sampler::record`).
const MOST_DELAY_TICKS: f64 = (1u64 << 47) as f64;

fn refuse<T>(why: String) -> Result<T, MachineError> {
    Err(MachineError::Request(why))
}

/// Checks what needs no measurement: CPUs, work kernels, numbers.
///
/// # Errors
/// [`MachineError::Request`].
pub fn check(request: &Request, allowed: &[u32]) -> Result<(), MachineError> {
    for &cpu in request.cpus.iter().chain(&request.housekeeping) {
        check_cpu(cpu, allowed)?;
    }
    check_housekeeping(request, allowed)?;
    let mut sorted = request.cpus.clone();
    sorted.sort_unstable();
    if let Some(pair) = sorted.windows(2).find(|pair| pair[0] == pair[1]) {
        return refuse(format!("CPU {} is named twice", pair[0]));
    }
    check_kernels(&request.kernels)?;
    if request.rates_hz.is_empty() {
        return refuse("no rate is given, expected one at least, such as 10kHz".to_owned());
    }
    for &rate in &request.rates_hz {
        if !(rate.is_finite() && rate > 0.0) {
            return refuse(format!(
                "rate {rate} Hz: expected a number of hertz above 0, such as 10kHz"
            ));
        }
    }
    check_times(request)?;
    check_priority(request, allowed)
}

/// Checks that the kernel gives the priority, and that somebody can end the run.
fn check_priority(request: &Request, allowed: &[u32]) -> Result<(), MachineError> {
    let Some(wanted) = request.priority else {
        return Ok(());
    };
    if let Err(error) = priority::is_permitted(wanted) {
        return Err(MachineError::Refused(
            match priority::group_without_time() {
                Some(group) => format!(
                    "--priority {wanted}: {error}; the control group {group} gives real-time tasks no time (cpu.rt_runtime_us is 0)"
                ),
                None => format!(
                    "--priority {wanted}: {error}; it takes root, CAP_SYS_NICE, or a limit (ulimit -r) of {} or more",
                    wanted.level
                ),
            },
        ));
    }
    match facts::realtime_limit_us() {
        Some(limit) if leaves_no_time(&request.cpus, allowed, limit) => refuse(format!(
            "--priority: found all CPUs and no limit on real-time tasks (kernel.sched_rt_runtime_us is {}); leave a CPU out of --cpus, or set a limit",
            limit[0]
        )),
        _ => Ok(()),
    }
}

/// Whether threads that never sleep leave nothing to anybody (sched(7), sched_rt_runtime_us): on all CPUs that may be used, without a limit. Where no
/// CPU is named one will be chosen.
fn leaves_no_time(cpus: &[u32], allowed: &[u32], [limit, period]: [i64; 2]) -> bool {
    let is_unlimited = limit < 0 || limit >= period;
    let takes_all = match cpus {
        [] => allowed.len() == 1,
        cpus => allowed.iter().all(|cpu| cpus.contains(cpu)),
    };
    is_unlimited && takes_all
}

/// Checks that the program's own threads and those that measure have CPUs apart.
fn check_housekeeping(request: &Request, allowed: &[u32]) -> Result<(), MachineError> {
    let own = &request.housekeeping;
    if let Some(cpu) = own.iter().find(|cpu| request.cpus.contains(cpu)) {
        return refuse(format!(
            "--housekeeping: found CPU {cpu}, which is measured, expected others"
        ));
    }
    match request.cpus.is_empty() && allowed.iter().all(|cpu| own.contains(cpu)) {
        true => refuse(format!(
            "--housekeeping: found all CPUs that may be used ({}), expected one left to measure",
            cpu_list::written(own)
        )),
        false => Ok(()),
    }
}

/// Checks that this process may use a CPU.
pub fn check_cpu(cpu: u32, allowed: &[u32]) -> Result<(), MachineError> {
    if allowed.contains(&cpu) {
        return Ok(());
    }
    let what = match facts::online() {
        Some(online) if online.contains(&cpu) => "may not be used by this process",
        Some(_) => "is not there or offline",
        None => "is not there or may not be used by this process",
    };
    refuse(format!(
        "CPU {cpu} {what}, expected some of {}",
        cpu_list::written(allowed)
    ))
}

fn check_kernels(names: &[String]) -> Result<(), MachineError> {
    if names.is_empty() {
        return refuse(format!(
            "no work kernel is given, expected one at least, such as {}",
            kernels::default_kernel()
        ));
    }
    for name in names {
        kernels::check(name)?;
    }
    Ok(())
}

fn check_times(request: &Request) -> Result<(), MachineError> {
    let seconds = |name: &str, value: f64, least: f64| {
        if value.is_finite() && value >= least && value <= LONGEST_S {
            return Ok(());
        }
        refuse(format!("{name} of {value} s: expected {least} s to a year"))
    };
    match request.length {
        Length::Duration(s) => seconds("a duration", s, 1e-6)?,
        Length::Samples(n) if n == 0 || n > MOST_SAMPLES => {
            return refuse(format!("{n} samples: expected 1 to {MOST_SAMPLES}"));
        }
        Length::Samples(_) => {}
    }
    seconds("a start delay", request.start_delay_s, 0.0)?;
    if request.series().len() > 1 {
        seconds("a segment", request.segment_s, 1e-3)?;
    }
    match request.ticks_per_ns {
        Some(ticks) if !TICKS_PER_NS.contains(&ticks) => refuse(format!(
            "{ticks} ticks per nanosecond: expected {} to {}",
            TICKS_PER_NS.start(),
            TICKS_PER_NS.end()
        )),
        _ => Ok(()),
    }
}

/// Checks each rate with each work kernel, and the start delay, now that paces are known.
///
/// # Errors
/// [`MachineError::Request`], naming the limits.
pub fn check_rates(
    request: &Request,
    kernels: &[Kernel],
    ticks_per_ns: f64,
) -> Result<(), MachineError> {
    let ticks_per_s = ticks_per_ns * 1e9;
    let longest = MOST_DELAY_TICKS / ticks_per_s;
    if request.start_delay_s > longest {
        return refuse(format!(
            "--start-delay: found {} s, expected {longest:.0} s at most on this machine",
            request.start_delay_s
        ));
    }
    let slowest = ticks_per_s / MAX_QUANTUM_TICKS;
    for kernel in kernels {
        let least = least_units(&kernel.name);
        let fastest = ticks_per_s / (least * unit_ticks(kernel, ticks_per_ns));
        for &rate in &request.rates_hz {
            if rate > fastest {
                return refuse(format!(
                    "rate {rate} Hz with work kernel {}: expected {slowest:.3} Hz (a quantum of 2^31 \
                     ticks) to {fastest:.0} Hz ({least} units in a quantum) on this machine",
                    kernel.name
                ));
            }
            check_quantum(rate, ticks_per_ns)?;
        }
    }
    Ok(())
}

/// Units that a quantum must hold. A tripwire's are long, and whether one was interrupted shows in few of them as well.
fn least_units(kernel: &str) -> f64 {
    match kernels::check(kernel).map(|info| info.role) {
        Ok(Role::Tripwire { .. }) => LEAST_TRIPWIRES,
        _ => LEAST_UNITS,
    }
}

/// Best pace, or what the gap threshold says of it where no undisturbed stretch was seen.
fn unit_ticks(kernel: &Kernel, ticks_per_ns: f64) -> f64 {
    kernel.best_ticks_per_unit.unwrap_or_else(|| {
        kernels::check(&kernel.name).map_or(1.0, |info| {
            info.unit_of_threshold(kernel.gap_threshold_ticks, ticks_per_ns)
        })
    })
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use bandscope_sampler::machine::{Choice, Watch};

    /// One CPU for a second.
    pub fn request() -> Request {
        Request {
            cpus: vec![0],
            rates_hz: vec![10_000.0],
            kernels: vec![kernels::default_kernel().to_owned()],
            length: Length::Duration(1.0),
            start_delay_s: 0.0,
            segment_s: 1.0,
            ticks_per_ns: None,
            ordered_reads: false,
            buffered: false,
            counters: Choice::Auto,
            trace: Choice::Off,
            watch: Watch::default(),
            tracepoints: Vec::new(),
            store_bypass: Default::default(),
            priority: None,
            housekeeping: Vec::new(),
            self_test: false,
        }
    }

    fn refusal(change: impl FnOnce(&mut Request)) -> String {
        let mut request = request();
        change(&mut request);
        check(&request, &[0, 1]).unwrap_err().to_string()
    }

    #[test]
    fn refusals_name_what_is_wrong_and_what_would_do() {
        check(&request(), &[0, 1]).unwrap();
        let cpu = refusal(|request| request.cpus = vec![1, 4095]);
        assert!(cpu.contains("CPU 4095") && cpu.contains("0-1"), "{cpu}");
        assert!(refusal(|request| request.cpus = vec![1, 1]).contains("twice"));
        let own = |cpus: &[u32], own: &[u32]| {
            refusal(|request| (request.cpus, request.housekeeping) = (cpus.into(), own.into()))
        };
        assert!(own(&[0], &[7]).contains("CPU 7"));
        assert!(own(&[0], &[0, 1]).contains("CPU 0, which is measured"));
        assert!(own(&[], &[0, 1]).contains("(0-1), expected one left"));
        for rate in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert!(refusal(|request| request.rates_hz = vec![rate]).contains("rate"));
        }
        assert!(refusal(|request| request.kernels = vec!["x".into()]).contains("x"));
        assert!(refusal(|request| request.length = Length::Samples(0)).contains("0 samples"));
        assert!(refusal(|request| request.length = Length::Duration(f64::NAN)).contains("NaN"));
        assert!(refusal(|request| request.start_delay_s = -1.0).contains("-1"));
        assert!(refusal(|request| request.ticks_per_ns = Some(0.0)).contains("ticks"));
    }

    #[test]
    fn rates_out_of_reach_name_the_limits() {
        let kernel = Kernel {
            name: kernels::default_kernel().to_owned(),
            best_ticks_per_unit: Some(250.0),
            gap_threshold_ticks: 1250,
            ..Kernel::default()
        };
        let check = |rate: f64| {
            let request = Request {
                rates_hz: vec![rate],
                ..request()
            };
            check_rates(&request, std::slice::from_ref(&kernel), 2.0)
        };
        check(400_000.0).unwrap();
        check(1.0).unwrap();
        let fast = check(1e12).unwrap_err().to_string();
        assert!(fast.contains("400000 Hz"), "{fast}");
        assert!(check(0.5).unwrap_err().to_string().contains("0.931 Hz"));
        let late = Request {
            start_delay_s: 86_400.0,
            ..request()
        };
        let late = check_rates(&late, &[kernel], 2.0).unwrap_err().to_string();
        assert!(late.contains("expected 70369 s at most"), "{late}");
    }

    #[test]
    fn a_priority_leaves_the_rest_of_the_machine_a_cpu_or_time() {
        for (cpus, allowed, limit, refused) in [
            (&[0, 1][..], &[0, 1][..], -1, true),
            (&[0], &[0, 1], -1, false),
            (&[], &[0], -1, true),
            (&[], &[0, 1], -1, false),
            (&[0], &[0], 1_000_000, true),
            (&[0], &[0], 950_000, false),
        ] {
            let leaves_none = leaves_no_time(cpus, allowed, [limit, 1_000_000]);
            assert_eq!(leaves_none, refused, "{cpus:?} {allowed:?} {limit}");
        }
    }
}
