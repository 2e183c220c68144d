//! Model, microcode and microarchitecture of the CPU; the hypervisor above it.
//!
//! Sources: CPUID leaves 0, 1 and 4000_0000 (Intel SDM volume 2, CPUID; AMD APM volume 3, appendix E;
//! Linux Documentation/virt/kvm/x86/cpuid.rst); on aarch64 MIDR_EL1 as /proc/cpuinfo prints it. Models
//! by arch/x86/include/asm/intel-family.h, arch/x86/kernel/cpu/amd.c and arch/arm64/include/asm/cputype.h.

use super::files::text;
use bandscope_recording::manifest::Machine;

/// Who made the CPU, as far as that decides anything.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg(target_arch = "x86_64")]
enum Vendor {
    Intel,
    Amd,
}

#[cfg(target_arch = "x86_64")]
impl Vendor {
    /// By the name that CPUID spells.
    fn of(name: &str) -> Option<Vendor> {
        match name {
            "GenuineIntel" => Some(Vendor::Intel),
            "AuthenticAMD" => Some(Vendor::Amd),
            _ => None,
        }
    }
}

/// First and last model of a microarchitecture in a family.
#[cfg(target_arch = "x86_64")]
type Models = (Vendor, u32, u32, u32, &'static str);

#[cfg(target_arch = "x86_64")]
const MICROARCHITECTURES: &[Models] = &[
    (Vendor::Intel, 6, 0x3c, 0x3c, "Haswell"),
    (Vendor::Intel, 6, 0x3d, 0x3d, "Broadwell"),
    (Vendor::Intel, 6, 0x3f, 0x3f, "Haswell"),
    (Vendor::Intel, 6, 0x45, 0x46, "Haswell"),
    (Vendor::Intel, 6, 0x47, 0x47, "Broadwell"),
    (Vendor::Intel, 6, 0x4e, 0x4e, "Skylake"),
    (Vendor::Intel, 6, 0x4f, 0x4f, "Broadwell"),
    (Vendor::Intel, 6, 0x55, 0x55, "Skylake"),
    (Vendor::Intel, 6, 0x56, 0x56, "Broadwell"),
    (Vendor::Intel, 6, 0x5e, 0x5e, "Skylake"),
    (Vendor::Intel, 6, 0x6a, 0x6c, "Sunny Cove"),
    (Vendor::Intel, 6, 0x7d, 0x7e, "Sunny Cove"),
    (Vendor::Intel, 6, 0x8c, 0x8d, "Willow Cove"),
    (Vendor::Intel, 6, 0x8e, 0x8e, "Skylake"),
    (Vendor::Intel, 6, 0x8f, 0x8f, "Golden Cove"),
    (Vendor::Intel, 6, 0x97, 0x97, "Golden Cove"),
    (Vendor::Intel, 6, 0x9a, 0x9a, "Golden Cove"),
    (Vendor::Intel, 6, 0x9e, 0x9e, "Skylake"),
    (Vendor::Intel, 6, 0xa5, 0xa6, "Skylake"),
    (Vendor::Intel, 6, 0xa7, 0xa7, "Cypress Cove"),
    (Vendor::Intel, 6, 0xaa, 0xac, "Redwood Cove"),
    (Vendor::Intel, 6, 0xad, 0xae, "Redwood Cove"),
    (Vendor::Intel, 6, 0xaf, 0xaf, "Crestmont"),
    (Vendor::Intel, 6, 0xb7, 0xb7, "Raptor Cove"),
    (Vendor::Intel, 6, 0xba, 0xba, "Raptor Cove"),
    (Vendor::Intel, 6, 0xbf, 0xbf, "Raptor Cove"),
    (Vendor::Intel, 6, 0xcf, 0xcf, "Raptor Cove"),
    (Vendor::Amd, 0x17, 0x00, 0x2f, "Zen"),
    (Vendor::Amd, 0x17, 0x30, 0x4f, "Zen 2"),
    (Vendor::Amd, 0x17, 0x50, 0x5f, "Zen"),
    (Vendor::Amd, 0x17, 0x60, 0xff, "Zen 2"),
    (Vendor::Amd, 0x19, 0x00, 0x0f, "Zen 3"),
    (Vendor::Amd, 0x19, 0x10, 0x1f, "Zen 4"),
    (Vendor::Amd, 0x19, 0x20, 0x5f, "Zen 3"),
    (Vendor::Amd, 0x19, 0x60, 0xaf, "Zen 4"),
    (Vendor::Amd, 0x1a, 0x00, 0x2f, "Zen 5"),
    (Vendor::Amd, 0x1a, 0x40, 0x4f, "Zen 5"),
    (Vendor::Amd, 0x1a, 0x50, 0x5f, "Zen 6"),
    (Vendor::Amd, 0x1a, 0x60, 0x7f, "Zen 5"),
    (Vendor::Amd, 0x1a, 0x80, 0xaf, "Zen 6"),
    (Vendor::Amd, 0x1a, 0xc0, 0xcf, "Zen 6"),
];

/// Implementer and part of MIDR_EL1.
#[cfg(target_arch = "aarch64")]
const PARTS: &[(&str, &str, &str)] = &[
    ("0x41", "0xd03", "Cortex-A53"),
    ("0x41", "0xd07", "Cortex-A57"),
    ("0x41", "0xd08", "Cortex-A72"),
    ("0x41", "0xd0b", "Cortex-A76"),
    ("0x41", "0xd0c", "Neoverse N1"),
    ("0x41", "0xd40", "Neoverse V1"),
    ("0x41", "0xd49", "Neoverse N2"),
    ("0x41", "0xd4f", "Neoverse V2"),
    ("0x41", "0xd84", "Neoverse V3"),
    ("0x41", "0xd8e", "Neoverse N3"),
    ("0xc0", "0xac3", "Ampere-1"),
];

/// Fills in model, microcode, microarchitecture and hypervisor.
pub fn gather(machine: &mut Machine) {
    let information = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    machine.cpu_model = value(&information, "model name").or_else(|| value(&information, "Model"));
    machine.microcode = value(&information, "microcode");
    machine.cpu_id = identity(&information);
    machine.microarchitecture = microarchitecture().map(str::to_owned);
    machine.hypervisor = hypervisor();
}

/// The first value of a key of /proc/cpuinfo.
fn value(information: &str, key: &str) -> Option<String> {
    information.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        (name.trim() == key).then(|| value.trim().to_owned())
    })
}

/// Vendor, family and model, stepping.
#[cfg(target_arch = "x86_64")]
fn cpuid() -> (String, u32, u32, u32) {
    use core::arch::x86_64::__cpuid;
    let vendor = __cpuid(0);
    let vendor = ascii(&[vendor.ebx, vendor.edx, vendor.ecx]);
    let signature = __cpuid(1).eax;
    let (family, model) = ((signature >> 8) & 0xf, (signature >> 4) & 0xf);
    let extended = (signature >> 16) & 0xf;
    let model = if family == 0xf || family == 6 {
        model | extended << 4
    } else {
        model
    };
    let family = if family == 0xf {
        family + ((signature >> 20) & 0xff)
    } else {
        family
    };
    (vendor, family, model, signature & 0xf)
}

/// Whether Intel made this CPU.
#[cfg(target_arch = "x86_64")]
pub(super) fn is_intel() -> bool {
    Vendor::of(&cpuid().0) == Some(Vendor::Intel)
}

/// Whether Intel made this CPU.
#[cfg(target_arch = "aarch64")]
pub(super) fn is_intel() -> bool {
    false
}

#[cfg(target_arch = "x86_64")]
fn ascii(registers: &[u32]) -> String {
    let bytes: Vec<u8> = registers.iter().flat_map(|r| r.to_le_bytes()).collect();
    let text = String::from_utf8_lossy(&bytes);
    text.trim_matches(['\0', ' ']).to_owned()
}

#[cfg(target_arch = "x86_64")]
fn identity(_information: &str) -> Option<String> {
    let (vendor, family, model, stepping) = cpuid();
    Some(format!(
        "{vendor} family {family} model {model} stepping {stepping}"
    ))
}

#[cfg(target_arch = "aarch64")]
fn identity(information: &str) -> Option<String> {
    let implementer = value(information, "CPU implementer")?;
    let part = value(information, "CPU part")?;
    let variant = value(information, "CPU variant").unwrap_or_default();
    let revision = value(information, "CPU revision").unwrap_or_default();
    Some(format!(
        "implementer {implementer} part {part} variant {variant} revision {revision}"
    ))
}

/// The microarchitecture of this CPU, if the table knows it.
#[cfg(target_arch = "x86_64")]
pub fn microarchitecture() -> Option<&'static str> {
    let (vendor, family, model, _) = cpuid();
    let vendor = Vendor::of(&vendor)?;
    MICROARCHITECTURES
        .iter()
        .find(|entry| {
            entry.0 == vendor && entry.1 == family && (entry.2..=entry.3).contains(&model)
        })
        .map(|entry| entry.4)
}

/// The microarchitecture of this CPU, if the table knows it.
#[cfg(target_arch = "aarch64")]
pub fn microarchitecture() -> Option<&'static str> {
    let information = std::fs::read_to_string("/proc/cpuinfo").ok()?;
    let implementer = value(&information, "CPU implementer")?;
    let part = value(&information, "CPU part")?;
    PARTS
        .iter()
        .find(|entry| entry.0 == implementer && entry.1 == part)
        .map(|entry| entry.2)
}

/// The hypervisor's signature; `none` where the CPU says that there is none.
#[cfg(target_arch = "x86_64")]
fn hypervisor() -> Option<String> {
    use core::arch::x86_64::__cpuid;
    if __cpuid(1).ecx & (1 << 31) == 0 {
        return Some("none".to_owned());
    }
    let leaf = __cpuid(0x4000_0000);
    let signature = ascii(&[leaf.ebx, leaf.ecx, leaf.edx]);
    let name = match signature.as_str() {
        "KVMKVMKVM" => "KVM",
        "Microsoft Hv" => "Hyper-V",
        "VMwareVMware" => "VMware",
        "XenVMMXenVMM" => "Xen",
        "bhyve bhyve" => "bhyve",
        "TCGTCGTCGTCG" => "QEMU TCG",
        "" => "unknown",
        other => other,
    };
    let board = text("/sys/class/dmi/id/sys_vendor");
    Some(board.map_or_else(|| name.to_owned(), |board| format!("{name} ({board})")))
}

#[cfg(target_arch = "aarch64")]
fn hypervisor() -> Option<String> {
    text("/sys/hypervisor/type")
        .or_else(|| text("/proc/device-tree/hypervisor/compatible"))
        .map(|name| name.trim_end_matches('\0').to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_cpuinfo_are_found_by_their_whole_key() {
        let information = "model\t\t: 207\nmodel name\t: X: y\nmodel name\t: second\n";
        assert_eq!(value(information, "model").as_deref(), Some("207"));
        assert_eq!(value(information, "model name").as_deref(), Some("X: y"));
        assert_eq!(value(information, "mode"), None);
    }

    #[cfg(target_arch = "x86_64")]
    #[test]
    fn no_model_stands_in_two_rows() {
        for (index, a) in MICROARCHITECTURES.iter().enumerate() {
            assert!(a.2 <= a.3);
            for b in &MICROARCHITECTURES[index + 1..] {
                assert!(
                    a.0 != b.0 || a.1 != b.1 || a.3 < b.2 || b.3 < a.2,
                    "{a:?} {b:?}"
                );
            }
        }
    }
}
