//! Every rung there is: those of the ladder files and those that the operators make. Refuses an anchor that does not match exactly
//! once, without forgetting its rung: it is stale, and a stale rung fails the ladder.

use super::operators;
use super::rung::{Edit, Fault, HostFault, Need, Origin, Rung};
use crate::ops::REGISTRY;
use crate::suite::{FIXED_BARS, LIMIT_BARS, nearest};
use crate::toolchain::hex;
use include_dir::{Dir, include_dir};
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use toml::Spanned;

static EMBEDDED: Dir<'static> = include_dir!("$CARGO_MANIFEST_DIR/suites/ladders");

/// Headers that a target or the simulator brings along: never the code under test.
const TARGETS: [&str; 4] = ["include/sim/", "include/amd/", "include/nv/", "include/nvrtc/"];

/// Path below the kernel folder -> text.
type Texts = BTreeMap<String, Vec<u8>>;

/// Every rung of a set of sources.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Catalogue {
    /// Rungs, named ones first, each group in the order of files and text.
    pub rungs: Vec<Rung>,
    /// Why a rung is stale, by id.
    pub stale: BTreeMap<String, String>,
    /// Why a rung is equivalent, by id.
    pub equivalent: BTreeMap<String, String>,
}

/// What is wrong with a ladder file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LadderError {
    /// A file that is no ladder.
    #[error("{file}:{line}: {message}")]
    At {
        /// The file.
        file: String,
        /// Line, from 1.
        line: usize,
        /// What is wrong, and the nearest valid word.
        message: String,
    },
    /// A file that cannot be read.
    #[error("cannot read ladder {file}: {why}")]
    Unreadable {
        /// The file.
        file: String,
        /// The system's words.
        why: String,
    },
    /// A kernel source that the operators cannot parse.
    #[error("{file} does not parse: {why}")]
    Source {
        /// Below the kernel folder.
        file: String,
        /// Where.
        why: String,
    },
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[allow(dead_code)]
    ladder: Head,
    #[serde(default)]
    rung: Vec<Spanned<NamedRung>>,
    #[serde(default)]
    equivalent: Vec<Spanned<Equivalent>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(dead_code)]
struct Head {
    name: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NamedRung {
    id: String,
    op: Vec<String>,
    class: Option<u8>,
    why: String,
    #[serde(default)]
    killers: Vec<String>,
    needs: Option<Need>,
    host: Option<HostFault>,
    #[serde(default)]
    edit: Vec<NamedEdit>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NamedEdit {
    file: String,
    anchor: String,
    replacement: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Equivalent {
    id: String,
    reason: String,
    file: String,
    sha256: String,
}

/// The catalogue of `texts`: embedded ladder files, those of `files`, and generated rungs.
///
/// # Errors
/// A ladder file that is none, or names what does not exist; a source that does not parse.
pub fn read(texts: &Texts, files: &[impl AsRef<Path>]) -> Result<Catalogue, LadderError> {
    let mut catalogue = Catalogue::default();
    let mut equivalents = Vec::new();
    let mut embedded: Vec<_> = EMBEDDED.files().filter(|f| f.path().extension().is_some_and(|e| e == "toml")).collect();
    embedded.sort_by_key(|f| f.path());
    for file in embedded {
        let text = file.contents_utf8().unwrap_or_default();
        catalogue.named(&format!("suites/ladders/{}", file.path().display()), text, texts, &mut equivalents)?;
    }
    for path in files {
        let file = path.as_ref().display().to_string();
        let text = std::fs::read_to_string(path)
            .map_err(|e| LadderError::Unreadable { file: file.clone(), why: e.to_string() })?;
        catalogue.named(&file, &text, texts, &mut equivalents)?;
    }
    catalogue.rungs.extend(generated(texts)?);
    catalogue.settle(equivalents, texts)?;
    Ok(catalogue)
}

/// A judgement of equivalence with the place where it was made.
struct Judged {
    entry: Equivalent,
    place: (String, usize),
}

impl Catalogue {
    fn named(
        &mut self,
        file: &str,
        text: &str,
        texts: &Texts,
        equivalents: &mut Vec<Judged>,
    ) -> Result<(), LadderError> {
        let line = |at: usize| 1 + text[..at.min(text.len())].matches('\n').count();
        let at = |at: usize, message: String| LadderError::At { file: file.to_string(), line: line(at), message };
        let parsed: File =
            toml::from_str(text).map_err(|e| at(e.span().map_or(0, |s| s.start), e.message().replace('\n', " ")))?;
        for rung in parsed.rung {
            let place = rung.span().start;
            let (rung, stale) = rung.into_inner().rung(texts).map_err(|message| at(place, message))?;
            if self.rungs.iter().any(|r| r.id == rung.id) {
                return Err(at(place, format!("rung '{}' is there twice", rung.id)));
            }
            self.stale.extend(stale.map(|why| (rung.id.clone(), why)));
            self.rungs.push(rung);
        }
        for entry in parsed.equivalent {
            let place = (file.to_string(), line(entry.span().start));
            equivalents.push(Judged { entry: entry.into_inner(), place });
        }
        Ok(())
    }

    /// Enters the judgements of equivalence; one that was made about another text makes its rung stale.
    fn settle(&mut self, judged: Vec<Judged>, texts: &Texts) -> Result<(), LadderError> {
        for Judged { entry: e, place: (file, line) } in judged {
            let wrong = |message: String| LadderError::At { file: file.clone(), line, message };
            if e.reason.trim().is_empty() {
                return Err(wrong(format!("'{}' is called equivalent without a reason", e.id)));
            }
            let text = texts.get(&e.file).ok_or_else(|| wrong(format!("no kernel file '{}'", e.file)))?;
            if hex(text) != e.sha256 {
                let why = format!("it was called equivalent for another text of {} ({file}:{line})", e.file);
                self.stale.insert(e.id, why);
                continue;
            }
            if !self.rungs.iter().any(|r| r.id == e.id) {
                let near = nearest(&e.id, self.rungs.iter().map(|r| r.id.as_str()));
                let hint = near.first().map_or(String::new(), |n| format!("; did you mean '{n}'?"));
                return Err(wrong(format!("no rung '{}'{hint}", e.id)));
            }
            self.equivalent.insert(e.id, e.reason);
        }
        Ok(())
    }
}

impl NamedRung {
    /// The rung, and why it is stale if it is.
    fn rung(self, texts: &Texts) -> Result<(Rung, Option<String>), String> {
        self.check()?;
        let fault = match (self.host, self.edit.is_empty()) {
            (Some(fault), true) => Ok(Fault::Host(fault)),
            (None, false) => self.edits(texts).map(Fault::Source),
            _ => return Err(format!("rung '{}' has either edits or a fault of the host", self.id)),
        };
        let stale = fault.as_ref().err().cloned();
        let fault = fault.unwrap_or_else(|_| Fault::Source(vec![]));
        let line = match &fault {
            Fault::Source(edits) => edits.first().map_or(0, |e| line_of(texts, e)),
            Fault::Host(_) => 0,
        };
        let (origin, operator) = match self.host {
            Some(_) => (Origin::Host, "host"),
            None => (Origin::Named, "named"),
        };
        let Self { id, op, class, why, killers, needs, .. } = self;
        Ok((Rung { id, origin, operator: operator.into(), class, ops: op, why, fault, killers, needs, line }, stale))
    }

    fn check(&self) -> Result<(), String> {
        if self.id.trim().is_empty() || self.why.trim().is_empty() || self.op.is_empty() {
            return Err("a rung needs an id, an op and a reason why somebody would make the fault".to_string());
        }
        if self.class.is_some_and(|c| !(1..=20).contains(&c)) {
            return Err(format!("rung '{}': classes are 1 to 20", self.id));
        }
        let unknown = |what: &str, word: &str, known: &[&str]| {
            let near = nearest(word, known.iter().copied());
            let hint = near.first().map_or(String::new(), |n| format!("; did you mean '{n}'?"));
            Err(format!("rung '{}': no {what} '{word}'{hint}", self.id))
        };
        let ops: Vec<&str> = REGISTRY.iter().map(|op| op.name()).collect();
        if let Some(op) = self.op.iter().find(|op| !ops.contains(&op.as_str())) {
            return unknown("op", op, &ops);
        }
        let bars: Vec<&str> = LIMIT_BARS.iter().chain(FIXED_BARS.iter()).copied().chain(["crash", "hang"]).collect();
        match self.killers.iter().find(|k| !bars.contains(&k.as_str())) {
            Some(bar) => unknown("bar", bar, &bars),
            None => Ok(()),
        }
    }

    /// The edits with their places; why an anchor is none otherwise.
    fn edits(&self, texts: &Texts) -> Result<Vec<Edit>, String> {
        let mut edits = Vec::new();
        for e in &self.edit {
            let text = texts.get(&e.file).map(|t| String::from_utf8_lossy(t));
            let text = text.ok_or_else(|| format!("there is no kernel file {}", e.file))?;
            let found: Vec<usize> = text.match_indices(&e.anchor).map(|(at, _)| at).collect();
            let [start] = found[..] else {
                return Err(format!("its anchor is in {} {} times: {}", e.file, found.len(), e.anchor.trim()));
            };
            let span = start..start + e.anchor.len();
            edits.push(Edit { file: e.file.clone(), span, old: e.anchor.clone(), new: e.replacement.clone() });
        }
        edits.sort_by(|a, b| (&a.file, a.span.start).cmp(&(&b.file, b.span.start)));
        Ok(edits)
    }
}

fn line_of(texts: &Texts, e: &Edit) -> usize {
    texts.get(&e.file).map_or(0, |t| 1 + t[..e.span.start.min(t.len())].iter().filter(|b| **b == b'\n').count())
}

/// Rungs of every file that an op's kernels are made of.
fn generated(texts: &Texts) -> Result<Vec<Rung>, LadderError> {
    let own = |file: &&String| !TARGETS.iter().any(|t| file.starts_with(t)) && !file.starts_with("survey/");
    let files: Vec<(&String, String)> =
        texts.iter().filter(|(f, _)| own(f)).map(|(f, t)| (f, String::from_utf8_lossy(t).into_owned())).collect();
    let reached = reached(&files);
    let mut rungs = Vec::new();
    for (file, text) in files.iter().filter(|(f, _)| reached.contains(f.as_str())) {
        // A name that stands once in all files is that of its own definition.
        let uses = |name: &str| {
            let of = |(f, t): &(&String, String)| if reached.contains(f.as_str()) { words(t, name) } else { 0 };
            files.iter().map(of).sum::<usize>()
        };
        let called = |name: &str| is_unit(file) || uses(name) > definitions(text, name);
        let made = operators::generate(file, text, &called);
        rungs.extend(made.map_err(|why| LadderError::Source { file: (*file).clone(), why })?);
    }
    Ok(rungs)
}

fn is_unit(file: &str) -> bool {
    file.ends_with(".hip") || file.ends_with(".cu")
}

/// Units, and every file that one of them includes, directly or through others.
fn reached(files: &[(&String, String)]) -> BTreeSet<String> {
    reached_from(files.iter().map(|(f, _)| (*f).clone()).filter(|f| is_unit(f)).collect(), files)
}

/// Ops by the file that their kernels are made of: those whose kernel symbols a unit spells out, or the beginning of one, as macros
/// that paste names do.
pub fn ops_by_file(texts: &Texts) -> BTreeMap<String, Vec<String>> {
    let own = |file: &&String| !TARGETS.iter().any(|t| file.starts_with(t));
    let files: Vec<(&String, String)> =
        texts.iter().filter(|(f, _)| own(f)).map(|(f, t)| (f, String::from_utf8_lossy(t).into_owned())).collect();
    let mut all: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (unit, text) in files.iter().filter(|(f, _)| is_unit(f)) {
        let stem = Path::new(unit).file_stem().and_then(|s| s.to_str()).unwrap_or_default();
        for op in REGISTRY {
            let kernels = op.kernels();
            let spelled = |k: &crate::ops::KernelSig| words(text, &k.symbol) > 0;
            let pasted = stem.strip_prefix(op.name()).is_some_and(|rest| rest.is_empty() || rest.starts_with('_'));
            if pasted || kernels.iter().any(spelled) {
                for file in reached_from(vec![(*unit).clone()], &files) {
                    all.entry(file).or_default().insert(op.name().to_string());
                }
            }
        }
    }
    all.into_iter().map(|(file, ops)| (file, ops.into_iter().collect())).collect()
}

fn reached_from(mut todo: Vec<String>, files: &[(&String, String)]) -> BTreeSet<String> {
    let mut seen: BTreeSet<String> = BTreeSet::new();
    while let Some(file) = todo.pop() {
        let Some((_, text)) = files.iter().find(|(f, _)| **f == file) else { continue };
        if seen.insert(file) {
            let included = text.lines().filter_map(|l| l.trim().strip_prefix("#include"));
            let names = included.filter_map(|l| l.trim().get(1..)?.split(['>', '"']).next().map(str::to_string));
            todo.extend(names.flat_map(|n| [format!("include/{n}"), n]));
        }
    }
    seen
}

/// How often a name stands in a text as a word of its own.
fn words(text: &str, name: &str) -> usize {
    let part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let whole = |(at, _): &(usize, &str)| !text[..*at].ends_with(part) && !text[at + name.len()..].starts_with(part);
    text.match_indices(name).filter(whole).count()
}

/// Overloads of a function in its own file.
fn definitions(text: &str, name: &str) -> usize {
    let mut count = 0;
    if let Ok(tree) = operators::parse(text) {
        operators::functions(tree.root_node(), text, &mut |_, found| count += usize::from(found == name));
    }
    count.max(1)
}

#[cfg(test)]
#[path = "catalogue_tests.rs"]
mod tests;
