//! What a cure does to the machine: a few kinds of changes, each noted in the journal before it is made.

use super::affinity::{self, Move, Taken};
use super::journal::Journal;
use super::undo::{self, Undo};
use bandscope_recording::cpu_list;
use bandscope_recording::cures::Change;
use bandscope_recording::events::escaped;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::PathBuf;

/// One change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Writes a setting.
    Write {
        /// The file.
        path: PathBuf,
        /// What stands there.
        before: String,
        /// What is written.
        value: String,
        /// What is written before `before` when it is put back: an interrupt must be sent back, then set free.
        through: Option<String>,
        /// Whether the others are made all the same where the kernel refuses this one.
        may_fail: bool,
    },
    /// Keeps threads off CPUs.
    TakeTasks {
        /// The CPUs.
        taken: Vec<u32>,
        /// The CPUs of a thread that may use no other.
        others: Vec<u32>,
        /// The name of those that are meant, or of their processes; `None` for all.
        only: Option<String>,
    },
    /// Writes to a device and holds it open: the kernel takes it back when the process ends.
    Hold {
        /// The device.
        path: PathBuf,
        /// What is written: a latency in us, as the machine writes numbers.
        latency_us: i32,
    },
    /// The measuring threads have the lowest real-time priority; they end with their trial.
    RealTime,
}

/// What a change needs as long as it is in force.
#[derive(Debug, Default)]
pub struct InForce {
    held: Vec<File>,
    /// Whether the measuring threads are to have real-time priority.
    pub real_time: bool,
    /// What went wrong, in sentences.
    pub problems: Vec<String>,
}

impl Action {
    /// Whether it stays in force when the process ends.
    pub fn outlives(&self) -> bool {
        matches!(self, Action::Write { .. } | Action::TakeTasks { .. })
    }

    /// As it is told before anything is changed.
    pub fn change(&self) -> Change {
        match self {
            Action::Write {
                path,
                before,
                value,
                ..
            } => Change {
                setting: escaped(path.as_os_str().as_encoded_bytes()),
                before: escaped(before.as_bytes()),
                during: value.clone(),
            },
            Action::TakeTasks {
                taken,
                others,
                only,
            } => {
                let number = affinity::movable(taken, others, only.as_deref()).len();
                let threads = if number == 1 { "thread" } else { "threads" };
                let named = only.as_ref().map(|name| format!(" named {name}"));
                let named = named.unwrap_or_default();
                Change {
                    setting: format!("affinity of {number} {threads}{named}"),
                    before: format!("also {}", cpu_list::named(taken)),
                    during: format!("without {}", cpu_list::named(taken)),
                }
            }
            Action::Hold { path, latency_us } => Change {
                setting: escaped(path.as_os_str().as_encoded_bytes()),
                before: "not held".to_owned(),
                during: format!("held at {latency_us} us"),
            },
            Action::RealTime => Change {
                setting: "scheduling of the measuring threads".to_owned(),
                before: "SCHED_OTHER".to_owned(),
                during: "SCHED_FIFO, priority 1".to_owned(),
            },
        }
    }

    /// Makes the change; whether it is in force.
    ///
    /// # Errors
    /// If the journal cannot be kept, or the machine refuses. What was done so far stands in the journal.
    pub fn apply(&self, journal: &mut Journal, in_force: &mut InForce) -> io::Result<bool> {
        match self {
            Action::Write {
                path,
                before,
                value,
                through,
                may_fail,
            } => {
                journal.note(&[Undo::Setting {
                    path: path.clone(),
                    before: before.clone(),
                    during: value.clone(),
                    through: through.clone(),
                }])?;
                let Err(error) = undo::write(path, value) else {
                    return Ok(true);
                };
                // Something else may stand there now; what stood there is written whatever it is.
                let _ = undo::write(path, before);
                let said = format!("{}: {error}", path.display());
                match may_fail {
                    true => in_force.problems.push(said),
                    false => return Err(io::Error::new(error.kind(), said)),
                }
                Ok(false)
            }
            Action::TakeTasks {
                taken,
                others,
                only,
            } => {
                let since = affinity::now();
                journal.note(&[Undo::Births { since }])?;
                let mut note = |moves: &[Move]| {
                    let undos: Vec<Undo> = moves.iter().cloned().map(Undo::Affinity).collect();
                    journal.note(&undos)
                };
                let all = affinity::take(taken, others, only.as_deref(), &mut note)?;
                in_force.problems.extend(refused(all));
                // Tasks of one name come and go: there may be none just now.
                Ok(all.moved > 0 || (only.is_some() && all == Taken::default()))
            }
            Action::Hold { path, latency_us } => {
                let mut device = OpenOptions::new().write(true).open(path)?;
                device.write_all(&latency_us.to_ne_bytes())?;
                in_force.held.push(device);
                Ok(true)
            }
            Action::RealTime => {
                in_force.real_time = true;
                Ok(true)
            }
        }
    }
}

/// The threads that stay where they are, in sentences.
fn refused(all: Taken) -> impl Iterator<Item = String> {
    let why = all.why.map_or_else(String::new, |why| why.to_string());
    let refused = [
        (all.confined, "the cpuset has no other CPU".to_owned()),
        (all.foreign, "not of this user".to_owned()),
        (all.refused, why),
    ];
    let refused = refused.into_iter().filter(|one| one.0 > 0);
    refused.map(|(number, why)| {
        let threads = if number == 1 { "thread" } else { "threads" };
        format!("{number} {threads} cannot be moved: {why}")
    })
}
