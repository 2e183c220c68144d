//! The kinds of disturbers, by the names that people give.

use std::fmt;
use std::str::FromStr;

/// What disturbs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A task that sleeps, and then keeps the CPU busy.
    Task,
    /// A task that a timer signal wakes, and that then keeps the CPU busy.
    Signal,
    /// A task that touches fresh pages.
    Faults,
    /// A task that sends itself packets over the loopback interface, whose receiving side is a softirq.
    Softirq,
    /// Something on another CPU.
    Neighbour(Neighbour),
}

/// What a neighbour does for the length of a disturbance, and in the rest of the period.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Neighbour {
    /// Computes; then it sleeps.
    Spin,
    /// Computes in a waiting loop that gives way to an SMT sibling; then it sleeps.
    Pause,
    /// Takes naps so short that its CPU idles in a shallow state; then it sleeps.
    Shallow,
    /// Sleeps, so that its CPU idles as deep as it may; then it computes.
    Deep,
}

/// All of them, by name.
const NAMES: [(&str, Kind); 8] = [
    ("task", Kind::Task),
    ("signal", Kind::Signal),
    ("faults", Kind::Faults),
    ("softirq", Kind::Softirq),
    ("neighbour:spin", Kind::Neighbour(Neighbour::Spin)),
    ("neighbour:pause", Kind::Neighbour(Neighbour::Pause)),
    ("neighbour:shallow", Kind::Neighbour(Neighbour::Shallow)),
    ("neighbour:deep", Kind::Neighbour(Neighbour::Deep)),
];

impl Kind {
    /// All kinds.
    pub fn all() -> impl Iterator<Item = Kind> {
        NAMES.iter().map(|(_, kind)| *kind)
    }

    /// Whether it takes time from the CPU that it runs on; a neighbour runs beside the measured one.
    pub fn takes_the_cpu(self) -> bool {
        !matches!(self, Kind::Neighbour(_))
    }

    /// The name of its thread: the kernel keeps 15 bytes.
    pub(super) fn thread_name(self) -> &'static str {
        match self {
            Kind::Task => "inject-task",
            Kind::Signal => "inject-signal",
            Kind::Faults => "inject-faults",
            Kind::Softirq => "inject-softirq",
            Kind::Neighbour(_) => "inject-beside",
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut names = NAMES.iter();
        f.write_str(
            names
                .find(|(_, kind)| kind == self)
                .map_or("", |(name, _)| name),
        )
    }
}

/// What is no kind of disturber.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("found {:?}, expected one of {}", .0, NAMES.map(|(name, _)| name).join(", "))]
pub struct UnknownKind(String);

impl FromStr for Kind {
    type Err = UnknownKind;

    fn from_str(text: &str) -> Result<Kind, UnknownKind> {
        let found = NAMES.iter().find(|(name, _)| *name == text);
        let kind = found.map(|(_, kind)| *kind);
        kind.ok_or_else(|| UnknownKind(text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_reads_as_it_is_written() {
        for kind in Kind::all() {
            assert_eq!(kind.to_string().parse(), Ok(kind));
            assert!(kind.thread_name().len() <= 15);
        }
        let error = "neighbour".parse::<Kind>().unwrap_err().to_string();
        assert!(error.contains("neighbour:deep"), "{error}");
    }
}
