//! Whatever the user names, as one [`FixedWork`]: told apart by content, read with suspicion.

use super::{FixedWork, SCHEMA, ends, hist};
use crate::Error;
use crate::document::{self, Document};
use crate::text::shown;
use std::path::{Path, PathBuf};

/// Some thousand histograms; a table has some KiB.
const DOCUMENT: Document = Document {
    schema: SCHEMA,
    max_bytes: 256 << 20,
    holds: "histograms of fixed work, some MiB",
};

/// Reads all `paths`; each histogram knows which it comes from. Where several have facts of a machine, the first's count.
///
/// # Errors
/// If one cannot be read or holds something else.
pub fn open(paths: &[PathBuf]) -> Result<FixedWork, Error> {
    let mut all: Option<FixedWork> = None;
    for path in paths {
        let read = parse(path, &document::bytes(path, &DOCUMENT)?)?;
        match &mut all {
            None => all = Some(read),
            Some(all) => {
                all.histograms.extend(read.histograms);
                all.smear_ends.extend(read.smear_ends);
                all.missing.extend(read.missing);
            }
        }
    }
    Ok(all.unwrap_or_default())
}

/// Reads one file from memory; `path` is for messages, and where it comes from.
///
/// # Errors
/// If it is none of the three kinds, or a bad one.
pub fn parse(path: &Path, bytes: &[u8]) -> Result<FixedWork, Error> {
    document::bounded(path, bytes, &DOCUMENT)?;
    let mut read = if bytes.trim_ascii_start().starts_with(b"{") {
        from_json(path, bytes)?
    } else if is_ends(bytes) {
        FixedWork {
            smear_ends: ends::parse(path, bytes)?,
            ..FixedWork::default()
        }
    } else {
        FixedWork {
            histograms: vec![hist::parse(path, bytes)?],
            ..FixedWork::default()
        }
    };
    read.schema = SCHEMA.into();
    let origin = shown(path);
    for histogram in &mut read.histograms {
        histogram.origin.clone_from(&origin);
    }
    for end in &mut read.smear_ends {
        end.origin.clone_from(&origin);
    }
    Ok(read)
}

/// Whether the first line that is no comment names the columns of a table of ends.
fn is_ends(bytes: &[u8]) -> bool {
    let mut lines = bytes.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii);
    let first = lines.find(|line| !line.is_empty() && !line.starts_with(b"#"));
    first.is_some_and(|line| line.starts_with(ends::COLUMNS[0].as_bytes()))
}

fn from_json(path: &Path, bytes: &[u8]) -> Result<FixedWork, Error> {
    let refuse = |found: String, expected: &str| Error::File {
        path: path.into(),
        found,
        expected: expected.into(),
    };
    let read: FixedWork = document::parse(path, bytes, &DOCUMENT)?;
    for (number, histogram) in read.histograms.iter().enumerate() {
        if let Some(expected) = histogram.fault() {
            return Err(refuse(format!("histogram {number} with others"), expected));
        }
    }
    let sound =
        |end: &super::SmearEnd| end.work_us > 0.0 && end.end_us >= end.work_us && end.end_us < 1e12;
    if !read.smear_ends.iter().all(sound) {
        return Err(refuse(
            "smear_ends with others".into(),
            "smears that end after the work, below 1e12 us",
        ));
    }
    Ok(read)
}

#[cfg(test)]
mod tests {
    use super::super::{Bin, Histogram};
    use super::*;
    use proptest::prelude::*;

    fn measured() -> FixedWork {
        FixedWork {
            schema: SCHEMA.into(),
            tool: "bandscope 0.1.0".into(),
            histograms: vec![Histogram {
                cpu: Some(1),
                kernel: "mulss80".into(),
                work_us: Some(5.0),
                samples: 3,
                bins: vec![(5000.0, 5002.5, 2).into(), (9000.0, 9004.0, 1).into()],
                ..Histogram::default()
            }],
            ..FixedWork::default()
        }
    }

    fn read(it: &FixedWork) -> Result<FixedWork, Error> {
        let json = serde_json::to_vec(it).unwrap();
        parse(Path::new("it.json"), &json)
    }

    #[test]
    fn what_is_written_reads_back() {
        let mut expected = measured();
        expected.histograms[0].origin = "it.json".into();
        assert_eq!(read(&measured()).unwrap(), expected);
        let json = serde_json::to_string(&measured().histograms[0].bins).unwrap();
        assert_eq!(json, "[[5000.0,5002.5,2],[9000.0,9004.0,1]]");
    }

    #[test]
    fn kinds_are_told_apart_by_content() {
        let kind = |text: &str| {
            let it = parse(Path::new("it"), text.as_bytes()).unwrap();
            (it.histograms.len(), it.smear_ends.len())
        };
        assert_eq!(kind("# c\n5 1\n6 1\n"), (1, 0));
        assert_eq!(kind("# c\nwork_us smear_end_us\n5 30\n"), (0, 1));
        assert_eq!(kind("{\"schema\":\"bandscope.histogram/1\"}"), (0, 0));
    }

    #[test]
    fn what_nothing_can_be_computed_from_is_refused() {
        let with = |change: &dyn Fn(&mut Histogram)| {
            let mut it = measured();
            change(&mut it.histograms[0]);
            read(&it).unwrap_err().to_string()
        };
        assert!(with(&|it| it.samples = 4).contains("as many samples"));
        assert!(with(&|it| it.bins.swap(0, 1)).contains("bins that ascend"));
        assert!(with(&|it| it.bins[0].to_ns = 1e300).contains("1e15"));
        assert!(with(&|it| it.absent = vec![(5.0, 1.0)]).contains("absent"));
        assert!(with(&|it| it.work_us = Some(-1.0)).contains("above 0"));
        assert!(with(&|it| it.bins[1] = Bin::from((f64::NAN, 9.0, 1))).contains("it.json:1"));
        let newer = br#"{"schema":"bandscope.histogram/2"}"#;
        let error = parse(Path::new("it.json"), newer).unwrap_err().to_string();
        assert!(error.contains("bandscope.histogram/2"), "{error}");
    }

    proptest! {
        #[test]
        fn any_bytes_read_or_are_an_error(text in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = parse(Path::new("it"), &text);
            let _ = parse(Path::new("it"), &[b"{", &text[..]].concat());
        }

        #[test]
        fn any_numbers_read_or_are_an_error(
            bins in prop::collection::vec((any::<f64>(), any::<f64>(), any::<u64>()), 0..4),
            absent in prop::collection::vec((any::<f64>(), any::<f64>()), 0..3),
            samples in any::<u64>(), seconds in any::<f64>()
        ) {
            let mut it = measured();
            let histogram = &mut it.histograms[0];
            histogram.bins = bins.into_iter().map(Bin::from).collect();
            (histogram.absent, histogram.samples) = (absent, samples);
            histogram.seconds = Some(seconds);
            let _ = read(&it);
        }
    }
}
