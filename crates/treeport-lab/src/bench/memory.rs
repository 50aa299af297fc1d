//! Peak memory of a job, from the kernel's statistics; Linux only.

use std::fs;

/// Runs a job; returns its result and the increase of the peak memory in MiB, if known.
pub(super) fn peak_mib<T>(job: impl FnOnce() -> T) -> (T, Option<f64>) {
    let reset = reset_peak();
    let before = status_mib("VmRSS:");
    let result = job();
    let peak = status_mib("VmHWM:").zip(before).map(|(peak, before)| peak - before);
    (result, peak.filter(|_| reset))
}

/// Resets the high-water mark to the current memory.
pub(super) fn reset_peak() -> bool {
    fs::write("/proc/self/clear_refs", "5").is_ok()
}

/// Returns the peak memory in MiB since the last reset, and resets it.
pub(super) fn peak_now_mib() -> Option<f64> {
    status_mib("VmHWM:").filter(|_| reset_peak())
}

/// Reads a line of /proc/self/status, in MiB.
fn status_mib(key: &str) -> Option<f64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with(key))?;
    let kib: f64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kib / 1024.0)
}
