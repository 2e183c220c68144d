//! A CPU for each task of a job, where its launcher left them several to choose from.
//!
//! MPICH binds no task to a CPU, and Open MPI none of more than two. Each would find the same CPU the quietest: of 16 tasks that MPICH
//! started on 16 CPUs, 15 measured the last, and each other. So a task claims its CPU by a name in the abstract namespace of Unix sockets (unix(7)). The kernel gives a
//! name to one process, and takes it back when that ends, in whatever way.

use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};

/// The first of these CPUs that no other task of this node has claimed. It is this process's until it ends.
pub(crate) fn first(cpus: impl IntoIterator<Item = u32>) -> Option<u32> {
    let (cpu, claim) = cpus.into_iter().find_map(|cpu| Some((cpu, claim(cpu)?)))?;
    std::mem::forget(claim);
    Some(cpu)
}

/// `None` if it is claimed.
fn claim(cpu: u32) -> Option<UnixDatagram> {
    let name = SocketAddr::from_abstract_name(format!("bandscope/cpu/{cpu}")).ok()?;
    UnixDatagram::bind_addr(&name).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cpu_is_claimed_once_until_its_claim_ends() {
        // CPUs that no machine has: tests run beside each other, and beside tasks.
        let (one, next) = (u32::MAX, u32::MAX - 1);
        let held = claim(one).unwrap();
        assert!(claim(one).is_none());
        assert_eq!(first([one, next]), Some(next));
        assert_eq!(first([one, next]), None);
        drop(held);
        assert_eq!(first([one, next]), Some(one));
    }
}
