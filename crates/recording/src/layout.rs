//! Names inside a recording's directory: what `write` makes and `read` expects.
//!
//! ```text
//! recording.json
//! quanta/cpu=1/rate=10000/kernel=mulss80/part-000000.parquet
//! gaps/cpu=1/part-000000.parquet
//! events/cpu=1/part-000000.parquet
//! ```
//! Several tasks of a job share one directory, and each has all of this below its own `node=n1/task=0/`.
//!
//! The `key=value` directories are Hive partitions, which DuckDB and pandas turn into columns. Names in a
//! directory or in a manifest are untrusted: they are parsed strictly and a path is only ever built
//! from what was parsed, so that none can point outside the recording.

use std::fmt;

/// The file that holds the manifest.
pub const MANIFEST_FILE: &str = "recording.json";
/// The longest name of a work kernel.
const MAX_KERNEL_NAME: usize = 64;
/// The longest name of a node.
const MAX_NODE_NAME: usize = 253;
/// Parts are numbered with this many digits, so that names sort in the order of time.
const PART_DIGITS: usize = 6;
/// What a part under way is called: hidden, so that no tool reads it.
const TEMPORARY_SUFFIX: &str = ".tmp";

/// A directory of parts.
#[derive(Clone, Debug, PartialEq)]
pub enum Directory {
    /// Quanta of one series.
    Quanta {
        /// CPU that was measured.
        cpu: u32,
        /// Nominal rate in hertz.
        rate_hz: f64,
        /// Work kernel, as it stands in the path.
        kernel: String,
    },
    /// Gaps of all series of one CPU.
    Gaps {
        /// CPU that was measured.
        cpu: u32,
    },
    /// Kernel events of one CPU.
    Events {
        /// CPU that was measured.
        cpu: u32,
    },
}

impl fmt::Display for Directory {
    /// The path inside the recording. `f64` prints the shortest digits that read back the same.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Directory::Quanta {
                cpu,
                rate_hz,
                kernel,
            } => write!(f, "quanta/cpu={cpu}/rate={rate_hz}/kernel={kernel}"),
            Directory::Gaps { cpu } => write!(f, "gaps/cpu={cpu}"),
            Directory::Events { cpu } => write!(f, "events/cpu={cpu}"),
        }
    }
}

impl Directory {
    /// CPU that was measured.
    pub fn cpu(&self) -> Option<u32> {
        match self {
            Directory::Quanta { cpu, .. } | Directory::Gaps { cpu } | Directory::Events { cpu } => {
                Some(*cpu)
            }
        }
    }

    /// Parses a path inside a recording; `None` for anything that [`Directory`] does not print itself.
    pub fn parse(path: &str) -> Option<Directory> {
        let parts: Vec<&str> = path.split('/').collect();
        let directory = match parts[..] {
            ["quanta", cpu, rate, kernel] => Directory::Quanta {
                cpu: number(cpu.strip_prefix("cpu=")?)?,
                rate_hz: rate_hz(rate.strip_prefix("rate=")?)?,
                kernel: kernel.strip_prefix("kernel=")?.to_owned(),
            },
            ["gaps", cpu] => Directory::Gaps {
                cpu: number(cpu.strip_prefix("cpu=")?)?,
            },
            ["events", cpu] => Directory::Events {
                cpu: number(cpu.strip_prefix("cpu=")?)?,
            },
            _ => return None,
        };
        let valid = match &directory {
            Directory::Quanta { kernel, .. } => is_kernel_name(kernel),
            Directory::Gaps { .. } | Directory::Events { .. } => true,
        };
        (valid && directory.to_string() == path).then_some(directory)
    }
}

/// The directory of one task's part in a recording of several: `node=NAME/task=K`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskDirectory {
    /// Name of the node.
    pub node: String,
    /// Number of the task.
    pub task: u32,
}

impl fmt::Display for TaskDirectory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "node={}/task={}", self.node, self.task)
    }
}

impl TaskDirectory {
    /// Parses a path inside a recording; `None` for anything that [`TaskDirectory`] does not print itself.
    pub fn parse(path: &str) -> Option<TaskDirectory> {
        let (node, task) = path.split_once('/')?;
        let directory = TaskDirectory {
            node: node.strip_prefix("node=")?.to_owned(),
            task: number(task.strip_prefix("task=")?)?,
        };
        (is_node_name(&directory.node) && directory.to_string() == path).then_some(directory)
    }
}

/// Whether `name` can be that of a node: 1 to 253 (RFC 1123) of letters, digits, `-`, `_` and `.`, not a `.` first.
pub fn is_node_name(name: &str) -> bool {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    (1..=MAX_NODE_NAME).contains(&name.len()) && !name.starts_with('.') && name.bytes().all(allowed)
}

/// Whether `name` can be that of a work kernel: 1 to 64 of `a` to `z`, `0` to `9` and `-`.
pub fn is_kernel_name(name: &str) -> bool {
    let allowed = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    (1..=MAX_KERNEL_NAME).contains(&name.len()) && name.bytes().all(allowed)
}

/// Whether `rate_hz` can be a rate: positive and finite.
pub fn is_rate(rate_hz: f64) -> bool {
    rate_hz.is_finite() && rate_hz > 0.0
}

/// The name of part `number`.
pub fn part_name(number: u32) -> String {
    format!("part-{number:0PART_DIGITS$}.parquet")
}

/// The name of part `number` while it is being written.
pub fn temporary_name(number: u32) -> String {
    format!(".{}{TEMPORARY_SUFFIX}", part_name(number))
}

/// What a file in a directory of parts is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PartFile {
    /// A finished part and its number.
    Finished(u32),
    /// A part that was never finished.
    Temporary(u32),
}

impl PartFile {
    /// Tells by its name what a file is; `None` if it is no part.
    pub fn parse(name: &str) -> Option<PartFile> {
        let digits = |stem: &str| number(stem.strip_prefix("part-")?.strip_suffix(".parquet")?);
        let part = match name.strip_prefix('.') {
            Some(hidden) => PartFile::Temporary(digits(hidden.strip_suffix(TEMPORARY_SUFFIX)?)?),
            None => PartFile::Finished(digits(name)?),
        };
        let canonical = match part {
            PartFile::Finished(number) => part_name(number),
            PartFile::Temporary(number) => temporary_name(number),
        };
        (canonical == name).then_some(part)
    }
}

/// Digits only: `parse` alone would take a sign.
fn number(text: &str) -> Option<u32> {
    text.bytes()
        .all(|byte| byte.is_ascii_digit())
        .then_some(())?;
    text.parse().ok()
}

fn rate_hz(text: &str) -> Option<f64> {
    let plain = text
        .bytes()
        .all(|byte| byte.is_ascii_digit() || byte == b'.');
    plain
        .then(|| text.parse().ok())
        .flatten()
        .filter(|&rate| is_rate(rate))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_printed_is_parsed() {
        for path in [
            "quanta/cpu=1/rate=10000/kernel=mulss80",
            "quanta/cpu=0/rate=7777.5/kernel=ftq-float20-stack",
            "gaps/cpu=4294967295",
            "events/cpu=0",
        ] {
            let directory = Directory::parse(path);
            assert_eq!(
                directory.map(|directory| directory.to_string()).as_deref(),
                Some(path)
            );
        }
    }

    #[test]
    fn no_name_leads_out_of_the_recording() {
        for path in [
            "quanta/cpu=1/rate=10000/kernel=..",
            "quanta/cpu=1/rate=10000/kernel=",
            "quanta/cpu=1/rate=10000/kernel=a/../../b",
            "quanta/cpu=+1/rate=10000/kernel=a",
            "quanta/cpu=01/rate=10000/kernel=a",
            "quanta/cpu=1/rate=1e4/kernel=a",
            "quanta/cpu=1/rate=inf/kernel=a",
            "quanta/cpu=1/rate=0/kernel=a",
            "quanta/cpu=1/rate=-1/kernel=a",
            "/gaps/cpu=1",
            "gaps/cpu=99999999999",
            "events/cpu=-1",
            "events/cpu=0/kernel=a",
            "",
        ] {
            assert_eq!(Directory::parse(path), None, "{path}");
        }
        assert!(!is_kernel_name(&"a".repeat(65)));
    }

    #[test]
    fn directories_of_tasks_are_parsed_strictly() {
        let directory = TaskDirectory::parse("node=n-1.site_a/task=17").unwrap();
        assert_eq!((&*directory.node, directory.task), ("n-1.site_a", 17));
        for path in [
            "node=n1",
            "node=/task=0",
            "node=../task=0",
            "node=n1/task=01",
            "node=n1/task=0/x",
            "node=n 1/task=0",
            "task=0/node=n1",
        ] {
            assert_eq!(TaskDirectory::parse(path), None, "{path}");
        }
    }

    #[test]
    fn parts_are_told_by_their_names() {
        assert_eq!(PartFile::parse(&part_name(7)), Some(PartFile::Finished(7)));
        assert_eq!(
            PartFile::parse(&temporary_name(1_234_567)),
            Some(PartFile::Temporary(1_234_567))
        );
        for name in [
            "part-7.parquet",
            "part-+00007.parquet",
            "part-000007.parquet.tmp",
            "",
        ] {
            assert_eq!(PartFile::parse(name), None, "{name}");
        }
    }
}
