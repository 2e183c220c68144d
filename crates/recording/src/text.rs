//! Untrusted text, made fit for a message.
//!
//! What stands in a file may hold anything: terminal escapes, line feeds, a gigabyte. Whatever of it
//! is shown goes through here first. So do the names of files, which may hold anything but a zero.

use crate::events::is_visible;
use std::fmt::Write as _;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// How many characters of a file a message quotes.
const QUOTED_CHARACTERS: usize = 40;

/// `bytes` in quotation marks, cut after 40 characters, with everything escaped that is not a visible
/// character: control characters, invisible ones, what is not UTF-8.
pub fn quoted(bytes: &[u8]) -> String {
    quoted_within(bytes, QUOTED_CHARACTERS)
}

/// The same, cut after so many characters.
pub(crate) fn quoted_within(bytes: &[u8], most: usize) -> String {
    // Four bytes hold any character, so nothing beyond this is looked at, however long the text is.
    let head = &bytes[..bytes.len().min(4 * most + 4)];
    let text = String::from_utf8_lossy(head);
    let mut quoted = String::from("\"");
    for character in text.chars().take(most) {
        match character {
            // The mark for what is not UTF-8 shows itself.
            '\u{fffd}' => quoted.push(character),
            _ => quoted.extend(character.escape_debug()),
        }
    }
    let shown_all = head.len() == bytes.len() && text.chars().count() <= most;
    quoted.push_str(if shown_all { "\"" } else { "...\"" });
    quoted
}

/// The longest word of a message, in characters: no name of a file is longer. A path may be.
const MAX_WORD: usize = 256;
const MAX_PATH: usize = 1000;
/// The longest line of a message.
const MAX_LINE: usize = 2000;
/// How much is left of the end of what is cut: there are quotation marks, and what was expected.
const END_OF_WORD: usize = 8;
const END_OF_LINE: usize = 800;

/// A line of a message, with its long words cut, and then itself: what was typed or found may have any length.
pub fn shortened(line: &str) -> String {
    let word = |word: &str| match word.contains('/') {
        true => cut(word, MAX_PATH, END_OF_WORD),
        false => cut(word, MAX_WORD, END_OF_WORD),
    };
    let words: Vec<String> = line.split(' ').map(word).collect();
    cut(&words.join(" "), MAX_LINE, END_OF_LINE)
}

/// Text of at most so many characters, but for the mark where it is cut, so many before its end.
fn cut(text: &str, most: usize, end: usize) -> String {
    let number = text.chars().count();
    if number <= most {
        return text.to_owned();
    }
    let first = text.chars().take(most - end);
    first
        .chain("...".chars())
        .chain(text.chars().skip(number - end))
        .collect()
}

/// A path on one line, without loss: as it is where all of it is visible, else as bash, zsh and ksh take it back, `$'a\xff\x0a'`.
pub fn shown(path: &Path) -> String {
    let bytes = path.as_os_str().as_bytes();
    match std::str::from_utf8(bytes) {
        Ok(text) if text.chars().all(is_visible) && !text.starts_with(ESCAPED) => text.into(),
        _ => in_dollar_quotes(bytes),
    }
}

/// How a word begins that [`shown`] had to escape.
const ESCAPED: &str = "$'";

fn in_dollar_quotes(bytes: &[u8]) -> String {
    let mut word = String::from(ESCAPED);
    for chunk in bytes.utf8_chunks() {
        for character in chunk.valid().chars() {
            match character {
                '\\' | '\'' => word.extend(['\\', character]),
                _ if is_visible(character) => word.push(character),
                _ => push_hex(&mut word, character.encode_utf8(&mut [0; 4]).as_bytes()),
            }
        }
        push_hex(&mut word, chunk.invalid());
    }
    word.push('\'');
    word
}

/// Appends `\xNN` for each byte.
pub(crate) fn push_hex(text: &mut String, bytes: &[u8]) {
    for byte in bytes {
        // Writing to a string does not fail.
        let _ = write!(text, "\\x{byte:02x}");
    }
}

/// What [`shown`] made of a path, as a word of a command. Of other text it is none: who names a task could end the word.
pub fn shell_word(word: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "_-./:,+@%".contains(c);
    let is_escaped = word.starts_with(ESCAPED) && word.ends_with('\'');
    match is_escaped || !word.is_empty() && word.chars().all(is_plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::OsStr;

    #[test]
    fn a_path_is_shown_on_one_line_and_without_loss() {
        for (bytes, wanted) in [
            (&b"a b.dat"[..], "a b.dat"),
            ("h\u{e9}".as_bytes(), "h\u{e9}"),
            (b"a\x1b[2J\nb", r"$'a\x1b[2J\x0ab'"),
            (b"\xff's\\", r"$'\xff\'s\\'"),
            (b"$'a'", r"$'$\'a\''"),
        ] {
            let path = shown(Path::new(OsStr::from_bytes(bytes)));
            assert_eq!(path, wanted);
            let word = shell_word(&path);
            // What a shell makes of it is the path again.
            let echo = std::process::Command::new("bash")
                .args(["-c", &format!("printf %s {word}")])
                .output();
            match echo {
                Ok(echo) => assert_eq!(echo.stdout, bytes, "{word}"),
                Err(_) => println!("SKIPPED: no bash"),
            }
        }
    }

    #[test]
    fn long_words_and_lines_are_cut_where_nothing_is_said() {
        let usual = format!("found {:?}, expected a rate such as 10kHz", "9".repeat(200));
        assert_eq!(shortened(&usual), usual);
        let path = format!("/{}/x: cannot read", "d".repeat(900));
        assert_eq!(shortened(&path), path);
        for long in ["é".repeat(100_000), "é ".repeat(50_000)] {
            let line = shortened(&format!("found {long:?}, expected a rate such as 10kHz"));
            assert!(line.chars().count() <= MAX_LINE + 3, "{line}");
            assert!(line.starts_with("found \"é"), "{line}");
            assert!(
                line.ends_with("\", expected a rate such as 10kHz"),
                "{line}"
            );
        }
    }

    #[test]
    fn control_characters_are_escaped_and_length_is_bounded() {
        assert_eq!(quoted(b"12 7"), "\"12 7\"");
        assert_eq!(quoted(b"\x1b[2J\n\0"), "\"\\u{1b}[2J\\n\\0\"");
        assert_eq!(quoted(b"a\"b"), "\"a\\\"b\"");
        assert_eq!(quoted("\u{202e}x".as_bytes()), "\"\\u{202e}x\"");
        assert_eq!(quoted(&[0xff, b'1']), "\"\u{fffd}1\"");
        let long = quoted(&vec![b'x'; 1 << 20]);
        assert_eq!(long, format!("\"{}...\"", "x".repeat(40)));
        assert_eq!(quoted("é".repeat(40).as_bytes()).chars().count(), 42);
    }
}
