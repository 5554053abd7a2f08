//! What a board is, and which memory the host and the device can really reach: declared, observed, and what follows. Refuses to take
//! a declaration for an observation, and one direction for the other.

mod ask;
pub mod child;
pub mod model;
pub mod policy;
pub mod publish;
pub mod text;

use crate::board::{Facts, Kind};
use crate::ops;
use crate::record::{SCHEMA, Tool};
use crate::run::boards::{self, Named};
use crate::run::{RunError, now};
use crate::toolchain::{KernelSet, Toolchain};
use child::{Action, Answer, Request};
use model::{Attribute, DeviceReach, Drain, Fact, HostReach, MemoryKind, Policy, Probe, Seen, Survey};
use policy::Quadruple;
use std::path::{Path, PathBuf};

/// Kinds of memory, in the order of the table.
const KINDS: [(Kind, &str); 6] = [
    (Kind::Device, "device"),
    (Kind::Managed, "managed"),
    (Kind::Pinned, "pinned"),
    (Kind::Registered, "registered"),
    (Kind::MappedFile, "mapped_file"),
    (Kind::Pageable, "pageable"),
];

/// Symbols of kernels/survey/probe.hip.
pub(crate) const PROBES: [&str; 4] = ["probe_fill", "probe_copy", "probe_lanes", "probe_spin"];

/// Surveys a board; `on_step` hears what is being probed.
///
/// # Errors
/// When the board id names no board, the board is not there or busy, or the probe kernels cannot be built.
pub fn survey(
    board: &str,
    exe: &Path,
    pack: Option<&Path>,
    command: Vec<String>,
    on_step: &mut dyn FnMut(&str),
) -> Result<Survey, RunError> {
    let named = boards::named(board)?;
    if let Some(why) = named.absent() {
        return Err(RunError::BoardAbsent { board: board.to_string(), why: why.to_string() });
    }
    let _lock = named.lock().map_err(|why| RunError::BoardBusy { board: board.to_string(), why })?;
    let image = build(&named, pack)?;
    let facts = named.facts();
    let asker = Asker { board: board.to_string(), exe: exe.to_path_buf(), image };
    on_step("lanes of a wave");
    let lanes = asker.ask(Kind::Device, Action::Lanes);
    let mut findings = Vec::new();
    let capabilities = capabilities(&facts, &lanes, &mut findings);
    let mut memory = Vec::new();
    for (kind, name) in KINDS {
        on_step(&format!("{name} memory"));
        memory.push(asker.kind(kind, name, &facts, memory.first()));
    }
    on_step("asynchronous completion");
    let drain = asker.drain();
    let policy = policy_of(&facts, &memory);
    findings.extend(memory.iter().flat_map(|m| m.findings.clone()));
    let environment = environment();
    let conforming = !environment.iter().any(|f| f.name == "HSA_OVERRIDE_GFX_VERSION");
    if !conforming {
        findings
            .push("HSA_OVERRIDE_GFX_VERSION is set: the board pretends to be another, nothing here conforms".into());
    }
    Ok(Survey {
        schema: SCHEMA.to_string(),
        tool: Tool { name: "assay".to_string(), version: env!("CARGO_PKG_VERSION").to_string() },
        board: named.info(board),
        at: now(),
        command,
        identity: named.identity(),
        attributes: named.attributes(),
        capabilities,
        memory,
        policy,
        drain,
        environment,
        conforming,
        findings,
    })
}

/// The image with the probe kernels.
fn build(named: &Named, pack: Option<&Path>) -> Result<PathBuf, RunError> {
    let failed = |e: crate::toolchain::BuildError| RunError::Kernels(e.to_string());
    let target = named.target().ok_or_else(|| RunError::NoSuchBoard("the mock board cannot be surveyed".into()))?;
    let spare = std::env::temp_dir().join(format!("assay-survey-{}", std::process::id()));
    let tools = Toolchain::open(&spare);
    let wanted = PROBES.map(String::from);
    let pack = crate::run::kernels::pack(pack).map_err(failed)?;
    let set = KernelSet::resolve_packed(&tools, &wanted, None, pack.map(|p| (p, &target))).map_err(failed)?;
    let image = set.build(set.file_of(PROBES[0]).map_err(failed)?, &target).map_err(failed)?;
    Ok(image.path)
}

struct Asker {
    board: String,
    exe: PathBuf,
    image: PathBuf,
}

impl Asker {
    fn ask(&self, kind: Kind, action: Action) -> Answer {
        let (board, exe, image) = (self.board.clone(), self.exe.clone(), self.image.clone());
        ask::ask(&Request { board, exe, image, kind, action })
    }

    fn probe(&self, kind: Kind, action: Action) -> Probe {
        let detail = match self.ask(kind, action) {
            Answer::Probe(probe) => return probe,
            Answer::Failed(why) => why,
            other => format!("the probe answered something else: {other:?}"),
        };
        Probe { seen: Seen::Inconclusive, bytes: 0, detail, same_address: None, kernel_us: None }
    }

    /// Every probe of one kind; `device` is the row of device memory, whose kernel time is the measure.
    fn kind(&self, kind: Kind, name: &str, facts: &Facts, device: Option<&MemoryKind>) -> MemoryKind {
        let host = HostReach {
            declared: Some(facts.host_reads.contains(&kind)),
            reads: self.probe(kind, Action::HostReads),
            writes: self.probe(kind, Action::HostWrites),
        };
        let reads = self.probe(kind, Action::DeviceReads);
        let time = |p: &Probe| p.kernel_us.filter(|_| p.seen == Seen::Works);
        let own = device.map_or(time(&reads), |d| time(&d.device.reads));
        let device = DeviceReach {
            declared: facts.device_reads.contains(&kind),
            slower: time(&reads).zip(own).map(|(this, own)| (this / own * 100.0).round() / 100.0),
            reads,
            reads_middle: self.probe(kind, Action::DeviceReadsMiddle),
        };
        let findings = contradictions(name, &host, &device);
        MemoryKind { kind: name.to_string(), host, device, findings }
    }

    fn drain(&self) -> Drain {
        match self.ask(Kind::Pinned, Action::Drain) {
            Answer::Drain(drain) => drain,
            Answer::Failed(why) => Drain::NotShown { why },
            other => Drain::NotShown { why: format!("the probe answered something else: {other:?}") },
        }
    }
}

/// Where the declaration and the observation differ.
fn contradictions(name: &str, host: &HostReach, device: &DeviceReach) -> Vec<String> {
    let mut findings = Vec::new();
    let mut compare = |who: &str, declared: bool, probe: &Probe| match (declared, probe.seen) {
        (_, Seen::Inconclusive) => findings.push(format!("{who} {name} memory: nothing is known ({})", probe.detail)),
        (true, Seen::Works) | (false, Seen::Refused | Seen::Faults) => {}
        (true, _) => findings.push(format!("{who} {name} memory is declared, and {}", words(probe))),
        (false, Seen::Works) => findings.push(format!("{who} {name} memory is not declared, and works")),
        (false, _) => findings.push(format!("{who} {name} memory is not declared, and {}", words(probe))),
    };
    compare("the host reading", host.declared.unwrap_or(false), &host.reads);
    compare("the host writing", host.declared.unwrap_or(false), &host.writes);
    compare("a kernel reading", device.declared, &device.reads);
    compare("a kernel reading from the middle of", device.declared, &device.reads_middle);
    findings
}

fn words(probe: &Probe) -> String {
    let seen = match probe.seen {
        Seen::Works => "works",
        Seen::Refused => "is refused",
        Seen::WrongData => "brings wrong data",
        Seen::Faults => "faults",
        Seen::Hangs => "hangs",
        Seen::Inconclusive => "could not be probed",
    };
    if probe.detail.is_empty() { seen.to_string() } else { format!("{seen}: {}", probe.detail) }
}

/// What follows from attributes and observations together.
fn policy_of(facts: &Facts, memory: &[MemoryKind]) -> Policy {
    let Facts { integrated, pageable, managed, concurrent_managed: concurrent, .. } = *facts;
    let d = policy::derive(Quadruple { integrated, pageable, managed, concurrent }, None);
    // What an op's memory would be made as.
    let kind = if d.managed_alloc { "managed" } else { "device" };
    let row = memory.iter().find(|m| m.kind == kind);
    let works = row.is_some_and(|m| m.host.reads.seen == Seen::Works && m.host.writes.seen == Seen::Works);
    let why = match (d.unified, works) {
        (true, true) => format!("the attributes share memory, and the host read and wrote {kind} memory"),
        (true, false) => format!("the attributes share memory, but the host could not use {kind} memory"),
        (false, true) => format!("the host could use {kind} memory, but the attributes do not promise it"),
        (false, false) => format!("{kind} memory is not the host's, by its attributes and as observed"),
    };
    Policy {
        managed_capable: d.capable,
        managed_alloc: d.managed_alloc,
        unified: d.unified,
        host_memory_on_device: d.host_memory_on_device,
        reference_tier: d.unified && works,
        why,
    }
}

fn capabilities(facts: &Facts, lanes: &Answer, findings: &mut Vec<String>) -> Vec<Fact> {
    let declared = "declared";
    let mut all = vec![
        fact("wave width", facts.wave, declared),
        fact("threads of a block", facts.max_threads, declared),
        fact("shared memory of a block, bytes", facts.lds, declared),
        fact("device memory, bytes", facts.memory, declared),
        fact("fp8 flavour", &facts.fp8, "by architecture"),
        fact("sealable piece of memory, bytes", facts.page, declared),
    ];
    match lanes {
        Answer::Lanes(together, named) => {
            all.push(fact("lanes that vote together", together, "measured by a kernel"));
            all.push(fact("warpSize in a kernel", named, "measured by a kernel"));
            if i64::from(*together) != i64::from(facts.wave) || named != together {
                findings.push(format!(
                    "the runtime declares waves of {}, a kernel measured {together} lanes and warpSize {named}",
                    facts.wave
                ));
            }
        }
        Answer::Failed(why) => findings.push(format!("the wave width could not be measured: {why}")),
        other => findings.push(format!("the wave width could not be measured: {other:?}")),
    }
    all.push(fact("ops with a kernel", ops::REGISTRY.len(), "this assay"));
    all
}

fn fact(name: &str, value: impl ToString, source: &str) -> Fact {
    Fact { name: name.to_string(), value: value.to_string(), source: source.to_string() }
}

/// Variables that change what runs. An empty one is the same as none.
fn environment() -> Vec<Fact> {
    let set = |name: &&str| std::env::var(name).ok().filter(|v| !v.is_empty()).map(|v| fact(name, v, "environment"));
    crate::board::hip::VARIABLES
        .iter()
        .chain(&["CUDA_VISIBLE_DEVICES", "CUDA_LAUNCH_BLOCKING"])
        .filter_map(set)
        .collect()
}

/// An attribute under its name.
pub(crate) fn attribute(name: &str, value: Option<i64>) -> Attribute {
    Attribute { name: name.to_string(), value }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn probe(seen: Seen) -> Probe {
        Probe { seen, bytes: 0, detail: String::new(), same_address: None, kernel_us: None }
    }

    #[test]
    fn declared_and_observed_are_compared_in_both_directions() {
        let host = |declared, seen| HostReach { declared: Some(declared), reads: probe(seen), writes: probe(seen) };
        let device =
            |declared, seen| DeviceReach { declared, reads: probe(seen), reads_middle: probe(seen), slower: None };
        let count = |h, d| contradictions("device", &h, &d).len();
        assert_eq!(count(host(true, Seen::Works), device(true, Seen::Works)), 0);
        assert_eq!(count(host(false, Seen::Faults), device(false, Seen::Refused)), 0);
        assert_eq!(count(host(false, Seen::Works), device(true, Seen::Works)), 2);
        assert_eq!(count(host(true, Seen::WrongData), device(false, Seen::WrongData)), 4);
        assert_eq!(count(host(true, Seen::Works), device(true, Seen::Inconclusive)), 2);
    }
}
