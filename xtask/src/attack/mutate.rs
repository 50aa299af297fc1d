//! Damage to the bytes of a file, as by disks, networks, editors and attackers.

use super::random::Random;

/// Numbers and words that parsers often mishandle.
/// Separated by single spaces; one of them is empty.
const WORDS: &str = "nan NaN -nan inf -inf Infinity 1e308 1e400 -1e400 5e-324 -0 -1 \
    18446744073709551615 18446744073709551616 9223372036854775807 4294967296 0x10 1_000 \
    1.7976931348623157e308 99999999999999999999999999999999999999999999999999 \" \
    \u{1b}[2J\u{1b}]0;title\u{7} \u{9b}31m \u{202e} \r ";

/// Byte order marks, blank lines, bytes that are not text.
const PREFIXES: [&[u8]; 6] = [b"\xef\xbb\xbf", b"\xff\xfe", b"\n\n", b"\xc3\x28", b"\0", b"#\n"];

/// Applies one to three kinds of damage.
pub(super) fn mutated(bytes: &[u8], random: &mut Random) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    for _ in 0..random.within(1..4) {
        once(&mut bytes, random);
    }
    bytes
}

fn once(bytes: &mut Vec<u8>, random: &mut Random) {
    let anywhere = random.below(bytes.len() + 1);
    match random.below(12) {
        0 => flip(bytes, random),
        1 => change(bytes, random),
        2 => bytes.truncate(anywhere),
        3 => {
            let new: Vec<u8> = (0..random.within(1..20)).map(|_| random.next() as u8).collect();
            bytes.splice(anywhere..anywhere, new);
        }
        4 => {
            let copy = bytes[block(bytes, random)].to_vec();
            bytes.splice(anywhere..anywhere, copy);
        }
        5 => swap_blocks(bytes, random),
        6 | 7 => replace_word(bytes, random),
        8 => giant_number(bytes, random),
        9 => drop(bytes.drain(..random.below(bytes.len().min(64) + 1))),
        10 => drop(bytes.splice(0..0, random.pick(&PREFIXES).iter().copied())),
        _ => drop(bytes.drain(block(bytes, random))),
    }
}

/// Flips some bits.
fn flip(bytes: &mut [u8], random: &mut Random) {
    for _ in 0..random.within(1..9) {
        let at = random.below(bytes.len());
        if let Some(byte) = bytes.get_mut(at) {
            *byte ^= 1 << random.below(8);
        }
    }
}

/// Overwrites bytes, mostly by ones that are significant in text.
fn change(bytes: &mut [u8], random: &mut Random) {
    let telling = b"\0\n\r\t,;:()[]{}'\"-+.0123456789eE \x1b\x7f\xff";
    for _ in 0..random.within(1..5) {
        let at = random.below(bytes.len());
        let new = if random.once_in(3) { random.next() as u8 } else { *random.pick(telling) };
        if let Some(byte) = bytes.get_mut(at) {
            *byte = new;
        }
    }
}

/// Draws a range of at most half of the bytes.
fn block(bytes: &[u8], random: &mut Random) -> std::ops::Range<usize> {
    let size = random.below(bytes.len() / 2 + 1);
    let start = random.below(bytes.len() - size + 1);
    start..start + size
}

fn swap_blocks(bytes: &mut [u8], random: &mut Random) {
    let half = bytes.len() / 2;
    let size = random.below(half + 1);
    let (first, second) = bytes.split_at_mut(half);
    let (from, to) = (random.below(first.len() - size + 1), random.below(second.len() - size + 1));
    first[from..from + size].swap_with_slice(&mut second[to..to + size]);
}

/// Replaces a word between separators by one that parsers often mishandle.
fn replace_word(bytes: &mut Vec<u8>, random: &mut Random) {
    let ends = |byte: &u8| b",\n \t:;()[]{}\"'".contains(byte);
    let at = random.below(bytes.len());
    let start = bytes[..at].iter().rposition(ends).map_or(0, |before| before + 1);
    let end = bytes[at..].iter().position(ends).map_or(bytes.len(), |after| at + after);
    let words: Vec<&str> = WORDS.split(' ').collect();
    let word = random.pick(&words).as_bytes().to_vec();
    bytes.splice(start..end.max(start), word);
}

/// Overwrites eight bytes by a number that is huge, negative or NaN, depending on the type.
fn giant_number(bytes: &mut [u8], random: &mut Random) {
    let numbers = [u64::MAX, 1 << 63, 1 << 62, 1 << 40, u64::from(u32::MAX), f64::NAN.to_bits()];
    let number = random.pick(&numbers).to_le_bytes();
    // Mostly near the beginning, where binary formats have their counts.
    let end = if random.once_in(2) { bytes.len().min(64) } else { bytes.len() };
    let at = random.below(end.saturating_sub(7));
    for (byte, new) in bytes.iter_mut().skip(at).zip(number) {
        *byte = new;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_size_can_be_damaged() {
        for size in [0, 1, 2, 7, 8, 9, 100] {
            let bytes: Vec<u8> = (0..size).map(|k| b"a,1\n"[k % 4]).collect();
            for round in 0..500 {
                mutated(&bytes, &mut Random::new(3, round));
            }
        }
    }

    #[test]
    fn damage_is_nearly_always_there_and_repeats() {
        let bytes = b"x,y\n0.5,1.25\n3,4\n5,6\n".repeat(9);
        let same = |round| mutated(&bytes, &mut Random::new(1, round)) == bytes;
        assert!((0..1000).filter(|&round| same(round)).count() < 60);
        for round in 0..50 {
            let twice = [0; 2].map(|_| mutated(&bytes, &mut Random::new(1, round)));
            assert_eq!(twice[0], twice[1]);
        }
    }

    #[test]
    fn words_are_replaced_whole() {
        let mut seen = std::collections::BTreeSet::new();
        for round in 0..200 {
            let mut bytes = b"12,34,56".to_vec();
            replace_word(&mut bytes, &mut Random::new(2, round));
            seen.insert(String::from_utf8(bytes).unwrap());
        }
        assert!(seen.contains("12,nan,56") && seen.contains("inf,34,56"), "{seen:?}");
    }
}
