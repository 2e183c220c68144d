//! The content security policy of the page: its own script and its own style, by their SHA-256, and nothing else whatever.
//!
//! No request can leave the page, and markup that came in with a name could not run even if escaping failed. SHA-256 is FIPS 180-4,
//! written out here because forty lines are less than a dependency.

use super::codec::Base64;
use std::io::Write;

/// The policy of a page with this script and style, as the value of an attribute.
pub(crate) fn policy(script: &str, style: &str) -> String {
    format!(
        "default-src 'none'; script-src '{}'; style-src '{}'; base-uri 'none'; form-action 'none'",
        source(script),
        source(style)
    )
}

/// `sha256-BASE64`.
fn source(text: &str) -> String {
    let mut digits = Vec::new();
    let mut base64 = Base64::new(&mut digits);
    let written = base64.write_all(&sha256(text.as_bytes()));
    let written = written.and_then(|()| base64.finish());
    debug_assert!(written.is_ok(), "memory can be written");
    format!("sha256-{}", String::from_utf8_lossy(&digits))
}

/// The first 32 bits of the fractional part of a root of each of the first primes.
fn roots<const N: usize>(root: impl Fn(f64) -> f64) -> [u32; N] {
    let mut found = [0; N];
    let mut number = 0;
    let mut candidate = 2u32;
    while number < N {
        if (2..candidate).all(|divisor| !candidate.is_multiple_of(divisor)) {
            // A double has 53 bits: 32 of the fraction and at most 5 before it are exact.
            found[number] = (root(f64::from(candidate)).fract() * 4_294_967_296.0) as u32;
            number += 1;
        }
        candidate += 1;
    }
    found
}

fn sha256(message: &[u8]) -> [u8; 32] {
    let constants: [u32; 64] = roots(f64::cbrt);
    let mut state: [u32; 8] = roots(f64::sqrt);
    let mut padded = message.to_vec();
    padded.push(0x80);
    while !(padded.len() + 8).is_multiple_of(64) {
        padded.push(0);
    }
    padded.extend_from_slice(&(message.len() as u64 * 8).to_be_bytes());
    for block in padded.chunks_exact(64) {
        let mut words = [0u32; 64];
        for (word, bytes) in words.iter_mut().zip(block.chunks_exact(4)) {
            *word = u32::from_be_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
        }
        for t in 16..64 {
            let (a, b) = (words[t - 15], words[t - 2]);
            let low = a.rotate_right(7) ^ a.rotate_right(18) ^ (a >> 3);
            let high = b.rotate_right(17) ^ b.rotate_right(19) ^ (b >> 10);
            let sum = words[t - 16].wrapping_add(low).wrapping_add(words[t - 7]);
            words[t] = sum.wrapping_add(high);
        }
        let [mut a, mut b, mut c, mut d, mut e, mut f, mut g, mut h] = state;
        for t in 0..64 {
            let high = e.rotate_right(6) ^ e.rotate_right(11) ^ e.rotate_right(25);
            let choice = (e & f) ^ (!e & g);
            let first = h.wrapping_add(high).wrapping_add(choice);
            let first = first.wrapping_add(constants[t]).wrapping_add(words[t]);
            let low = a.rotate_right(2) ^ a.rotate_right(13) ^ a.rotate_right(22);
            let second = low.wrapping_add((a & b) ^ (a & c) ^ (b & c));
            (h, g, f, e) = (g, f, e, d.wrapping_add(first));
            (d, c, b, a) = (c, b, a, first.wrapping_add(second));
        }
        for (sum, word) in state.iter_mut().zip([a, b, c, d, e, f, g, h]) {
            *sum = sum.wrapping_add(word);
        }
    }
    let mut digest = [0; 32];
    for (bytes, word) in digest.chunks_exact_mut(4).zip(state) {
        bytes.copy_from_slice(&word.to_be_bytes());
    }
    digest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sha256_by_the_standards_own_examples() {
        let hex = |message: &[u8]| -> String {
            sha256(message)
                .iter()
                .map(|byte| format!("{byte:02x}"))
                .collect()
        };
        assert_eq!(
            hex(b"abc"),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
        );
        assert_eq!(
            hex(b""),
            "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
        );
        assert_eq!(
            hex(b"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"
        );
    }
}
