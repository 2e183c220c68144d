//! How often firmware took each CPU: system management interrupts, which no kernel event shows.
//!
//! Read from the `smi` event of the kernel's msr PMU (arch/x86/events/msr.c), else from the register that it reads,
//! MSR_SMI_COUNT, 0x34: 32 bits, Nehalem and later (Intel SDM volume 4, table 2-2). AMD has no such register, so there it is
//! the PMU's or nobody's. Either takes rights: a CPU-wide event perf_event_paranoid below 1 or CAP_PERFMON, the register root. The
//! counts go into the manifest, from where a report tells firmware's time from a hypervisor's.

use super::cpu;
use crate::counters::{events, open};
use bandscope_recording::manifest::{KernelCounts, Missing};
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// Address of MSR_SMI_COUNT.
const SMI_COUNT: u64 = 0x34;

/// What is missing where nothing counts them.
const WHAT: &str = "system management interrupts";

/// Open counts of some CPUs.
#[derive(Debug)]
pub struct SystemManagement {
    cpus: Vec<(u32, Count)>,
}

/// Where one CPU's count is read.
#[derive(Debug)]
enum Count {
    /// An event that counts since it was opened.
    Event(File),
    /// The file of the CPU's registers.
    Register(File),
}

/// Where the files of a machine are.
#[derive(Clone, Copy, Debug)]
struct Paths<'a> {
    /// The directory of PMUs in sysfs.
    pmus: &'a Path,
    /// The directory with a directory of register files for each CPU.
    registers: &'a Path,
}

impl SystemManagement {
    /// Opens the counts of `cpus`.
    ///
    /// # Errors
    /// What is missing and why, where one of them has none that can be read.
    pub fn open(cpus: &[u32]) -> Result<SystemManagement, Missing> {
        let paths = Paths {
            pmus: Path::new(events::PMU_DEVICES),
            registers: Path::new("/dev/cpu"),
        };
        open_in(paths, cpu::is_intel(), cpus)
    }

    /// The counts as they stand; `None` where one cannot be read any more, as of a CPU that went offline.
    pub fn read(&self) -> Vec<(u32, Option<u64>)> {
        let read = |(cpu, count): &(u32, Count)| (*cpu, count.read().ok());
        self.cpus.iter().map(read).collect()
    }
}

/// Writes how far the counts have grown from `before` to `after` beside the others of their CPUs.
pub fn book(
    before: &[(u32, Option<u64>)],
    after: &[(u32, Option<u64>)],
    counts: &mut [KernelCounts],
) {
    for ((cpu, before), (_, after)) in before.iter().zip(after) {
        let counts = counts.iter_mut().find(|counts| counts.cpu == *cpu);
        if let (Some(counts), Some(before), Some(after)) = (counts, before, after) {
            // Both count 32 bits in the end, and go on from 0.
            let grown = (*after as u32).wrapping_sub(*before as u32);
            counts.system_management_interrupts = Some(grown.into());
        }
    }
}

impl Count {
    /// Itself, if it can be read.
    fn proven(self) -> io::Result<Count> {
        self.read().map(|_| self)
    }

    fn read(&self) -> io::Result<u64> {
        match self {
            Count::Event(event) => {
                let mut words = [0];
                open::read_words(event, &mut words)?;
                Ok(words[0])
            }
            Count::Register(file) => {
                let mut bytes = [0; 8];
                file.read_exact_at(&mut bytes, SMI_COUNT)?;
                Ok(u64::from_le_bytes(bytes) & u64::from(u32::MAX))
            }
        }
    }
}

fn open_in(paths: Paths<'_>, intel: bool, cpus: &[u32]) -> Result<SystemManagement, Missing> {
    let open = |&cpu: &u32| {
        let count = event(paths, cpu)
            .or_else(|event| register(paths, intel, cpu).map_err(|register| (event, register)));
        count.map(|count| (cpu, count))
    };
    match cpus.iter().map(open).collect() {
        Ok(cpus) => Ok(SystemManagement { cpus }),
        Err((event, register)) => Err(Missing {
            what: WHAT.to_owned(),
            why: format!("not readable: {event}; {register}"),
            leaves_undecided:
                "whether firmware took the time of gaps in which this kernel did nothing".to_owned(),
        }),
    }
}

/// Why one of the two ways does not count them.
#[derive(Debug, thiserror::Error)]
enum Uncounted {
    #[error("the kernel has no event msr/smi")]
    NoEvent,
    #[error("event msr/smi of CPU {cpu}: {error}")]
    Event { cpu: u32, error: io::Error },
    #[error("only CPUs of Intel have a register for them")]
    NoRegister,
    #[error("{}: {error}", path.display())]
    Register { path: PathBuf, error: io::Error },
}

fn event(paths: Paths<'_>, cpu: u32) -> Result<Count, Uncounted> {
    let (kind, config) = events::driver_event(paths.pmus, "msr/smi").ok_or(Uncounted::NoEvent)?;
    (open::open_on_cpu(kind, config, cpu).map(Count::Event))
        .and_then(Count::proven)
        .map_err(|error| Uncounted::Event { cpu, error })
}

fn register(paths: Paths<'_>, intel: bool, cpu: u32) -> Result<Count, Uncounted> {
    if !intel {
        return Err(Uncounted::NoRegister);
    }
    let path = paths.registers.join(format!("{cpu}/msr"));
    (File::open(&path).map(Count::Register))
        .and_then(Count::proven)
        .map_err(|error| Uncounted::Register { path, error })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    /// A machine of files: an msr PMU of this type and event, and register 0x34 of CPU 3.
    fn machine(pmu: Option<(&str, &str)>, register: Option<u64>) -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        if let Some((kind, event)) = pmu {
            fs::create_dir_all(root.path().join("msr/events")).unwrap();
            fs::write(root.path().join("msr/type"), kind).unwrap();
            fs::write(root.path().join("msr/events/smi"), event).unwrap();
        }
        if let Some(number) = register {
            fs::create_dir_all(root.path().join("3")).unwrap();
            let mut bytes = vec![0xff; SMI_COUNT as usize];
            bytes.extend(number.to_le_bytes());
            fs::write(root.path().join("3/msr"), bytes).unwrap();
        }
        root
    }

    fn open(root: &tempfile::TempDir, intel: bool, cpu: u32) -> Result<SystemManagement, Missing> {
        let paths = Paths {
            pmus: root.path(),
            registers: root.path(),
        };
        open_in(paths, intel, &[cpu])
    }

    #[test]
    fn the_register_is_read_where_there_is_no_event() {
        let root = machine(None, Some((7 << 32) | 41));
        let open = open(&root, true, 3).unwrap();
        // The upper half of the register is reserved.
        assert_eq!(open.read(), [(3, Some(41))]);
        let path = root.path().join("3/msr");
        let mut bytes = fs::read(&path).unwrap();
        bytes[SMI_COUNT as usize] = 44;
        fs::write(&path, &bytes).unwrap();
        assert_eq!(open.read(), [(3, Some(44))]);
        // A CPU that went away.
        fs::write(&path, b"").unwrap();
        assert_eq!(open.read(), [(3, None)]);
    }

    #[test]
    fn an_event_that_the_kernel_refuses_leaves_the_register() {
        // No PMU has this type.
        let root = machine(Some(("4294967294\n", "event=0x04\n")), Some(5));
        let both = open(&root, true, 3).unwrap();
        assert!(matches!(both.cpus[0].1, Count::Register(_)), "{both:?}");
        let neither = open(&root, true, 4).unwrap_err();
        assert!(
            neither
                .why
                .starts_with("not readable: event msr/smi of CPU 4: "),
            "{neither:?}"
        );
        assert!(neither.why.contains("4/msr: "), "{neither:?}");
    }

    #[test]
    fn amd_has_no_such_register() {
        let root = machine(None, Some(41));
        let missing = open(&root, false, 3).unwrap_err();
        assert_eq!(missing.what, "system management interrupts");
        assert!(
            missing.why.contains("msr/smi") && missing.why.contains("only CPUs of Intel"),
            "{missing:?}"
        );
        assert!(!missing.leaves_undecided.is_empty());
    }

    #[test]
    fn an_event_counts_from_when_it_was_opened() {
        // In place of the interrupts, which nobody can make, the kernel's own clock of a CPU: PERF_COUNT_SW_CPU_CLOCK.
        let root = machine(Some(("1\n", "event=0x0\n")), None);
        let cpu = crate::pin::allowed().unwrap()[0];
        match open(&root, false, cpu) {
            Ok(open) => {
                let before = open.read()[0].1.unwrap();
                std::thread::sleep(std::time::Duration::from_millis(5));
                assert!(open.read()[0].1.unwrap() > before);
            }
            Err(missing) => println!("SKIPPED: an event of a whole CPU: {}", missing.why),
        }
    }

    #[test]
    fn growth_is_booked_beside_the_other_counts_of_its_cpu() {
        let of = |cpu| KernelCounts {
            cpu,
            ..KernelCounts::default()
        };
        let mut counts = [of(2), of(3), of(4)];
        let before = [(3, Some(u64::from(u32::MAX))), (4, Some(9)), (2, None)];
        book(
            &before,
            &[(3, Some(1)), (4, None), (2, Some(3))],
            &mut counts,
        );
        let grown = counts.map(|counts| counts.system_management_interrupts);
        assert_eq!(grown, [None, Some(2), None]);
    }

    #[test]
    fn this_machine_counts_them_or_says_why_not() {
        let cpus = crate::pin::allowed().unwrap();
        match SystemManagement::open(&cpus) {
            Ok(open) => {
                let counts = open.read();
                assert_eq!(counts.len(), cpus.len());
                assert!(counts.iter().all(|count| count.1.is_some()), "{counts:?}");
            }
            Err(missing) => {
                assert!(missing.why.starts_with("not readable: "), "{missing:?}");
                println!("SKIPPED: {}: {}", missing.what, missing.why);
            }
        }
    }
}
