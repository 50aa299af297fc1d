//! SHA-256, and the file `SHA256SUMS` for `sha256sum --check`.

use std::path::Path;

use anyhow::Result;

/// Returns the first 32 fractional bits of roots of the first primes: the constants of SHA-256,
/// computed so that none can be mistyped.
fn roots(count: usize, root: impl Fn(f64) -> f64) -> Vec<u32> {
    let is_prime = |n: &u32| (2..*n).all(|d| !n.is_multiple_of(d));
    let fraction = |prime: u32| (root(f64::from(prime)).fract() * 4_294_967_296.0) as u32;
    (2..).filter(is_prime).take(count).map(fraction).collect()
}

/// Computes the SHA-256 digest of bytes in hexadecimal digits (FIPS 180-4).
pub(crate) fn sha256(bytes: &[u8]) -> String {
    let constants = roots(64, f64::cbrt);
    let mut state = roots(8, f64::sqrt);
    let mut padded = bytes.to_vec();
    padded.push(0x80);
    padded.resize(padded.len().next_multiple_of(64), 0);
    if padded.len() - bytes.len() < 9 {
        padded.resize(padded.len() + 64, 0);
    }
    let end = padded.len() - 8;
    padded[end..].copy_from_slice(&(8 * bytes.len() as u64).to_be_bytes());
    for block in padded.as_chunks::<64>().0 {
        compress(&mut state, block, &constants);
    }
    state.iter().map(|word| format!("{word:08x}")).collect::<Vec<_>>().concat()
}

fn compress(state: &mut [u32], block: &[u8; 64], constants: &[u32]) {
    let mut words: Vec<u32> =
        block.as_chunks().0.iter().map(|word| u32::from_be_bytes(*word)).collect();
    for t in 16..64 {
        let (early, late) = (words[t - 15], words[t - 2]);
        let early = early.rotate_right(7) ^ early.rotate_right(18) ^ (early >> 3);
        let late = late.rotate_right(17) ^ late.rotate_right(19) ^ (late >> 10);
        let word = words[t - 16].wrapping_add(early).wrapping_add(words[t - 7]).wrapping_add(late);
        words.push(word);
    }
    let mut now: Vec<u32> = state.to_vec();
    for (word, constant) in words.iter().zip(constants) {
        let [a, b, c, _, e, f, g, h] = now[..] else { unreachable!("eight words") };
        let choice = (e & f) ^ (!e & g);
        let first = e.rotate_right(6) ^ e.rotate_right(11) ^ e.rotate_right(25);
        let first = h.wrapping_add(first).wrapping_add(choice);
        let first = first.wrapping_add(*constant).wrapping_add(*word);
        let majority = (a & b) ^ (a & c) ^ (b & c);
        let second = a.rotate_right(2) ^ a.rotate_right(13) ^ a.rotate_right(22);
        now.rotate_right(1);
        now[0] = first.wrapping_add(second.wrapping_add(majority));
        now[4] = now[4].wrapping_add(first);
    }
    for (old, new) in state.iter_mut().zip(now) {
        *old = old.wrapping_add(new);
    }
}

/// Lists the digests of all files of a folder except for the list itself, by name.
pub(crate) fn list(folder: &Path) -> Result<String> {
    let mut names = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        names.push(entry?.file_name().to_string_lossy().into_owned());
    }
    names.sort();
    let mut lines = Vec::new();
    for name in names.iter().filter(|name| *name != "SHA256SUMS") {
        lines.push(format!("{}  {name}\n", sha256(&std::fs::read(folder.join(name))?)));
    }
    Ok(lines.concat())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Examples of the standard, and lengths near the padding boundary, computed by `sha256sum`.
    #[test]
    fn digests_are_those_of_the_standard() {
        let known = [
            ("", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
            ("abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
            (
                "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
                "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1",
            ),
        ];
        for (text, digest) in known {
            assert_eq!(sha256(text.as_bytes()), digest);
        }
        let lengths = [
            (55, "9f4390f8d30c2dd92ec9f095b65e2b9ae9b0a925a5258e241c9f1e910f734318"),
            (56, "b35439a4ac6f0948b6d6f9e3c6af0f5f590ce20f1bde7090ef7970686ec6738a"),
            (64, "ffe054fe7ae0cb6dc65c3af9b61d5209f439851db43d0ba5997337df154668eb"),
        ];
        for (length, digest) in lengths {
            assert_eq!(sha256(&vec![b'a'; length]), digest, "{length} times a");
        }
    }

    #[test]
    fn every_file_but_the_list_has_a_line() {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in [("b.whl", "abc"), ("a.crate", ""), ("SHA256SUMS", "old")] {
            std::fs::write(folder.path().join(name), text).unwrap();
        }
        let lines = list(folder.path()).unwrap();
        let names: Vec<_> = lines.lines().map(|line| line.split_once("  ").unwrap().1).collect();
        assert_eq!(names, ["a.crate", "b.whl"]);
        assert!(lines.starts_with("e3b0c44298fc1c14"));
    }
}
