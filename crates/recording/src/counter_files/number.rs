//! Numbers as `printf` writes them in any locale: thousands apart or not, a decimal point or comma.
//!
//! glibc groups by point, comma, apostrophe, blank, or one of Unicode's blanks that do not break; Indian locales in twos. A lone
//! separator before three digits is ambiguous by itself, and what is counted decides: perf prints events without decimals, and times and
//! other units with two, six or nine of them (`tools/perf/util/stat-display.c`).

/// How a lone point or comma before three digits reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lone {
    /// `1.880` are thousands.
    Thousands,
    /// `1.880` is less than two.
    Decimal,
}

/// What may stand between thousands besides point and comma. U+FFFD is what is left of a Latin-1 no-break space.
fn groups_only(c: char) -> bool {
    matches!(
        c,
        ' ' | '\'' | '\u{2019}' | '\u{a0}' | '\u{2009}' | '\u{202f}' | '\u{66c}' | '\u{fffd}'
    )
}

fn separates(c: char) -> bool {
    groups_only(c) || matches!(c, '.' | ',' | '\u{66b}')
}

/// The number at the beginning of `text`, and what follows it. A blank belongs to it only between groups of digits.
pub fn leading(text: &str) -> Option<(&str, &str)> {
    let mut end = 0;
    let mut rest = text;
    loop {
        let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        if digits == 0 {
            break;
        }
        end = text.len() - rest.len() + digits;
        rest = &rest[digits..];
        let mut after = rest.chars();
        let Some(separator) = after.next().filter(|&c| separates(c)) else {
            break;
        };
        rest = after.as_str();
        // A blank may as well end the number: three digits and no fourth must follow.
        let group = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        if separator == ' ' && group != 3 {
            break;
        }
    }
    (end > 0).then(|| text.split_at(end))
}

/// The value of a whole `text`; `None` if it is no number above or at 0, or its groups are none.
pub fn value(text: &str, lone: Lone) -> Option<f64> {
    let mut groups = vec![String::new()];
    let mut separators = Vec::new();
    for c in text.chars() {
        match c {
            '0'..='9' => groups.last_mut()?.push(c),
            c if separates(c) => {
                separators.push(c);
                groups.push(String::new());
            }
            _ => return None,
        }
    }
    if groups.iter().any(String::is_empty) {
        return None;
    }
    let decimal = match separators[..] {
        [] => false,
        [only] if groups_only(only) => false,
        [_] => groups[1].len() != 3 || groups[0].len() > 3 || lone == Lone::Decimal,
        [.., before, last] => last != before,
    };
    let thousands = separators.len() - usize::from(decimal);
    if decimal && groups_only(separators[thousands]) {
        return None;
    }
    let whole = &groups[..=thousands];
    let grouped = separators[..thousands]
        .windows(2)
        .all(|two| two[0] == two[1])
        && whole.iter().enumerate().all(|(place, digits)| {
            match (place, thousands - place) {
                (_, _) if thousands == 0 => true,
                (0, _) => digits.len() <= 3,
                (_, 0) => digits.len() == 3,
                // Of lakh and crore.
                (_, _) => matches!(digits.len(), 2 | 3),
            }
        });
    if !grouped {
        return None;
    }
    let mut plain: String = whole.concat();
    if decimal {
        plain.push('.');
        plain.push_str(&groups[thousands + 1]);
    }
    plain.parse().ok().filter(|value: &f64| value.is_finite())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn counts_of_every_locale() {
        for text in [
            "21962826744",
            "21.962.826.744",
            "21,962,826,744",
            "21 962 826 744",
            "21\u{a0}962\u{a0}826\u{a0}744",
            "21\u{202f}962\u{202f}826\u{202f}744",
            "21\u{fffd}962\u{fffd}826\u{fffd}744",
            "21'962'826'744",
            "21\u{2019}962\u{2019}826\u{2019}744",
            "21,96,28,26,744",
        ] {
            assert_eq!(
                value(text, Lone::Thousands),
                Some(21_962_826_744.0),
                "{text}"
            );
        }
        assert_eq!(value("1.880", Lone::Thousands), Some(1880.0));
        assert_eq!(value("1.880", Lone::Decimal), Some(1.88));
        assert_eq!(value("0,201556467", Lone::Thousands), Some(0.201_556_467));
    }

    #[test]
    fn times_of_every_locale() {
        for (text, expected) in [
            ("5055,207656", 5_055.207_656),
            ("5055.207656", 5_055.207_656),
            ("5.055,21", 5055.21),
            ("5,055.21", 5055.21),
            ("5 055,21", 5055.21),
            ("5\u{2019}055.21", 5055.21),
            ("1,05,055.21", 105_055.21),
            ("190,87", 190.87),
        ] {
            assert_eq!(value(text, Lone::Thousands), Some(expected), "{text}");
        }
    }

    #[test]
    fn what_is_no_number() {
        for text in [
            "",
            ".",
            "1.",
            ".5",
            "1..2",
            "1,2,3",
            "1.2345.678",
            "12'34",
            "1,234.567.8",
            "-5",
            "5e3",
            "nan",
            "0x10",
        ] {
            assert_eq!(value(text, Lone::Thousands), None, "{text}");
        }
    }

    #[test]
    fn where_a_number_ends() {
        assert_eq!(
            leading("21 962 826 744      cycles"),
            Some(("21 962 826 744", "      cycles"))
        );
        assert_eq!(leading("94 1234 x"), Some(("94", " 1234 x")));
        assert_eq!(leading("1,55 msec"), Some(("1,55", " msec")));
        assert_eq!(leading("12. x"), Some(("12", ". x")));
        assert_eq!(leading("CPU0"), None);
    }

    proptest! {
        #[test]
        fn any_text_is_a_number_or_none(text in "[0-9.,' \u{a0}é]{0,24}") {
            for lone in [Lone::Thousands, Lone::Decimal] {
                prop_assert!(value(&text, lone).is_none_or(|value| value >= 0.0 && value.is_finite()));
            }
            if let Some((number, rest)) = leading(&text) {
                prop_assert_eq!(format!("{number}{rest}"), text);
            }
        }

        #[test]
        fn what_was_grouped_reads_back(number in 0u64..1 << 50, separator in prop::sample::select(vec!['.', ',', '\'', '\u{202f}', ' '])) {
            let digits = number.to_string();
            let mut text = String::new();
            for (place, digit) in digits.chars().enumerate() {
                if place > 0 && (digits.len() - place).is_multiple_of(3) {
                    text.push(separator);
                }
                text.push(digit);
            }
            prop_assert_eq!(value(&text, Lone::Thousands), Some(number as f64));
            let line = format!("{text}      cycles");
            prop_assert_eq!(leading(&line), Some((&*text, "      cycles")));
        }
    }
}
