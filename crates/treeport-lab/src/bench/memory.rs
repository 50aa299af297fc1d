//! Peak memory of a job, from the kernel's own books; Linux only.

use std::fs;

/// Runs a job and returns its result with the most memory (MiB) the process held on the way, above
/// what it held before; `None` where the system does not tell.
pub(super) fn peak_mib<T>(job: impl FnOnce() -> T) -> (T, Option<f64>) {
    let reset = reset_peak();
    let before = status_mib("VmRSS:");
    let result = job();
    let peak = status_mib("VmHWM:").zip(before).map(|(peak, before)| peak - before);
    (result, peak.filter(|_| reset))
}

/// Sets the high-water mark back to what is held now.
pub(super) fn reset_peak() -> bool {
    fs::write("/proc/self/clear_refs", "5").is_ok()
}

/// The most memory (MiB) the process has held since the mark was set back.
pub(super) fn peak_now_mib() -> Option<f64> {
    status_mib("VmHWM:").filter(|_| reset_peak())
}

/// A line of /proc/self/status, in MiB.
fn status_mib(key: &str) -> Option<f64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with(key))?;
    let kib: f64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kib / 1024.0)
}
