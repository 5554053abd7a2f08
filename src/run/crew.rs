//! A worker as the supervisor keeps it, and which case its death costs. Refuses to guess.

use super::process::Process;
use super::slate::Mark;
use std::time::Instant;

/// Why no more cases are handed out.
#[derive(Clone, Debug, PartialEq)]
pub enum Stop {
    /// Ctrl-C or SIGTERM.
    Interrupted,
    /// `--max-time` is over.
    Time,
    /// A case failed under `--fail-fast`.
    FailFast,
    /// The board does not work any more, and why.
    Wedged(String),
    /// The board is not there, and why.
    Absent(String),
    /// Somebody else has the board, and who.
    Busy(String),
}

impl Stop {
    /// The reason of the cases that do not run.
    pub fn reason(&self) -> String {
        match self {
            Self::Interrupted => "interrupted".to_string(),
            Self::Time => "time: --max-time was over".to_string(),
            Self::FailFast => "an earlier case failed (--fail-fast)".to_string(),
            Self::Wedged(why) => format!("board wedged: {why}"),
            Self::Absent(why) | Self::Busy(why) => why.clone(),
        }
    }
}

/// How far a case is that a worker has.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Stage {
    /// Handed out, perhaps being prepared.
    Assigned,
    /// On the board since.
    OnBoard(Instant),
    /// Off the board, without a verdict.
    Judged,
}

/// A worker and the cases that it has.
pub struct Worker {
    /// Its number in this run.
    pub name: u64,
    /// The process.
    pub process: Process,
    /// Cases in the order in which they were assigned.
    pub cases: Vec<(usize, Stage)>,
    /// It has opened the board.
    pub ready: bool,
    /// It gets one case at a time.
    pub careful: bool,
    /// Said `retire` or `bye`: its end is no death.
    pub leaving: Option<Instant>,
    /// Its pipe is closed since.
    pub closed: Option<Instant>,
    /// When it last said something.
    pub heard: Instant,
    /// Why we killed it.
    pub killed: Option<String>,
    /// The last case that its pipe announced.
    pub announced: Option<usize>,
    /// Its pipe cannot be trusted any more. It runs on until it is killed, so that its slate may be a case ahead of its pipe.
    pub garbled: bool,
}

impl Worker {
    /// Takes over what the worker's slate says.
    pub fn look(&mut self) {
        look(&mut self.cases, self.process.slate.last());
    }

    /// The case to charge with its death, and what it was at.
    pub fn charged(&mut self) -> Option<(usize, &'static str)> {
        self.look();
        if self.garbled {
            return announced(&self.cases, self.announced);
        }
        charged(&self.cases)
    }
}

/// What stood on the pipe before the rubbish: the pipe alone has an order.
fn announced(cases: &[(usize, Stage)], last: Option<usize>) -> Option<(usize, &'static str)> {
    cases.iter().find(|(c, _)| Some(*c) == last).map(|(c, _)| (*c, "ran on the board"))
}

fn look(cases: &mut [(usize, Stage)], last: Option<Mark>) {
    for (case, stage) in cases {
        let case = *case as u64;
        *stage = match (last, *stage) {
            (Some(Mark::OnBoard(c)), Stage::OnBoard(since)) if c == case => Stage::OnBoard(since),
            (Some(Mark::OnBoard(c)), _) if c == case => Stage::OnBoard(Instant::now()),
            (Some(Mark::Ran(c)), _) if c == case => Stage::Judged,
            (_, Stage::OnBoard(_)) => Stage::Judged,
            (_, stage) => stage,
        };
    }
}

fn charged(cases: &[(usize, Stage)]) -> Option<(usize, &'static str)> {
    if let Some((case, _)) = cases.iter().find(|(_, s)| matches!(s, Stage::OnBoard(_))) {
        return Some((*case, "ran on the board"));
    }
    // With several, one may be judged while another is prepared: it cannot be told which of them it was.
    match cases {
        [(case, Stage::Judged)] => Some((*case, "was judged")),
        [(case, _)] => Some((*case, "was prepared")),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_case_on_the_board_is_charged_and_no_other() {
        let on_board = Stage::OnBoard(Instant::now());
        let cases = [(1, Stage::Judged), (2, on_board), (3, Stage::Assigned)];
        assert_eq!(charged(&cases).map(|c| c.0), Some(2));
    }

    #[test]
    fn rubbish_is_charged_to_the_case_announced_before_it_wherever_the_worker_is_by_then() {
        let on_board = Stage::OnBoard(Instant::now());
        let cases = [(1, Stage::Judged), (2, on_board), (3, Stage::Assigned)];
        assert_eq!(announced(&cases, Some(1)).map(|c| c.0), Some(1));
        assert_eq!(announced(&cases, Some(7)), None, "it has its verdict");
        assert_eq!(announced(&cases, None), None);
    }

    #[test]
    fn a_slate_moves_cases_on_and_never_back() {
        let mut cases = vec![(1, Stage::Assigned), (2, Stage::Assigned), (3, Stage::Assigned)];
        look(&mut cases, None);
        assert!(cases.iter().all(|c| c.1 == Stage::Assigned));
        look(&mut cases, Some(Mark::OnBoard(1)));
        let Stage::OnBoard(since) = cases[0].1 else { panic!("{cases:?}") };
        look(&mut cases, Some(Mark::OnBoard(1)));
        assert_eq!(cases[0].1, Stage::OnBoard(since));
        look(&mut cases, Some(Mark::OnBoard(2)));
        assert!(cases[0].1 == Stage::Judged && matches!(cases[1].1, Stage::OnBoard(_)));
        look(&mut cases, Some(Mark::Ran(3)));
        assert_eq!(cases.iter().map(|c| c.1).collect::<Vec<_>>(), [Stage::Judged; 3]);
    }

    #[test]
    fn a_judged_and_a_prepared_case_are_tried_again_one_at_a_time() {
        let cases = [(1, Stage::Judged), (2, Stage::Assigned)];
        assert_eq!(charged(&cases), None);
        assert_eq!(charged(&cases[..1]), Some((1, "was judged")));
        assert_eq!(charged(&cases[1..]), Some((2, "was prepared")));
        assert_eq!(charged(&[]), None);
    }
}
