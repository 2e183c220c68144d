//! What a result means for somebody's benchmark: a sentence each.

use super::ratios::Pair;
use super::switching::Switching;
use bandscope_report::format;

/// What to say of a pair by its name: where its levels differ, and where not. `{level}` and `{ratio}` are replaced.
struct Meaning {
    pair: &'static str,
    differs: &'static str,
    same: &'static str,
    /// What avoids the difference in a program. Measured with gcc and clang where it does not say otherwise (docs/lab.md, "What avoids it").
    avoid: &'static str,
    /// Whether that holds as well where the level is faster than its control.
    either_way: bool,
    /// Whether `differs` speaks of a level that is slower than its control.
    slower_only: bool,
}

const MEANINGS: &[Meaning] = &[
    Meaning {
        pair: "base-register",
        differs: "A value that lives in memory costs {ratio} times as much at another address ({level}) as at the stack pointer. Another compiler option, or a global variable, can change the pace.",
        same: "A value that lives in memory costs the same whichever register its address comes from.",
        avoid: "Keep the value in a local variable, or reach a global through a pointer.",
        either_way: false,
        slower_only: true,
    },
    Meaning {
        pair: "store-bypass",
        differs: "With the mitigation for speculative store bypass on, a value that lives in memory costs {ratio} times as much. Containers and seccomp sandboxes that switch it on slow such code down.",
        same: "The mitigation for speculative store bypass does not change what a value in memory costs here.",
        avoid: "Whoever starts the program sets it (grep Store_Bypass /proc/self/status). Not measured.",
        either_way: false,
        slower_only: true,
    },
    Meaning {
        pair: "operand-size",
        differs: "A value of {level} in memory costs {ratio} times as much as one of 64. The type of a counter decides how fast a loop is.",
        same: "The size of a value in memory does not matter.",
        avoid: "Use 32 or 64 bits for counters and indices in memory: uint32_t in place of uint8_t.",
        either_way: false,
        slower_only: true,
    },
    Meaning {
        pair: "register-file",
        differs: "A value in memory costs {ratio} times as much through a vector register as through a general one. A float that the compiler leaves in memory is slow where an integer is not.",
        same: "Values in memory cost the same through vector registers as through general ones.",
        avoid: "Sum floats in a local variable, or sum integers in memory, and build with optimization.",
        either_way: false,
        slower_only: true,
    },
    Meaning {
        pair: "live-slots",
        differs: "With {level} slots of the stack in use, a value in memory costs {ratio} times as much as with one. One more variable can change the pace of a loop.",
        same: "The number of stack slots in use does not matter, up to 64.",
        avoid: "Keep fewer variables alive in the loop, so that none is spilled. Not measured.",
        either_way: false,
        slower_only: false,
    },
    Meaning {
        pair: "distance",
        differs: "With {level} instructions between a store and the load of it, the pair costs {ratio} times as much as a register would.",
        same: "A value that is stored and loaded again costs no more than one in a register, at any distance up to 64 instructions.",
        avoid: "Copy the struct's fields to local variables before the loop, and write them back after it.",
        either_way: false,
        slower_only: false,
    },
    Meaning {
        pair: "add-immediate",
        differs: "Adding a constant costs {ratio} times as much as adding a register. A loop of increments measures how this core renames registers, and says little about other code.",
        same: "Adding a constant costs as much as adding a register.",
        avoid: "Do not judge a core by a loop of increments: add a variable. Not measured.",
        either_way: true,
        slower_only: false,
    },
    Meaning {
        pair: "shift-count",
        differs: "A shift costs {ratio} times as much if its count was set by {level} and not by a 32-bit immediate. One instruction before a loop can decide its pace until the register is saved and restored.",
        same: "The instruction that set a shift's count does not matter.",
        avoid: "Set the shift's count by a 32-bit immediate, not a 64-bit one. Not measured.",
        either_way: false,
        slower_only: true,
    },
    Meaning {
        pair: "loop-body",
        differs: "With {level} in its body, an operation through memory costs {ratio} times as much as with 64. Unrolling changes more than the number of branches.",
        same: "The length of a loop's body does not change what an operation through memory costs.",
        avoid: "Time the loop with and without unrolling (#pragma GCC unroll N). Not measured.",
        either_way: true,
        slower_only: false,
    },
    Meaning {
        pair: "placement",
        differs: "The same loop costs {ratio} times as much at one address as at another. A change anywhere in a program moves its loops. Compare builds at several placements.",
        same: "The address of a loop does not change its pace.",
        avoid: "Build with -falign-loops=64 -falign-jumps=64 (gcc), or with -falign-loops=64 (clang).",
        either_way: false,
        slower_only: true,
    },
    Meaning {
        pair: "placement-of-registers",
        differs: "Even the chain of registers costs {ratio} times as much at one address as at another. On this CPU the default work kernel is not invariant.",
        same: "The chain of registers, the default work kernel, keeps its pace at every address.",
        avoid: "Record with another work kernel (--kernel NAME). Not measured.",
        either_way: false,
        slower_only: true,
    },
    Meaning {
        pair: "failed-forwarding",
        differs: "A value that is stored in two halves and loaded as one costs {ratio} times as much as one stored whole. Copies of structures and unions do this where the compiler chooses so.",
        same: "A value that is stored in two halves and loaded as one costs no more.",
        avoid: "Load what was stored, in the same size: assign structs field by field, not whole.",
        either_way: false,
        slower_only: true,
    },
    Meaning {
        pair: "4k-aliasing",
        differs: "A load 4,096 bytes past a store costs {ratio} times as much as one a line further. The place of a buffer decides it, and differs between processes.",
        same: "A load 4,096 bytes past a store costs no more than one a line further.",
        avoid: "Put one more cache line between parts that lie a multiple of 4,096 bytes apart.",
        either_way: false,
        slower_only: true,
    },
    Meaning {
        pair: "denormals",
        differs: "A denormal float costs {ratio} times as much as a normal one. A benchmark whose values decay towards zero slows down as it runs.",
        same: "Denormal floats cost as much as normal ones.",
        avoid: "Flush to zero in each thread: _mm_setcsr(_mm_getcsr() | 0x8040). -ffast-math does so too, and changes other results.",
        either_way: false,
        slower_only: true,
    },
    Meaning {
        pair: "chains",
        differs: "With four independent chains an operation costs {ratio} times as much as in one. A loop of one chain leaves room that a neighbour on the same core can take. A loop of four leaves none, so a neighbour slows it down.",
        same: "Four independent chains are no faster than one: something but the multiplier limits this core.",
        avoid: "Accumulate into four variables, and add them at the end. -O3 -fassociative-math -fno-signed-zeros -fno-trapping-math does so, and changes results.",
        either_way: true,
        slower_only: false,
    },
];

/// The sentence for a pair.
pub fn of(pair: &Pair) -> String {
    let Some(ratio) = pair.ratio else {
        let why = pair.levels.iter().find_map(|level| level.missing.clone());
        return format!(
            "Not measured: {}.",
            why.unwrap_or_else(|| "the run ended first".to_owned())
        );
    };
    if pair.interval.is_none() {
        return "Too few passes to tell.".to_owned();
    }
    let known = MEANINGS.iter().find(|meaning| meaning.pair == pair.name);
    let Some(known) = known else {
        return String::new();
    };
    if pair.differs && ratio < 1.0 && known.slower_only {
        let level = pair.level.as_deref().unwrap_or_default();
        return format!("{level}: {} times the time of the control.", digits(ratio));
    }
    if pair.differs {
        let level = pair.level.as_deref().unwrap_or_default();
        return known
            .differs
            .replace("{level}", level)
            .replace("{ratio}", &digits(ratio));
    }
    match pair
        .levels
        .iter()
        .filter(|level| level.states.len() > 1)
        .count()
    {
        0 => known.same.to_owned(),
        number => format!("{} Levels with more than one pace: {number}.", known.same),
    }
}

/// What avoids the difference; empty where nothing differs, or where the control is the slower one and that changes what to do.
pub fn avoid(pair: &Pair) -> &'static str {
    let known = MEANINGS.iter().find(|meaning| meaning.pair == pair.name);
    let is_slower = pair.ratio.is_some_and(|ratio| ratio > 1.0);
    let holds = |meaning: &&Meaning| pair.differs && (is_slower || meaning.either_way);
    known.filter(holds).map_or("", |meaning| meaning.avoid)
}

/// What avoids the state that a pair shows; empty for a name that is not known.
pub fn avoids(pair: &str) -> &'static str {
    let known = MEANINGS.iter().find(|meaning| meaning.pair == pair);
    known.map_or("", |meaning| meaning.avoid)
}

/// A ratio with the digits that a reader takes in.
pub fn digits(ratio: f64) -> String {
    match ratio {
        _ if ratio >= 99.5 => format!("{ratio:.0}"),
        _ if ratio >= 9.95 => format!("{ratio:.1}"),
        _ => format!("{ratio:.2}"),
    }
}

/// The whole in a sentence.
pub fn verdict(pairs: &[Pair], switching: &[Switching]) -> String {
    let measured = (pairs.iter()).filter(|pair| pair.interval.is_some());
    let (measured, few) = (
        measured.count(),
        pairs.iter().any(|pair| pair.ratio.is_some()),
    );
    let differ: Vec<&Pair> = pairs.iter().filter(|pair| pair.differs).collect();
    let (slower, largest) = differ
        .iter()
        .filter_map(|pair| Some((pair.name.as_str(), pair.ratio?)))
        .map(|(name, ratio)| (name, ratio.max(1.0 / ratio)))
        .fold(
            ("", 1.0),
            |most, one| if one.1 > most.1 { one } else { most },
        );
    let first = match differ.len() {
        0 if few && measured == 0 => {
            "Too few passes to tell which pairs of loops differ.".to_owned()
        }
        0 => format!("None of {measured} pairs of loops differ on this core."),
        number => format!(
            "{number} of {measured} pairs of loops differ on this core, {slower} most ({} times).",
            digits(largest)
        ),
    };
    let second = match switching.iter().filter(|one| one.is_switched()).count() {
        _ if switching.is_empty() => String::new(),
        0 if !switching.iter().any(Switching::was_tried) => {
            " Too few interruptions to tell whether they change a loop's pace.".to_owned()
        }
        0 => " No loop changed its pace when it was interrupted.".to_owned(),
        1 => " One loop changes its pace when it is interrupted.".to_owned(),
        number => format!(" {number} loops change their pace when they are interrupted."),
    };
    let chains = pairs
        .iter()
        .filter_map(|pair| pair.chain_moved)
        .map(f64::abs)
        .fold(0.0, f64::max);
    let third = match measured {
        0 => String::new(),
        _ => format!(
            " The reference, a chain of registers, varied by {} at most.",
            format::percent(chains)
        ),
    };
    format!("{first}{second}{third}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    fn pair(name: &str, ratio: Option<f64>, differs: bool) -> Pair {
        Pair {
            name: name.into(),
            ratio,
            interval: ratio.map(|ratio| [ratio; 2]),
            level: Some("16 bits".into()),
            differs,
            states: Vec::new(),
            chain_moved: Some(-0.002),
            meaning: String::new(),
            advice: String::new(),
            levels: Vec::new(),
        }
    }

    #[test]
    fn every_pair_has_a_sentence_for_either_case() {
        let mut names = BTreeSet::new();
        for meaning in MEANINGS {
            assert!(names.insert(meaning.pair));
            let found = of(&pair(meaning.pair, Some(7.489), true));
            assert!(
                found.contains("7.49 times") && found.ends_with('.') && !found.contains('{'),
                "{found}"
            );
            let same = of(&pair(meaning.pair, Some(1.001), false));
            assert!(
                same.ends_with('.') && same != found && !same.contains("times"),
                "{same}"
            );
        }
        assert_eq!(
            of(&pair("chains", None, false)),
            "Not measured: the run ended first."
        );
    }

    #[test]
    fn the_verdict_names_what_matters_most() {
        let pairs = [
            pair("operand-size", Some(7.2), true),
            pair("chains", Some(0.25), true),
            pair("placement", Some(1.0), false),
        ];
        let text = verdict(&pairs, &[]);
        assert!(
            text.starts_with("2 of 3 pairs")
                && text.contains("operand-size most (7.20 times)")
                && text.contains("0.20 % at most"),
            "{text}"
        );
        assert!(verdict(&[], &[]).starts_with("None of 0"));
        let few = Pair {
            interval: None,
            ..pair("chains", Some(0.25), false)
        };
        assert!(verdict(&[few], &[]).starts_with("Too few passes"));
    }

    #[test]
    fn loops_that_were_not_interrupted_did_not_stay_at_their_pace() {
        let said = |by_rate: &[(u32, [u64; 2])]| {
            let one = Switching {
                code: "body-1".into(),
                description: String::new(),
                states: Vec::new(),
                entered: None,
                to_fast: None,
                to_slow: None,
                by_rate: by_rate.iter().copied().collect(),
                changes: None,
                excess: None,
                excess_interval: None,
            };
            verdict(&[], &[one])
        };
        for few in [&[(0, [40, 0])][..], &[(10, [3, 0])]] {
            assert!(said(few).contains("Too few interruptions"), "{few:?}");
        }
        assert!(said(&[(10, [3, 0]), (1000, [40, 0])]).contains("No loop changed"));
    }
}
