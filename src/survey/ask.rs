//! Asking a child, with patience that ends. Refuses to take a probe that died for a board that failed.

use super::child::{Action, Answer, Request};
use super::model::{Probe, Seen};
use std::io::Read;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// How long a child may take.
const PATIENCE: Duration = Duration::from_secs(20);

/// The answer of a child to `request`; what becomes of the child is part of the answer.
pub fn ask(request: &Request) -> Answer {
    let text = serde_json::to_string(request).unwrap_or_default();
    let mut command = Command::new(&request.exe);
    command.arg(crate::board::probe::WORD).arg(text).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = match command.spawn() {
        Ok(child) => child,
        Err(e) => return Answer::Failed(format!("the probe did not start: {e}")),
    };
    let mut pipe = child.stdout.take();
    let reader = std::thread::spawn(move || {
        let mut text = String::new();
        if let Some(pipe) = &mut pipe {
            let _ = pipe.read_to_string(&mut text);
        }
        text
    });
    let begun = Instant::now();
    let status = loop {
        match child.try_wait() {
            Ok(Some(status)) => break Some(status),
            Ok(None) if begun.elapsed() < PATIENCE => std::thread::sleep(Duration::from_millis(2)),
            _ => {
                let _ = child.kill();
                let _ = child.wait();
                break None;
            }
        }
    };
    let said = reader.join().unwrap_or_default();
    match (serde_json::from_str(said.trim()), status) {
        // An answer stands even when the child then does not exit.
        (Ok(answer), _) => answer,
        (Err(_), None) => ended(request, Seen::Hangs, format!("no answer within {} s", PATIENCE.as_secs())),
        (Err(_), Some(status)) => match status.signal() {
            Some(signal @ (libc::SIGSEGV | libc::SIGBUS)) => {
                let name = if signal == libc::SIGSEGV { "SIGSEGV" } else { "SIGBUS" };
                ended(request, Seen::Faults, format!("the host's access raised {name}"))
            }
            _ => Answer::Failed(format!("the probe ended without an answer ({status})")),
        },
    }
}

fn ended(request: &Request, seen: Seen, detail: String) -> Answer {
    match request.action {
        Action::Lanes | Action::Drain => Answer::Failed(detail),
        _ => Answer::Probe(Probe { seen, bytes: 0, detail, same_address: None, kernel_us: None }),
    }
}
