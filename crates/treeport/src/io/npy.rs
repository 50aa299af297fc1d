//! Reading and writing NumPy `.npy` arrays.
//!
//! Entries are decoded chunk by chunk as they arrive: a header that announces 10¹² entries
//! allocates nothing until the bytes are there.

use std::io::{self, Read, Write};

use super::header::{Header, Kind};
use super::{Array, Data, bad};
use crate::error::{Result, show_shape};
use crate::memory;

const MAGIC: &[u8; 6] = b"\x93NUMPY";

/// Longest header accepted; NumPy's own limit is 10,000 bytes.
const MAX_HEADER: usize = 1 << 16;

/// Bytes decoded at a time: large enough for fast reads, small compared to a large array.
const CHUNK: usize = 1 << 16;

/// Reads one array of floats, integers, booleans or fixed-width strings (format 1, 2 or 3).
///
/// Fortran order is converted to C order, and any byte order to the native one.
///
/// # Errors
/// The input is not an array, holds Python objects, or is longer or shorter than its header
/// announces.
pub fn read(reader: impl Read) -> Result<Array> {
    read_if(reader, |_| Ok(()))
}

/// Reads an array as [`read`] does, after a check of its shape.
pub(super) fn read_if(
    mut reader: impl Read,
    check: impl FnOnce(&[usize]) -> Result<()>,
) -> Result<Array> {
    let (header, start) = read_header(&mut reader)?;
    check(&header.shape)?;
    let Some(entries) = header.entries() else {
        let shape = show_shape(&header.shape);
        return Err(bad("npy", "header", format!("shape {shape} is more than can be addressed")));
    };
    let data = read_data(&mut reader, &header, entries, start)?;
    if fill(&mut reader, &mut [0], start)? > 0 {
        let shape = show_shape(&header.shape);
        return Err(bad("npy", "end", format!("more bytes follow the entries of shape {shape}")));
    }
    let data = if header.fortran_order { to_c_order(&header.shape, data)? } else { data };
    Ok(Array { shape: header.shape, data })
}

/// Reads the header; returns it with the byte offset of the entries.
fn read_header(reader: &mut impl Read) -> Result<(Header, usize)> {
    let mut lead = [0; 12];
    let got = fill(reader, &mut lead[..8], 0)?;
    if got < 8 || &lead[..6] != MAGIC {
        return Err(bad("npy", "byte 0", "not a NumPy array: it does not start with \\x93NUMPY"));
    }
    let (version, wide) = (lead[6], if lead[6] == 1 { 2 } else { 4 });
    if !(1..=3).contains(&version) {
        return Err(bad("npy", "byte 6", format!("format {version}; 1, 2 and 3 can be read")));
    }
    let got = fill(reader, &mut lead[8..8 + wide], 8)?;
    let length = lead[8..8 + wide].iter().rev().fold(0, |n, &b| n << 8 | usize::from(b));
    if got < wide || length > MAX_HEADER {
        return Err(bad("npy", "byte 8", format!("a header of {length} bytes is too long")));
    }
    let mut text = vec![0; length];
    let start = 8 + wide;
    if fill(reader, &mut text, start)? < length {
        return Err(bad("npy", format!("byte {start}"), "the file ends inside its header"));
    }
    Ok((Header::parse(&text, start)?, start + length))
}

/// Reads until `buffer` is full or the input ends; returns the number of bytes read.
fn fill(reader: &mut impl Read, buffer: &mut [u8], at: usize) -> Result<usize> {
    let mut filled = 0;
    while filled < buffer.len() {
        match reader.read(&mut buffer[filled..]) {
            Ok(0) => break,
            Ok(bytes) => filled += bytes,
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return Err(bad("npy", format!("byte {}", at + filled), e.to_string())),
        }
    }
    Ok(filled)
}

fn read_data(
    reader: &mut impl Read,
    header: &Header,
    entries: usize,
    start: usize,
) -> Result<Data> {
    let entry = |bytes: &[u8]| {
        let mut word = [0; 8];
        word[..bytes.len()].copy_from_slice(bytes);
        if header.big_endian {
            word[..bytes.len()].reverse();
        }
        u64::from_le_bytes(word)
    };
    let unsigned = |at: usize, value: u64| {
        i64::try_from(value).map_err(|_| bad("npy", format!("entry {at}"), "it exceeds 2^63 - 1"))
    };
    let signed = |bytes: &[u8]| {
        let unused = 64 - 8 * header.width as u32;
        (entry(bytes) << unused).cast_signed() >> unused
    };
    let place = Place { width: header.width, entries, start };
    match (header.kind, header.width) {
        (Kind::Float, 4) => {
            decode(reader, place, |_, b| Ok(f32::from_bits(entry(b) as u32))).map(Data::F32)
        }
        (Kind::Float, _) => {
            decode(reader, place, |_, b| Ok(f64::from_bits(entry(b)))).map(Data::F64)
        }
        (Kind::Signed, _) => decode(reader, place, |_, b| Ok(signed(b))).map(Data::I64),
        (Kind::Unsigned, _) => decode(reader, place, |at, b| unsigned(at, entry(b))).map(Data::I64),
        (Kind::Bytes | Kind::Unicode, _) => {
            if header.width > CHUNK {
                return Err(bad("npy", "header", "its strings are too wide to be names"));
            }
            decode(reader, place, |_, b| Ok(text(b, header))).map(Data::Text)
        }
    }
}

/// Decodes a fixed-width string without its padding.
fn text(bytes: &[u8], header: &Header) -> String {
    let text: String = if header.kind == Kind::Bytes {
        String::from_utf8_lossy(bytes).into_owned()
    } else {
        let code = |b: &[u8; 4]| {
            if header.big_endian { u32::from_be_bytes(*b) } else { u32::from_le_bytes(*b) }
        };
        let letter = |b| char::from_u32(code(b)).unwrap_or(char::REPLACEMENT_CHARACTER);
        bytes.as_chunks::<4>().0.iter().map(letter).collect()
    };
    text.trim_end_matches('\0').to_owned()
}

/// Width and number of the entries, and the byte offset of the first.
#[derive(Clone, Copy)]
struct Place {
    width: usize,
    entries: usize,
    start: usize,
}

/// Reads and decodes the entries chunk by chunk.
fn decode<T>(
    reader: &mut impl Read,
    Place { width, entries, start }: Place,
    mut entry: impl FnMut(usize, &[u8]) -> Result<T>,
) -> Result<Vec<T>> {
    if width == 0 {
        return Err(bad("npy", "header", "its strings have no width"));
    }
    let step = format_args!("an array of {entries} entries");
    let fewer = "give a smaller one, or sparse (.npz) where most of it is 0";
    let mut values = Vec::new();
    let mut buffer = vec![0; CHUNK - CHUNK % width];
    while values.len() < entries {
        let wanted = buffer.len().min((entries - values.len()) * width);
        let at = start + values.len() * width;
        let got = fill(reader, &mut buffer[..wanted], at)?;
        if values.is_empty() && got == wanted {
            // A whole chunk has arrived, so the announced size is plausible.
            memory::check(step, memory::size_of::<T>(&[entries]), fewer)?;
        }
        memory::grow(&mut values, step, got / width, fewer)?;
        for bytes in buffer[..got].chunks_exact(width) {
            values.push(entry(values.len(), bytes)?);
        }
        if got < wanted {
            let reason = format!("the file ends after {} of {entries} entries", values.len());
            return Err(bad("npy", format!("byte {}", at + got), reason));
        }
    }
    Ok(values)
}

fn to_c_order(shape: &[usize], data: Data) -> Result<Data> {
    Ok(match data {
        Data::F32(values) => Data::F32(transpose(shape, &values)?),
        Data::F64(values) => Data::F64(transpose(shape, &values)?),
        Data::I64(values) => Data::I64(transpose(shape, &values)?),
        Data::Text(values) => Data::Text(transpose(shape, &values)?),
    })
}

/// Reorders entries from Fortran to C order.
fn transpose<T: Clone>(shape: &[usize], values: &[T]) -> Result<Vec<T>> {
    let mut index = vec![0; shape.len()];
    let mut at = 0;
    let step = format_args!("converting an array of {} entries from Fortran order", values.len());
    let mut reordered = memory::with_capacity(step, values.len(), "save it in C order")?;
    for _ in 0..values.len() {
        reordered.push(values[at].clone());
        // Increment the index, last axis fastest, and update its position in Fortran order.
        let mut stride = values.len();
        for axis in (0..shape.len()).rev() {
            stride /= shape[axis];
            index[axis] += 1;
            at += stride;
            if index[axis] < shape[axis] {
                break;
            }
            index[axis] = 0;
            at -= stride * shape[axis];
        }
    }
    Ok(reordered)
}

/// Writes `data` as a `float64` array.
///
/// # Errors
/// The output fails, or `shape` does not hold as many entries as `data`.
///
/// # Example
/// ```
/// use treeport::io::{Data, npy};
/// let mut file = Vec::new();
/// npy::write_f64(&[2, 1], &[0.5, 2.0], &mut file)?;
/// let array = npy::read(&file[..])?;
/// assert_eq!((array.shape, array.data), (vec![2, 1], Data::F64(vec![0.5, 2.0])));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn write_f64(shape: &[usize], data: &[f64], out: impl Write) -> io::Result<()> {
    write("<f8", shape, data, |v| v.to_le_bytes(), out)
}

/// Writes `data` as an `int64` array.
pub fn write_i64(shape: &[usize], data: &[i64], out: impl Write) -> io::Result<()> {
    write("<i8", shape, data, |v| v.to_le_bytes(), out)
}

/// Writes one byte string of three letters, the type of SciPy's format names.
pub(super) fn write_name(name: [u8; 3], out: impl Write) -> io::Result<()> {
    write("|S3", &[], &[name], |name| *name, out)
}

/// Writes strings as an array of Unicode strings, as wide as the longest.
pub(super) fn write_texts(texts: &[String], mut out: impl Write) -> io::Result<()> {
    let width = texts.iter().map(|text| text.chars().count()).max().unwrap_or(0).max(1);
    if 4 * width > CHUNK {
        let message =
            format!("a name has {width} characters, more than the {} of an array", CHUNK / 4);
        return Err(io::Error::new(io::ErrorKind::InvalidInput, message));
    }
    write_header(&format!("<U{width}"), &[texts.len()], &mut out)?;
    let mut buffer = Vec::with_capacity(4 * width);
    for text in texts {
        buffer.clear();
        buffer.extend(text.chars().flat_map(|letter| u32::from(letter).to_le_bytes()));
        buffer.resize(4 * width, 0);
        out.write_all(&buffer)?;
    }
    Ok(())
}

pub(super) fn write<T, const N: usize>(
    descr: &str,
    shape: &[usize],
    data: &[T],
    bytes: impl Fn(&T) -> [u8; N],
    mut out: impl Write,
) -> io::Result<()> {
    let entries = shape.iter().try_fold(1usize, |n, &axis| n.checked_mul(axis));
    if entries != Some(data.len()) {
        let message = format!("{} entries do not fill shape {}", data.len(), show_shape(shape));
        return Err(io::Error::new(io::ErrorKind::InvalidInput, message));
    }
    write_header(descr, shape, &mut out)?;
    let mut buffer = Vec::with_capacity(CHUNK);
    for chunk in data.chunks(CHUNK / N) {
        buffer.clear();
        buffer.extend(chunk.iter().flat_map(&bytes));
        out.write_all(&buffer)?;
    }
    Ok(())
}

/// Writes the header of a `float64` array; the caller writes the entries as little-endian bytes.
pub fn write_f64_header(shape: &[usize], out: impl Write) -> io::Result<()> {
    write_header("<f8", shape, out)
}

/// Writes the header of an `int64` array; see [`write_f64_header`].
pub(super) fn write_i64_header(shape: &[usize], out: impl Write) -> io::Result<()> {
    write_header("<i8", shape, out)
}

fn write_header(descr: &str, shape: &[usize], mut out: impl Write) -> io::Result<()> {
    let dict =
        format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': {}, }}", show_shape(shape));
    // NumPy aligns the entries to 64 bytes: magic, version and length take 10, the line feed one.
    let length = (10 + dict.len() + 1).next_multiple_of(64) - 10;
    let too_long = |_| io::Error::new(io::ErrorKind::InvalidInput, "too many axes");
    out.write_all(MAGIC)?;
    out.write_all(&[1, 0])?;
    out.write_all(&u16::try_from(length).map_err(too_long)?.to_le_bytes())?;
    writeln!(out, "{dict:width$}", width = length - 1)
}

#[cfg(test)]
#[path = "npy_tests.rs"]
mod tests;
