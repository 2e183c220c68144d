//! Which counters are wanted on a microarchitecture: data files, parsed at start.

use std::path::Path;

/// The lists, by microarchitecture as [`crate::facts`] names it. The last is for all.
const LISTS: &[(&[&str], &str)] = &[
    (
        &["Zen 2", "Zen 3", "Zen 4", "Zen 5"],
        include_str!("events/zen.txt"),
    ),
    (
        &["Golden Cove", "Raptor Cove"],
        include_str!("events/golden-cove.txt"),
    ),
];
const GENERIC: &str = include_str!("events/generic.txt");

/// Where a driver lists its events.
pub(crate) const PMU_DEVICES: &str = "/sys/bus/event_source/devices";

/// One event of a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// Name in the recording.
    pub name: String,
    /// perf_event_attr.type; `None` if the machine has no such PMU.
    pub kind: Option<u32>,
    /// perf_event_attr.config; 0 where there is no PMU.
    pub config: u64,
    /// What must move it.
    pub proof: Proof,
}

/// What must move a counter before it is believed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Proof {
    /// A loop of work.
    Spin,
    /// A context switch.
    Sleep,
    /// The first touch of a page.
    Fault,
    /// Nothing that a program can do.
    None,
}

impl Event {
    /// Whether the kernel counts it, and no hardware.
    pub fn is_software(&self) -> bool {
        self.kind == Some(perf_event_open_sys::bindings::PERF_TYPE_SOFTWARE)
    }
}

/// The events wanted on `microarchitecture`, most wanted first.
pub fn wanted(microarchitecture: Option<&str>) -> Vec<Event> {
    let own = LISTS
        .iter()
        .find(|(names, _)| microarchitecture.is_some_and(|name| names.contains(&name)))
        .map_or("", |(_, text)| text);
    let mut events: Vec<Event> = Vec::new();
    for event in own.lines().chain(GENERIC.lines()).filter_map(parse_line) {
        if events.iter().all(|other| other.name != event.name) {
            events.push(event);
        }
    }
    events
}

/// Events that tell runs of a command apart, besides those of the loop: generic ones (perf_event_open(2)).
pub fn of_commands() -> Vec<Event> {
    let others = [
        ("instructions", 1),
        ("cache-references", 2),
        ("cache-misses", 3),
        ("branches", 4),
        ("branch-misses", 5),
    ];
    let event = |(name, config): (&str, u64)| Event {
        name: name.to_owned(),
        kind: Some(perf_event_open_sys::bindings::PERF_TYPE_HARDWARE),
        config,
        proof: Proof::Spin,
    };
    others.map(event).into()
}

/// An event; `None` for a comment, an empty line, or what does not read (a test reads all lists).
fn parse_line(line: &str) -> Option<Event> {
    let line = line.split('#').next()?;
    let [name, kind, config, proof] = line.split_whitespace().collect::<Vec<_>>()[..] else {
        return None;
    };
    let (kind, config) = match kind.strip_prefix("pmu:") {
        Some(path) => driver_event(Path::new(PMU_DEVICES), path)
            .map_or((None, 0), |(kind, config)| (Some(kind), config)),
        None => (Some(kind_number(kind)?), number(config)?),
    };
    Some(Event {
        name: name.to_owned(),
        kind,
        config,
        proof: match proof {
            "spin" => Proof::Spin,
            "sleep" => Proof::Sleep,
            "fault" => Proof::Fault,
            "none" => Proof::None,
            _ => return None,
        },
    })
}

fn kind_number(kind: &str) -> Option<u32> {
    use perf_event_open_sys::bindings as perf;
    match kind {
        "hardware" => Some(perf::PERF_TYPE_HARDWARE),
        "raw" => Some(perf::PERF_TYPE_RAW),
        "software" => Some(perf::PERF_TYPE_SOFTWARE),
        _ => None,
    }
}

/// Type and config of `PMU/EVENT` as the driver lists them in the directory `devices`.
pub(crate) fn driver_event(devices: &Path, path: &str) -> Option<(u32, u64)> {
    let (pmu, event) = path.split_once('/')?;
    let read = |rest: &str| std::fs::read_to_string(devices.join(pmu).join(rest)).ok();
    let kind = read("type")?.trim().parse().ok()?;
    let config = read(&format!("events/{event}"))?;
    Some((kind, number(config.trim().strip_prefix("event=")?)?))
}

fn number(text: &str) -> Option<u64> {
    match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_of_every_list_reads() {
        let texts = LISTS.iter().map(|(_, text)| *text).chain([GENERIC]);
        for line in texts.flat_map(str::lines) {
            let content = line.split('#').next().unwrap().trim();
            assert!(content.is_empty() || parse_line(line).is_some(), "{line}");
        }
    }

    #[test]
    fn a_known_core_gets_its_own_events_and_the_generic_ones_once() {
        let names =
            |core| -> Vec<String> { wanted(core).into_iter().map(|event| event.name).collect() };
        let zen = names(Some("Zen 3"));
        assert_eq!(zen[..3], ["cycles", "ref-cycles", "store-forwards"]);
        assert_eq!(zen.iter().filter(|name| *name == "cycles").count(), 1);
        assert_eq!(names(None)[..2], ["cycles", "ref-cycles"]);
        assert!(!names(None).contains(&"instructions".to_owned()));
    }

    #[test]
    fn configs_read_in_both_bases() {
        let event = parse_line("x raw 0x01ae spin # why").unwrap();
        assert_eq!((event.config, event.proof), (0x1ae, Proof::Spin));
        assert_eq!(parse_line("x software 3 sleep").unwrap().config, 3);
        assert_eq!(parse_line("x raw 0x01ae hope"), None);
    }
}
