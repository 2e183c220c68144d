//! Which tasks are threads of which process: the kernel's records hold both ids of whoever runs.
//!
//! A task leaves the CPU alive, and the record of the switch holds its process, or it ends, and a record says so while it is still
//! there. The process's name is in /proc as long as it lives, and most outlive their threads.

use bandscope_recording::events::escaped;
use bandscope_recording::manifest::TaskThread;
use std::collections::{BTreeMap, HashMap};

/// Threads, and processes, that are remembered: 1 MB of the manifest, which is read up to 16.
const MOST_THREADS: usize = 1 << 14;

/// The processes of the threads that ran.
#[derive(Debug, Default)]
pub struct Processes {
    threads: BTreeMap<u32, u32>,
    /// `None` where a process was gone before anybody asked.
    names: HashMap<u32, Option<String>>,
    /// Threads that became known since somebody asked.
    new: Vec<u32>,
}

impl Processes {
    /// Takes note that the task `number`, `thread` to this process, is of a process.
    pub fn see(&mut self, number: u32, thread: u32, process: u32) {
        // What is the same is named by its events; 0 and -1 are of another namespace, or gone.
        let unknown = process == thread || process == 0 || process == u32::MAX;
        if unknown || self.threads.len() >= MOST_THREADS {
            return;
        }
        if self.threads.insert(number, process) != Some(process) {
            self.names.entry(process).or_insert_with(|| name(process));
            self.new.push(number);
        }
    }

    /// Those that became known since this was asked last.
    pub fn news(&mut self) -> Vec<TaskThread> {
        let new = std::mem::take(&mut self.new);
        new.iter().filter_map(|task| self.thread(*task)).collect()
    }

    /// All threads whose process has a name.
    pub fn threads(&self) -> impl Iterator<Item = TaskThread> {
        self.threads.keys().filter_map(|task| self.thread(*task))
    }

    fn thread(&self, task: u32) -> Option<TaskThread> {
        let process = *self.threads.get(&task)?;
        Some(TaskThread {
            task,
            process,
            name: self.names.get(&process)?.clone()?,
        })
    }
}

fn name(process: u32) -> Option<String> {
    let name = std::fs::read(format!("/proc/{process}/comm")).ok()?;
    Some(escaped(name.strip_suffix(b"\n").unwrap_or(&name)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_have_the_name_of_their_process() {
        let own = std::process::id();
        let mut processes = Processes::default();
        processes.see(70, own + 1, own);
        processes.see(own, own, own);
        processes.see(71, 8, u32::MAX);
        processes.see(72, 9, 0);
        let comm = std::fs::read("/proc/self/comm").unwrap();
        let wanted = TaskThread {
            task: 70,
            process: own,
            name: escaped(comm.trim_ascii_end()),
        };
        assert_eq!(processes.news(), std::slice::from_ref(&wanted));
        processes.see(70, own + 1, own);
        assert_eq!(processes.news(), []);
        assert_eq!(processes.threads().collect::<Vec<_>>(), [wanted]);
    }
}
