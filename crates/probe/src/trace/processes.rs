//! Which tasks are threads of which process: the kernel's records hold both ids of whoever runs.
//!
//! A task leaves the CPU alive, and the record of the switch holds its process, or it ends, and a record says so while it is still
//! there. The process's name is in /proc as long as it lives, and most outlive their threads.

use bandscope_recording::events::escaped;
use bandscope_recording::manifest::TaskThread;
use std::collections::{BTreeMap, HashMap, HashSet};

/// Threads that are remembered: 1 MB of the manifest, which is read up to 16.
const MOST_THREADS: usize = 1 << 14;
/// Tasks that are processes by themselves and are remembered: twice as many ids as Linux gives out by default (proc_sys_kernel(5), `pid_max`).
const MOST_ALONE: usize = 1 << 16;

/// The processes of the threads that ran.
#[derive(Debug, Default)]
pub struct Processes {
    /// By thread: its process, and the name of that; `None` where it was gone before anybody asked.
    threads: BTreeMap<u32, (u32, Option<String>)>,
    /// Names of processes as they were read last.
    names: HashMap<u32, String>,
    /// Tasks that are processes by themselves.
    alone: HashSet<u32>,
    /// Ids that several tasks had, one after the other.
    reused: HashSet<u32>,
    /// Tasks of which something became known since somebody asked.
    new: Vec<u32>,
}

impl Processes {
    /// Takes note that the task `number`, `thread` to this process, is of a process.
    pub fn see(&mut self, number: u32, thread: u32, process: u32) {
        // 0 and -1 are of another namespace, or gone.
        if process == 0 || process == u32::MAX {
            return;
        }
        // It is named by its events.
        if process == thread {
            if self.threads.remove(&number).is_some() {
                self.reused.insert(number);
                self.new.push(number);
            } else if self.alone.len() < MOST_ALONE {
                self.alone.insert(number);
            }
            return;
        }
        match self.threads.get(&number) {
            Some((known, _)) if *known == process => return,
            None if self.threads.len() >= MOST_THREADS => return,
            None if !self.alone.contains(&number) => {}
            _ => {
                self.reused.insert(number);
            }
        }
        let name = self.name(process);
        self.threads.insert(number, (process, name));
        self.new.push(number);
    }

    /// The name of a process: read for each of its threads, as the id may have been another one's. Of one that is gone it is the last that was read.
    fn name(&mut self, process: u32) -> Option<String> {
        if let Ok(name) = std::fs::read(format!("/proc/{process}/comm")) {
            let name = escaped(name.strip_suffix(b"\n").unwrap_or(&name));
            self.names.insert(process, name);
        }
        self.names.get(&process).cloned()
    }

    /// What became known since this was asked last; a task that is no thread of a process any more has an empty name.
    pub fn news(&mut self) -> Vec<TaskThread> {
        let new = std::mem::take(&mut self.new);
        let news = new.into_iter().map(|task| {
            self.thread(task).unwrap_or(TaskThread {
                task,
                process: task,
                name: String::new(),
            })
        });
        news.collect()
    }

    /// All threads whose process has a name. Of an id that several tasks had nobody knows which of them an event is of.
    pub fn threads(&self) -> impl Iterator<Item = TaskThread> {
        let tasks = self
            .threads
            .keys()
            .filter(|task| !self.reused.contains(task));
        tasks.filter_map(|task| self.thread(*task))
    }

    fn thread(&self, task: u32) -> Option<TaskThread> {
        let (process, name) = self.threads.get(&task)?;
        Some(TaskThread {
            task,
            process: *process,
            name: name.clone()?,
        })
    }
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

    #[test]
    fn an_id_that_several_tasks_had_names_none_of_their_events() {
        let own = std::process::id();
        let mut processes = Processes::default();
        let mut told = |(number, thread, process)| {
            processes.see(number, thread, process);
            let news = processes.news();
            (
                news.iter().map(|one| one.name.is_empty()).collect(),
                processes.threads().count(),
            )
        };
        assert_eq!(told((70, own + 1, own)), (vec![false], 1));
        // A thread's id is a process's, and a process's a thread's.
        assert_eq!(told((70, 70, 70)), (vec![true], 0));
        assert_eq!(told((71, 71, 71)), (vec![], 0));
        assert_eq!(told((71, own + 1, own)), (vec![false], 0));
        assert_eq!(told((72, own + 2, own)), (vec![false], 1));
        processes.threads = (0..MOST_THREADS as u32)
            .map(|task| (task, (1, None)))
            .collect();
        processes.see(9, own + 1, own);
        assert_eq!(processes.news()[0].process, own, "however many are known");
    }
}
