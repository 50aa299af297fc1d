//! Hash of the script for the content security policy, which allows only this script.

/// Returns `sha256-…` for a policy: the base64 digest of the text.
pub(super) fn script_hash(script: &str) -> String {
    format!("sha256-{}", base64(&sha256(script.as_bytes())))
}

/// First 32 bits of the fractional parts of roots of the first primes, the constants of SHA-256.
fn root_bits<const N: usize>(root: impl Fn(f64) -> f64) -> [u32; N] {
    let mut primes = (2u32..).filter(|n| (2..*n).all(|k| n % k != 0));
    std::array::from_fn(|_| {
        let prime = f64::from(primes.next().expect("there is always another prime"));
        (root(prime).fract() * 2f64.powi(32)) as u32
    })
}

/// Computes SHA-256 (FIPS 180-4). A page needs it for 50 kB, which does not justify another crate.
fn sha256(text: &[u8]) -> [u8; 32] {
    let mut state: [u32; 8] = root_bits(f64::sqrt);
    let steps: [u32; 64] = root_bits(f64::cbrt);
    let mut padded = text.to_vec();
    padded.push(0x80);
    padded.resize((padded.len() + 8).next_multiple_of(64) - 8, 0);
    padded.extend((text.len() as u64 * 8).to_be_bytes());
    for block in padded.as_chunks::<64>().0 {
        let mut words = [0u32; 64];
        for (word, bytes) in words.iter_mut().zip(block.as_chunks::<4>().0) {
            *word = u32::from_be_bytes(*bytes);
        }
        for i in 16..64 {
            let (early, late) = (words[i - 15], words[i - 2]);
            let early = early.rotate_right(7) ^ early.rotate_right(18) ^ (early >> 3);
            let late = late.rotate_right(17) ^ late.rotate_right(19) ^ (late >> 10);
            let sum = words[i - 16].wrapping_add(early).wrapping_add(words[i - 7]);
            words[i] = sum.wrapping_add(late);
        }
        let [mut a, mut b, mut c, mut d, mut e, mut f, mut g, mut h] = state;
        for i in 0..64 {
            let rotated = e.rotate_right(6) ^ e.rotate_right(11) ^ e.rotate_right(25);
            let chosen = (e & f) ^ (!e & g);
            let first = h.wrapping_add(rotated).wrapping_add(chosen);
            let first = first.wrapping_add(steps[i]).wrapping_add(words[i]);
            let rotated = a.rotate_right(2) ^ a.rotate_right(13) ^ a.rotate_right(22);
            let second = rotated.wrapping_add((a & b) ^ (a & c) ^ (b & c));
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

fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::new();
    for group in bytes.chunks(3) {
        let number = group.iter().fold(0, |n, &byte| n << 8 | usize::from(byte));
        let number = number << (8 * (3 - group.len()));
        for digit in 0..4 {
            let padding = digit > group.len();
            let value = number >> (18 - 6 * digit) & 63;
            out.push(if padding { '=' } else { char::from(DIGITS[value]) });
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Examples of the standard, and texts near the block length (digests by `sha256sum`).
    #[test]
    fn digests_are_those_of_the_standard() {
        for (text, digest) in [
            (&b""[..], "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
            (b"abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
            (
                b"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
                "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1",
            ),
            (&[b'a'; 55], "9f4390f8d30c2dd92ec9f095b65e2b9ae9b0a925a5258e241c9f1e910f734318"),
            (&[b'a'; 64], "ffe054fe7ae0cb6dc65c3af9b61d5209f439851db43d0ba5997337df154668eb"),
            (&[b'a'; 1000], "41edece42d63e8d9bf515a9ba6932e1c20cbc9f5a5d134645adb5db1b9737ea3"),
        ] {
            let pairs = digest.as_bytes().chunks(2).map(|pair| str::from_utf8(pair).unwrap());
            let expected: Vec<u8> =
                pairs.map(|pair| u8::from_str_radix(pair, 16).unwrap()).collect();
            assert_eq!(sha256(text)[..], expected, "{} bytes", text.len());
        }
    }

    #[test]
    fn names_are_those_of_content_policies() {
        let abc = "sha256-ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa0=";
        assert_eq!(script_hash("abc"), abc);
        for (bytes, text) in [(&b"f"[..], "Zg=="), (b"fo", "Zm8="), (b"foo", "Zm9v")] {
            assert_eq!(base64(bytes), text);
        }
    }
}
