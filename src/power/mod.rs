//! Discrimination: which wrong outputs would the bars of a suite refuse? Measured from the reference alone, with no board and no build.
//!
//! Every output of every case is replaced by null candidates and judged by the case's own bars. Refuses to judge by other rules.

mod case;
mod fold;
mod rate;

pub use case::{Cell, Floor, Measured, Outcome, Sheet, measure};
pub use fold::fold;

use crate::report::PowerDoc;
use crate::suite::Case;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Measures every case, on all cores.
pub fn power(cases: &[Case], seed: u64) -> PowerDoc {
    let measured = each(cases, measure);
    let picked = rate::picked(cases, &measured);
    let rates = each(&picked, rate::rates);
    fold(cases, &measured, rates.into_iter().flatten().collect(), seed)
}

/// `f` of every item, in order, by as many threads as there are cores.
fn each<T: Sync, R: Send>(items: &[T], f: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let next = AtomicUsize::new(0);
    let done: Mutex<Vec<(usize, R)>> = Mutex::new(Vec::with_capacity(items.len()));
    let threads = std::thread::available_parallelism().map_or(1, |n| n.get()).min(items.len());
    std::thread::scope(|s| {
        for _ in 0..threads {
            s.spawn(|| {
                while let Some((i, item)) =
                    Some(next.fetch_add(1, Ordering::Relaxed)).and_then(|i| Some((i, items.get(i)?)))
                {
                    let result = f(item);
                    done.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).push((i, result));
                }
            });
        }
    });
    let mut done = done.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner());
    done.sort_by_key(|(i, _)| *i);
    done.into_iter().map(|(_, r)| r).collect()
}
