//! What a command says, as much of it as is kept: the beginning and the end of each stream, so that megabytes cost no memory.

use std::fs::File;
use std::io::{self, ErrorKind, Read, Write};
use std::path::{Path, PathBuf};

/// How much is kept of the beginning, and of the end.
const KEPT: usize = 1 << 20;
/// What is read at once.
const PIECE: usize = 1 << 16;
/// What is still read of a command that ended: more is what others say that it left behind.
const AFTERWARDS: usize = 16 << 20;

/// One stream.
#[derive(Debug, Default)]
pub struct Stream {
    head: Vec<u8>,
    tail: Vec<u8>,
    bytes: u64,
    copy: Option<Copy>,
}

/// A file that all of a stream goes to; it is made when there is something to put into it.
#[derive(Debug)]
struct Copy {
    path: PathBuf,
    file: Option<File>,
    failed: Option<io::Error>,
}

impl Copy {
    fn take(&mut self, bytes: &[u8]) {
        if self.failed.is_some() {
            return;
        }
        let file = match &mut self.file {
            Some(file) => Ok(file),
            none => File::create_new(&self.path).map(|file| none.insert(file)),
        };
        self.failed = file.and_then(|file| file.write_all(bytes)).err();
    }
}

impl Stream {
    /// Reads what is there, without waiting; whether more may come.
    pub fn drain(&mut self, from: &mut impl Read) -> bool {
        let mut piece = [0; PIECE];
        let mut read = 0;
        while read < AFTERWARDS {
            match from.read(&mut piece) {
                Ok(0) => return false,
                Ok(number) => {
                    self.take(&piece[..number]);
                    read += number;
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return error.kind() == ErrorKind::WouldBlock,
            }
        }
        true
    }

    fn take(&mut self, mut bytes: &[u8]) {
        self.bytes += bytes.len() as u64;
        if let Some(copy) = &mut self.copy {
            copy.take(bytes);
        }
        let room = KEPT.saturating_sub(self.head.len()).min(bytes.len());
        self.head.extend(&bytes[..room]);
        bytes = &bytes[room..];
        self.tail.extend(bytes);
        // Now and then, so that few bytes are moved often.
        if self.tail.len() > 2 * KEPT {
            self.tail.drain(..self.tail.len() - KEPT);
        }
    }

    /// How much there was.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The beginning and the end as text; of little the end is empty. What is not UTF-8 is replaced.
    pub fn parts(&self) -> [String; 2] {
        let whole = self.head.len() + self.tail.len();
        match self.bytes == whole as u64 {
            true => [
                String::from_utf8_lossy(&[&self.head[..], &self.tail].concat()).into_owned(),
                String::new(),
            ],
            false => {
                [&self.head, &self.tail].map(|part| String::from_utf8_lossy(part).into_owned())
            }
        }
    }

    /// The last lines, at most so many bytes of them.
    pub fn last(&self, most: usize) -> String {
        let whole = [&self.head[..], &self.tail].concat();
        String::from_utf8_lossy(&whole[whole.len().saturating_sub(most)..])
            .trim()
            .to_owned()
    }
}

/// Both streams of a run.
#[derive(Debug, Default)]
pub struct Output {
    /// Standard output.
    pub out: Stream,
    /// Standard error.
    pub error: Stream,
}

impl Output {
    /// All of both will go to files in `directory`, `NUMBER.out` and `NUMBER.err`; what says nothing has none.
    pub fn kept(directory: &Path, number: usize) -> Output {
        let stream = |ending: &str| Stream {
            copy: Some(Copy {
                path: directory.join(format!("{number:05}.{ending}")),
                file: None,
                failed: None,
            }),
            ..Stream::default()
        };
        Output {
            out: stream("out"),
            error: stream("err"),
        }
    }

    /// Whether all of it was kept that should be.
    ///
    /// # Errors
    /// The first of writing, with the file's name.
    pub fn is_kept(&mut self) -> io::Result<()> {
        for stream in [&mut self.out, &mut self.error] {
            if let Some((path, error)) =
                (stream.copy.as_mut()).and_then(|copy| Some((&copy.path, copy.failed.take()?)))
            {
                let text = format!("{}: cannot write: {error}", path.display());
                return Err(io::Error::new(error.kind(), text));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_of_it_goes_to_files_or_it_is_said_why_not() {
        let directory = tempfile::tempdir().unwrap();
        let mut output = Output::kept(directory.path(), 7);
        let text = vec![b'x'; 5 * KEPT];
        assert!(!output.out.drain(&mut &text[..]));
        output.is_kept().unwrap();
        let file = directory.path().join("00007.out");
        assert_eq!(std::fs::read(&file).unwrap(), text);
        assert!(!directory.path().join("00007.err").exists());
        // Nothing is overwritten, and the run is read to its end all the same.
        let mut again = Output::kept(directory.path(), 7);
        assert!(!again.out.drain(&mut &b"other"[..]));
        let error = again.is_kept().unwrap_err().to_string();
        assert!(error.contains("00007.out: cannot write"), "{error}");
        assert_eq!(again.out.bytes(), 5);
    }

    #[test]
    fn beginning_and_end_are_kept_of_any_length() {
        for bytes in [0, 100, KEPT + 1, 9 * KEPT] {
            let mut text = vec![b'x'; bytes];
            text.extend(b"time: 17");
            text.splice(0..0, *b"begin ");
            let mut stream = Stream::default();
            assert!(!stream.drain(&mut &text[..]));
            let [head, tail] = stream.parts();
            assert_eq!(stream.bytes(), text.len() as u64);
            assert!(head.starts_with("begin ") && format!("{head}{tail}").ends_with("time: 17"));
            assert!(head.len() + tail.len() <= 3 * KEPT + 1);
            assert!(stream.last(8) == "time: 17");
        }
    }
}
