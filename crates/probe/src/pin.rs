//! Which CPUs this process may use, and keeping a thread on some of them.

use bandscope_recording::cpu_list;
use bandscope_sampler::MachineError;
use rustix::thread::{CpuSet, Pid, sched_getaffinity, sched_setaffinity};
use std::io;

/// CPUs that the calling thread may run on, ascending.
///
/// # Errors
/// If the kernel does not say, as with more than 1024 CPUs.
pub fn allowed() -> io::Result<Vec<u32>> {
    Ok(members(&sched_getaffinity(None)?))
}

/// CPUs that a thread of this process may be put on, ascending: all of its cpuset, which isolated CPUs (isolcpus) are in though no thread
/// inherits them.
///
/// # Errors
/// As [`allowed`].
pub fn reachable() -> io::Result<Vec<u32>> {
    let inherited = allowed()?;
    // A thread of its own, so that nobody has to be put back. The kernel takes the CPUs of the cpuset out of any set.
    let widest = std::thread::Builder::new().spawn(|| {
        let mut all = CpuSet::new();
        (0..CpuSet::MAX_CPU).for_each(|cpu| all.set(cpu));
        sched_setaffinity(None, &all)?;
        allowed()
    });
    // Where nobody may ask, as under seccomp, or there is no thread to ask on, it is what was inherited.
    let widest = widest.ok().and_then(|thread| thread.join().ok()?.ok());
    Ok(widest.unwrap_or(inherited))
}

fn members(set: &CpuSet) -> Vec<u32> {
    (0..CpuSet::MAX_CPU)
        .filter(|&cpu| set.is_set(cpu))
        .map(|cpu| cpu as u32)
        .collect()
}

fn of_numbers(cpus: &[u32]) -> io::Result<CpuSet> {
    let mut set = CpuSet::new();
    for &cpu in cpus {
        if cpu as usize >= CpuSet::MAX_CPU {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        set.set(cpu as usize);
    }
    Ok(set)
}

/// Keeps the calling thread on `cpus`, which must ascend, and checks that it took. Where it is there
/// already nothing is asked of the kernel: a process with one CPU also runs where seccomp forbids it.
///
/// # Errors
/// If the kernel refuses, or narrows the set (a cpuset, a CPU that is offline).
pub fn pin(cpus: &[u32]) -> io::Result<()> {
    if allowed().is_ok_and(|now| now == cpus) {
        return Ok(());
    }
    sched_setaffinity(None, &of_numbers(cpus)?)?;
    let got = allowed()?;
    if got == cpus {
        return Ok(());
    }
    Err(io::Error::other(format!(
        "the kernel allowed CPUs {} instead of {}",
        cpu_list::written(&got),
        cpu_list::written(cpus)
    )))
}

/// The calling thread cannot be kept on a CPU.
#[derive(Debug, thiserror::Error)]
#[error("CPU {cpu}: cannot pin a thread to it: {error}")]
pub struct PinError {
    /// The CPU that was asked for.
    pub cpu: u32,
    /// The kernel's answer.
    pub error: io::Error,
}

impl From<PinError> for MachineError {
    fn from(error: PinError) -> MachineError {
        MachineError::Refused(error.to_string())
    }
}

/// Keeps the calling thread on one CPU.
///
/// # Errors
/// As [`pin`].
pub fn pin_to(cpu: u32) -> Result<(), PinError> {
    pin(&[cpu]).map_err(|error| PinError { cpu, error })
}

/// Puts the calling thread's CPUs back when dropped.
#[derive(Debug)]
pub struct Restore(CpuSet);

impl Restore {
    /// Remembers the calling thread's CPUs.
    ///
    /// # Errors
    /// As [`allowed`].
    pub fn remember() -> io::Result<Restore> {
        Ok(Restore(sched_getaffinity(None)?))
    }
}

impl Drop for Restore {
    fn drop(&mut self) {
        // If its CPUs are gone by now there is nothing to put back.
        let _ = sched_setaffinity(None, &self.0);
    }
}

/// All threads of this process are on some CPUs, and so are those that they make; put back when dropped.
#[derive(Debug)]
pub struct Kept(Vec<(Pid, CpuSet)>);

/// Keeps all threads that there are by now on `cpus`, which must ascend.
///
/// # Errors
/// As [`pin`].
pub fn keep_process_on(cpus: &[u32]) -> io::Result<Kept> {
    let mut kept = Kept(Vec::new());
    let set = of_numbers(cpus)?;
    for thread in std::fs::read_dir("/proc/self/task")? {
        let number = thread?
            .file_name()
            .to_str()
            .and_then(|name| name.parse().ok());
        let Some(thread) = number.and_then(Pid::from_raw) else {
            continue;
        };
        // One that has ended by now is on no CPU.
        if let Ok(before) = sched_getaffinity(Some(thread)) {
            kept.0.push((thread, before));
            let _ = sched_setaffinity(Some(thread), &set);
        }
    }
    pin(cpus).map(|()| kept)
}

impl Drop for Kept {
    fn drop(&mut self) {
        for (thread, before) in &self.0 {
            // Threads that have ended, and CPUs that are gone, need nothing.
            let _ = sched_setaffinity(Some(*thread), before);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_is_pinned_and_put_back() {
        let before = allowed().unwrap();
        std::thread::spawn(move || {
            {
                let _restore = Restore::remember().unwrap();
                pin(&before[..1]).unwrap();
                assert_eq!(allowed().unwrap(), before[..1]);
            }
            assert_eq!(allowed().unwrap(), before);
        })
        .join()
        .unwrap();
    }

    #[test]
    fn a_cpu_that_is_not_there_is_refused() {
        assert!(pin(&[1023]).is_err() || allowed().unwrap().contains(&1023));
        assert!(pin(&[4_000_000]).is_err());
    }
}
