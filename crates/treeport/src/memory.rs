//! Memory checks before allocation: an allocation that grows faster than the input is compared with
//! the available memory; if it does not fit, the error has its name, its size and advice.
//!
//! Available memory is the minimum of the machine's free memory, the remaining memory of the
//! control groups, the remaining address space of the process, and [`set_limit`]. On systems that
//! do not report free memory the allocation is tried. Each step is checked once, before its first
//! allocation, with the sum of all memory that it holds at the same time.

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use crate::error::{Error, Result};

/// Limit of the memory of one step; `u64::MAX` means no limit.
static LIMIT: AtomicU64 = AtomicU64::new(u64::MAX);

/// Steps up to this size are compared with [`set_limit`] alone, which is faster.
const SMALL: u64 = 1 << 24;

/// Limits the memory that one step may allocate in addition to the memory in use at its start.
/// Applies to the whole process from now on. With `None` (the default) only the machine is the
/// limit.
pub fn set_limit(bytes: Option<u64>) {
    LIMIT.store(bytes.unwrap_or(u64::MAX), Ordering::Relaxed);
}

/// Returns the lesser of [`set_limit`] and the system's free memory, if known.
pub fn available() -> Option<u64> {
    let limit = Some(LIMIT.load(Ordering::Relaxed)).filter(|&limit| limit < u64::MAX);
    // A part is left to other processes and to small allocations, which are not checked.
    let spare = spare().map(|bytes| bytes.saturating_sub(RESERVE.max(bytes / 16)));
    [limit, spare].into_iter().flatten().min()
}

/// Checks that a step fits into the available memory. The library checks its own steps; callers can
/// check theirs.
///
/// # Errors
/// [`Error::Memory`], with the advice `instead`.
pub fn check(step: impl fmt::Display + Copy, bytes: u64, instead: &'static str) -> Result<()> {
    if bytes <= SMALL.min(LIMIT.load(Ordering::Relaxed)) {
        return Ok(());
    }
    match available() {
        Some(left) if bytes > left => Err(refused(step, bytes, Some(left), instead)),
        _ => Ok(()),
    }
}

/// Returns `count` zeros, if they fit.
pub(crate) fn zeros<T: Clone + Default>(
    step: impl fmt::Display + Copy,
    count: usize,
    instead: &'static str,
) -> Result<Vec<T>> {
    // Reserve and free, then allocate zeroed memory, which the system provides without writing it.
    drop(with_capacity::<T>(step, count, instead)?);
    Ok(vec![T::default(); count])
}

/// Returns an empty vector with capacity for `count` entries, if they fit.
pub(crate) fn with_capacity<T>(
    step: impl fmt::Display + Copy,
    count: usize,
    instead: &'static str,
) -> Result<Vec<T>> {
    let mut vector = Vec::new();
    resize_room(&mut vector, step, count, instead)?;
    Ok(vector)
}

/// Reserves memory for `count` entries in total, including those that the vector holds.
pub(crate) fn resize_room<T>(
    vector: &mut Vec<T>,
    step: impl fmt::Display + Copy,
    count: usize,
    instead: &'static str,
) -> Result<()> {
    if count <= vector.capacity() {
        return Ok(());
    }
    let bytes = size_of::<T>(&[count]);
    check(step, bytes, instead)?;
    let more = count - vector.len();
    vector.try_reserve_exact(more).map_err(|_| refused(step, bytes, None, instead))
}

/// Reserves memory for `more` additional entries, with amortized growth for later ones.
pub(crate) fn grow<T>(
    vector: &mut Vec<T>,
    step: impl fmt::Display + Copy,
    more: usize,
    instead: &'static str,
) -> Result<()> {
    let needed = vector.len().saturating_add(more);
    if needed <= vector.capacity() {
        return Ok(());
    }
    // Grow by half while that fits, else by 1/16: many small steps stay cheap in total.
    let half = vector.len() / 2;
    resize_room(vector, step, needed.max(vector.len() + half), instead)
        .or_else(|_| resize_room(vector, step, needed.max(vector.len() + half / 8), instead))
}

/// Returns the bytes of a table of `T` with these sides, at most `u64::MAX`.
pub(crate) fn size_of<T>(sides: &[usize]) -> u64 {
    let one = std::mem::size_of::<T>() as u64;
    sides.iter().fold(one, |bytes, &side| bytes.saturating_mul(side as u64))
}

/// Returns the bytes of a condensed matrix of `T` over `n` points.
pub(crate) fn size_of_pairs<T>(n: usize) -> u64 {
    // n(n − 1)/2, with the even factor halved.
    let (a, b) = if n.is_multiple_of(2) { (n / 2, n.saturating_sub(1)) } else { (n, n / 2) };
    size_of::<T>(&[a, b])
}

fn refused(
    step: impl fmt::Display,
    bytes: u64,
    available: Option<u64>,
    instead: &'static str,
) -> Error {
    Error::Memory { step: step.to_string(), bytes, available, instead }
}

/// Formats bytes with up to three digits and a unit.
pub fn show(bytes: u64) -> String {
    const UNITS: [&str; 7] = ["bytes", "kB", "MB", "GB", "TB", "PB", "EB"];
    let (mut value, mut unit) = (bytes as f64, 0);
    while value >= 999.5 && unit + 1 < UNITS.len() {
        value /= 1000.0;
        unit += 1;
    }
    let digits = usize::from(unit > 0 && value < 99.95);
    let text = format!("{value:.digits$}");
    format!("{} {}", text.strip_suffix(".0").unwrap_or(&text), UNITS[unit])
}

/// Parses a size such as `4GB`, `512MiB`, `1.5 G` or a plain number of bytes.
///
/// # Errors
/// The text is not a size.
///
/// # Example
/// ```
/// assert_eq!(treeport::memory::parse("512MiB")?, 512 << 20);
/// assert_eq!(treeport::memory::parse("4GB")?, 4_000_000_000);
/// # Ok::<(), treeport::Error>(())
/// ```
pub fn parse(text: &str) -> Result<u64> {
    let at = text.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(text.len());
    let (number, unit) = (text[..at].trim(), text[at..].trim().to_ascii_lowercase());
    let (letter, base): (&str, f64) = match unit.strip_suffix("ib") {
        Some(letter) => (letter, 1024.0),
        None => (unit.strip_suffix('b').unwrap_or(&unit), 1000.0),
    };
    let power = (0..).zip(["", "k", "m", "g", "t"]).find(|(_, known)| *known == letter);
    let bytes = number.parse::<f64>().ok().zip(power).map(|(n, (p, _))| n * base.powi(p));
    match bytes {
        Some(bytes) if (0.0..9e18).contains(&bytes) => Ok(bytes as u64),
        _ => Err(Error::BadOption {
            option: "memory",
            value: text.into(),
            expected: "a size is a number with a unit, such as 4GB or 512MiB",
        }),
    }
}

/// Memory left at least for small allocations, which are not checked.
const RESERVE: u64 = 32 << 20;

/// Returns the free memory of the system for this process, if the system reports it.
fn spare() -> Option<u64> {
    let machine = read("/proc/meminfo").and_then(|text| field(&text, "MemAvailable:"));
    let groups = read("/proc/self/cgroup").and_then(|text| groups(&text, Path::new(GROUPS)));
    [machine, groups, address_space()].into_iter().flatten().min()
}

/// Root folder of control groups.
const GROUPS: &str = "/sys/fs/cgroup";

fn read(path: impl AsRef<Path>) -> Option<String> {
    fs::read_to_string(path).ok()
}

/// Returns the number after a name at the beginning of a line, in bytes.
fn field(text: &str, name: &str) -> Option<u64> {
    let rest = text.lines().find_map(|line| line.strip_prefix(name))?;
    let mut words = rest.split_whitespace();
    let number: u64 = words.next()?.parse().ok()?;
    Some(if words.next() == Some("kB") { number * 1024 } else { number })
}

/// Returns the remaining address space under its limit (`ulimit -v`), if there is one.
fn address_space() -> Option<u64> {
    let limit = field(&read("/proc/self/limits")?, "Max address space")?;
    let used = field(&read("/proc/self/status")?, "VmSize:")?;
    Some(limit.saturating_sub(used))
}

/// Address space of a program before it reads any input.
const PROCESS_SPACE: u64 = 64 << 20;

/// Address space of a thread: its stack and its arena of the allocator.
const THREAD_SPACE: u64 = 66 << 20;

/// Checks that the address space suffices to start `threads` threads. Without this check the C
/// library may end the process: it cannot report that a thread's local storage does not fit.
///
/// # Errors
/// [`Error::Memory`].
pub fn check_threads(threads: usize) -> Result<()> {
    threads_fit(threads, address_space())
}

fn threads_fit(threads: usize, left: Option<u64>) -> Result<()> {
    // Two more threads handle signals and draw progress.
    let bytes = PROCESS_SPACE + THREAD_SPACE * (threads as u64 + 2);
    match left {
        Some(left) if left < bytes => {
            let step = format_args!("starting {threads} threads");
            let instead = "take fewer threads, or raise the limit of the address space (ulimit -v)";
            Err(refused(step, bytes, Some(left), instead))
        }
        _ => Ok(()),
    }
}

/// Returns the remaining memory of the control groups in `text` and their ancestors.
fn groups(text: &str, root: &Path) -> Option<u64> {
    let mut least = None;
    for line in text.lines() {
        let mut parts = line.splitn(3, ':').skip(1);
        let (Some(kinds), Some(path)) = (parts.next(), parts.next()) else { continue };
        let (base, limit, used, cache) = if kinds.is_empty() {
            (root.to_owned(), "memory.max", "memory.current", "inactive_file ")
        } else if kinds.split(',').any(|kind| kind == "memory") {
            let files = ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file ");
            (root.join("memory"), files.0, files.1, files.2)
        } else {
            continue;
        };
        for folder in with_parents(&base, path) {
            let number = |name: &str| read(folder.join(name))?.trim().parse::<u64>().ok();
            if let (Some(limit), Some(used)) = (number(limit), number(used)) {
                // The system reclaims inactive pages of files when memory is needed.
                let cached = read(folder.join("memory.stat")).and_then(|text| field(&text, cache));
                let left = limit.saturating_sub(used.saturating_sub(cached.unwrap_or(0)));
                least = Some(least.unwrap_or(left).min(left));
            }
        }
    }
    least
}

/// Returns the folders of a group and of its ancestors.
fn with_parents(base: &Path, group: &str) -> Vec<PathBuf> {
    let group = Path::new(group.trim_start_matches('/'));
    group.ancestors().map(|part| base.join(part)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_do_not_overflow() {
        assert_eq!(size_of::<f64>(&[3, 4]), 96);
        assert_eq!(size_of::<f64>(&[usize::MAX, 2, 7]), u64::MAX);
        assert_eq!(size_of_pairs::<f64>(5), 80);
        assert_eq!(size_of_pairs::<f32>(4), 24);
        assert_eq!((size_of_pairs::<f64>(0), size_of_pairs::<f64>(1)), (0, 0));
        assert_eq!(size_of_pairs::<f64>(usize::MAX), u64::MAX);
    }

    #[test]
    fn threads_beyond_the_address_space_are_refused() {
        assert!(threads_fit(4, None).is_ok());
        assert!(threads_fit(4, Some(1 << 30)).is_ok());
        let text = threads_fit(4, Some(100 << 20)).unwrap_err().to_string();
        assert!(text.starts_with("starting 4 threads needs 482 MB, and 105 MB are"), "{text}");
    }

    #[test]
    fn what_no_machine_has_is_refused() {
        let error = zeros::<f64>("the table of 9 rows", usize::MAX, "take 8 rows");
        let text = error.unwrap_err().to_string();
        assert!(text.starts_with("the table of 9 rows needs 18.4 EB, "), "{text}");
        assert!(text.ends_with("; take 8 rows"), "{text}");
        // Fits into a number, but not into the address space.
        let error = with_capacity::<f64>("it", 1 << 55, "").unwrap_err();
        assert!(matches!(error, Error::Memory { bytes, .. } if bytes == 1 << 58), "{error}");
        assert_eq!(zeros::<u8>("it", 3, "").unwrap(), [0; 3]);
    }

    #[test]
    fn sizes_are_read_and_shown() {
        for (text, bytes) in [
            ("0", 0),
            ("17", 17),
            ("1.5k", 1500),
            ("2 MB", 2_000_000),
            ("1KiB", 1024),
            ("3gib", 3 << 30),
            ("1T", 1_000_000_000_000),
        ] {
            assert_eq!(parse(text).unwrap(), bytes, "{text}");
        }
        for text in ["", "GB", "-1", "4 pints", "1e30", "nan", "GB4"] {
            assert!(parse(text).is_err(), "{text}");
        }
        assert_eq!(
            parse("much").unwrap_err().to_string(),
            "memory is much; a size is a number with a unit, such as 4GB or 512MiB"
        );
        for (bytes, text) in [
            (0, "0 bytes"),
            (999, "999 bytes"),
            (1000, "1 kB"),
            (1234, "1.2 kB"),
            (999_900, "1 MB"),
            (160_000_000_000, "160 GB"),
            (u64::MAX, "18.4 EB"),
        ] {
            assert_eq!(show(bytes), text);
        }
    }

    #[test]
    fn limits_are_read_as_the_system_writes_them() {
        let text = "MemTotal:  100 kB\nMemAvailable:    60 kB\n";
        assert_eq!(field(text, "MemAvailable:"), Some(60 * 1024));
        let limits = "Max address space         1048576              unlimited            bytes \n";
        assert_eq!(field(limits, "Max address space"), Some(1 << 20));
        let without =
            "Max address space         unlimited            unlimited            bytes \n";
        assert_eq!(field(without, "Max address space"), None);
    }

    #[cfg(feature = "io")]
    #[test]
    fn the_tightest_group_counts() {
        let root = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        write("a/b/memory.max", "max\n");
        write("a/b/memory.current", "10\n");
        assert_eq!(groups("0::/a/b\n", root.path()), None);
        write("a/memory.max", "1000\n");
        write("a/memory.current", "700\n");
        write("a/memory.stat", "anon 1\ninactive_file 200\n");
        assert_eq!(groups("0::/a/b\n", root.path()), Some(500));
        write("memory/c/memory.limit_in_bytes", "300\n");
        write("memory/c/memory.usage_in_bytes", "100\n");
        assert_eq!(groups("4:cpu,memory:/c\n1:cpu:/\n0::/a/b\n", root.path()), Some(200));
        assert_eq!(groups("nonsense\n", root.path()), None);
    }
}
