//! Softirqs without a device: packets over the loopback interface.
//!
//! The kernel's loopback driver hands a packet that is sent straight to the receiving side, as NET_RX work of the CPU that
//! sent it, which runs as a softirq before the system call returns (net/core/dev.c, `netif_rx`). So each packet is a system
//! call with a softirq inside. How much of a disturbance was which is not known here.

use super::action::{Action, Waiting};
use bandscope_probe::clock;
use std::io;
use std::net::{Ipv4Addr, UdpSocket};

/// Bytes in a packet: what it costs is the way, not the load.
const PAYLOAD: [u8; 64] = [0; 64];

/// A socket that is connected to itself.
pub struct Softirq(UdpSocket);

impl Softirq {
    /// Opens it.
    ///
    /// # Errors
    /// If there is no loopback interface, or no network is permitted.
    pub fn new() -> io::Result<Softirq> {
        let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?;
        socket.connect(socket.local_addr()?)?;
        socket.set_nonblocking(true)?;
        Ok(Softirq(socket))
    }
}

impl Action for Softirq {
    fn disturb(
        &mut self,
        _start: u64,
        until: u64,
        waiting: &Waiting,
        _away: &mut dyn FnMut(u64, u64),
    ) -> io::Result<Option<u64>> {
        let (mut packets, mut buffer) = (0, [0; PAYLOAD.len()]);
        while clock::ticks() < until && !waiting.ends() {
            match self.0.send(&PAYLOAD) {
                // A packet that was dropped on its way was work for the kernel, too, but is not counted.
                Ok(_) => packets += u64::from(self.0.recv(&mut buffer).is_ok()),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                // No memory for another one at the moment.
                Err(error) if error.raw_os_error() == Some(libc::ENOBUFS) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(Some(packets))
    }
}
