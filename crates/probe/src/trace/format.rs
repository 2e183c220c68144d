//! How the kernel lays out the record of a tracepoint: the `format` file in tracefs, parsed.
//!
//! Documentation/trace/events.rst. Offsets differ between kernels, so they are read and never assumed. What is read
//! comes from another program, and is checked against each record before it is used.

/// One field of a record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field {
    /// As in `prev_pid`.
    pub name: String,
    offset: usize,
    size: usize,
    signed: bool,
    /// It holds where in the record a text is, and how long.
    located: bool,
    /// It is an array of characters.
    is_text: bool,
}

/// The fields of a tracepoint's records.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Format {
    /// Number of the tracepoint: `common_type` of its records, and what perf_event_open(2) asks for.
    pub id: u16,
    fields: Vec<Field>,
}

impl Format {
    /// Parses a `format` file; `None` if it is none.
    pub fn parse(text: &str) -> Option<Format> {
        let mut id = None;
        let mut fields = Vec::new();
        for line in text.lines() {
            let line = line.trim();
            if let Some(number) = line.strip_prefix("ID:") {
                id = number.trim().parse().ok();
            } else if line.starts_with("field:") {
                fields.push(Field::parse(line)?);
            }
        }
        Some(Format { id: id?, fields })
    }

    /// Its own fields, without those that every record has.
    pub fn own(&self) -> impl Iterator<Item = &Field> {
        let is_own = |field: &&Field| !field.name.starts_with("common_");
        self.fields.iter().filter(is_own)
    }

    /// The field of this name.
    pub fn field(&self, name: &str) -> Option<&Field> {
        self.fields.iter().find(|field| field.name == name)
    }
}

impl Field {
    /// Parses `field:TYPE NAME; offset:N; size:N; signed:N;`.
    fn parse(line: &str) -> Option<Field> {
        let mut parts = line.split(';').map(str::trim);
        let declaration = parts.next()?.strip_prefix("field:")?;
        let mut number = |key: &str| parts.next()?.strip_prefix(key)?.parse::<usize>().ok();
        let (offset, size) = (number("offset:")?, number("size:")?);
        // Old kernels do not say.
        let signed = number("signed:").is_some_and(|signed| signed != 0);
        let name = declaration.rsplit([' ', '*']).next()?;
        let name = name.split('[').next()?;
        (!name.is_empty()).then(|| Field {
            name: name.to_owned(),
            offset,
            size,
            signed,
            located: declaration.starts_with("__data_loc"),
            is_text: declaration.contains("char") && declaration.contains('['),
        })
    }

    fn bytes<'a>(&self, record: &'a [u8]) -> Option<&'a [u8]> {
        record.get(self.offset..self.offset.checked_add(self.size)?)
    }

    /// Its value; `None` if the record is too short for it, or it is no number.
    pub fn number(&self, record: &[u8]) -> Option<i64> {
        let bytes = self.bytes(record)?;
        let mut word = [0; 8];
        word.get_mut(..bytes.len())?.copy_from_slice(bytes);
        if cfg!(target_endian = "big") || !matches!(bytes.len(), 1 | 2 | 4 | 8) {
            return None;
        }
        let unused = 64 - 8 * bytes.len() as u32;
        let word = u64::from_le_bytes(word) << unused;
        Some(match self.signed {
            true => word as i64 >> unused,
            false => (word >> unused) as i64,
        })
    }

    /// Its bytes, wherever in the record they are; `None` if it is too short for them.
    pub fn blob<'a>(&self, record: &'a [u8]) -> Option<&'a [u8]> {
        if self.located {
            // Length in the upper half, offset in the lower.
            let place = u32::from_le_bytes(self.bytes(record)?.try_into().ok()?);
            let (offset, length) = ((place & 0xffff) as usize, (place >> 16) as usize);
            record.get(offset..offset + length)
        } else {
            self.bytes(record)
        }
    }

    /// `NAME=VALUE` as people read it; nothing of what is neither a number nor a text.
    pub fn written(&self, record: &[u8], into: &mut Vec<u8>) {
        let value = match self.is_text {
            true => self.text(record).map(<[u8]>::to_vec),
            // As many bytes as an address has.
            false if self.size == 8 && !self.signed => {
                let address = |number| format!("{:#x}", number as u64).into_bytes();
                self.number(record).map(address)
            }
            false => self
                .number(record)
                .map(|number| number.to_string().into_bytes()),
        };
        if let Some(value) = value {
            into.extend_from_slice(format!(" {}=", self.name).as_bytes());
            into.extend_from_slice(&value);
        }
    }

    /// Its text up to the first 0; `None` if the record is too short for it.
    pub fn text<'a>(&self, record: &'a [u8]) -> Option<&'a [u8]> {
        self.blob(record)?.split(|&byte| byte == 0).next()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FORMAT: &str = "name: irq_handler_entry
ID: 225
format:
\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;
\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;

\tfield:int irq;\toffset:8;\tsize:4;\tsigned:1;
\tfield:__data_loc char[] name;\toffset:12;\tsize:4;\tsigned:0;
\tfield:char next_comm[16];\toffset:16;\tsize:16;\tsigned:0;
\tfield:void *handler;\toffset:32;\tsize:8;\tsigned:0;

print fmt: \"irq=%d name=%s\", REC->irq, __get_str(name)
";

    fn record() -> Vec<u8> {
        let mut record = vec![0; 48];
        record[0] = 225;
        record[4..8].copy_from_slice(&(-1i32).to_le_bytes());
        record[8] = 24;
        record[12..16].copy_from_slice(&((8 << 16 | 40) as u32).to_le_bytes());
        record[16..32].copy_from_slice(b"sixteen bytes xx");
        record[40..47].copy_from_slice(b"virtio0");
        record
    }

    #[test]
    fn fields_are_found_where_the_kernel_says() {
        let format = Format::parse(FORMAT).unwrap();
        assert_eq!(format.id, 225);
        let (record, field) = (record(), |name| format.field(name).unwrap());
        assert_eq!(field("irq").number(&record), Some(24));
        assert_eq!(field("common_pid").number(&record), Some(-1));
        assert_eq!(field("common_type").number(&record), Some(225));
        assert_eq!(field("name").text(&record), Some(&b"virtio0"[..]));
        assert_eq!(
            field("next_comm").text(&record),
            Some(&b"sixteen bytes xx"[..])
        );
        assert_eq!(field("handler").number(&record), Some(0));
        assert_eq!(format.field("pid"), None);
    }

    #[test]
    fn fields_are_written_as_people_read_them() {
        let format = Format::parse(FORMAT).unwrap();
        let mut text = Vec::new();
        format
            .own()
            .for_each(|field| field.written(&record(), &mut text));
        let wanted = b" irq=24 name=virtio0 next_comm=sixteen bytes xx handler=0x0";
        assert_eq!(text, wanted);
        let mut short = Vec::new();
        format
            .own()
            .for_each(|field| field.written(&record()[..14], &mut short));
        assert_eq!(short, b" irq=24", "what is cut off is left out");
    }

    #[test]
    fn a_record_that_is_too_short_has_no_value() {
        let format = Format::parse(FORMAT).unwrap();
        let whole = record();
        for length in 0..whole.len() {
            let short = &whole[..length];
            for field in &format.fields {
                let end = field.offset + field.size;
                assert!(end <= length || field.number(short).is_none(), "{field:?}");
                assert!(end <= length || field.text(short).is_none(), "{field:?}");
            }
        }
        // A text that lies beyond the record.
        let mut wild = whole;
        wild[12..16].copy_from_slice(&u32::MAX.to_le_bytes());
        assert_eq!(format.field("name").unwrap().text(&wild), None);
        assert_eq!(format.field("next_comm").unwrap().number(&wild), None);
    }

    #[test]
    fn what_is_no_format_is_refused() {
        for text in [
            "",
            "ID: x",
            "ID: 99999999",
            "ID: 3\n\tfield:int a; offset:-1; size:4;",
            "ID: 3\n\tfield:int a; size:4; offset:4;",
            "ID: 3\n\tfield:;",
            "ID: 3\n\tfield:int [4]; offset:0; size:4;",
        ] {
            assert_eq!(Format::parse(text), None, "{text}");
        }
        let huge = format!(
            "ID: 3\n\tfield:int a; offset:{}; size:{};",
            usize::MAX,
            usize::MAX
        );
        let huge = Format::parse(&huge).unwrap();
        assert_eq!(huge.field("a").unwrap().number(&[0; 8]), None);
    }
}
