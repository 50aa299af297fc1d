//! Parallel loops: results in the order of the items, the same for any number of threads.
//!
//! Rayon's iterators are monomorphized for every closure, about twenty functions each, and were a
//! quarter of the crate's machine code when all loops used them. Here one function distributes the
//! items of all loops, and each loop compiles its body once: a sixth less code before optimization,
//! and a sixth less time to compile the crate. Loops that zip several slices at every pass
//! (`solve::sinkhorn`), sorts and recursions still use rayon itself.
//!
//! A thread that finishes a block of items takes the next one.

use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use crate::error::{Error, Result};

/// Blocks per thread, if there are enough items: more blocks balance better, fewer lock less often.
const BLOCKS: usize = 16;

/// Items that no thread has taken yet.
struct Remaining {
    next: AtomicUsize,
    count: usize,
    /// Number of items per block.
    size: usize,
}

impl Remaining {
    /// Takes the next block of items; `None` if there are no more or the loop has stopped.
    fn take(&self) -> Option<Range<usize>> {
        let start = self.next.fetch_add(self.size, Ordering::Relaxed);
        (start < self.count).then(|| start..self.count.min(start + self.size))
    }

    /// Discards all items that are not taken yet.
    fn stop(&self) {
        self.next.store(self.count, Ordering::Relaxed);
    }
}

/// Calls `work` once on each of several threads.
fn on_threads(threads: usize, work: &(dyn Fn() + Sync)) {
    if threads <= 1 {
        return work();
    }
    rayon::join(|| on_threads(threads / 2, work), || on_threads(threads - threads / 2, work));
}

/// Distributes `count` items: calls `work` once for each participating thread.
fn distribute(count: usize, work: &(dyn Fn(&Remaining) + Sync)) {
    let threads = rayon::current_num_threads().min(count);
    let size = (count / (BLOCKS * threads.max(1))).max(1);
    let remaining = Remaining { next: AtomicUsize::new(0), count, size };
    on_threads(threads, &|| work(&remaining));
}

/// Concatenates the results of blocks in the order of their first items.
fn in_order<T>(count: usize, mut blocks: Vec<(usize, Vec<T>)>) -> Vec<T> {
    let mut order: Vec<(usize, usize)> = blocks.iter().map(|block| block.0).zip(0..).collect();
    order.sort_unstable();
    let mut all = Vec::with_capacity(count);
    for (_, at) in order {
        all.append(&mut blocks[at].1);
    }
    all
}

/// Returns the results for items `0..count`; each thread has its own state.
pub(crate) fn map_with<S, T: Send>(
    count: usize,
    state: impl Fn() -> S + Sync,
    result: impl Fn(&mut S, usize) -> T + Sync,
) -> Vec<T> {
    let done = Mutex::new(Vec::new());
    distribute(count, &|remaining| {
        let Some(mut items) = remaining.take() else { return };
        let mut state = state();
        loop {
            let block = (items.start, items.map(|item| result(&mut state, item)).collect());
            done.lock().unwrap_or_else(PoisonError::into_inner).push(block);
            let Some(next) = remaining.take() else { return };
            items = next;
        }
    });
    in_order(count, done.into_inner().unwrap_or_else(PoisonError::into_inner))
}

/// Returns the results for items `0..count`.
pub(crate) fn map<T: Send>(count: usize, result: impl Fn(usize) -> T + Sync) -> Vec<T> {
    map_with(count, || (), |(), item| result(item))
}

/// Returns the results for items `0..count`, each thread with its own state, or the error of the
/// first item among those that failed before the loop stopped.
pub(crate) fn try_map_with<S, T: Send>(
    count: usize,
    state: impl Fn() -> S + Sync,
    result: impl Fn(&mut S, usize) -> Result<T> + Sync,
) -> Result<Vec<T>> {
    let done = Mutex::new((Vec::new(), None::<(usize, Error)>));
    let lock = || done.lock().unwrap_or_else(PoisonError::into_inner);
    distribute(count, &|remaining| {
        let Some(mut items) = remaining.take() else { return };
        let mut state = state();
        loop {
            let (start, mut block) = (items.start, Vec::with_capacity(items.len()));
            for item in items {
                match result(&mut state, item) {
                    Ok(value) => block.push(value),
                    Err(error) => {
                        remaining.stop();
                        let mut done = lock();
                        if done.1.as_ref().is_none_or(|first| item < first.0) {
                            done.1 = Some((item, error));
                        }
                        return;
                    }
                }
            }
            lock().0.push((start, block));
            let Some(next) = remaining.take() else { return };
            items = next;
        }
    });
    match done.into_inner().unwrap_or_else(PoisonError::into_inner) {
        (_, Some((_, error))) => Err(error),
        (blocks, None) => Ok(in_order(count, blocks)),
    }
}

/// Returns the results for items `0..count`, or an error, which stops the loop.
pub(crate) fn try_map<T: Send>(
    count: usize,
    result: impl Fn(usize) -> Result<T> + Sync,
) -> Result<Vec<T>> {
    try_map_with(count, || (), |(), item| result(item))
}

/// Runs tasks that own their data, with a state for each thread, up to an error.
pub(crate) fn try_for_each_with<S, B: Send>(
    tasks: impl Iterator<Item = B>,
    state: impl Fn() -> S + Sync,
    work: impl Fn(&mut S, B) -> Result<()> + Sync,
) -> Result<()> {
    let tasks: Vec<Mutex<Option<B>>> = tasks.map(|task| Mutex::new(Some(task))).collect();
    let done = try_map_with(tasks.len(), state, |state, at| {
        let task = tasks[at].lock().unwrap_or_else(PoisonError::into_inner).take();
        work(state, task.expect("every task is taken once"))
    });
    done.map(drop)
}

/// Runs tasks that own the data they change, such as blocks of rows. An error stops the loop.
pub(crate) fn try_for_each<B: Send>(
    tasks: impl Iterator<Item = B>,
    work: impl Fn(B) -> Result<()> + Sync,
) -> Result<()> {
    try_for_each_with(tasks, || (), |(), task| work(task))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with_threads<T: Send>(threads: usize, work: impl FnOnce() -> T + Send) -> T {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
        pool.build().expect("a few threads").install(work)
    }

    #[test]
    fn results_are_in_the_order_of_the_items() {
        for threads in [1, 2, 5] {
            for count in [0, 1, 2, 3, 31, 32, 33, 1000] {
                let squares: Vec<usize> = (0..count).map(|i| i * i).collect();
                let made = with_threads(threads, || {
                    let states = AtomicUsize::new(0);
                    let state = || states.fetch_add(1, Ordering::Relaxed);
                    let made = map_with(count, state, |_, i| i * i);
                    assert!(states.into_inner() <= threads, "one state a thread");
                    made
                });
                assert_eq!(made, squares);
                let tried = with_threads(threads, || try_map(count, |i| Ok(i * i)));
                assert_eq!(tried.unwrap(), squares);
            }
        }
    }

    #[test]
    fn loops_inside_of_loops_end() {
        let sum = |i: usize| map(i, |j| j).iter().sum::<usize>();
        let made = with_threads(3, || map(50, sum));
        assert_eq!(made, (0..50).map(|i: usize| i * i.saturating_sub(1) / 2).collect::<Vec<_>>());
    }

    #[test]
    fn an_error_stops_the_loop_and_is_returned() {
        let wrong = |i| Error::TooManyPoints { count: i, max: 0 };
        for threads in [1, 2] {
            let done = AtomicUsize::new(0);
            let found = with_threads(threads, || {
                try_map(100_000, |i| {
                    done.fetch_add(1, Ordering::Relaxed);
                    if i % 7 == 3 { Err(wrong(i)) } else { Ok(i) }
                })
            });
            assert!(matches!(found, Err(Error::TooManyPoints { count: i, .. }) if i % 7 == 3));
            assert!(done.into_inner() <= 7 * threads, "one error ends each thread");
        }
    }

    #[test]
    fn every_task_is_done_once() {
        let mut table = vec![0; 1001];
        let rows = |table: &mut [usize], bad: usize| {
            try_for_each(table.chunks_mut(10).enumerate(), |(row, out)| {
                for value in out {
                    *value += row + 1;
                }
                if row == bad { Err(Error::TooManyPoints { count: row, max: 0 }) } else { Ok(()) }
            })
        };
        with_threads(3, || rows(&mut table, 2000)).unwrap();
        assert!(table.iter().enumerate().all(|(at, &value)| value == at / 10 + 1));
        assert!(with_threads(3, || rows(&mut table, 50)).is_err());
    }
}
