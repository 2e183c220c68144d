//! Where the kernel describes its tracepoints: tracefs, found or mounted for this process alone.
//!
//! A private mount is one that is attached nowhere (fsopen(2), fsmount(2); Linux 5.2): it goes with its descriptor,
//! and nobody else sees it, so the system is left as it was. It takes the right to mount.

use super::error::TraceError;
use rustix::mount::{FsMountFlags, FsOpenFlags, MountAttrFlags, fsconfig_create, fsmount, fsopen};
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};

/// Where it is mounted on a system that has it mounted; the second comes with debugfs.
const PLACES: [&str; 2] = ["/sys/kernel/tracing", "/sys/kernel/debug/tracing"];
/// A file that says whether tracefs can be read at a place.
const PROOF: &str = "events/sched/sched_switch/id";
/// The longest file that is read; the kernel's descriptions have some KiB.
const MAX_BYTES: u64 = 1 << 18;

/// A tracefs whose descriptions of tracepoints can be read.
#[derive(Debug)]
pub struct Tracefs {
    root: PathBuf,
    /// Keeps a private mount.
    _mount: Option<OwnedFd>,
}

impl Tracefs {
    /// Finds it, or mounts it privately.
    ///
    /// # Errors
    /// One line: why it cannot be had.
    pub fn find() -> Result<Tracefs, TraceError> {
        Tracefs::find_in(&PLACES, mount)
    }

    fn find_in(
        places: &[&str],
        mount: impl FnOnce() -> io::Result<OwnedFd>,
    ) -> Result<Tracefs, TraceError> {
        let mut unreadable = None;
        for place in places {
            match Tracefs::at(Path::new(place)) {
                Ok(found) => return Ok(found),
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => unreadable = Some(((*place).to_owned(), error)),
            }
        }
        let mounted = mount().and_then(|mount| {
            let root = PathBuf::from(format!("/proc/self/fd/{}", mount.as_raw_fd()));
            let found = Tracefs::at(&root)?;
            Ok(Tracefs {
                _mount: Some(mount),
                ..found
            })
        });
        mounted.map_err(|mount| TraceError::NoTracefs { unreadable, mount })
    }

    /// Tracefs at a place that is known.
    ///
    /// # Errors
    /// If it is not there, or cannot be read.
    pub fn at(root: &Path) -> io::Result<Tracefs> {
        let found = Tracefs {
            root: root.into(),
            _mount: None,
        };
        found.read(PROOF)?;
        Ok(found)
    }

    /// The content of a file below the root.
    ///
    /// # Errors
    /// If it cannot be read, or is too long for what it should be.
    pub fn read(&self, path: &str) -> io::Result<String> {
        let mut text = String::new();
        let file = File::open(self.root.join(path))?;
        file.take(MAX_BYTES + 1).read_to_string(&mut text)?;
        if text.len() as u64 > MAX_BYTES {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        Ok(text)
    }

    /// The tracepoints of a subsystem, sorted; none where it is not there.
    pub fn tracepoints(&self, subsystem: &str) -> Vec<String> {
        let entries = std::fs::read_dir(self.root.join("events").join(subsystem));
        let mut names: Vec<String> = entries
            .into_iter()
            .flatten()
            .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
            .collect();
        names.sort();
        names
    }
}

/// Mounts tracefs nowhere.
fn mount() -> io::Result<OwnedFd> {
    let context = fsopen("tracefs", FsOpenFlags::FSOPEN_CLOEXEC)?;
    fsconfig_create(&context)?;
    let flags = MountAttrFlags::MOUNT_ATTR_RDONLY
        | MountAttrFlags::MOUNT_ATTR_NOSUID
        | MountAttrFlags::MOUNT_ATTR_NODEV
        | MountAttrFlags::MOUNT_ATTR_NOEXEC;
    Ok(fsmount(&context, FsMountFlags::FSMOUNT_CLOEXEC, flags)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_there_is_said_in_one_line() {
        let refuse = |kind: io::ErrorKind| move || Err(io::Error::from(kind));
        let denied = Tracefs::find_in(&["/nonexistent"], refuse(io::ErrorKind::PermissionDenied));
        assert_eq!(
            denied.unwrap_err().to_string(),
            "tracefs is not mounted, and this process may not mount it for itself (CAP_SYS_ADMIN)"
        );
        // A file in place of a directory: it is there, and cannot be read.
        let other = Tracefs::find_in(&["/proc/version"], refuse(io::ErrorKind::Unsupported));
        let other = other.unwrap_err().to_string();
        assert!(
            other.starts_with("/proc/version cannot be read: "),
            "{other}"
        );
        assert!(other.contains("and it cannot be mounted: "), "{other}");
    }

    #[test]
    fn a_private_mount_changes_no_mounts() {
        let before = std::fs::read_to_string("/proc/self/mounts").unwrap();
        match Tracefs::find_in(&[], mount) {
            Err(why) => println!("SKIPPED: private mount: {why}"),
            Ok(tracefs) => {
                assert!(
                    tracefs
                        .tracepoints("irq")
                        .contains(&"softirq_entry".to_owned())
                );
                assert!(tracefs.tracepoints("no such").is_empty());
                assert_eq!(
                    std::fs::read_to_string("/proc/self/mounts").unwrap(),
                    before
                );
            }
        }
    }
}
