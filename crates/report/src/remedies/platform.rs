//! What lies beneath or beside a CPU: the host, firmware, the other hardware threads of its core.

use super::{Need, Purpose, Remedy, RemedyKind};
use bandscope_recording::cpu_list;

/// Shows what the host ran in place of a virtual CPU.
pub fn trace_host(cpu: &str) -> Remedy {
    Remedy {
        kind: RemedyKind::TraceHost,
        purpose: Purpose::FindOut,
        what: format!("what runs in place of vCPU {cpu} (on the host, N is its CPU)"),
        command: Some(
            "sudo perf sched record -C N sleep 10 && sudo perf sched timehist".to_owned(),
        ),
        needs: vec![Need::Root, Need::Host],
        undo: None,
    }
}

/// Counts how often firmware takes a CPU.
pub fn count_firmware(cpu: &str) -> Remedy {
    Remedy {
        kind: RemedyKind::CountFirmware,
        purpose: Purpose::FindOut,
        what: "how often firmware takes the CPU".to_owned(),
        command: Some(format!("sudo turbostat --cpu {cpu} --show CPU,SMI")),
        needs: vec![Need::Root],
        undo: None,
    }
}

/// Shows whether two CPUs share a clock.
pub fn compare_frequencies(leader: u32, follower: u32) -> Remedy {
    Remedy {
        kind: RemedyKind::CompareFrequencies,
        purpose: Purpose::FindOut,
        what: format!("whether CPUs {leader} and {follower} change their frequency together"),
        command: Some("sudo turbostat --show CPU,Bzy_MHz,Busy% --interval 0.1".to_owned()),
        needs: vec![Need::Root],
        undo: None,
    }
}

/// Shows which CPU shares the core, where the machine does not say it.
pub fn own_neighbour() -> Remedy {
    Remedy {
        kind: RemedyKind::OwnNeighbour,
        purpose: Purpose::FindOut,
        what: "which CPU shares the core: run `bandscope inject --kind neighbour:spin --period 100ms --length 50ms` on each in turn".to_owned(),
        command: None,
        needs: Vec::new(),
        undo: None,
    }
}

/// The CPU of a core that stays when SMT is switched off: the kernel keeps the first one (`cpuhp_smt_disable` in kernel/cpu.c of Linux).
pub fn kept_without_smt(siblings: &str) -> Option<u32> {
    cpu_list::parse(siblings).into_iter().min()
}

/// Keeps everything off the other hardware threads of a core, the CPUs of `siblings`. For [the CPU that stays](kept_without_smt) alone.
pub fn free_sibling(siblings: &str) -> Remedy {
    let set = |state: &str| format!("echo {state} | sudo tee /sys/devices/system/cpu/smt/control");
    Remedy {
        kind: RemedyKind::FreeSibling,
        purpose: Purpose::Fix,
        what: format!("switch SMT off, so that CPUs {siblings} no longer share a core"),
        command: Some(set("off")),
        needs: vec![Need::Root],
        undo: Some(set("on")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_switched_off_is_switched_on_again() {
        let remedy = free_sibling("0,128");
        let on = remedy
            .command
            .as_deref()
            .map(|command| command.replace(" off ", " on "));
        assert_eq!(on, remedy.undo);
        assert_eq!(kept_without_smt("0,128"), Some(0));
        assert_eq!(trace_host("1").needs, [Need::Root, Need::Host]);
    }
}
