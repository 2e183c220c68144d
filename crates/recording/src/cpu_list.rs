//! Lists and masks of CPUs, as the operating system writes them: `0-3,8`, `ff,00000001`. Untrusted ones are read up to a bound.

/// CPUs of a list or a mask that are read at most: more than machines have.
const MAX_CPUS: usize = 1 << 16;

/// The CPUs of a list.
pub fn parse(list: &str) -> Vec<u32> {
    let range = |part: &str| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        Some(first.trim().parse().ok()?..=last.trim().parse().ok()?)
    };
    list.split(',')
        .filter_map(range)
        .flatten()
        .take(MAX_CPUS)
        .collect()
}

/// The CPUs of a list of the kernel's command line, where `N` is the last CPU and `0-15:2/8` are two of each eight; `None` of a part that it does
/// not take (Linux, admin-guide/kernel-parameters.rst).
pub fn parse_boot(list: &str, last: u32) -> Option<Vec<u32>> {
    let number = |text: &str| match text {
        "N" => Some(last),
        text => text.parse::<u32>().ok(),
    };
    let mut cpus = Vec::new();
    for part in list.split(',') {
        let (range, group) = match part.split_once(':') {
            Some((range, group)) => (range, group.split_once('/')?),
            None => (part, ("1", "1")),
        };
        let (first, end) = match range {
            "all" => (0, last),
            range => {
                let (first, end) = range.split_once('-').unwrap_or((range, range));
                (number(first)?, number(end)?)
            }
        };
        let (used, size) = (number(group.0)?, number(group.1)?);
        if first > end || used == 0 || used > size {
            return None;
        }
        let end = end.min(MAX_CPUS as u32);
        cpus.extend((first..=end).filter(|cpu| (cpu - first) % size < used));
    }
    Some(cpus)
}

/// The CPUs of a mask of hexadecimal digits in groups; `None` if it is none.
pub fn parse_mask(mask: &str) -> Option<Vec<u32>> {
    let digits: Vec<char> = mask.chars().filter(|&digit| digit != ',').collect();
    if digits.is_empty() || digits.len() > MAX_CPUS / 4 {
        return None;
    }
    let mut cpus = Vec::new();
    for (place, digit) in digits.iter().rev().enumerate() {
        let bits = digit.to_digit(16)?;
        cpus.extend(
            (0..4)
                .filter(|bit| bits >> bit & 1 == 1)
                .map(|bit| 4 * place as u32 + bit),
        );
    }
    Some(cpus)
}

/// A list in order, with ranges.
pub fn written(cpus: &[u32]) -> String {
    let mut ranges: Vec<(u32, u32)> = Vec::new();
    for &cpu in cpus {
        match ranges.last_mut() {
            Some(last) if last.1.checked_add(1) == Some(cpu) => last.1 = cpu,
            _ => ranges.push((cpu, cpu)),
        }
    }
    let written = ranges.iter().map(|(first, last)| match first == last {
        true => first.to_string(),
        false => format!("{first}-{last}"),
    });
    written.collect::<Vec<String>>().join(",")
}

/// A mask as sysfs takes it: groups of 32 bits, the highest first.
pub fn mask(cpus: &[u32]) -> String {
    let most = cpus.iter().copied().max().unwrap_or(0).min(MAX_CPUS as u32);
    let mut groups = vec![0u32; most as usize / 32 + 1];
    for cpu in cpus.iter().filter(|&&cpu| cpu <= most) {
        groups[*cpu as usize / 32] |= 1 << (cpu % 32);
    }
    let mut words = groups.iter().rev();
    let first = words.next().map(|word| format!("{word:x}"));
    let rest = words.map(|word| format!("{word:08x}"));
    first
        .into_iter()
        .chain(rest)
        .collect::<Vec<String>>()
        .join(",")
}

/// A list without some of its CPUs; `None` if no CPU is left.
pub fn without(list: &str, cpus: &[u32]) -> Option<String> {
    let mut others = parse(list);
    others.retain(|other| !cpus.contains(other));
    (!others.is_empty()).then(|| written(&others))
}

/// A list with some more CPUs; one that cannot be read is empty.
pub fn with(list: &str, cpus: &[u32]) -> String {
    let mut all = parse(list);
    all.extend(cpus);
    all.sort_unstable();
    all.dedup();
    written(&all)
}

/// The subject of a sentence: `CPU 1`, `CPUs 1-3`.
pub fn named(cpus: &[u32]) -> String {
    let word = if cpus.len() == 1 { "CPU" } else { "CPUs" };
    format!("{word} {}", written(cpus))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_and_masks_are_read_and_written() {
        assert_eq!(parse("0-2,8"), [0, 1, 2, 8]);
        assert_eq!(parse("x,3-1,"), [] as [u32; 0]);
        assert_eq!(parse("0-4294967295").len(), MAX_CPUS);
        assert_eq!(written(&[0, 1, 2, 8]), "0-2,8");
        assert_eq!(parse_mask("3"), Some(vec![0, 1]));
        assert_eq!(parse_mask("1,00000002"), Some(vec![1, 32]));
        assert_eq!((parse_mask(""), parse_mask("g")), (None, None));
        assert_eq!(mask(&[1, 32]), "1,00000002");
        assert_eq!(mask(&[0, 1]), "3");
        assert_eq!(without("0-3", &[1]).as_deref(), Some("0,2-3"));
        assert_eq!(without("0-1", &[0, 1]), None);
        assert_eq!(
            (with("2-3,8", &[1, 3]), with("(null)", &[1])),
            ("1-3,8".into(), "1".into())
        );
        assert_eq!(named(&[1, 2]), "CPUs 1-2");
    }

    #[test]
    fn lists_of_the_command_line_are_read_whole_or_not_at_all() {
        for (list, cpus) in [
            ("1,3-4", Some(vec![1, 3, 4])),
            ("all", Some((0..=9).collect())),
            ("8-N", Some(vec![8, 9])),
            ("N", Some(vec![9])),
            ("0-9:2/8,5", Some(vec![0, 1, 8, 9, 5])),
            ("all:1/4", Some(vec![0, 4, 8])),
            ("4294967295", Some(vec![])),
            ("", None),
            ("1,x", None),
            ("3-1", None),
            ("0-9:2", None),
            ("0-9:0/2", None),
            ("0-9:1/0", None),
        ] {
            assert_eq!(parse_boot(list, 9), cpus, "{list}");
        }
    }
}
