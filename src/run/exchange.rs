//! Prepared cases to the board's thread and back. Refuses to wake a thread for every small case: waking costs more than the case.

use super::device::Done;
use super::job::Job;
use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// How long a finished case may wait for others before it is judged.
const PATIENCE: Duration = Duration::from_millis(5);

/// Two queues and who waits for them.
#[derive(Default)]
pub struct Exchange {
    state: Mutex<State>,
    to_board: Condvar,
    to_judge: Condvar,
}

#[derive(Default)]
struct State {
    jobs: VecDeque<Box<Job>>,
    done: VecDeque<(Box<Job>, Done)>,
    /// The judge wants to be woken when no more jobs than these are left.
    low: usize,
    board_waits: bool,
    judge_waits: bool,
    /// No more jobs will come.
    closed: bool,
    /// The board's thread has ended.
    ended: bool,
}

impl Exchange {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Hands a job to the board.
    pub fn give(&self, job: Box<Job>) {
        let mut state = self.state();
        state.jobs.push_back(job);
        if state.board_waits {
            self.to_board.notify_one();
        }
    }

    /// Says that no more jobs will come.
    pub fn close(&self) {
        self.state().closed = true;
        self.to_board.notify_one();
    }

    /// Finished cases, as soon as few jobs are left or the oldest has waited long enough; none when the board's thread has ended.
    /// Before it waits longer than that it calls `idle`.
    pub fn collect(&self, low: usize, mut idle: impl FnMut()) -> Vec<(Box<Job>, Done)> {
        let mut state = self.state();
        state.low = low;
        let mut patient = true;
        loop {
            let due = !state.done.is_empty() && (state.jobs.len() <= low || !patient);
            if due || state.ended {
                return state.done.drain(..).collect();
            }
            state.judge_waits = true;
            let (back, timeout) = self.to_judge.wait_timeout(state, PATIENCE).unwrap_or_else(PoisonError::into_inner);
            state = back;
            state.judge_waits = false;
            if timeout.timed_out() {
                patient = false;
                idle();
            }
        }
    }

    /// The next job; `None` when there will be none.
    pub fn next(&self) -> Option<Box<Job>> {
        let mut state = self.state();
        loop {
            if let Some(job) = state.jobs.pop_front() {
                return Some(job);
            }
            if state.closed {
                return None;
            }
            state.board_waits = true;
            state = self.to_board.wait(state).unwrap_or_else(PoisonError::into_inner);
            state.board_waits = false;
        }
    }

    /// Hands a finished case to the judge.
    pub fn put(&self, job: Box<Job>, done: Done) {
        let mut state = self.state();
        state.done.push_back((job, done));
        if state.judge_waits && state.jobs.len() <= state.low {
            self.to_judge.notify_one();
        }
    }

    /// The board's thread ends.
    pub fn end(&self) {
        self.state().ended = true;
        self.to_judge.notify_one();
    }
}
