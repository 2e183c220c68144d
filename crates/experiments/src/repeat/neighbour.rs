//! A neighbour that computes while a command runs.

use bandscope_probe::pin;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

/// A thread that keeps a CPU busy until this is dropped.
#[derive(Debug)]
pub struct Neighbour {
    ends: Arc<AtomicBool>,
    thread: Option<JoinHandle<io::Result<()>>>,
}

impl Neighbour {
    /// Has it compute on `cpu`.
    ///
    /// # Errors
    /// If no thread can be had. One that cannot be put there ends at once.
    pub fn start(cpu: u32) -> io::Result<Neighbour> {
        let ends = Arc::new(AtomicBool::new(false));
        let until = Arc::clone(&ends);
        let thread = std::thread::Builder::new()
            .name("neighbour".into())
            .spawn(move || {
                pin::pin(&[cpu])?;
                while !until.load(Ordering::Relaxed) {
                    // Without a pause: that would leave the core to its other thread.
                    std::hint::black_box(0);
                }
                Ok(())
            })?;
        Ok(Neighbour {
            ends,
            thread: Some(thread),
        })
    }
}

impl Drop for Neighbour {
    fn drop(&mut self) {
        self.ends.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            // It ends by itself; what it says would change nothing that was measured.
            let _ = thread.join();
        }
    }
}
