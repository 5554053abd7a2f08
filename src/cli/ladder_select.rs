//! Options that choose rungs, and the list of them.

use super::{Console, Stop};
use crate::ladder::catalogue::{self, Catalogue};
use crate::ladder::rung::{Fault, Origin, Rung};
use crate::ladder::select::{self, Choice};
use crate::ladder::{ClimbError, Sources};
use crate::ops::REGISTRY;
use serde_json::json;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

#[derive(clap::Args, Clone, Debug, Default, PartialEq)]
#[command(next_help_heading = "Which rungs")]
pub(super) struct SelectArgs {
    /// Exactly this rung; may be given several times.
    #[arg(long = "rung", value_name = "ID")]
    ids: Vec<String>,
    /// Rungs whose fault an op must see; may be given several times.
    #[arg(long = "op", value_name = "OP")]
    ops: Vec<String>,
    /// Rungs of a file below the kernel folder, such as norm/rms_norm.hip; may be given several times.
    #[arg(long = "in", value_name = "FILE")]
    files: Vec<String>,
    /// Rungs on lines of the kernels that changed since a git revision.
    #[arg(long, value_name = "REF")]
    diff: Option<String>,
    /// So many of the generated rungs, chosen by --seed; named ones all stay.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    sample: Option<u32>,
    /// Which sample.
    #[arg(long, value_name = "S", default_value_t = 0)]
    seed: u64,
    /// Named rungs and those of the host only.
    #[arg(long, conflicts_with = "generated")]
    named: bool,
    /// Generated rungs only.
    #[arg(long)]
    generated: bool,
    /// A ladder file to add to those in the binary; may be given several times.
    #[arg(long = "ladder", value_name = "FILE")]
    ladders: Vec<PathBuf>,
}

impl SelectArgs {
    /// The rungs that are asked for, with everything that the catalogue knows of them.
    pub(super) fn catalogue(&self, sources: &Sources, overlay: Option<&Path>) -> Result<Catalogue, Stop> {
        let mut catalogue = catalogue::read(&sources.texts, &self.ladders).map_err(Stop::usage)?;
        if overlay.is_some() {
            // With kernels of the user's, ours are not what is asked about.
            let own = |r: &Rung| r.files().iter().any(|f| sources.files.contains_key(*f)) || r.origin == Origin::Host;
            catalogue.rungs.retain(own);
        }
        self.check(&catalogue)?;
        let changed = match &self.diff {
            Some(revision) => Some(select::changed_since(revision, &self.tree(overlay)?).map_err(Stop::usage)?),
            None => None,
        };
        let origin = match (self.named, self.generated) {
            (true, _) => Some(Origin::Named),
            (_, true) => Some(Origin::Generated),
            _ => None,
        };
        let choice = Choice {
            ids: self.ids.clone(),
            ops: self.ops.clone(),
            files: self.files.clone(),
            origin,
            changed,
            sample: self.sample.map(|n| (n as usize, self.seed)),
        };
        let ops_of = catalogue::ops_by_file(&sources.texts);
        catalogue.rungs =
            select::select(catalogue.rungs, &choice, &|file| ops_of.get(file).cloned().unwrap_or_default());
        if catalogue.rungs.is_empty() {
            return Err(ClimbError::NoRung.into());
        }
        Ok(catalogue)
    }

    /// The kernel folder whose changes count: the user's, else `kernels` of the tree we stand in.
    fn tree(&self, overlay: Option<&Path>) -> Result<PathBuf, Stop> {
        let folder = overlay.map_or_else(|| PathBuf::from("kernels"), Path::to_path_buf);
        if folder.is_dir() {
            return Ok(folder);
        }
        Err(Stop::usage("--diff compares the kernel sources of a tree: run it in assay's own, or give --kernels DIR"))
    }

    /// Words that name nothing are errors with the nearest that does.
    fn check(&self, catalogue: &Catalogue) -> Result<(), Stop> {
        let ops: Vec<&str> = REGISTRY.iter().map(|op| op.name()).collect();
        let files: Vec<&str> = catalogue.rungs.iter().flat_map(Rung::files).collect();
        let ids: Vec<&str> = catalogue.rungs.iter().map(|r| r.id.as_str()).collect();
        for (what, words, known) in
            [("op", &self.ops, &ops), ("file with rungs", &self.files, &files), ("rung", &self.ids, &ids)]
        {
            if let Some(word) = words.iter().find(|w| !known.contains(&w.as_str())) {
                let near = crate::suite::nearest(word, known.iter().copied());
                let hint = near.first().map_or(String::new(), |n| format!("; did you mean '{n}'?"));
                return Err(Stop::usage(format!("no {what} '{word}'{hint}")));
            }
        }
        Ok(())
    }
}

/// Prints rungs, one a line, and how many each operator and file has.
pub(super) fn list(catalogue: &Catalogue, json: bool, console: &mut Console) {
    if json {
        let rung = |r: &Rung| {
            json!({
                "id": r.id, "origin": r.origin.to_string(), "operator": r.operator, "class": r.class, "ops": r.ops,
                "line": r.line, "why": r.why, "edit": edit(r), "stale": catalogue.stale.get(&r.id),
                "equivalent": catalogue.equivalent.get(&r.id),
            })
        };
        console.json(&catalogue.rungs.iter().map(rung).collect::<Vec<_>>());
        return;
    }
    for r in &catalogue.rungs {
        let class = r.class.map_or("-".to_string(), |c| c.to_string());
        console.line(format!("{}  class {class}  line {}  {}", r.id, r.line, edit(r)));
    }
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for r in &catalogue.rungs {
        *counts.entry(&r.operator).or_default() += 1;
    }
    let words: Vec<String> = counts.iter().map(|(operator, n)| format!("{operator} {n}")).collect();
    console.line(format!("{} rungs: {}", catalogue.rungs.len(), words.join(", ")));
}

/// `old -> new` of the first edit, on one line.
fn edit(r: &Rung) -> String {
    let line = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    match &r.fault {
        Fault::Source(edits) => {
            edits.first().map_or(String::new(), |e| format!("{} -> {}", line(&e.old), line(&e.new)))
        }
        Fault::Host(fault) => format!("{fault:?}"),
    }
}
