//! Hash of the script for the content security policy, which allows only this script.

/// Base64 digest of the script of all pages. After a change of a script, the test below tells it.
pub(super) const SCRIPT_HASH: &str = "sha256-PqNhCA+p0stJhwXfIYCqQTBaUrI3wxGZifmoTGG2oyA=";

#[cfg(test)]
mod tests {
    use sha2::{Digest, Sha256};

    use super::super::SCRIPT;
    use super::*;

    fn base64(bytes: &[u8]) -> String {
        const DIGITS: &[u8; 64] =
            b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
        let digits = |group: &[u8]| {
            let number = group.iter().fold(0, |n, &byte| n << 8 | usize::from(byte));
            let number = number << (8 * (3 - group.len()));
            let digit = |k: usize| char::from(DIGITS[number >> (18 - 6 * k) & 63]);
            (0..4).map(|k| if k > group.len() { '=' } else { digit(k) }).collect::<String>()
        };
        bytes.chunks(3).map(digits).collect()
    }

    #[test]
    fn the_hash_is_that_of_the_script() {
        assert_eq!(base64(b"fo"), "Zm8=");
        assert_eq!(SCRIPT_HASH, format!("sha256-{}", base64(&Sha256::digest(SCRIPT))));
    }
}
