//! Peak memory of a job, from the kernel's own books; Linux only.

use std::fs;

/// Runs a job and returns its result with the most memory (MiB) the process held on the way, above
/// what it held before; `None` where the system does not tell.
pub(super) fn peak_mib<T>(job: impl FnOnce() -> T) -> (T, Option<f64>) {
    // Writing 5 sets the high-water mark back to what is held now.
    let reset = fs::write("/proc/self/clear_refs", "5").is_ok();
    let before = status_mib("VmRSS:");
    let result = job();
    let peak = status_mib("VmHWM:").zip(before).map(|(peak, before)| peak - before);
    (result, peak.filter(|_| reset))
}

/// A line of /proc/self/status, in MiB.
fn status_mib(key: &str) -> Option<f64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with(key))?;
    let kib: f64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kib / 1024.0)
}
