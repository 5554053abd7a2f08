//! `ladder.jsonl`: one line per rung, written at once. Refuses to lose a result that is already in it.

use super::ClimbError;
use super::record::{ControlArm, End, Header, Line, RungRecord, SCHEMA};
use std::collections::BTreeMap;
use std::path::Path;

/// Name of the journal in an out folder.
pub const FILE: &str = "ladder.jsonl";

/// A journal, read.
#[derive(Clone, Debug)]
pub struct Journal {
    /// First line.
    pub header: Header,
    /// First record of every planned rung.
    pub rungs: BTreeMap<String, RungRecord>,
    /// Control rungs, the last of each.
    pub controls: BTreeMap<String, RungRecord>,
    /// Passes of the unmutated kernels since the journal was last opened.
    pub arms: Vec<ControlArm>,
    /// Findings.
    pub notes: Vec<String>,
    /// How it ended; `None` when it was cut.
    pub end: Option<End>,
    /// Bytes up to and including the last whole line.
    pub good_bytes: u64,
    /// The last whole line has its newline.
    pub ends_in_newline: bool,
}

/// Reads a journal.
///
/// # Errors
/// When it cannot be read or does not begin with a header of our version.
pub fn read(path: &Path) -> Result<Journal, ClimbError> {
    let wrong = |why: String| ClimbError::Journal { path: path.to_path_buf(), why };
    let bytes = std::fs::read(path).map_err(|e| wrong(format!("cannot be read: {e}")))?;
    let mut lines = bytes.split_inclusive(|b| *b == b'\n');
    let first = lines.next().unwrap_or_default();
    let header = match serde_json::from_slice(first) {
        Ok(Line::Header(header)) if header.schema == SCHEMA => *header,
        Ok(Line::Header(header)) => {
            return Err(wrong(format!("its schema is '{}', this assay reads '{SCHEMA}'", header.schema)));
        }
        _ => return Err(wrong("its first line is no header of a ladder".to_string())),
    };
    let mut journal = Journal {
        header,
        rungs: BTreeMap::new(),
        controls: BTreeMap::new(),
        arms: vec![],
        notes: vec![],
        end: None,
        good_bytes: first.len() as u64,
        ends_in_newline: first.ends_with(b"\n"),
    };
    for line in lines {
        match serde_json::from_slice(line) {
            Ok(line) => journal.take(line),
            // Only the last line can be cut; what follows a corrupt one still counts.
            Err(_) if line.ends_with(b"\n") => journal.notes.push("a corrupt line was dropped".to_string()),
            Err(_) => break,
        }
        journal.good_bytes += line.len() as u64;
        journal.ends_in_newline = line.ends_with(b"\n");
    }
    Ok(journal)
}

/// The command line of the ladder in an out folder.
///
/// # Errors
/// As [`read`].
pub fn command(out: &Path) -> Result<Vec<String>, ClimbError> {
    Ok(read(&out.join(FILE))?.header.command)
}

impl Journal {
    fn take(&mut self, line: Line) {
        match line {
            Line::Header(_) => self.notes.push("a second header was dropped".to_string()),
            Line::Control(arm) => {
                self.arms.retain(|a| a.when != arm.when && arm.when != "before");
                self.arms.push(arm);
            }
            Line::Rung(record) if record.origin == "control" => {
                self.controls.insert(record.id.clone(), *record);
            }
            Line::Rung(record) => drop(self.rungs.entry(record.id.clone()).or_insert(*record)),
            Line::Note { kind, text } => {
                if kind == "resumed" {
                    self.end = None;
                }
                self.notes.push(format!("{kind}: {text}"));
            }
            Line::End(end) => self.end = Some(end),
        }
    }
}
