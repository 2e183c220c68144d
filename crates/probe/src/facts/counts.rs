//! What the kernel counts by CPU: /proc/interrupts and /proc/softirqs, which anybody may read.
//!
//! Read before and after a run, on no measured CPU. Linux, Documentation/filesystems/proc.rst and arch/x86/kernel/irq.c.

use bandscope_recording::events::escaped;
use bandscope_recording::manifest::{KernelCount, KernelCounts};
use std::collections::BTreeMap;
use std::time::Instant;

/// Counts of some CPUs as they stand.
#[derive(Debug)]
pub struct Counts {
    read: Instant,
    cpus: Vec<(u32, BTreeMap<String, u64>)>,
}

impl Counts {
    /// Reads those of `cpus`; a CPU of which the kernel tells nothing has none.
    pub fn read(cpus: &[u32]) -> Counts {
        let table = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
        let (interrupts, softirqs) = (table("/proc/interrupts"), table("/proc/softirqs"));
        let of = |cpu: u32| {
            let mut counts = BTreeMap::new();
            let named =
                rows(&interrupts, cpu).filter_map(|row| Some((interrupt(&row)?, row.number)));
            let softirqs =
                rows(&softirqs, cpu).map(|row| (format!("softirq:{}", row.name), row.number));
            for (name, number) in named.chain(softirqs) {
                *counts.entry(name).or_insert(0) += number;
            }
            counts
        };
        Counts {
            read: Instant::now(),
            cpus: cpus.iter().map(|&cpu| (cpu, of(cpu))).collect(),
        }
    }

    /// How much they have grown since.
    pub fn grown(&self, later: &Counts) -> Vec<KernelCounts> {
        let seconds = later.read.duration_since(self.read).as_secs_f64();
        let both = self.cpus.iter().zip(&later.cpus);
        both.map(|((cpu, before), (_, after))| {
            let grown = after.iter().filter_map(|(name, &count)| {
                let number = count.saturating_sub(before.get(name).copied().unwrap_or(0));
                (number > 0).then(|| KernelCount {
                    name: name.clone(),
                    number,
                })
            });
            let mut counts: Vec<KernelCount> = grown.collect();
            counts.sort_by_key(|count| std::cmp::Reverse(count.number));
            KernelCounts {
                cpu: *cpu,
                seconds,
                counts,
                ..KernelCounts::default()
            }
        })
        .collect()
    }
}

/// Counts of all CPUs together, by the same names; as often as the kernel has rows of a name.
pub fn totals() -> Vec<(String, u64)> {
    let table = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
    let (interrupts, softirqs) = (table("/proc/interrupts"), table("/proc/softirqs"));
    let named = summed(&interrupts).filter_map(|row| Some((interrupt(&row)?, row.number)));
    let softirqs = summed(&softirqs).map(|row| (format!("softirq:{}", row.name), row.number));
    named.chain(softirqs).collect()
}

/// The rows of a table, each with the sum of its counts.
fn summed(table: &str) -> impl Iterator<Item = Row<'_>> {
    let mut lines = table.lines();
    let width = lines.next().unwrap_or_default().split_whitespace().count();
    lines.filter_map(move |line| {
        let (name, cells) = line.split_once(':')?;
        let mut cells = cells.split_whitespace();
        let mut number: u64 = 0;
        for _ in 0..width {
            number = number.wrapping_add(cells.next()?.parse().ok()?);
        }
        Some(Row {
            name: name.trim(),
            number,
            rest: cells.collect(),
        })
    })
}

/// A row of such a table: its name without the colon, the count of one CPU, and what stands behind the counts.
pub struct Row<'a> {
    pub name: &'a str,
    pub number: u64,
    rest: Vec<&'a str>,
}

/// The rows of a table whose first line names the CPUs; those that have no count for each CPU are of the whole machine.
pub fn rows(table: &str, cpu: u32) -> impl Iterator<Item = Row<'_>> {
    let mut lines = table.lines();
    let columns: Vec<&str> = lines
        .next()
        .unwrap_or_default()
        .split_whitespace()
        .collect();
    let name = format!("CPU{cpu}");
    let place = columns.iter().position(|column| *column == name);
    let width = columns.len();
    lines.filter_map(move |line| {
        let (name, cells) = line.split_once(':')?;
        let mut cells = cells.split_whitespace();
        let mut numbers = Vec::with_capacity(width);
        for cell in cells.by_ref().take(width) {
            numbers.push(cell.parse::<u64>().ok()?);
        }
        if numbers.len() < width {
            return None;
        }
        Some(Row {
            name: name.trim(),
            number: numbers[place?],
            rest: cells.collect(),
        })
    })
}

/// A row of /proc/interrupts by the name that the events of the same interrupt have.
fn interrupt(row: &Row<'_>) -> Option<String> {
    let handler = row.rest.last().copied().unwrap_or(row.name);
    Some(match row.name {
        "LOC" => "tick".to_owned(),
        "NMI" => "nmi".to_owned(),
        "RES" => "irq:reschedule".to_owned(),
        "CAL" => "irq:call_function".to_owned(),
        // Some of the calls are TLB shootdowns: they are counted among them.
        "TLB" => return None,
        "IWI" => "irq:irq_work".to_owned(),
        "TRM" => "irq:thermal_apic".to_owned(),
        "THR" => "irq:threshold_apic".to_owned(),
        "SPU" => "irq:spurious_apic".to_owned(),
        // The generic timer is a device to the kernel.
        _ if handler == "arch_timer" => "tick".to_owned(),
        // A device: the last word is its handler.
        number if number.bytes().all(|byte| byte.is_ascii_digit()) => {
            format!("irq:{}", escaped(handler.as_bytes()))
        }
        other => format!("irq:{}", escaped(other.as_bytes())),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// CPU1 is offline, as the kernel leaves such out.
    const INTERRUPTS: &str = "\
           CPU0       CPU2
 24:          1          7  IO-APIC   5-edge      ACPI:Ged
 36:    1196351     814526 PCI-MSIX-0000:00:02.0   1-edge      virtio1-req.0
 37:          2          3 PCI-MSIX-0000:00:02.0   2-edge      eth\x1b[0m
LOC:    8195209    8428433   Local timer interrupts
TLB:    2402394    2378228   TLB shootdowns
CAL:    2855960    2809449   Function call interrupts
HYP:         64         55   Hypervisor callback interrupts
ERR:          9
MIS:          0
";

    fn of(cpu: u32) -> BTreeMap<String, u64> {
        rows(INTERRUPTS, cpu)
            .filter_map(|row| Some((interrupt(&row)?, row.number)))
            .collect()
    }

    #[test]
    fn interrupts_have_the_names_of_their_events() {
        let counts = of(2);
        let names: Vec<&str> = counts.keys().map(String::as_str).collect();
        assert_eq!(
            names,
            [
                "irq:ACPI:Ged",
                "irq:HYP",
                "irq:call_function",
                "irq:eth\\x1b[0m",
                "irq:virtio1-req.0",
                "tick"
            ]
        );
        assert_eq!((counts["tick"], counts["irq:HYP"]), (8_428_433, 55));
        assert!(of(1).is_empty());
        let arm = "  CPU0 CPU1\n 11: 30 40 GICv3 27 Level arch_timer\nIPI0: 5 6 Rescheduling interrupts\n";
        let names: Vec<_> = rows(arm, 1).filter_map(|row| interrupt(&row)).collect();
        assert_eq!(names, ["tick", "irq:IPI0"]);
    }

    #[test]
    fn all_cpus_together_are_the_sum_of_each() {
        let sums: BTreeMap<String, u64> = summed(INTERRUPTS)
            .filter_map(|row| Some((interrupt(&row)?, row.number)))
            .collect();
        let (first, second) = (of(0), of(2));
        assert_eq!(sums.len(), second.len());
        for (name, sum) in sums {
            assert_eq!(sum, first[&name] + second[&name], "{name}");
        }
    }

    #[test]
    fn what_is_no_table_has_no_rows() {
        for table in [
            "",
            "\n",
            "CPU0\n",
            "CPU0\nLOC:\n",
            "CPU0\nLOC: many\n",
            "LOC: 1 2\n",
        ] {
            assert_eq!(rows(table, 0).count(), 0, "{table:?}");
        }
    }

    #[test]
    fn only_what_has_grown_is_kept_the_most_frequent_first() {
        let counts = |pairs: &[(&str, u64)]| Counts {
            read: Instant::now(),
            cpus: vec![(
                3,
                pairs
                    .iter()
                    .map(|(name, n)| ((*name).to_owned(), *n))
                    .collect(),
            )],
        };
        let before = counts(&[("nmi", 2), ("tick", 100)]);
        let grown = before.grown(&counts(&[("irq:new", 7), ("nmi", 2), ("tick", 350)]));
        let pairs: Vec<_> = grown[0]
            .counts
            .iter()
            .map(|one| (&*one.name, one.number))
            .collect();
        assert_eq!(
            (grown[0].cpu, pairs),
            (3, vec![("tick", 250), ("irq:new", 7)])
        );
    }

    #[test]
    fn this_machine_counts_what_it_tells_of() {
        let cpus = crate::pin::allowed().unwrap();
        let before = Counts::read(&cpus);
        let grown = before.grown(&Counts::read(&cpus));
        assert_eq!(grown.len(), cpus.len());
        let table = std::fs::read_to_string("/proc/interrupts").unwrap_or_default();
        let heading = table.lines().next().unwrap_or_default();
        for (cpu, counts) in &before.cpus {
            let name = format!("CPU{cpu}");
            if !heading.split_whitespace().any(|column| column == name) {
                println!("SKIPPED: the kernel's counts: /proc/interrupts says nothing of {name}");
                continue;
            }
            // Whoever runs here had interrupts since the machine began.
            let interrupts = counts.iter().filter(|one| !one.0.starts_with("softirq:"));
            let number: u64 = interrupts.map(|one| one.1).sum();
            assert!(number > 0, "{name}: {counts:?}");
        }
    }
}
