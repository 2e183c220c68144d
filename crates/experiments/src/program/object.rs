//! Names for an address: the file that it comes from, its address there, the function around it, and the line of its source.

use super::PAGE;
use super::maps::{self, Mapping};
use addr2line::Context;
use gimli::{Dwarf, EndianRcSlice, Error, RunTimeEndian};
use object::{Object, ObjectSection, ObjectSegment, ObjectSymbol, SegmentFlags, elf};
use std::fs;
use std::ops::Range;
use std::rc::Rc;

/// The files whose code was executed.
#[derive(Default)]
pub struct Names(Vec<(Range<u64>, File)>);

impl Names {
    /// Reads the names of all files in which these addresses lie. A file that cannot be read has none.
    pub fn of(maps: &[Mapping], addresses: impl Iterator<Item = u64>) -> Names {
        let mut names = Names::default();
        for address in addresses {
            if names.file(address).is_none()
                && let Some(mapping) = maps::at(maps, address)
            {
                names
                    .0
                    .push((mapping.begin..mapping.end, File::of(mapping)));
            }
        }
        names
    }

    fn file(&self, address: u64) -> Option<&File> {
        self.0
            .iter()
            .find(|(range, _)| range.contains(&address))
            .map(|(_, file)| file)
    }

    /// The file; empty for code that was made at run time.
    pub fn path(&self, address: u64) -> &str {
        self.file(address).map_or("", |file| file.path.as_str())
    }

    /// The address as the file has it (as `objdump -d` prints it).
    pub fn address(&self, address: u64) -> u64 {
        self.file(address)
            .map_or(address, |file| file.address(address))
    }

    /// The function around an address of the process.
    pub fn function(&self, address: u64) -> Option<&str> {
        self.file(address)?.function(address)
    }

    /// Where its source has it, as in `/src/ring.c:34`: of what was inlined the innermost line. `None` without debug information.
    pub fn source(&self, address: u64) -> Option<String> {
        let file = self.file(address)?;
        let place = file.lines.as_ref()?.find_location(file.address(address));
        let place = place.ok()??;
        Some(format!("{}:{}", place.file?, place.line?))
    }
}

/// Function and line of source of each address, in an executable file of these bytes that is mapped from its beginning at 0.
/// Bytes are untrusted; `fuzz/` gives any.
pub fn names_in_file(bytes: &[u8], addresses: &[u64]) -> Vec<(Option<String>, Option<String>)> {
    let mapping = Mapping {
        end: u64::MAX,
        ..Mapping::default()
    };
    let names = Names(vec![(0..u64::MAX, File::parse(&mapping, bytes))]);
    let named = |address: &u64| {
        let function = names.function(*address).map(str::to_owned);
        (function, names.source(*address))
    };
    addresses.iter().map(named).collect()
}

/// Lines of source by address.
type Lines = Context<EndianRcSlice<RunTimeEndian>>;

/// One of them.
#[derive(Default)]
struct File {
    path: String,
    /// What is added to an address of the process for one of the file.
    shift: i64,
    /// Its functions: address, size, name.
    functions: Vec<(u64, u64, String)>,
    lines: Option<Lines>,
}

impl File {
    fn of(mapping: &Mapping) -> File {
        match fs::metadata(&mapping.path).is_ok_and(|file| file.is_file()) {
            true => File::parse(mapping, &content(&mapping.path).unwrap_or_default()),
            false => File::default(),
        }
    }

    /// Names of what was mapped from a file with these bytes; addresses alone where it is none that can be read.
    fn parse(mapping: &Mapping, bytes: &[u8]) -> File {
        let mut names = File {
            path: mapping.path.clone(),
            shift: (mapping.offset as i64).wrapping_sub_unsigned(mapping.begin),
            ..File::default()
        };
        let Ok(file) = object::File::parse(bytes) else {
            return names;
        };
        names.lines = lines(&file);
        // A mapping begins with a page, which the end of the segment before may be in as well.
        let segment = file.segments().find(|segment| {
            let (begin, size) = segment.file_range();
            let page = begin & !(PAGE - 1);
            is_executable(segment) && (page..begin.saturating_add(size)).contains(&mapping.offset)
        });
        if let Some(segment) = segment {
            names.shift = names
                .shift
                .wrapping_add_unsigned(segment.address())
                .wrapping_sub_unsigned(segment.file_range().0);
        }
        let symbols = file.symbols().chain(file.dynamic_symbols());
        let functions = symbols
            .filter(|symbol| symbol.kind() == object::SymbolKind::Text && symbol.is_definition());
        names.functions = functions
            .filter_map(|symbol| {
                Some((
                    symbol.address(),
                    symbol.size(),
                    symbol.name().ok()?.to_owned(),
                ))
            })
            .collect();
        names
    }

    fn address(&self, address: u64) -> u64 {
        address.wrapping_add_signed(self.shift)
    }

    fn function(&self, address: u64) -> Option<&str> {
        let at = self.address(address);
        let around = self
            .functions
            .iter()
            .filter(|(begin, size, _)| (*begin..begin.saturating_add(*size)).contains(&at));
        around
            .max_by_key(|(begin, _, _)| *begin)
            .map(|(_, _, name)| name.as_str())
    }
}

fn is_executable<'a>(segment: &impl ObjectSegment<'a>) -> bool {
    matches!(segment.flags(), SegmentFlags::Elf { p_flags } if p_flags & elf::PF_X != 0)
}

/// What a file itself says of its source; nothing of another file with debug information, and of compressed ones.
fn lines(file: &object::File<'_>) -> Option<Lines> {
    let section = |name: &str| file.section_by_name(name)?.uncompressed_data().ok();
    let dwarf = Dwarf::load(|id| {
        let data = Rc::from(section(id.name()).unwrap_or_default());
        Ok::<_, Error>(EndianRcSlice::new(data, RunTimeEndian::Little))
    });
    Context::from_dwarf(dwarf.ok()?).ok()
}

/// A file's content, if it is not too much.
fn content(path: &str) -> Option<Vec<u8>> {
    /// Larger ones have addresses and no names.
    const MOST: u64 = 512 << 20;
    let file = fs::metadata(path).ok()?;
    (file.len() <= MOST).then(|| fs::read(path).ok()).flatten()
}
