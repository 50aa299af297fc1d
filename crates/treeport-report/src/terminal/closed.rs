//! Detection of a standard output that was closed when the process began.
//!
//! Before `main`, Rust opens `/dev/null` in place of a closed standard stream, and writes to it
//! succeed: `treeport exact … >&-` would lose its rows without an error. The check below therefore
//! runs among the initializers of the process, before the runtime of Rust.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};

static WAS_CLOSED: AtomicBool = AtomicBool::new(false);

/// Returns stdout, or an error if it was closed when the process began.
pub(super) fn stdout() -> io::Result<io::Stdout> {
    if WAS_CLOSED.load(Ordering::Relaxed) {
        return Err(io::Error::other("it is closed"));
    }
    Ok(io::stdout())
}

#[cfg(unix)]
#[used]
#[cfg_attr(target_vendor = "apple", unsafe(link_section = "__DATA,__mod_init_func"))]
#[cfg_attr(not(target_vendor = "apple"), unsafe(link_section = ".init_array"))]
#[expect(unsafe_code, reason = "a section of initializers; this one duplicates a descriptor")]
static CHECK: extern "C" fn() = check;

#[cfg(unix)]
extern "C" fn check() {
    use std::os::fd::AsFd;
    // A closed descriptor cannot be duplicated.
    let is_closed = io::stdout().as_fd().try_clone_to_owned().is_err();
    WAS_CLOSED.store(is_closed, Ordering::Relaxed);
}
