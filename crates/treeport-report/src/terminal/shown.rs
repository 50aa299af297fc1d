//! Escaping of control characters in text from files on a terminal.
//!
//! A terminal interprets escape sequences in names and contents of files. All text output is
//! escaped here; CSV, JSON and files keep their bytes, unless they go to a terminal.

use std::borrow::Cow;
use std::io::{self, IsTerminal, Write};

use super::closed;

/// Escapes control characters as `\u{1b}`, except line feeds.
pub(super) fn shown(text: &str) -> Cow<'_, str> {
    if !text.contains(is_interpreted) {
        return text.into();
    }
    let mut out = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        if is_interpreted(c) { out.extend(c.escape_unicode()) } else { out.push(c) }
    }
    out.into()
}

/// Checks whether a terminal interprets a character: control, or direction of text.
fn is_interpreted(c: char) -> bool {
    let changes_direction =
        matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    changes_direction || c.is_control() && c != '\n'
}

/// Returns stdout for rows, escaped if it is a terminal.
///
/// # Errors
/// Stdout is closed.
pub fn stdout() -> io::Result<Box<dyn Write>> {
    let stdout = closed::stdout()?;
    let is_terminal = stdout.is_terminal();
    let out = io::BufWriter::new(stdout.lock());
    Ok(if is_terminal { Box::new(Shown { out, line: Vec::new() }) } else { Box::new(out) })
}

/// Escapes complete lines.
struct Shown<W> {
    out: W,
    /// Incomplete line; a character may arrive in pieces.
    line: Vec<u8>,
}

impl<W: Write> Shown<W> {
    fn put(&mut self) -> io::Result<()> {
        let line = std::mem::take(&mut self.line);
        self.out.write_all(shown(&String::from_utf8_lossy(&line)).as_bytes())
    }
}

impl<W: Write> Write for Shown<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        for piece in bytes.split_inclusive(|&byte| byte == b'\n') {
            self.line.extend_from_slice(piece);
            if piece.ends_with(b"\n") {
                self.put()?;
            }
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.put()?;
        self.out.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_commands_a_terminal_is_shown() {
        assert_eq!(shown("São Paulo\n日本"), "São Paulo\n日本");
        assert_eq!(shown("a\x1b[31mb\rc\u{9b}\u{202e}"), r"a\u{1b}[31mb\u{d}c\u{9b}\u{202e}");
    }

    #[test]
    fn rows_at_a_terminal_are_shown_whatever_pieces_they_come_in() {
        let text = "é\x1b,1\nü\u{9b}";
        for size in 1..text.len() {
            let mut out = Shown { out: Vec::new(), line: Vec::new() };
            text.as_bytes().chunks(size).for_each(|piece| out.write_all(piece).expect("memory"));
            out.flush().expect("memory");
            assert_eq!(String::from_utf8(out.out).expect("text"), "é\\u{1b},1\nü\\u{9b}");
        }
    }
}
