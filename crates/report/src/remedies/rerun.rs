//! Another recording that answers what this one left open.

use super::{Need, Purpose, Remedy, RemedyKind, quoted};

fn record(kind: RemedyKind, arguments: &str, what: &str) -> Remedy {
    Remedy {
        kind,
        purpose: Purpose::FindOut,
        what: what.to_owned(),
        command: Some(format!("bandscope record {arguments}")),
        needs: Vec::new(),
        undo: None,
    }
}

fn named(cpus: &str) -> String {
    match cpus {
        "all" => "the CPUs".to_owned(),
        one => format!("CPU {one}"),
    }
}

/// Records the kernel's events, which name what takes a CPU.
pub fn trace_events(cpus: &str) -> Remedy {
    Remedy {
        kind: RemedyKind::TraceEvents,
        command: Some(format!("sudo bandscope record --cpus {cpus} --trace on")),
        needs: vec![Need::Root],
        ..record(
            RemedyKind::TraceEvents,
            "",
            &format!("what interrupts {}", named(cpus)),
        )
    }
}

/// Records with two work kernels; `what` says what that decides.
pub fn other_kernels(kernels: &str, what: &str) -> Remedy {
    record(
        RemedyKind::OtherKernels,
        &format!("--kernel {}", quoted(kernels)),
        what,
    )
}

/// Records at two rates; `what` says what that decides.
pub fn other_rates(what: &str) -> Remedy {
    record(RemedyKind::OtherRates, "--rate 10000,7777", what)
}

/// Records for a minute; `what` says what that decides.
pub fn longer(what: &str) -> Remedy {
    record(RemedyKind::Longer, "--duration 60s", what)
}

/// Records again; `what` says what that decides.
pub fn again(what: &str) -> Remedy {
    let mut remedy = record(RemedyKind::Again, "", what);
    remedy.command = Some("bandscope record".to_owned());
    remedy
}

/// Records from so many milliseconds on.
pub fn start_later(milliseconds: f64) -> Remedy {
    record(
        RemedyKind::StartLater,
        &format!("--start-delay {milliseconds:.0}ms"),
        "whether a longer start delay hides the loss",
    )
}

/// Records beside interrupts of one's own.
pub fn own_interrupts(cpu: &str) -> Remedy {
    Remedy {
        command: Some(format!(
            "stress-ng --timer 1 --timer-freq 100 --taskset {cpu} --timeout 15 & bandscope record --cpus {cpu}"
        )),
        ..record(
            RemedyKind::OwnInterrupts,
            "",
            "whether the pace follows interrupts",
        )
    }
}

/// Asks whether an interruption changes the pace of a work kernel.
pub fn switching(cpu: &str) -> Remedy {
    Remedy {
        command: Some(format!("bandscope lab --cpu {cpu} --only switching")),
        ..record(
            RemedyKind::Switching,
            "",
            "whether an interruption changes the pace",
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cpu_that_is_not_known_is_left_to_the_reader() {
        let line = trace_events("N").line();
        assert_eq!(
            line,
            "sudo bandscope record --cpus N --trace on shows what interrupts CPU N"
        );
        assert_eq!(again("x").line(), "bandscope record shows x");
        assert!(
            other_kernels("mulss80,ftq-o2", "x")
                .line()
                .starts_with("bandscope record --kernel mulss80,ftq-o2 ")
        );
    }
}
