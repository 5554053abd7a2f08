//! The worker process: prepares, runs and judges the cases it is given, and dies with its supervisor. Refuses to outlive it.
//!
//! Two threads: one prepares and judges, the other waits for the board; a third reads orders, and ends the process when the
//! supervisor is gone.

use super::device::{Device, Done};
use super::exchange::Exchange;
use super::job::{self, Bench, Job, Refusal, ms};
use super::protocol::{self, Order, Setup};
use super::slate::{Mark, Slate};
use super::tamper::Tamper;
use super::{DEFECT, boards, judging};
use crate::board::Facts;
use crate::record::CaseRecord;
use crate::suite::Case;
use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel};
use std::sync::{Arc, Mutex};
use std::time::Instant;

/// Cases prepared and not yet judged, at most: `SMALL` while their regions are small, for then waking a thread costs more than a case;
/// one at a time when they are large, for the memory.
const AHEAD: usize = 2;
const SMALL: usize = 8;
const SMALL_BYTES: usize = 256 << 10;
const LARGE: usize = 32 << 20;

/// The pipe to the supervisor. Whoever cannot write to it has no supervisor any more.
struct Pipe(Mutex<(File, Vec<u8>)>);

impl Pipe {
    /// Lines that go out with the next ones, or at the next flush.
    fn queue(&self, lines: &[u8]) {
        let Ok(mut pipe) = self.0.lock() else { die() };
        pipe.1.extend_from_slice(lines);
    }

    fn send(&self, lines: &[u8]) {
        let Ok(mut pipe) = self.0.lock() else { die() };
        let (file, queued) = &mut *pipe;
        queued.extend_from_slice(lines);
        if file.write_all(queued).is_err() {
            die();
        }
        queued.clear();
    }

    fn flush(&self) {
        self.send(b"");
    }
}

/// Ends the process at once, without destructors that might wait for a board.
fn die() -> ! {
    loop {
        let _ = rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::KILL);
    }
}

/// Runs the worker to its end; what the hidden subcommand `__worker` calls. The result is the process's exit code.
pub fn main() -> u8 {
    let pipe = match private_pipe() {
        Ok(pipe) => Arc::new(Pipe(Mutex::new((pipe, vec![])))),
        Err(e) => {
            crate::complain(format_args!("assay worker: no pipe to the supervisor: {e}"));
            return 70;
        }
    };
    let path = PathBuf::from(std::env::args_os().nth(2).unwrap_or_default());
    let slate = match Slate::open(&path) {
        Ok(slate) => slate,
        Err(e) => {
            crate::complain(format_args!("assay worker: no slate at {}: {e}", path.display()));
            return 70;
        }
    };
    // The end of the orders' pipe says the same; this also reaches a worker that is stuck in a driver.
    let _ = rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL));
    let _ = signal_hook::flag::register(signal_hook::consts::SIGXFSZ, Arc::new(AtomicBool::new(false)));
    let finish = Arc::new(AtomicBool::new(false));
    let orders = read_orders(Arc::clone(&finish));
    let Ok(Order::Setup(setup)) = orders.recv() else { return 70 };
    record_panics();
    work(*setup, &orders, &finish, &pipe, slate)
}

/// Takes stdout for ourselves; a library that prints to it then prints to stderr, and cannot garble a message.
fn private_pipe() -> std::io::Result<File> {
    let own = rustix::io::dup(std::io::stdout())?;
    rustix::stdio::dup2_stdout(std::io::stderr())?;
    Ok(File::from(own))
}

/// Reads orders on a thread of its own. The end of the pipe without `Finish` means that the supervisor is dead.
fn read_orders(finish: Arc<AtomicBool>) -> Receiver<Order> {
    let (to, from) = channel();
    std::thread::spawn(move || {
        let mut lines = BufReader::with_capacity(64 << 10, std::io::stdin());
        let mut line = Vec::new();
        loop {
            line.clear();
            match lines.read_until(b'\n', &mut line) {
                Ok(n) if n > 0 => {}
                _ if finish.load(Ordering::Relaxed) => return,
                _ => die(),
            }
            match serde_json::from_slice(&line) {
                Ok(Order::Finish) => {
                    finish.store(true, Ordering::Relaxed);
                    let _ = to.send(Order::Finish);
                }
                Ok(order) => {
                    let _ = to.send(order);
                }
                Err(e) => {
                    crate::complain(format_args!("assay worker: an order that cannot be read: {e}"));
                    die();
                }
            }
        }
    });
    from
}

fn work(setup: Setup, orders: &Receiver<Order>, finish: &AtomicBool, pipe: &Arc<Pipe>, slate: Slate) -> u8 {
    let Setup { options, kernels } = setup;
    let named = match boards::named(&options.board) {
        Ok(named) => named,
        Err(e) => {
            pipe.send(&protocol::say("unhealthy", &e.to_string()));
            return 4;
        }
    };
    let mock = named.script();
    let facts = named.facts();
    let bench = Arc::new(Bench { options, kernels, facts, mock, tamper: Tamper::None });
    let exchange = Arc::new(Exchange::default());
    let (opened_to, opened) = channel::<Result<Facts, String>>();
    let hangs = Arc::new(AtomicBool::new(false));
    let board = {
        let (bench, pipe, hangs) = (Arc::clone(&bench), Arc::clone(pipe), Arc::clone(&hangs));
        let exchange = Arc::clone(&exchange);
        std::thread::spawn(move || {
            board_thread(named, &bench, &opened_to, &exchange, &pipe, &hangs, &slate);
            exchange.end();
        })
    };
    match opened.recv() {
        Ok(Ok(_)) => pipe.send(&protocol::say("ready", "")),
        Ok(Err(why)) => {
            pipe.send(&protocol::say("unhealthy", &why));
            return 4;
        }
        Err(_) => {
            pipe.send(&protocol::say("unhealthy", "the board could not be opened: the thread that opens it died"));
            return 70;
        }
    }
    let lost = Pipeline { bench: &bench, pipe, exchange: &exchange, spare: vec![], out: 0 }.run(orders, finish);
    exchange.close();
    match lost {
        true => pipe.send(&protocol::say("retire", "the board has to be opened anew")),
        false => pipe.send(&protocol::say("bye", "")),
    }
    let _ = board.join();
    while hangs.load(Ordering::Relaxed) {
        std::thread::sleep(std::time::Duration::from_secs(3600));
    }
    0
}

/// The side that prepares and judges.
struct Pipeline<'a> {
    bench: &'a Bench,
    pipe: &'a Pipe,
    exchange: &'a Exchange,
    /// Image vectors to use again.
    spare: Vec<Vec<u8>>,
    /// Cases prepared and not yet judged.
    out: usize,
}

impl Pipeline<'_> {
    /// Works until the orders end; true when the board was lost.
    fn run(&mut self, orders: &Receiver<Order>, finish: &AtomicBool) -> bool {
        let mut ahead = AHEAD;
        loop {
            while self.out < ahead && !finish.load(Ordering::Relaxed) {
                let order = if self.out == 0 {
                    self.pipe.flush();
                    orders.recv().map_err(|_| TryRecvError::Disconnected)
                } else {
                    orders.try_recv()
                };
                match order {
                    Ok(Order::Case(case)) => {
                        if let Some(job) = self.prepare(&case) {
                            ahead = match job.region.bytes {
                                0..=SMALL_BYTES => SMALL,
                                LARGE.. => 1,
                                _ => AHEAD,
                            };
                            self.out += 1;
                            self.exchange.give(job);
                        }
                    }
                    Ok(_) | Err(TryRecvError::Empty | TryRecvError::Disconnected) => break,
                }
            }
            if self.out == 0 {
                if finish.load(Ordering::Relaxed) {
                    return false;
                }
                continue;
            }
            let finished = self.exchange.collect(ahead / 2, || self.pipe.flush());
            if finished.is_empty() {
                return true;
            }
            for (job, done) in finished {
                self.out -= 1;
                let lost = done.lost;
                self.judge(job, done);
                if lost {
                    return true;
                }
            }
        }
    }

    fn prepare(&mut self, case: &Case) -> Option<Box<Job>> {
        let (bench, spare) = (self.bench, &mut self.spare);
        match caught(|| job::prepare(case, bench, spare)).unwrap_or_else(Err) {
            Ok(job) => Some(job),
            Err(refusal) => {
                self.send(&super::plan::unjudged(&bench.options, case, refusal.verdict, refusal.reason));
                None
            }
        }
    }

    fn judge(&mut self, job: Box<Job>, done: Done) {
        let options = &self.bench.options;
        let record = match done.result {
            Ok(ran) => {
                let judged = caught(|| judging::judge(&job, &ran, self.bench));
                let mut record = judged.unwrap_or_else(|r| unjudged(options, &job, r));
                self.dump(&job, &ran, &mut record);
                record
            }
            Err(refusal) => unjudged(options, &job, refusal),
        };
        self.send(&record);
        let Job { images, .. } = *job;
        self.spare.extend(images.into_iter().filter_map(Arc::into_inner).filter(|v| v.capacity() <= LARGE));
        self.spare.truncate(2 * SMALL + 2);
    }

    /// A dump that cannot be written does not change the verdict; the record says so.
    fn dump(&self, job: &Job, ran: &super::job::Ran, record: &mut CaseRecord) {
        if let Some(folder) = &self.bench.options.dump
            && let Err(why) = caught(|| super::dump::write(job, ran, folder)).unwrap_or_else(|r| Err(r.reason))
        {
            record.findings.push(why);
        }
    }

    fn send(&self, record: &CaseRecord) {
        match protocol::record_line(record) {
            Ok(line) => self.pipe.queue(&line),
            Err(e) => crate::complain(format_args!("assay worker: {}: {e}", record.id)),
        }
    }
}

/// The record of a prepared case without device output.
fn unjudged(options: &super::Options, job: &Job, refusal: Refusal) -> CaseRecord {
    let mut record = super::plan::unjudged(options, &job.case, refusal.verdict, refusal.reason);
    record.timings = job.timings.clone();
    record
}

/// The side that waits for the board.
fn board_thread(
    named: boards::Named,
    bench: &Bench,
    opened: &Sender<Result<Facts, String>>,
    exchange: &Exchange,
    pipe: &Pipe,
    hangs: &AtomicBool,
    slate: &Slate,
) {
    let mut device = match named.open(&bench.options) {
        Ok(open) => Device::new(open),
        Err(why) => {
            let _ = opened.send(Err(why));
            return;
        }
    };
    let probed = device.probe().map(|()| bench.facts.clone());
    if opened.send(probed).is_err() {
        return;
    }
    while let Some(mut job) = exchange.next() {
        let index = job.case.index;
        // For the journal, with whatever goes out next; what the board is at stands on the slate.
        pipe.queue(protocol::start(index).as_bytes());
        slate.mark(Mark::OnBoard(index));
        let begun = Instant::now();
        let result = caught(|| device.run(&job, bench, &|bytes| pipe.send(bytes)));
        // After a panic the board is in no state that we know.
        let outcome = result.unwrap_or_else(|refusal| Done { result: Err(refusal), lost: true });
        slate.mark(Mark::Ran(index));
        job.timings.board_ms = ms(begun);
        hangs.store(device.hangs_at_exit, Ordering::Relaxed);
        let lost = outcome.lost;
        exchange.put(job, outcome);
        if lost {
            return;
        }
    }
}

thread_local! {
    static PANIC: std::cell::RefCell<Option<String>> = const { std::cell::RefCell::new(None) };
}

/// Keeps message and place of a panic for the record of the case.
fn record_panics() {
    std::panic::set_hook(Box::new(|info| {
        let payload = info.payload();
        let text = payload.downcast_ref::<&str>().map(|s| (*s).to_string());
        let text = text.or_else(|| payload.downcast_ref::<String>().cloned()).unwrap_or_else(|| "panic".to_string());
        let place = info.location().map_or(String::new(), |l| format!(" at {}:{}", l.file(), l.line()));
        crate::complain(format_args!("{DEFECT}: {text}{place}"));
        PANIC.with(|p| *p.borrow_mut() = Some(format!("{text}{place}")));
    }));
}

/// Runs `f`; a panic in it becomes an ERROR that says whose defect it is.
fn caught<T>(f: impl FnOnce() -> T) -> Result<T, Refusal> {
    catch_unwind(AssertUnwindSafe(f)).map_err(|_| {
        let what = PANIC.with(|p| p.borrow_mut().take()).unwrap_or_default();
        Refusal::error(format!("{DEFECT}, please report it: {what}"))
    })
}
