//! The address space of a process, from /proc/PID/maps.

use std::{fs, io};

/// One mapping.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Mapping {
    pub begin: u64,
    pub end: u64,
    /// Where it begins in its file.
    pub offset: u64,
    pub executable: bool,
    /// What is written there, other processes see.
    pub is_shared_and_written: bool,
    /// Device and inode of its file.
    pub file: String,
    /// A file, a name in brackets, or nothing.
    pub path: String,
}

impl Mapping {
    /// Whether both show the same part of a file: what is written to the one is read from the other.
    pub fn shows_the_same(&self, other: &Mapping) -> bool {
        let ends = |mapping: &Mapping| mapping.offset + (mapping.end - mapping.begin);
        self.file == other.file && self.offset < ends(other) && other.offset < ends(self)
    }

    /// Whether reading it may do something: it is neither memory nor a file.
    pub fn is_of_a_device(&self) -> bool {
        let is_memory = ["/dev/zero", "/dev/shm/", "/memfd:", "/SYSV", "["];
        let may_be_file = self.path.starts_with('/')
            && std::fs::metadata(&self.path).is_ok_and(|file| file.is_file());
        let path = self.path.as_str();
        !(path.is_empty()
            || may_be_file
            || path.ends_with(" (deleted)")
            || is_memory.iter().any(|begin| path.starts_with(begin)))
    }

    /// Whether it is the code that the kernel gives every process (vdso(7)).
    pub fn is_of_kernel(&self) -> bool {
        self.path.starts_with("[vdso]")
    }
}

/// All mappings of a process, in order.
pub fn of(process: i32) -> io::Result<Vec<Mapping>> {
    // Names of files are whatever their owner made them.
    let text = fs::read(format!("/proc/{process}/maps"))?;
    let text = String::from_utf8_lossy(&text);
    Ok(text.lines().filter_map(mapping).collect())
}

/// A line of proc_pid_maps(5): `begin-end rwxp offset device inode path`.
fn mapping(line: &str) -> Option<Mapping> {
    let mut words = line.splitn(6, ' ');
    let (begin, end) = words.next()?.split_once('-')?;
    let number = |text| u64::from_str_radix(text, 16).ok();
    let permissions = words.next()?;
    let offset = number(words.next()?)?;
    let file = format!("{} {}", words.next()?, words.next()?);
    let path = words.next().unwrap_or_default().trim().to_owned();
    Some(Mapping {
        begin: number(begin)?,
        end: number(end)?,
        offset,
        file,
        executable: permissions.contains('x'),
        is_shared_and_written: permissions.contains('w') && permissions.ends_with('s'),
        path,
    })
}

/// The mapping at an address.
pub fn at(maps: &[Mapping], address: u64) -> Option<&Mapping> {
    maps.iter()
        .find(|mapping| (mapping.begin..mapping.end).contains(&address))
}

/// The begin of `size` free bytes as near to `address` as there are, within the reach of a jump.
pub fn free_near(maps: &[Mapping], address: u64, size: u64) -> Option<u64> {
    /// Jumps and addresses relative to the instruction pointer reach 2 GiB; the loop's own data lie on either side.
    const REACH: u64 = 1 << 30;
    /// The kernel lets nobody map the first pages (vm.mmap_min_addr), and the stack grows down into a gap that it guards.
    const GUARD: u64 = 1 << 20;
    let mut free: Vec<u64> = Vec::new();
    let mut from = GUARD;
    for mapping in maps {
        if mapping.begin >= from + size + 2 * GUARD {
            free.push(from + GUARD);
            free.push(mapping.begin - size - GUARD);
        }
        from = from.max(mapping.end);
    }
    free.retain(|begin| begin.abs_diff(address) < REACH);
    free.into_iter().min_by_key(|begin| begin.abs_diff(address))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "\
555555554000-555555556000 r-xp 00001000 fe:00 123    /tmp/a file
7ffff7d00000-7ffff7d02000 rw-s 00000000 00:00 0
7ffffffde000-7ffffffff000 rw-p 00000000 00:00 0      [stack]";

    #[test]
    fn a_line_has_its_parts() {
        let maps: Vec<Mapping> = TEXT.lines().filter_map(mapping).collect();
        assert_eq!(maps.len(), 3);
        let code = at(&maps, 0x5555_5555_4010).expect("the code");
        assert_eq!(
            (code.offset, code.executable, code.path.as_str()),
            (0x1000, true, "/tmp/a file")
        );
        assert_eq!(maps[1].path, "");
        let shared: Vec<bool> = maps
            .iter()
            .map(|mapping| mapping.is_shared_and_written)
            .collect();
        assert_eq!(shared, [false, true, false]);
        assert_eq!(at(&maps, 0x5555_5555_6000), None);
    }

    #[test]
    fn what_is_free_lies_near_and_apart() {
        let maps: Vec<Mapping> = TEXT.lines().filter_map(mapping).collect();
        let begin = free_near(&maps, 0x5555_5555_4000, 0x4000).expect("there is room");
        assert_eq!(begin, 0x5555_5555_6000 + (1 << 20));
        assert_eq!(free_near(&maps[..1], 0x10, u64::MAX / 2), None);
    }
}
