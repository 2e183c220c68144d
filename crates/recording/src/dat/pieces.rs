//! A file of moderate size, read and parsed by all CPUs: in pieces, each of which has the lines that begin in it.

use crate::dat::kept::Rows;
use crate::dat::line::{Line, parse, usual_row};
use crate::dat::lines::MAX_LINE;
use crate::dat::scan::follows;
use rayon::prelude::*;
use std::fs::File;
use std::os::unix::fs::FileExt;

/// Bytes of a piece.
const PIECE_BYTES: u64 = 1 << 19;
/// Largest file that is read so: about as many rows as are kept.
const MAX_BYTES: u64 = 32 << 20;

/// What the lines that begin in a piece say.
#[derive(Debug, Default)]
pub struct Piece {
    /// The rows.
    pub rows: Rows,
    /// Each comment, and the number of rows before it.
    pub comments: Vec<(usize, Vec<u8>)>,
    /// The last line lacks its line feed.
    pub is_cut: bool,
}

/// The pieces of `file` in order. `None` of a long file, and of one that [`crate::dat::scan`] would refuse, whose error names the line.
pub fn read(file: &File) -> Option<Vec<Piece>> {
    let bytes = file.metadata().ok()?.len();
    if !(1..=MAX_BYTES).contains(&bytes) {
        return None;
    }
    let number = bytes.div_ceil(PIECE_BYTES);
    let pieces = (0..number).into_par_iter().map(|piece| {
        let from = piece * PIECE_BYTES;
        read_piece(file, from, (from + PIECE_BYTES).min(bytes), bytes)
    });
    let pieces: Vec<Piece> = pieces.collect::<Option<_>>()?;
    let mut last = (0, 0);
    let mut rows = pieces.iter().map(|piece| &piece.rows);
    let in_order = rows.all(|rows| {
        let follows = rows.times.first().is_none_or(|&first| follows(last, first));
        let ends = rows.times.last().copied().zip(rows.counts.last().copied());
        last = ends.unwrap_or(last);
        follows
    });
    in_order.then_some(pieces)
}

/// The lines that begin from `from` up to `to`, in a file of so many bytes.
fn read_piece(file: &File, from: u64, to: u64, bytes: u64) -> Option<Piece> {
    // A line begins behind a line feed, which may be the last byte of the piece before.
    let first = from.saturating_sub(1);
    let until = (to + MAX_LINE as u64).min(bytes);
    let mut text = vec![0; (until - first) as usize];
    file.read_exact_at(&mut text, first).ok()?;
    let mut at = match from {
        0 => 0,
        _ => text.iter().position(|&byte| byte == b'\n')? + 1,
    };
    let end = (to - first) as usize;
    let mut piece = Piece::default();
    let mut last = (0, 0);
    while at < end {
        let rest = &text[at..];
        let (time, count) = if let Some((time, count, length)) = usual_row(rest) {
            at += length;
            (time, count)
        } else {
            let feed = rest.iter().position(|&byte| byte == b'\n');
            piece.is_cut = feed.is_none();
            if feed.unwrap_or(rest.len()) > MAX_LINE || (feed.is_none() && until < bytes) {
                return None;
            }
            let line = feed.map_or(rest, |feed| &rest[..feed]);
            at += line.len() + 1;
            match parse(line).ok()? {
                Line::Row(time, count) => (time, count),
                Line::Comment(comment) => {
                    let rows = piece.rows.times.len();
                    piece.comments.push((rows, comment.to_vec()));
                    continue;
                }
                Line::Blank => continue,
            }
        };
        if !follows(last, time) {
            return None;
        }
        last = (time, count);
        piece.rows.times.push(time);
        piece.rows.counts.push(count);
    }
    Some(piece)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dat::scan::{Item, scan};
    use std::io::Write;
    use std::path::Path;

    /// Rows, comments and whether the last line has a line feed.
    type Said = (Vec<(u64, u32)>, Vec<(usize, Vec<u8>)>, bool);

    fn in_pieces(text: &[u8]) -> Option<Said> {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(text).unwrap();
        let pieces = read(&file)?;
        let is_cut = pieces.last()?.is_cut;
        let (mut rows, mut comments) = (Vec::new(), Vec::new());
        for piece in pieces {
            let before = rows.len();
            let mine = piece.comments.into_iter();
            comments.extend(mine.map(|(row, comment)| (before + row, comment)));
            rows.extend(piece.rows.times.into_iter().zip(piece.rows.counts));
        }
        Some((rows, comments, !is_cut))
    }

    fn at_once(text: &[u8]) -> Said {
        let (mut rows, mut comments) = (Vec::new(), Vec::new());
        let terminated = scan(Path::new("x.dat"), text, |item| match item {
            Item::Row(time, count) => rows.push((time, count)),
            Item::Comment(comment) => comments.push((rows.len(), comment.to_vec())),
        });
        (rows, comments, terminated.unwrap())
    }

    /// Lines of many lengths, so that pieces end anywhere in one.
    fn text(bytes: usize) -> Vec<u8> {
        let mut text = b"# Frequency 10000\n".to_vec();
        let mut row = 0u64;
        while text.len() < bytes {
            row += 1;
            let time = row * 123_457;
            let line = match row % 97 {
                0 => format!("# Segment {row}\n"),
                1 => format!("\r\n  {time}\t {} \r\n", row % 13),
                2 => format!("{time} {}\n", row * row % 4_000_000_000),
                _ => format!("{time:011} {}\n", row % 1009),
            };
            text.extend_from_slice(line.as_bytes());
        }
        text
    }

    #[test]
    fn pieces_together_are_the_file() {
        let whole = text(5 * PIECE_BYTES as usize / 2);
        // Ends that lie around that of a piece, too.
        for bytes in [1, 2 * PIECE_BYTES as usize, whole.len() - 1, whole.len()] {
            let text = &whole[..bytes + whole[bytes..].iter().take(2).count()];
            let cut = text.iter().rposition(|&byte| byte == b'\n').unwrap_or(0) + 1;
            assert_eq!(in_pieces(&text[..cut]).unwrap(), at_once(&text[..cut]));
        }
        let cut = [&whole[..], b"99999999999999 5"].concat();
        let said = in_pieces(&cut).unwrap();
        assert!(!said.2);
        assert_eq!(said, at_once(&cut));
    }

    #[test]
    fn what_a_scan_refuses_is_left_to_it() {
        let good = text(2 * PIECE_BYTES as usize);
        for bad in [&b"1 2\n"[..], b"many 2\n", b"5\n", &[b'#'; MAX_LINE + 1]] {
            assert_eq!(in_pieces(&[&good, bad].concat()), None);
        }
        assert_eq!(in_pieces(b""), None);
    }
}
