//! Energy and clock frequency, where the kernel lets them be read: few virtual machines do, and energy mostly takes root.
//!
//! Linux, Documentation/power/powercap/powercap.rst and Documentation/admin-guide/pm/cpufreq.rst.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

/// Where sysfs is.
pub const SYSFS: &str = "/sys";

/// Energy used so far, in microjoules, by domain (`package-0`, `dram`) and zone, and at which value each counter starts anew.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Energy(BTreeMap<(String, String), (u64, u64)>);

impl Energy {
    /// Reads all domains below `sysfs`; none where nothing can be read.
    pub fn read(sysfs: &Path) -> Energy {
        let mut domains = BTreeMap::new();
        let zones = fs::read_dir(sysfs.join("class/powercap"));
        for zone in zones.into_iter().flatten().flatten() {
            let number = |file: &str| -> Option<u64> {
                fs::read_to_string(zone.path().join(file))
                    .ok()?
                    .trim()
                    .parse()
                    .ok()
            };
            let name = fs::read_to_string(zone.path().join("name"));
            let (Ok(name), Some(used)) = (name, number("energy_uj")) else {
                continue;
            };
            let range = number("max_energy_range_uj").unwrap_or(u64::MAX);
            // Zones of one name, such as `core` of two packages, are added up where they are read.
            let zone = zone.file_name().to_string_lossy().into_owned();
            domains.insert((name.trim().to_owned(), zone), (used, range));
        }
        // Some processors tell the same by registers in memory once more (`intel-rapl-mmio`).
        let by_registers: BTreeSet<String> = domains
            .keys()
            .filter(|(_, zone)| zone.starts_with("intel-rapl:"))
            .map(|(name, _)| name.clone())
            .collect();
        domains.retain(|(name, zone), _| {
            !(zone.starts_with("intel-rapl-mmio") && by_registers.contains(name))
        });
        Energy(domains)
    }

    /// Joules used since, as `energy:DOMAIN`.
    pub fn used(&self, later: &Energy) -> BTreeMap<String, f64> {
        let mut joules = BTreeMap::new();
        for (zone, (after, range)) in &later.0 {
            let Some((before, _)) = self.0.get(zone) else {
                continue;
            };
            // The counter starts anew after its highest value, once at most in the time of a run that is shorter than that takes.
            let used = match after >= before {
                true => after - before,
                false => (range - before.min(range)).saturating_add(*after),
            };
            *joules.entry(format!("energy:{}", zone.0)).or_insert(0.0) += used as f64 / 1e6;
        }
        joules
    }
}

/// The clock of a CPU in MHz, as the kernel last saw it.
pub fn frequency(sysfs: &Path, cpu: u32) -> Option<f64> {
    let file = sysfs.join(format!(
        "devices/system/cpu/cpu{cpu}/cpufreq/scaling_cur_freq"
    ));
    let khz: f64 = fs::read_to_string(file).ok()?.trim().parse().ok()?;
    (khz > 0.0 && khz.is_finite()).then_some(khz / 1e3)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn zone(sysfs: &Path, directory: &str, name: &str, used: &str) {
        let zone = sysfs.join("class/powercap").join(directory);
        fs::create_dir_all(&zone).unwrap();
        fs::write(zone.join("name"), format!("{name}\n")).unwrap();
        fs::write(zone.join("energy_uj"), format!("{used}\n")).unwrap();
        fs::write(zone.join("max_energy_range_uj"), "262143328850\n").unwrap();
    }

    #[test]
    fn energy_is_what_counters_have_grown_by() {
        let sysfs = tempfile::tempdir().unwrap();
        let sysfs = sysfs.path();
        zone(sysfs, "intel-rapl:0", "package-0", "262143328000");
        zone(sysfs, "intel-rapl:0:0", "core", "1000000");
        zone(sysfs, "intel-rapl:1:0", "core", "5000000");
        zone(sysfs, "intel-rapl:0:1", "dram", "nonsense");
        let before = Energy::read(sysfs);
        // Once round.
        zone(sysfs, "intel-rapl:0", "package-0", "1999150");
        zone(sysfs, "intel-rapl:0:0", "core", "1250000");
        zone(sysfs, "intel-rapl:1:0", "core", "5250000");
        let used = before.used(&Energy::read(sysfs));
        let expected = [("energy:core", 0.5), ("energy:package-0", 2.0)];
        assert_eq!(used.len(), 2, "{used:?}");
        for (name, joules) in expected {
            assert!((used[name] - joules).abs() < 1e-6, "{used:?}");
        }
        assert!(before.used(&Energy::default()).is_empty());
    }

    #[test]
    fn what_two_interfaces_tell_of_one_package_counts_once() {
        let sysfs = tempfile::tempdir().unwrap();
        let sysfs = sysfs.path();
        let read = |used| {
            zone(sysfs, "intel-rapl:0", "package-0", used);
            zone(sysfs, "intel-rapl-mmio:0", "package-0", used);
            zone(sysfs, "intel-rapl-mmio:0:0", "dram", used);
            Energy::read(sysfs)
        };
        let used = read("1000000").used(&read("3000000"));
        assert_eq!(used["energy:package-0"], 2.0);
        assert_eq!(used["energy:dram"], 2.0);
    }

    #[test]
    fn what_is_not_there_has_no_figure() {
        let sysfs = tempfile::tempdir().unwrap();
        assert_eq!(Energy::read(sysfs.path()), Energy::default());
        assert_eq!(frequency(sysfs.path(), 3), None);
        let cpu = sysfs.path().join("devices/system/cpu/cpu3/cpufreq");
        fs::create_dir_all(&cpu).unwrap();
        fs::write(cpu.join("scaling_cur_freq"), "2899998\n").unwrap();
        assert_eq!(frequency(sysfs.path(), 3), Some(2899.998));
    }
}
