//! Untrusted strings made safe to show.
//!
//! Names of tasks, files and kernels, and header lines of imported files, come from others. A terminal
//! obeys control characters (ECMA-48: C0, DEL, C1), and bidirectional and invisible format characters
//! make text read as what it is not (CVE-2021-42574), so all of them are shown as what they are.

use std::fmt::Write as _;

/// Whether a character is shown by its code: controls, bidirectional and invisible format
/// characters, line and paragraph separators, tags, and noncharacters.
fn is_unsafe(character: char) -> bool {
    character.is_control()
        || matches!(
            character,
            '\u{ad}'
                | '\u{61c}'
                | '\u{180e}'
                | '\u{200b}'..='\u{200f}'
                | '\u{2028}'..='\u{202e}'
                | '\u{2060}'..='\u{206f}'
                | '\u{fe00}'..='\u{fe0f}'
                | '\u{feff}'
                | '\u{fff0}'..='\u{fffb}'
                | '\u{fffe}'
                | '\u{ffff}'
                | '\u{e0000}'..='\u{e0fff}'
        )
}

/// Appends the code of a character, as Rust and most shells write it.
fn push_code(text: &mut String, character: char) {
    let code = u32::from(character);
    let _ = match character {
        '\n' => write!(text, "\\n"),
        '\r' => write!(text, "\\r"),
        '\t' => write!(text, "\\t"),
        _ if code < 0x100 => write!(text, "\\x{code:02x}"),
        _ => write!(text, "\\u{{{code:x}}}"),
    };
}

/// `text` on one line, without anything that a terminal would obey.
pub fn visible(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for character in text.chars() {
        if is_unsafe(character) {
            push_code(&mut safe, character);
        } else {
            safe.push(character);
        }
    }
    safe
}

/// [`visible`], and every character beyond ASCII by its code too, but for the few signs that our own
/// sentences use, which are spelt out.
pub fn visible_ascii(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            'µ' | 'μ' => safe.push('u'),
            '±' => safe.push_str("+-"),
            '×' => safe.push('x'),
            '·' | '–' | '—' | '−' => safe.push('-'),
            '…' => safe.push('~'),
            '≤' => safe.push_str("<="),
            '≥' => safe.push_str(">="),
            '≈' => safe.push('~'),
            '→' => safe.push_str("->"),
            '²' => safe.push_str("^2"),
            '\u{2009}' | '\u{202f}' | '\u{a0}' => safe.push(' '),
            _ if character.is_ascii() && !character.is_control() => safe.push(character),
            _ => push_code(&mut safe, character),
        }
    }
    safe
}

/// [`visible`] as XML character data or the value of an attribute.
pub fn xml(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for character in visible(text).chars() {
        match character {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            _ => safe.push(character),
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn controls_are_shown_by_their_code() {
        assert_eq!(visible("a\x1b[31mb\n\u{9b}"), "a\\x1b[31mb\\n\\x9b");
        assert_eq!(visible("user\u{202e}txt"), "user\\u{202e}txt");
        assert_eq!(visible("kworker/0:1-événements"), "kworker/0:1-événements");
    }

    #[test]
    fn ascii_spells_our_own_signs_and_codes_the_rest() {
        assert_eq!(visible_ascii("42 ± 1 µs, é"), "42 +- 1 us, \\xe9");
    }

    #[test]
    fn xml_cannot_be_closed_from_inside() {
        assert_eq!(
            xml("</text><script>\"'&\0"),
            "&lt;/text&gt;&lt;script&gt;&quot;&#39;&amp;\\x00"
        );
    }

    proptest! {
        #[test]
        fn nothing_that_a_terminal_obeys_is_left(text in any::<String>()) {
            let safe = visible(&text);
            prop_assert!(!safe.chars().any(|c| c.is_control()));
            let turned = safe
                .chars()
                .any(|c| matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}'));
            prop_assert!(!turned);
            prop_assert_eq!(visible(&safe), safe.clone(), "escaping twice changes nothing");
        }

        #[test]
        fn ascii_is_ascii(text in any::<String>()) {
            let safe = visible_ascii(&text);
            prop_assert!(safe.bytes().all(|byte| (b' '..=b'~').contains(&byte)));
        }

        #[test]
        fn xml_holds_no_markup(text in any::<String>()) {
            let safe = xml(&text);
            prop_assert!(!safe.contains(['<', '>', '"', '\'']));
            prop_assert!(!safe.chars().any(|c| c.is_control()));
        }
    }
}
