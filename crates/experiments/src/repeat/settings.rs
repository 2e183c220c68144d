//! What is set for a process before it becomes the command: made of levels by `factors.rs`, put into force by [`Settings::prepare`].
//!
//! All of it is set in the child alone, between fork(2) and execve(2), or in its words and environment; so there is nothing to put back, but
//! for the long name of the working directory, which is removed with the session, and a busy neighbour, which ends with the run.

use crate::bound::end_with;
use bandscope_probe::store_bypass;
use rustix::fs::{Access, access};
use rustix::process::Signal;
use rustix::thread::{CpuSet, sched_setaffinity};
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read as _};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// Name of the variable that makes an environment larger.
const PADDING: &str = "BANDSCOPE_PADDING";
/// linux/personality.h; libc has it as a `c_int`.
const ADDR_NO_RANDOMIZE: libc::c_ulong = 0x0004_0000;
/// Asks personality(2) for the present one.
const ASK: libc::c_ulong = 0xffff_ffff;
/// linux/prctl.h.
const PR_SET_THP_DISABLE: libc::c_int = 41;
const PR_GET_THP_DISABLE: libc::c_int = 42;

/// What differs from what would be inherited.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    /// Whether addresses are drawn anew for each process.
    pub random_layout: Option<bool>,
    /// Bytes of a variable that is added to the environment; `None` adds none. Between two sizes the stack moves by their difference alone, as both have
    /// the variable's name and pointer.
    pub environment: Option<usize>,
    /// Bytes that the path under which the command is called is longer; `None` leaves the name as it was typed.
    pub argument: Option<usize>,
    /// The working directory by another, longer name.
    pub directory: Option<PathBuf>,
    /// Where it may run.
    pub cpu: Option<u32>,
    /// Where a neighbour computes meanwhile.
    pub busy: Option<u32>,
    /// Whether loads may not run ahead of stores.
    pub no_store_bypass: bool,
    /// Whether it gets no huge pages by itself.
    pub no_huge_pages: bool,
    /// Added to its nice value.
    pub nice: i32,
}

impl Settings {
    /// The command, so that it will start with these settings, in a process group of its own, with nothing to read.
    pub fn prepare(&self, words: &[OsString]) -> Command {
        let mut command = Command::new(&words[0]);
        command.args(&words[1..]);
        if let Some(more) = self.argument {
            command.arg0(longer(&path_of(&words[0]), more));
        }
        if let Some(bytes) = self.environment {
            command.env(PADDING, "x".repeat(bytes));
        }
        if let Some(directory) = &self.directory {
            command.current_dir(directory).env("PWD", directory);
        }
        command.process_group(0).stdin(Stdio::null());
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let Settings {
            random_layout,
            cpu,
            no_store_bypass,
            no_huge_pages,
            nice,
            ..
        } = *self;
        let parent = std::process::id();
        let child = move || {
            if let Some(random) = random_layout {
                set_layout(random)?;
            }
            if no_huge_pages {
                control(PR_SET_THP_DISABLE, 1)?;
            }
            if no_store_bypass {
                store_bypass::set(false)?;
            }
            if nice != 0 {
                add_nice(nice)?;
            }
            if let Some(cpu) = cpu {
                let mut set = CpuSet::new();
                set.set(cpu as usize);
                sched_setaffinity(None, &set)?;
            }
            // Whoever kills bandscope does not leave the command behind.
            end_with(parent, Signal::KILL)
        };
        // SAFETY: between fork and exec the closure makes system calls alone: it allocates nothing, takes no lock, and captures numbers.
        unsafe { command.pre_exec(child) };
        command
    }
}

/// The path of a command: a name without `/` is looked for in PATH, as execvp(3) does. With `./` before it, it would name another file.
fn path_of(command: &OsStr) -> OsString {
    if command.as_bytes().contains(&b'/') {
        return command.to_owned();
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&path)
        .map(|directory| directory.join(command))
        .find(|file| file.is_file() && access(file, Access::EXEC_OK).is_ok());
    found.map_or_else(|| command.to_owned(), PathBuf::into_os_string)
}

/// Whether a command is a script, which the kernel gives to an interpreter under a name of its own (execve(2), "Interpreter scripts").
pub fn is_script(command: &OsStr) -> bool {
    let path = PathBuf::from(path_of(command));
    let mut begin = [0; 2];
    // Opening a pipe waits for a writer.
    let read = path.is_file()
        && File::open(path).is_ok_and(|mut file| file.read_exact(&mut begin).is_ok());
    read && begin == *b"#!"
}

/// A name of the same file that is longer by about so many bytes: `./` does not change where a path leads.
fn longer(name: &OsStr, more: usize) -> OsString {
    let mut long = Vec::with_capacity(name.len() + more + 1);
    let bytes = name.as_bytes();
    let rest = match bytes.strip_prefix(b"/") {
        Some(rest) => {
            long.push(b'/');
            rest
        }
        None => bytes,
    };
    long.extend(b"./".repeat(more / 2));
    long.extend(rest);
    OsString::from(OsStr::from_bytes(&long))
}

/// Whether addresses of new programs of this thread are random, as far as it says itself.
pub fn layout_is_random() -> io::Result<bool> {
    // SAFETY: asks for a setting; the argument is a number.
    let persona = unsafe { libc::personality(ASK) };
    match persona {
        -1 => Err(io::Error::last_os_error()),
        persona => Ok(persona as libc::c_ulong & ADDR_NO_RANDOMIZE == 0),
    }
}

/// Has addresses of the programs that the calling thread executes be random, or not.
pub fn set_layout(random: bool) -> io::Result<()> {
    // SAFETY: asks for a setting; the argument is a number.
    let persona = unsafe { libc::personality(ASK) };
    if persona == -1 {
        return Err(io::Error::last_os_error());
    }
    let persona = persona as u32 as libc::c_ulong;
    let wanted = match random {
        true => persona & !ADDR_NO_RANDOMIZE,
        false => persona | ADDR_NO_RANDOMIZE,
    };
    // SAFETY: changes a setting of this thread; the argument is a number.
    match unsafe { libc::personality(wanted) } {
        -1 => Err(io::Error::last_os_error()),
        _ => Ok(()),
    }
}

/// Whether huge pages can be forbidden to a process: not on kernels without them, nor under an emulator that does not know of it.
pub fn huge_pages_settable() -> io::Result<()> {
    let unused: libc::c_ulong = 0;
    // SAFETY: asks for a setting; all arguments are numbers, of the type that prctl(2) takes.
    match unsafe { libc::prctl(PR_GET_THP_DISABLE, unused, unused, unused, unused) } {
        -1 => Err(io::Error::last_os_error()),
        _ => Ok(()),
    }
}

/// prctl(2) with one number.
pub fn control(option: libc::c_int, value: libc::c_ulong) -> io::Result<()> {
    let unused: libc::c_ulong = 0;
    // SAFETY: the options used here change settings of this thread; all arguments are numbers, of the type that prctl(2) takes.
    match unsafe { libc::prctl(option, value, unused, unused, unused) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

fn add_nice(more: i32) -> io::Result<()> {
    // SAFETY: 0 is the calling thread; numbers only.
    let now = unsafe { libc::getpriority(libc::PRIO_PROCESS, 0) };
    // SAFETY: as above. More than 19 is taken as 19 (setpriority(2)).
    match unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, now + more) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Directories of a session: longer names of the working directory.
#[derive(Debug)]
pub struct LongNames {
    root: PathBuf,
    here: PathBuf,
}

impl LongNames {
    /// Finds a place for them.
    ///
    /// # Errors
    /// If the working directory is not known, or none can be made where temporary files go.
    pub fn new() -> io::Result<LongNames> {
        let here = std::env::current_dir()?;
        let process = std::process::id();
        let names =
            |number: u32| std::env::temp_dir().join(format!("bandscope-{process}-{number}"));
        // A session that was killed left one, and process numbers come again.
        let mut number = 0;
        loop {
            let root = names(number);
            match std::fs::create_dir(&root) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => number += 1,
                made => return made.map(|()| LongNames { root, here }),
            }
        }
    }

    /// A name of the working directory that is longer than its own by about `more` bytes: a link in nested directories.
    ///
    /// # Errors
    /// If it cannot be made.
    pub fn longer(&self, more: usize) -> io::Result<PathBuf> {
        let wanted = self.here.as_os_str().len() + more;
        let mut path = self.root.join(more.to_string());
        // A part of a path has at most 255 bytes.
        while path.as_os_str().len() + 2 < wanted {
            let left = wanted - path.as_os_str().len() - 2;
            path.push("d".repeat(left.clamp(1, 200)));
        }
        std::fs::create_dir_all(&path)?;
        path.push("d");
        match std::os::unix::fs::symlink(&self.here, &path) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
            _ => Ok(path),
        }
    }

    /// Where the links lead.
    #[cfg(test)]
    fn here(&self) -> &std::path::Path {
        &self.here
    }
}

impl Drop for LongNames {
    fn drop(&mut self) {
        // Links are removed, not followed (std::fs::remove_dir_all). What cannot be removed is some bytes among temporary files.
        let _ = std::fs::remove_dir_all(&self.root);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn output(settings: &Settings, words: &[&str]) -> String {
        let words: Vec<OsString> = words.iter().map(Into::into).collect();
        let output = settings.prepare(&words).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    }

    #[test]
    fn names_get_longer_and_stay_the_same() {
        assert_eq!(longer(OsStr::new("/bin/ls"), 4), "/././bin/ls");
        assert_eq!(longer(OsStr::new("ls"), 6), "./././ls");
    }

    #[test]
    fn a_longer_name_leads_to_the_same_file() {
        let called = |argument| {
            let settings = Settings {
                argument,
                ..Settings::default()
            };
            PathBuf::from(output(&settings, &["sh", "-c", "echo $0"]).trim_end())
        };
        let [typed, path, long] = [None, Some(0), Some(16)].map(called);
        assert_eq!(typed, PathBuf::from("sh"));
        assert!(path.is_absolute(), "{path:?}");
        assert_eq!(long.as_os_str().len(), path.as_os_str().len() + 16);
        assert_eq!(long.canonicalize().unwrap(), path.canonicalize().unwrap());
    }

    #[test]
    fn the_environment_grows() {
        let size = |environment| {
            let settings = Settings {
                environment,
                ..Settings::default()
            };
            output(&settings, &["env"]).len()
        };
        assert_eq!(size(Some(1024)) - size(Some(64)), 960);
        assert!(size(None) < size(Some(0)));
    }

    /// A bit of the stack's address each, from 16 bytes on: proc_pid_stat(5), `startstack`, where addresses are the same each time.
    #[test]
    fn the_stack_moves_by_as_much_as_the_environment_grows() {
        let stack = |environment| {
            let settings = Settings {
                environment,
                random_layout: Some(false),
                ..Settings::default()
            };
            let stat = output(&settings, &["cat", "/proc/self/stat"]);
            // The name, which may hold blanks, is the second field.
            let mut from_third = stat.rsplit(')').next().unwrap().split_whitespace();
            from_third.nth(28 - 3).unwrap().parse::<u64>().unwrap()
        };
        let start = stack(Some(0));
        if start == 0 {
            println!("SKIPPED: the kernel does not tell where the stack starts");
            return;
        }
        for bytes in [16, 32, 64, 512] {
            assert_eq!(start - stack(Some(bytes)), bytes as u64);
        }
    }

    #[test]
    fn the_working_directory_gets_a_longer_name_and_is_removed() {
        let names = LongNames::new().unwrap();
        let path = names.longer(300).unwrap();
        let length = path.as_os_str().len() - names.here().as_os_str().len();
        assert!((298..=302).contains(&length), "{length}");
        let settings = Settings {
            directory: Some(path.clone()),
            ..Settings::default()
        };
        assert_eq!(
            output(&settings, &["sh", "-c", "pwd -L"]).trim_end(),
            path.to_str().unwrap()
        );
        assert_eq!(
            output(&settings, &["sh", "-c", "pwd -P"]).trim_end(),
            names.here().canonicalize().unwrap().to_str().unwrap()
        );
        let (root, here) = (names.root.clone(), names.here.clone());
        drop(names);
        assert!(!root.exists() && here.exists());
    }

    #[test]
    fn sessions_have_directories_of_their_own() {
        let [one, other] = [(); 2].map(|()| LongNames::new().unwrap());
        assert_ne!(one.root, other.root);
    }

    #[test]
    fn a_process_is_nicer() {
        let settings = Settings {
            nice: 3,
            ..Settings::default()
        };
        let nice =
            |settings: &Settings| -> i32 { output(settings, &["nice"]).trim().parse().unwrap() };
        assert_eq!(nice(&settings), (nice(&Settings::default()) + 3).min(19));
    }
}
