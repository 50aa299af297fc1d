//! Long computations with the interpreter released: threads, progress and Ctrl-C.
//!
//! Python handles signals in its main thread, between byte codes, so Ctrl-C would have no effect
//! while Rust computes. Therefore the calling thread does no work: it wakes up periodically, lets
//! Python check signals, updates the progress bar, and cancels the work when Python raises.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};
use treeport::Forecast;
use treeport::memory;
use treeport::progress::{Progress, State};
use treeport::solve::Route;

use crate::convert::to_py_err;

/// Longest delay of Ctrl-C and of the progress bar.
pub(crate) const TICK: Duration = Duration::from_millis(50);

/// State shared by the work and the thread that watches it.
#[derive(Default)]
struct Watch {
    stop: AtomicBool,
    done: AtomicUsize,
    total: AtomicUsize,
    task: Mutex<&'static str>,
}

impl Watch {
    /// Records the progress of the work; returns false once it has to stop.
    fn report(&self, state: &State<'_>) -> bool {
        self.done.store(state.done, Ordering::Relaxed);
        self.total.store(state.total.unwrap_or(0), Ordering::Relaxed);
        // Skipped while the name is locked: the next report contains it again.
        if let Ok(mut task) = self.task.try_lock() {
            *task = state.task;
        }
        !self.stop.load(Ordering::Relaxed)
    }
}

/// Runs `job` in a pool of `threads` (0: one for each processor) and calls `report(task, done,
/// total)`. Errors of signal handlers and `report` end it; a panic is a `RuntimeError`.
pub(crate) fn run<T: Send>(
    py: Python<'_>,
    threads: usize,
    report: Option<&Bound<'_, PyAny>>,
    job: impl FnOnce(&Progress<'_>) -> treeport::Result<T> + Send,
) -> PyResult<T> {
    let (watch, slot, ready) = (Watch::default(), Mutex::new(None), Condvar::new());
    let mut interrupt = None;
    pool(threads)?.in_place_scope(|scope| {
        scope.spawn(|_| {
            let result = catch_unwind(AssertUnwindSafe(|| job(&|state| watch.report(state))));
            *slot.lock().unwrap_or_else(PoisonError::into_inner) = Some(result);
            ready.notify_one();
        });
        let finished = || {
            let guard = slot.lock().unwrap_or_else(PoisonError::into_inner);
            let wait = ready.wait_timeout_while(guard, TICK, |result| result.is_none());
            wait.unwrap_or_else(PoisonError::into_inner).0.is_some()
        };
        while !py.detach(finished) {
            if interrupt.is_none() {
                interrupt = tick(py, report, &watch).err();
                watch.stop.store(interrupt.is_some(), Ordering::Relaxed);
            }
        }
    });
    if let Some(error) = interrupt {
        return Err(error);
    }
    let result = slot.into_inner().unwrap_or_else(PoisonError::into_inner);
    match result.expect("the loop ends when there is a result") {
        Ok(result) => result.map_err(to_py_err),
        Err(panic) => Err(broken(&*panic)),
    }
}

/// Converts a panic to an ordinary exception: that of PyO3 is not a subclass of `Exception`, so a
/// client of a cluster, for example, would wait for an answer forever.
fn broken(panic: &(dyn Any + Send)) -> PyErr {
    let text = panic.downcast_ref::<&str>().copied();
    let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    let text = text.unwrap_or("no message");
    PyRuntimeError::new_err(format!("treeport has a fault, please report this: {text}"))
}

/// Reports a rough forecast of long work: calls `report.expect(text)`, if there is such a method.
pub(crate) fn tell(report: Option<&Bound<'_, PyAny>>, forecast: &Forecast) -> PyResult<()> {
    if forecast.is_long() { call(report, "expect", forecast.to_string()) } else { Ok(()) }
}

/// Calls `report.explain(text)`, if there is such a method, with engines and reasons.
pub(crate) fn explain(report: Option<&Bound<'_, PyAny>>, route: &Route) -> PyResult<()> {
    call(report, "explain", route.to_string())
}

fn call(report: Option<&Bound<'_, PyAny>>, method: &str, text: String) -> PyResult<()> {
    let Some(report) = report else { return Ok(()) };
    let method = report.getattr_opt(method)?;
    method.map_or(Ok(()), |method| method.call1((text,)).map(drop))
}

fn tick(py: Python<'_>, report: Option<&Bound<'_, PyAny>>, watch: &Watch) -> PyResult<()> {
    py.check_signals()?;
    if let Some(report) = report {
        let (done, total) = (&watch.done, &watch.total);
        let task = *watch.task.lock().unwrap_or_else(PoisonError::into_inner);
        report.call1((task, done.load(Ordering::Relaxed), total.load(Ordering::Relaxed)))?;
    }
    Ok(())
}

/// ID of the process that created the pool, its number of threads, and the pool.
type Made = (u32, usize, Arc<ThreadPool>);

/// Pools created so far; starting threads takes longer than many jobs.
static POOLS: Mutex<Vec<Made>> = Mutex::new(Vec::new());

/// Largest number of threads, more than any machine can use.
const MOST_THREADS: usize = 1024;

/// Returns a pool of this process: threads do not survive a fork.
fn pool(threads: usize) -> PyResult<Arc<ThreadPool>> {
    let mut pools = POOLS.lock().unwrap_or_else(PoisonError::into_inner);
    let here = process::id();
    if let Some((.., pool)) = pools.iter().find(|made| (made.0, made.1) == (here, threads)) {
        return Ok(Arc::clone(pool));
    }
    if threads > MOST_THREADS {
        let message = format!("{threads} threads are more than the {MOST_THREADS} that make sense");
        return Err(PyValueError::new_err(message));
    }
    let processors = || thread::available_parallelism().map_or(1, Into::into);
    let started = if threads == 0 { processors() } else { threads };
    memory::check_threads(started).map_err(to_py_err)?;
    let pool = ThreadPoolBuilder::new().num_threads(threads).build();
    let pool = Arc::new(pool.map_err(|error| {
        let many =
            if threads == 0 { "one for every processor".into() } else { threads.to_string() };
        let what = format!("the threads of a computation ({many}) cannot be started: {error}");
        PyRuntimeError::new_err(
            what + "; n_jobs=1 needs the fewest, and limits may be raised (ulimit)",
        )
    })?);
    pools.push((here, threads, Arc::clone(&pool)));
    Ok(pool)
}
