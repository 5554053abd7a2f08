//! The journal: JSON lines, written at once and synced about once a second. Refuses to lose a verdict that is already in it.
//!
//! A journal cut anywhere, also inside a line, is still a journal: [`read`] keeps every whole line and says what it dropped.

use crate::record::{CaseRecord, Line, RunHeader, Verdict};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Name of the journal in an out folder.
pub const FILE: &str = "journal.jsonl";

/// Why a journal cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    /// The file cannot be read.
    #[error("cannot read the journal {}: {source}", path.display())]
    Read {
        /// The journal.
        path: PathBuf,
        /// Cause.
        source: std::io::Error,
    },
    /// The first line is no header of a version we know.
    #[error("{} is no journal of assay: {why}", path.display())]
    NoHeader {
        /// The file.
        path: PathBuf,
        /// What is wrong with the first line.
        why: String,
    },
    /// The run was cut before its header was whole: nothing was judged.
    #[error("{} ends inside its first line: that run ended before any case had a verdict; start it again", path.display())]
    Empty {
        /// The file.
        path: PathBuf,
    },
}

/// A journal, read.
#[derive(Clone, Debug)]
pub struct Journal {
    /// First line.
    pub header: RunHeader,
    /// First record of every index; a NOT-RUN gives way to a later one.
    pub records: BTreeMap<u64, CaseRecord>,
    /// Cases that a worker began, once per start.
    pub started: Vec<u64>,
    /// Findings about the run: kind and sentence.
    pub notes: Vec<(String, String)>,
    /// The run came to its end and the board failed (`Some(true)`) or not; `None` when the journal is cut.
    pub end: Option<bool>,
    /// Milliseconds of all processes that came to an end.
    pub wall_ms: u64,
    /// What was dropped, one sentence each: cut tail, corrupt lines, records of cases that are not in the plan.
    pub dropped: Vec<String>,
    /// Bytes up to and including the last whole line; a resume cuts the file there.
    pub good_bytes: u64,
    /// The last whole line has its newline.
    pub ends_in_newline: bool,
}

impl Journal {
    /// True when the run did not come to its end, or a planned case has no record.
    pub fn is_cut(&self) -> bool {
        self.end.is_none() || self.records.len() < self.header.cases.len()
    }
}

/// Reads a journal; `path` may be the file or its out folder.
///
/// # Errors
/// When the file cannot be read or has no whole header.
pub fn read(path: &Path) -> Result<Journal, JournalError> {
    let path = if path.is_dir() { path.join(FILE) } else { path.to_path_buf() };
    let refused = |source| JournalError::Read { path: path.clone(), source };
    // A device may have no end: only a file is read whole.
    if !std::fs::metadata(&path).map_err(refused)?.is_file() {
        return Err(refused(std::io::Error::new(std::io::ErrorKind::InvalidInput, "not a regular file")));
    }
    parse(&std::fs::read(&path).map_err(refused)?, &path)
}

/// Reads a journal from its bytes; `path` is for messages.
///
/// # Errors
/// When there is no whole header.
pub fn parse(bytes: &[u8], path: &Path) -> Result<Journal, JournalError> {
    let mut lines = Lines { bytes, at: 0, number: 0 };
    let header = match lines.next() {
        Some(line) => header(&line, path)?,
        None => return Err(JournalError::Empty { path: path.to_path_buf() }),
    };
    let mut journal = Journal {
        good_bytes: lines.at as u64,
        ends_in_newline: bytes[..lines.at].ends_with(b"\n"),
        header,
        records: BTreeMap::new(),
        started: vec![],
        notes: vec![],
        end: None,
        wall_ms: 0,
        dropped: vec![],
    };
    while let Some(line) = lines.next() {
        match serde_json::from_slice::<Line>(line.bytes) {
            Ok(parsed) => journal.take(parsed),
            Err(_) if line.whole => {
                journal.dropped.push(format!("line {} is corrupt ({} bytes)", line.number, line.bytes.len()))
            }
            Err(_) => {
                journal.dropped.push(format!("line {} is cut after {} bytes", line.number, line.bytes.len()));
                break;
            }
        }
        journal.good_bytes = lines.at as u64;
        journal.ends_in_newline = line.whole;
    }
    Ok(journal)
}

impl Journal {
    /// The first verdict of an index stands. A NOT-RUN is none yet: a resume may still bring it.
    fn enter(&mut self, record: CaseRecord) {
        match self.records.get(&record.index) {
            Some(known) if known.verdict != Verdict::NotRun => {}
            _ => drop(self.records.insert(record.index, record)),
        }
    }

    fn take(&mut self, line: Line) {
        match line {
            Line::Header(_) => self.dropped.push("a second header".to_string()),
            Line::Start { index } => {
                self.started.push(index);
                self.end = None;
            }
            Line::Record(record) => {
                let planned = usize::try_from(record.index).ok().and_then(|i| self.header.cases.get(i));
                if planned.is_some_and(|c| c.id == record.id) {
                    self.enter(*record);
                } else {
                    self.dropped.push(format!("record of a case that is not in the plan: {}", record.id));
                }
                self.end = None;
            }
            Line::Note { kind, text } => self.notes.push((kind, text)),
            Line::End { wall_ms, board_failed, .. } => {
                self.end = Some(board_failed);
                self.wall_ms += wall_ms;
            }
        }
    }
}

fn header(line: &RawLine, path: &Path) -> Result<RunHeader, JournalError> {
    let no_header = |why: String| JournalError::NoHeader { path: path.to_path_buf(), why };
    match serde_json::from_slice::<Line>(line.bytes) {
        Ok(Line::Header(h)) if h.schema == crate::record::SCHEMA => Ok(*h),
        Ok(Line::Header(h)) => {
            Err(no_header(format!("its schema is '{}', this assay reads '{}'", h.schema, crate::record::SCHEMA)))
        }
        Ok(_) => Err(no_header("its first line is not a header".to_string())),
        Err(_) if !line.whole && HEAD.starts_with(&line.bytes[..line.bytes.len().min(HEAD.len())]) => {
            Err(JournalError::Empty { path: path.to_path_buf() })
        }
        Err(e) => Err(no_header(format!("its first line: {e}"))),
    }
}

/// How every journal begins.
const HEAD: &[u8] = br#"{"t":"header","#;

struct RawLine<'a> {
    bytes: &'a [u8],
    number: usize,
    /// Ended by a newline.
    whole: bool,
}

struct Lines<'a> {
    bytes: &'a [u8],
    at: usize,
    number: usize,
}

impl<'a> Lines<'a> {
    fn next(&mut self) -> Option<RawLine<'a>> {
        let rest = &self.bytes[self.at..];
        if rest.is_empty() {
            return None;
        }
        self.number += 1;
        let (bytes, whole) = match rest.iter().position(|&b| b == b'\n') {
            Some(n) => (&rest[..n], true),
            None => (rest, false),
        };
        self.at += bytes.len() + usize::from(whole);
        Some(RawLine { bytes, number: self.number, whole })
    }
}
