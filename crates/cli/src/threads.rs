//! The threads that analyse.

use anyhow::{Result, bail};
use std::error::Error;

/// Makes them, once: what analyses takes them for granted.
///
/// # Errors
/// If the system refuses one.
pub fn start() -> Result<()> {
    match rayon::ThreadPoolBuilder::new().build_global() {
        // Without a cause they were there before.
        Err(error) => match error.source().and_then(|cause| cause.downcast_ref()) {
            Some(cause) => bail!(bandscope_probe::no_thread(cause)),
            None => Ok(()),
        },
        Ok(()) => Ok(()),
    }
}
