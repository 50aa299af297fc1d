//! Writers of foreign formats: CSV, NumPy arrays, SciPy's sparse archives.
//!
//! They are independent of our own writers, which are under attack.

/// Writes rows of numbers as CSV, with a header if it is not empty.
pub(super) fn csv(header: &str, rows: &[Vec<f64>]) -> Vec<u8> {
    let mut text = String::new();
    if !header.is_empty() {
        text = format!("{header}\n");
    }
    for row in rows {
        let cells: Vec<String> = row.iter().map(ToString::to_string).collect();
        text += &cells.join(",");
        text.push('\n');
    }
    text.into_bytes()
}

/// Writes a NumPy array of raw entries.
fn npy(descr: &str, shape: &str, entries: &[u8]) -> Vec<u8> {
    let head = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}");
    let head = format!("{head:<117}\n");
    let mut file = b"\x93NUMPY\x01\x00".to_vec();
    file.extend((head.len() as u16).to_le_bytes());
    file.extend(head.as_bytes());
    file.extend(entries);
    file
}

/// Writes rows of numbers as a NumPy array.
pub(super) fn npy_rows(rows: &[Vec<f64>]) -> Vec<u8> {
    let shape = format!("({}, {})", rows.len(), rows.first().map_or(0, Vec::len));
    let entries: Vec<u8> = rows.iter().flatten().flat_map(|value| value.to_le_bytes()).collect();
    npy("<f8", &shape, &entries)
}

fn npy_whole(numbers: &[usize]) -> Vec<u8> {
    let entries: Vec<u8> =
        numbers.iter().flat_map(|&number| (number as u64).to_le_bytes()).collect();
    npy("<i8", &format!("({},)", numbers.len()), &entries)
}

/// Returns the members of the archive that `scipy.sparse.save_npz` writes for these rows.
pub(super) fn sparse(rows: &[Vec<f64>]) -> Vec<(&'static str, Vec<u8>)> {
    let (mut indptr, mut indices, mut data) = (vec![0], Vec::new(), Vec::new());
    for row in rows {
        for (column, value) in row.iter().enumerate().filter(|(_, value)| **value != 0.0) {
            indices.push(column);
            data.extend(value.to_le_bytes());
        }
        indptr.push(indices.len());
    }
    let entries = format!("({},)", indices.len());
    vec![
        ("indices.npy", npy_whole(&indices)),
        ("indptr.npy", npy_whole(&indptr)),
        ("format.npy", npy("|S3", "()", b"csr")),
        ("shape.npy", npy_whole(&[rows.len(), rows.first().map_or(0, Vec::len)])),
        ("data.npy", npy("<f8", &entries, &data)),
    ]
}

/// Returns the members of a ragged archive of clouds, given as masses with rows of coordinates.
pub(super) fn ragged(clouds: &[(Vec<f64>, Vec<Vec<f64>>)]) -> Vec<(&'static str, Vec<u8>)> {
    let points: Vec<Vec<f64>> = clouds.iter().flat_map(|cloud| cloud.1.clone()).collect();
    let masses = clouds.iter().flat_map(|cloud| &cloud.0).flat_map(|mass| mass.to_le_bytes());
    let mut offsets = vec![0];
    for cloud in clouds {
        offsets.push(offsets[offsets.len() - 1] + cloud.0.len());
    }
    let entries = format!("({},)", points.len());
    vec![
        ("points.npy", npy_rows(&points)),
        ("offsets.npy", npy_whole(&offsets)),
        ("masses.npy", npy("<f8", &entries, &masses.collect::<Vec<u8>>())),
    ]
}

/// Writes a zip archive with uncompressed members.
pub(super) fn zip(members: &[(&str, Vec<u8>)]) -> Vec<u8> {
    let (mut file, mut directory) = (Vec::new(), Vec::new());
    for (name, bytes) in members {
        let mut head = vec![20, 0, 0, 0, 0, 0, 0, 0, 0x21, 0]; // version, flags, method, time
        head.extend(crc32(bytes).to_le_bytes());
        head.extend([bytes.len() as u32; 2].iter().flat_map(|size| size.to_le_bytes()));
        head.extend((name.len() as u32).to_le_bytes()); // and no extra field
        directory.extend(b"PK\x01\x02\x14\x00");
        directory.extend(&head);
        directory.extend([0; 10]); // comment, disk, attributes
        directory.extend((file.len() as u32).to_le_bytes());
        directory.extend(name.as_bytes());
        file.extend(b"PK\x03\x04");
        file.extend(&head);
        file.extend(name.as_bytes());
        file.extend(bytes);
    }
    let (start, count) = (file.len() as u32, members.len() as u16);
    file.extend(&directory);
    file.extend(b"PK\x05\x06\0\0\0\0");
    file.extend([count; 2].iter().flat_map(|count| count.to_le_bytes()));
    file.extend((directory.len() as u32).to_le_bytes());
    file.extend(start.to_le_bytes());
    file.extend([0, 0]);
    file
}

fn crc32(bytes: &[u8]) -> u32 {
    let step = |sum: u32, byte: &u8| {
        (0..8).fold(sum ^ u32::from(*byte), |sum, _| (sum >> 1) ^ (0xEDB8_8320 * (sum & 1)))
    };
    !bytes.iter().fold(!0, step)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checksums_are_those_of_zip() {
        assert_eq!(crc32(b"123456789"), 0xCBF4_3926);
    }

    #[test]
    fn arrays_begin_on_a_multiple_of_64() {
        let file = npy_rows(&[vec![1.0, 2.0], vec![3.0, 4.0]]);
        assert_eq!(file.len(), 128 + 32);
        assert_eq!(&file[128..136], 1.0_f64.to_le_bytes());
    }
}
