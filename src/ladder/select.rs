//! Which rungs of a catalogue a ladder climbs. Refuses to choose by chance: a seed says which.

use super::rung::{Fault, Origin, Rung};
use crate::fixture::Key;
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

/// What is asked for; everything must hold.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Choice {
    /// Ids.
    pub ids: Vec<String>,
    /// Ops whose kernels are edited, or that are named.
    pub ops: Vec<String>,
    /// Files below the kernel folder.
    pub files: Vec<String>,
    /// Only named rungs (and those of the host), or only generated ones.
    pub origin: Option<Origin>,
    /// Changed lines by file.
    pub changed: Option<BTreeMap<String, Vec<(usize, usize)>>>,
    /// So many of the generated rungs, chosen by a seed.
    pub sample: Option<(usize, u64)>,
}

/// The rungs that are asked for, in their order. `ops_of` gives the ops that a file serves.
pub fn select(rungs: Vec<Rung>, choice: &Choice, ops_of: &dyn Fn(&str) -> Vec<String>) -> Vec<Rung> {
    let wanted = |r: &Rung| {
        let files = r.files();
        let ops = if r.ops.is_empty() { files.iter().flat_map(|f| ops_of(f)).collect() } else { r.ops.clone() };
        (choice.ids.is_empty() || choice.ids.contains(&r.id))
            && (choice.ops.is_empty() || choice.ops.iter().any(|op| ops.contains(op)))
            && (choice.files.is_empty() || choice.files.iter().any(|f| files.contains(&f.as_str())))
            && choice.origin.is_none_or(|o| (r.origin == Origin::Generated) == (o == Origin::Generated))
            && choice.changed.as_ref().is_none_or(|changed| touches(r, changed))
    };
    let rungs: Vec<Rung> = rungs.into_iter().filter(wanted).collect();
    match choice.sample {
        Some((number, seed)) => sample(rungs, number, seed),
        None => rungs,
    }
}

fn touches(r: &Rung, changed: &BTreeMap<String, Vec<(usize, usize)>>) -> bool {
    let Fault::Source(edits) = &r.fault else { return false };
    let last = |e: &super::rung::Edit| r.line + e.old.matches('\n').count();
    edits.first().is_some_and(|e| {
        changed.get(&e.file).is_some_and(|ranges| ranges.iter().any(|(from, to)| r.line <= *to && last(e) >= *from))
    })
}

/// All rungs but the generated ones, of which `number` are taken: every n-th in the order of operator and file, ties broken and the
/// start chosen by the seed, so that each operator and file has its share.
fn sample(rungs: Vec<Rung>, number: usize, seed: u64) -> Vec<Rung> {
    let key = |id: &str| Key::new(seed, id, "sample").0;
    let (generated, mut kept): (Vec<Rung>, Vec<Rung>) = rungs.into_iter().partition(|r| r.origin == Origin::Generated);
    let mut order: Vec<usize> = (0..generated.len()).collect();
    order.sort_by_key(|&i| {
        let r = &generated[i];
        (r.operator.clone(), r.files().first().map(|f| f.to_string()), key(&r.id))
    });
    let total = order.len();
    let number = number.min(total);
    let start = if total == 0 { 0 } else { (key("start") % total as u64) as usize };
    let mut taken: Vec<usize> = (0..number).map(|i| order[(start + i * total / number) % total]).collect();
    taken.sort_unstable();
    taken.dedup();
    kept.extend(taken.into_iter().map(|i| generated[i].clone()));
    kept
}

/// Lines of kernel files that differ from a revision, by path below `folder`: what `git diff` says there.
///
/// # Errors
/// git's own words, or that there is no git.
pub fn changed_since(revision: &str, folder: &Path) -> Result<BTreeMap<String, Vec<(usize, usize)>>, String> {
    let mut git = Command::new("git");
    git.arg("-C").arg(folder).args(["diff", "-U0", "--no-color", "--no-ext-diff", "--relative", revision, "--", "."]);
    let out = git.output().map_err(|e| format!("--diff needs git: {e}"))?;
    if !out.status.success() {
        let words = String::from_utf8_lossy(&out.stderr);
        let first = words.lines().next().unwrap_or_default();
        return Err(format!("git diff {revision} in {}: {first}", folder.display()));
    }
    Ok(hunks(&String::from_utf8_lossy(&out.stdout)))
}

/// New lines of every hunk, by file.
fn hunks(diff: &str) -> BTreeMap<String, Vec<(usize, usize)>> {
    let mut all: BTreeMap<String, Vec<(usize, usize)>> = BTreeMap::new();
    let mut file = String::new();
    for line in diff.lines() {
        if let Some(name) = line.strip_prefix("+++ ") {
            file = name.strip_prefix("b/").unwrap_or(name).to_string();
        } else if let Some(rest) = line.strip_prefix("@@ ") {
            let new = rest.split(' ').nth(1).and_then(|n| n.strip_prefix('+')).unwrap_or_default();
            let (from, count) = new.split_once(',').unwrap_or((new, "1"));
            if let (Ok(from), Ok(count)) = (from.parse::<usize>(), count.parse::<usize>())
                && count > 0
            {
                all.entry(file.clone()).or_default().push((from, from + count - 1));
            }
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ladder::rung::Edit;

    fn rung(n: usize, operator: &str, file: &str) -> Rung {
        Rung {
            id: format!("{file}/{operator}/{n}"),
            origin: Origin::Generated,
            operator: operator.to_string(),
            class: None,
            ops: vec![],
            why: "w".to_string(),
            fault: Fault::Source(vec![Edit { file: file.to_string(), span: 0..1, old: "a".into(), new: "b".into() }]),
            killers: vec![],
            needs: None,
            line: n,
        }
    }

    fn all() -> Vec<Rung> {
        let of = |operator: &'static str, n: usize| {
            (0..n).map(move |i| rung(i, operator, if i % 2 == 0 { "a" } else { "b" }))
        };
        of("x", 100).chain(of("y", 20)).chain([Rung { origin: Origin::Named, ..rung(5, "named", "a") }]).collect()
    }

    #[test]
    fn a_sample_is_the_seeds_and_gives_every_operator_its_share() {
        let take = |seed| select(all(), &Choice { sample: Some((60, seed)), ..Choice::default() }, &|_| vec![]);
        let (first, again, other) = (take(1), take(1), take(2));
        assert_eq!(first, again);
        assert_ne!(first, other);
        for sample in [first, other] {
            let count = |o: &str| sample.iter().filter(|r| r.operator == o).count();
            assert_eq!((count("x"), count("y"), count("named")), (50, 10, 1));
        }
        assert_eq!(select(all(), &Choice { sample: Some((900, 3)), ..Choice::default() }, &|_| vec![]).len(), 121);
    }

    #[test]
    fn words_narrow_the_choice() {
        let ops = |f: &str| vec![if f == "a" { "cast" } else { "add" }.to_string()];
        let count = |choice: Choice| select(all(), &choice, &ops).len();
        assert_eq!(count(Choice { ops: vec!["cast".into()], ..Choice::default() }), 61);
        assert_eq!(count(Choice { files: vec!["b".into()], ..Choice::default() }), 60);
        assert_eq!(count(Choice { origin: Some(Origin::Named), ..Choice::default() }), 1);
        assert_eq!(count(Choice { ids: vec!["a/x/4".into()], ..Choice::default() }), 1);
        let changed = hunks("--- a/b\n+++ b/b\n@@ -1 +3,2 @@\n@@ -9,2 +11,0 @@\n");
        assert_eq!(changed["b"], [(3, 4)]);
        assert_eq!(count(Choice { changed: Some(changed), ..Choice::default() }), 2, "line 3 of both operators");
    }
}
