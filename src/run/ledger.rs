//! Which case has which verdict, and which are still to be handed out. Refuses to forget one.

use crate::record::{Counts, Verdict};
use std::collections::VecDeque;

/// The state of a plan.
#[derive(Debug)]
pub struct Ledger {
    verdicts: Vec<Option<Verdict>>,
    queue: VecDeque<usize>,
    left: usize,
}

impl Ledger {
    /// A plan of `cases`, some of which may have a verdict.
    pub fn new(cases: usize, known: impl Iterator<Item = (usize, Verdict)>) -> Self {
        let mut verdicts = vec![None; cases];
        for (index, verdict) in known {
            verdicts[index] = Some(verdict);
        }
        let queue: VecDeque<usize> = (0..cases).filter(|&i| verdicts[i].is_none()).collect();
        Self { left: queue.len(), verdicts, queue }
    }

    /// The next case to hand out.
    pub fn next(&mut self) -> Option<usize> {
        self.queue.pop_front()
    }

    /// Puts cases back at the head, in their order.
    pub fn hand_back(&mut self, cases: &[usize]) {
        for &case in cases.iter().rev() {
            self.queue.push_front(case);
        }
    }

    /// True while cases wait to be handed out.
    pub fn has_queue(&self) -> bool {
        !self.queue.is_empty()
    }

    /// Cases without a verdict.
    pub fn left(&self) -> usize {
        self.left
    }

    /// Enters a verdict; false when the case already has one, which stands.
    pub fn enter(&mut self, case: usize, verdict: Verdict) -> bool {
        if self.verdicts[case].is_some() {
            return false;
        }
        self.verdicts[case] = Some(verdict);
        self.left -= 1;
        true
    }

    /// Cases without a verdict, in plan order.
    pub fn open(&self) -> Vec<usize> {
        (0..self.verdicts.len()).filter(|&i| self.verdicts[i].is_none()).collect()
    }

    /// Verdict counts.
    pub fn counts(&self) -> Counts {
        let mut c = Counts { planned: self.verdicts.len() as u64, ..Counts::default() };
        for verdict in self.verdicts.iter().flatten() {
            let slot = match verdict {
                Verdict::Pass => &mut c.pass,
                Verdict::Fail => &mut c.fail,
                Verdict::Error => &mut c.error,
                Verdict::NotRun => &mut c.not_run,
                Verdict::NotApplicable => &mut c.not_applicable,
                Verdict::Known => &mut c.known,
                Verdict::UnexpectedPass => &mut c.unexpected_pass,
                Verdict::Reference => &mut c.reference,
            };
            *slot += 1;
        }
        c
    }
}
