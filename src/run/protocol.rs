//! What supervisor and worker say to each other: JSON lines over two pipes. Refuses to trust what a worker writes.
//!
//! `start` and `record` lines of a worker are lines of the journal as they stand: the supervisor checks them and writes them on,
//! and never serialises a record again.

use super::Options;
use crate::board::Image;
use crate::record::{CaseRecord, Verdict};
use crate::suite::Case;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// Supervisor to worker, as the supervisor writes it.
#[derive(Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Hand<'a> {
    /// First line.
    Setup(&'a Setup),
    /// A case to run.
    Case(&'a Case),
    /// Finish what is prepared, drop the rest, say `bye` and exit.
    Finish,
}

/// Supervisor to worker, as the worker reads it.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Order {
    /// First line.
    Setup(Box<Setup>),
    /// A case to run.
    Case(Box<Case>),
    /// Finish what is prepared, drop the rest, say `bye` and exit.
    Finish,
}

/// What a worker needs to know before its first case.
#[derive(Debug, Serialize, Deserialize)]
pub struct Setup {
    /// Options of the run.
    pub options: Options,
    /// What was built for each kernel symbol.
    pub kernels: BTreeMap<String, Built>,
}

/// A kernel's build.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Built {
    /// The image that holds it.
    Image {
        /// Built file.
        path: PathBuf,
        /// Sanitised build.
        sanitised: Option<PathBuf>,
    },
    /// Why there is none: the compiler's output.
    Failed(String),
}

impl From<Image> for Built {
    fn from(image: Image) -> Self {
        Self::Image { path: image.path, sanitised: image.sanitised }
    }
}

/// Worker to supervisor, as far as the supervisor reads it: a `record` is parsed for its key and verdict only.
#[derive(Debug, Deserialize)]
pub struct Heard<'a> {
    /// `ready`, `unhealthy`, `start`, `record`, `retire`, `bye`.
    #[serde(borrow)]
    pub t: Cow<'a, str>,
    /// Case of `start` and `record`.
    pub index: Option<u64>,
    /// Case id of a `record`.
    #[serde(borrow)]
    pub id: Option<Cow<'a, str>>,
    /// Verdict of a `record`.
    pub verdict: Option<Verdict>,
    /// Reason of a `record`.
    #[serde(borrow)]
    pub reason: Option<Cow<'a, str>>,
    /// Sentence of `unhealthy` and `retire`.
    #[serde(borrow)]
    pub text: Option<Cow<'a, str>>,
}

impl<'a> Heard<'a> {
    /// Reads a worker's line. Of a record only what stands before its assertions is parsed: the whole line goes into the journal as
    /// it is, and whoever reads the journal refuses a line that is no record.
    ///
    /// # Errors
    /// When it is no message.
    pub fn read(line: &'a [u8], head: &'a mut Vec<u8>) -> serde_json::Result<Self> {
        let Some(cut) = memchr::memmem::find(line, ASSERTIONS).filter(|_| line.ends_with(b"}\n")) else {
            return serde_json::from_slice(line);
        };
        head.clear();
        head.extend_from_slice(&line[..cut]);
        head.push(b'}');
        serde_json::from_slice(head)
    }
}

/// Where the head of a record ends. It cannot stand in a string, where its quotes would have backslashes.
const ASSERTIONS: &[u8] = b",\"assertions\":";

/// The line of a message that has no more than a sentence.
pub fn say(t: &str, text: &str) -> Vec<u8> {
    let mut line = serde_json::json!({ "t": t, "text": text }).to_string().into_bytes();
    line.push(b'\n');
    line
}

/// The line that says that a case goes on the board ([`crate::record::Line::Start`]).
pub fn start(index: u64) -> String {
    format!("{{\"t\":\"start\",\"index\":{index}}}\n")
}

/// A record as a line of the journal ([`crate::record::Line::Record`]), without the copy that the enum would need.
///
/// # Errors
/// When it cannot be JSON (never for our types).
pub fn record_line(record: &CaseRecord) -> serde_json::Result<Vec<u8>> {
    let mut line = br#"{"t":"record","#.to_vec();
    line.reserve(4096);
    let brace = line.len();
    serde_json::to_writer(&mut line, record)?;
    // The record's own opening brace becomes the space behind our comma.
    line[brace] = b' ';
    line.push(b'\n');
    Ok(line)
}

/// A value as one line.
///
/// # Errors
/// When it cannot be JSON (never for our types).
pub fn line<T: Serialize>(value: &T) -> serde_json::Result<Vec<u8>> {
    let mut line = serde_json::to_vec(value)?;
    line.push(b'\n');
    Ok(line)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::Line;

    #[test]
    fn a_record_line_is_the_journal_line_of_that_record() {
        let options = Options::new("mock:", "assay".into(), "out".into());
        let case = Case {
            index: 3,
            id: "cast/rows=\"1\"".to_string(),
            suite: "s".to_string(),
            op: "cast".to_string(),
            params: crate::ops::Params(vec![]),
            place: Default::default(),
            limits: Default::default(),
            seed: 1,
        };
        let record = super::super::plan::unjudged(&options, &case, Verdict::NotRun, "why".to_string());
        let read: Line = serde_json::from_slice(&record_line(&record).expect("json")).expect("line");
        assert_eq!(read, Line::Record(Box::new(record.clone())));
        let line = record_line(&record).expect("json");
        let mut head = Vec::new();
        let heard = Heard::read(&line, &mut head).expect("heard");
        assert_eq!(
            (heard.index, heard.id.as_deref(), heard.verdict),
            (Some(3), Some(case.id.as_str()), Some(Verdict::NotRun))
        );
    }
}
