//! Names for an address: the file that it comes from, its offset there, and the function around it.

use super::maps::Mapping;
use object::{Object, ObjectSegment, ObjectSymbol};
use std::fs;

/// The file of a mapping as an ELF file has it, or nothing for code that was made at run time.
#[derive(Debug, Default)]
pub struct Names {
    path: String,
    /// What is added to an address of the process for one of the file.
    shift: i64,
    /// Functions of the file: address, size, name.
    functions: Vec<(u64, u64, String)>,
}

impl Names {
    /// Reads the names of the file that a mapping shows. A file that cannot be read has none.
    pub fn of(mapping: &Mapping) -> Names {
        if !mapping.path.starts_with('/') {
            return Names::default();
        }
        let mut names = Names {
            path: mapping.path.clone(),
            shift: (mapping.offset as i64).wrapping_sub_unsigned(mapping.begin),
            ..Names::default()
        };
        let Ok(bytes) = fs::read(&mapping.path) else {
            return names;
        };
        let Ok(file) = object::File::parse(&*bytes) else {
            return names;
        };
        let segment = file.segments().find(|segment| {
            let (begin, size) = segment.file_range();
            (begin..begin + size).contains(&mapping.offset)
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

    /// The file; empty for code that was made at run time.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// The address as the file has it (as `objdump -d` prints it).
    pub fn address(&self, address: u64) -> u64 {
        address.wrapping_add_signed(self.shift)
    }

    /// The function around an address of the process.
    pub fn function(&self, address: u64) -> Option<&str> {
        let at = self.address(address);
        let around = self
            .functions
            .iter()
            .filter(|(begin, size, _)| (*begin..begin + size.max(&1)).contains(&at));
        around
            .max_by_key(|(begin, _, _)| *begin)
            .map(|(_, _, name)| name.as_str())
    }
}
