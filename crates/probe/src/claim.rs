//! A CPU for each task of a job on a node, where its launcher left them several to choose from.
//!
//! MPICH binds no task to a CPU, and Open MPI binds more than two to a whole socket or NUMA node. All of them would find the same CPU the quietest: of 16 tasks that
//! MPICH started on 16 CPUs, 15 measured the last one, and each other. A task therefore claims its CPU by a name in the abstract namespace of Unix sockets (unix(7)).
//! The kernel gives a name to one process, and takes it back when that ends, in whatever way. Containers with networks of their own do not see each other's names.

use std::io::{self, ErrorKind};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};

/// Bytes of a job's name that count, from its end: a socket's name has 107.
const MAX_JOB_BYTES: usize = 64;

/// Claims the first of these CPUs that no other task of the job on this node has claimed. It is this process's until it ends. `None` if all are
/// claimed, or where sockets have no such names.
pub(crate) fn first(job: &str, cpus: impl IntoIterator<Item = u32>) -> Option<u32> {
    for cpu in cpus {
        match claim(job, cpu) {
            Ok(claim) => {
                std::mem::forget(claim);
                return Some(cpu);
            }
            Err(error) if error.kind() == ErrorKind::AddrInUse => {}
            Err(_) => return None,
        }
    }
    None
}

fn claim(job: &str, cpu: u32) -> io::Result<UnixDatagram> {
    let job = job.as_bytes();
    let mut name = b"bandscope/".to_vec();
    name.extend_from_slice(&job[job.len().saturating_sub(MAX_JOB_BYTES)..]);
    name.extend_from_slice(format!("/cpu/{cpu}").as_bytes());
    UnixDatagram::bind_addr(&SocketAddr::from_abstract_name(name)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cpu_is_claimed_once_until_its_claim_ends() {
        // Tests of other checkouts may run beside this one.
        let job = format!("{}{}", "x".repeat(200), std::process::id());
        let held = claim(&job, 3).unwrap();
        assert_eq!(claim(&job, 3).unwrap_err().kind(), ErrorKind::AddrInUse);
        assert_eq!(first(&job, [3, 2]), Some(2));
        assert_eq!(first(&job, [3, 2]), None);
        drop(held);
        assert_eq!(first(&job, [3, 2]), Some(3));
    }
}
