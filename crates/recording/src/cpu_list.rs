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
        assert_eq!(named(&[1, 2]), "CPUs 1-2");
    }
}
