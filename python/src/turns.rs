//! A reader-writer lock: concurrent reads, exclusive changes.
//!
//! The calling thread waits with the interpreter released: a thread of the pool that waited in a
//! job could block the work it waits for. A change has priority over later reads, so that
//! continuous searches do not starve it.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError, RwLock, TryLockError};

use pyo3::prelude::*;

use crate::watch::TICK;

/// Value shared between threads.
pub(crate) struct Shared<T> {
    value: RwLock<T>,
    turns: Turns,
}

#[derive(Default)]
struct Turns {
    state: Mutex<TurnState>,
    freed: Condvar,
}

#[derive(Default)]
struct TurnState {
    readers: usize,
    changing: bool,
    waiting_to_change: usize,
}

#[derive(Clone, Copy, PartialEq)]
enum Access {
    Read,
    Change,
}

/// Access that ends on drop.
struct Turn<'a> {
    turns: &'a Turns,
    access: Access,
}

const ITS_TURN: &str = "a turn grants the lock";

impl<T> Shared<T> {
    pub(crate) fn new(value: T) -> Self {
        Self { value: RwLock::new(value), turns: Turns::default() }
    }

    /// Runs `work` with shared access, after changes that are in progress or waiting.
    pub(crate) fn read<R>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&T) -> PyResult<R>,
    ) -> PyResult<R> {
        let _turn = self.turns.wait(py, Access::Read)?;
        match self.value.try_read() {
            Ok(value) => work(&value),
            Err(TryLockError::Poisoned(value)) => work(&value.into_inner()),
            Err(TryLockError::WouldBlock) => unreachable!("{ITS_TURN}"),
        }
    }

    /// Runs `work` with exclusive access, after the reads in progress.
    pub(crate) fn change<R>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&mut T) -> PyResult<R>,
    ) -> PyResult<R> {
        let _turn = self.turns.wait(py, Access::Change)?;
        match self.value.try_write() {
            Ok(mut value) => work(&mut value),
            Err(TryLockError::Poisoned(value)) => work(&mut value.into_inner()),
            Err(TryLockError::WouldBlock) => unreachable!("{ITS_TURN}"),
        }
    }
}

impl Turns {
    fn wait(&self, py: Python<'_>, access: Access) -> PyResult<Turn<'_>> {
        let waits = usize::from(access == Access::Change);
        self.state().waiting_to_change += waits;
        let mut interrupt = Ok(());
        while interrupt.is_ok() && !py.detach(|| self.take(access)) {
            interrupt = py.check_signals();
        }
        self.state().waiting_to_change -= waits;
        self.freed.notify_all();
        interrupt.map(|()| Turn { turns: self, access })
    }

    /// Acquires access; returns false if that takes longer than [`TICK`].
    fn take(&self, access: Access) -> bool {
        let taken = |state: &TurnState| match access {
            Access::Read => state.changing || state.waiting_to_change > 0,
            Access::Change => state.changing || state.readers > 0,
        };
        let wait = self.freed.wait_timeout_while(self.state(), TICK, |state| taken(state));
        let (mut state, _) = wait.unwrap_or_else(PoisonError::into_inner);
        if taken(&state) {
            return false;
        }
        match access {
            Access::Read => state.readers += 1,
            Access::Change => state.changing = true,
        }
        true
    }

    fn state(&self) -> MutexGuard<'_, TurnState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        let mut state = self.turns.state();
        match self.access {
            Access::Read => state.readers -= 1,
            Access::Change => state.changing = false,
        }
        drop(state);
        self.turns.freed.notify_all();
    }
}
