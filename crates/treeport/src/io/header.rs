//! The header of a `.npy` file: a Python dictionary literal with three known keys.
//!
//! `{'descr': '<f8', 'fortran_order': False, 'shape': (3, 4), }`, then spaces and a line feed. The
//! grammar is small enough for a parser written by hand, whose errors name the byte.

use super::bad;
use crate::error::{Error, Result};

/// Parsed header of an array.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Header {
    pub(super) kind: Kind,
    /// Bytes per entry.
    pub(super) width: usize,
    pub(super) big_endian: bool,
    pub(super) fortran_order: bool,
    pub(super) shape: Vec<usize>,
}

/// Type of the entries without their width.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Kind {
    Float,
    Signed,
    /// Unsigned integers and booleans.
    Unsigned,
    Bytes,
    Unicode,
}

impl Header {
    /// Parses the dictionary literal, which starts at byte `offset` of the file.
    pub(super) fn parse(text: &[u8], offset: usize) -> Result<Self> {
        let mut cursor = Cursor { text, at: 0, offset };
        let (mut descr, mut fortran, mut shape) = (None, None, None);
        cursor.expect(b'{')?;
        while cursor.peek() != Some(b'}') {
            let key = cursor.string()?;
            cursor.expect(b':')?;
            match key.as_str() {
                "descr" => descr = Some(cursor.descr()?),
                "fortran_order" => fortran = Some(cursor.boolean()?),
                "shape" => shape = Some(cursor.shape()?),
                _ => return Err(cursor.bad(format!("unknown header key `{key}`"))),
            }
            if cursor.peek() != Some(b'}') {
                cursor.expect(b',')?;
            }
        }
        cursor.expect(b'}')?;
        if cursor.peek().is_some() {
            return Err(cursor.bad("something follows the header's closing brace"));
        }
        let missing = |key| move || cursor.bad(format!("the header has no `{key}`"));
        let descr = descr.ok_or_else(missing("descr"))?;
        let (kind, width, big_endian) = entry_type(&descr).ok_or_else(|| {
            cursor.bad(format!(
                "entries of type `{descr}`; floats of 4 or 8 bytes, integers and booleans can be read"
            ))
        })?;
        let fortran_order = fortran.ok_or_else(missing("fortran_order"))?;
        let shape = shape.ok_or_else(missing("shape"))?;
        Ok(Self { kind, width, big_endian, fortran_order, shape })
    }

    /// Returns the number of entries, or `None` if their size in bytes overflows.
    pub(super) fn entries(&self) -> Option<usize> {
        let entries = self.shape.iter().try_fold(1usize, |n, &axis| n.checked_mul(axis))?;
        entries.checked_mul(self.width.max(1)).map(|_| entries)
    }
}

/// Returns kind, width in bytes and byte order of a type string such as `<f8`.
fn entry_type(descr: &str) -> Option<(Kind, usize, bool)> {
    let &[order, letter, ..] = descr.as_bytes() else { return None };
    if !b"<>|=".contains(&order) {
        return None;
    }
    let width: usize = descr.get(2..)?.parse().ok()?;
    let (kind, width) = match (letter, width) {
        (b'f', 4 | 8) => (Kind::Float, width),
        (b'i', 1 | 2 | 4 | 8) => (Kind::Signed, width),
        (b'u', 1 | 2 | 4 | 8) | (b'b', 1) => (Kind::Unsigned, width),
        (b'S', _) => (Kind::Bytes, width),
        (b'U', _) => (Kind::Unicode, width.checked_mul(4)?),
        _ => return None,
    };
    Some((kind, width, order == b'>' || (order == b'=' && cfg!(target_endian = "big"))))
}

/// A position in the header text.
#[derive(Clone, Copy)]
struct Cursor<'a> {
    text: &'a [u8],
    at: usize,
    offset: usize,
}

impl Cursor<'_> {
    fn bad(&self, reason: impl Into<String>) -> Error {
        bad("npy", format!("byte {}", self.offset + self.at), reason)
    }

    /// Skips white space and returns the next byte without consuming it.
    fn peek(&mut self) -> Option<u8> {
        let rest = &self.text[self.at..];
        self.at += rest.iter().take_while(|b| b.is_ascii_whitespace()).count();
        self.text.get(self.at).copied()
    }

    fn expect(&mut self, byte: u8) -> Result<()> {
        if self.peek() == Some(byte) {
            self.at += 1;
            return Ok(());
        }
        Err(self.bad(format!("`{}` is expected here", char::from(byte))))
    }

    /// Consumes the bytes before the first one that fails `belongs`.
    fn take(&mut self, belongs: impl Fn(&u8) -> bool) -> String {
        let rest = &self.text[self.at..];
        let taken = &rest[..rest.iter().take_while(|b| belongs(b)).count()];
        self.at += taken.len();
        String::from_utf8_lossy(taken).into_owned()
    }

    /// Parses a quoted string; strings in a header contain no escapes.
    fn string(&mut self) -> Result<String> {
        let Some(quote @ (b'\'' | b'"')) = self.peek() else {
            return Err(self.bad("a quoted string is expected here"));
        };
        self.at += 1;
        let inside = self.take(|&b| b != quote);
        self.expect(quote).map(|()| inside)
    }

    fn descr(&mut self) -> Result<String> {
        if self.peek() == Some(b'[') {
            return Err(self.bad("records with named fields cannot be read; save one plain array"));
        }
        let descr = self.string()?;
        if descr.get(1..2) == Some("O") || descr.starts_with('O') {
            return Err(self.bad(
                "entries are Python objects (pickle), which are never read; save numbers instead",
            ));
        }
        Ok(descr)
    }

    fn boolean(&mut self) -> Result<bool> {
        self.peek();
        match self.take(u8::is_ascii_alphabetic).as_str() {
            "True" => Ok(true),
            "False" => Ok(false),
            _ => Err(self.bad("`True` or `False` is expected here")),
        }
    }

    /// Parses a tuple of sizes: `()`, `(3,)`, `(3, 4)`; old Pythons write `3L`.
    fn shape(&mut self) -> Result<Vec<usize>> {
        let mut shape = Vec::new();
        self.expect(b'(')?;
        while self.peek() != Some(b')') {
            let digits = self.take(u8::is_ascii_digit);
            let size = digits.parse().map_err(|_| self.bad("a size is expected here"))?;
            shape.push(size);
            self.take(|&b| b == b'L');
            if self.peek() != Some(b')') {
                self.expect(b',')?;
            }
        }
        self.expect(b')').map(|()| shape)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Header> {
        Header::parse(text.as_bytes(), 10)
    }

    #[test]
    fn keys_come_in_any_order_and_quotes() {
        let text = "{\"shape\":(3L, 4,),'fortran_order' : True, 'descr': '>i2'}   \n";
        let header = parse(text).unwrap();
        assert_eq!(header.shape, [3, 4]);
        assert!(header.fortran_order && header.big_endian);
        assert_eq!((header.kind, header.width), (Kind::Signed, 2));
        assert_eq!(header.entries(), Some(12));
    }

    #[test]
    fn a_header_too_large_to_count_is_told_apart() {
        let text = "{'descr': '<f8', 'fortran_order': False, 'shape': (4294967296, 4294967296)}";
        assert_eq!(parse(text).unwrap().entries(), None);
        let empty = "{'descr': '<f8', 'fortran_order': False, 'shape': (0, 4294967296)}";
        assert_eq!(parse(empty).unwrap().entries(), Some(0));
    }

    #[test]
    fn every_fault_names_its_byte() {
        let message = |text: &str| parse(text).unwrap_err().to_string();
        let dict = |descr: &str, tail: &str| {
            format!("{{'descr': {descr}, 'fortran_order': False, 'shape': (2,)}}{tail}")
        };
        assert_eq!(message("['descr']"), "npy, byte 10: `{` is expected here");
        assert!(message(&dict("'<f8'", " x")).ends_with("follows the header's closing brace"));
        assert!(message(&dict("'|O'", "")).contains("Python objects (pickle)"));
        assert!(message(&dict("[('a', '<f8')]", "")).contains("named fields"));
        assert!(message(&dict("'<c16'", "")).contains("entries of type `<c16`"));
        assert!(message(&dict("'é'", "")).contains("entries of type `é`"));
        assert!(message(&dict("''", "")).contains("entries of type ``"));
        assert!(message("{'descr': '<f8").contains("`'` is expected here"));
        assert!(message("{'order': 1}").contains("unknown header key `order`"));
        assert!(message("{'descr': '<f8'}").contains("the header has no `fortran_order`"));
        assert!(message("{'fortran_order': 1}").contains("`True` or `False`"));
        assert!(message("{'shape': (-1,)}").contains("a size is expected here"));
        assert!(message("{'shape': (99999999999999999999999,)}").contains("a size is expected"));
        assert!(message("{'shape' (1,)}").contains("`:` is expected here"));
        assert!(message("{").contains("a quoted string is expected here"));
    }
}
