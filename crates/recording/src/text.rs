//! Untrusted text, made fit for a message.
//!
//! What stands in a file may hold anything: terminal escapes, line feeds, a gigabyte. Whatever of it
//! is shown goes through here first.

/// How many characters of a file a message quotes.
const QUOTED_CHARACTERS: usize = 40;

/// `bytes` in quotation marks, cut after 40 characters, with everything escaped that is not a visible
/// character: control characters, invisible ones, what is not UTF-8.
pub fn quoted(bytes: &[u8]) -> String {
    // Four bytes hold any character, so nothing beyond this is looked at, however long the text is.
    let head = &bytes[..bytes.len().min(4 * QUOTED_CHARACTERS + 4)];
    let text = String::from_utf8_lossy(head);
    let mut quoted = String::from("\"");
    for character in text.chars().take(QUOTED_CHARACTERS) {
        match character {
            // The mark for what is not UTF-8 shows itself.
            '\u{fffd}' => quoted.push(character),
            _ => quoted.extend(character.escape_debug()),
        }
    }
    let shown_all = head.len() == bytes.len() && text.chars().count() <= QUOTED_CHARACTERS;
    quoted.push_str(if shown_all { "\"" } else { "...\"" });
    quoted
}

#[cfg(test)]
mod tests {
    use super::*;

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
