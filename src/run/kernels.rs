//! Kernels of a run: built before any worker starts, so that no two workers build the same. Refuses to run them.

use super::protocol::Built;
use super::{Event, Options, RunError, boards::Named};
use crate::ops;
use crate::record::Provenance;
use crate::suite::Case;
use crate::toolchain::find::Stamp;
use crate::toolchain::pack::Pack;
use crate::toolchain::{self, BuildError, KernelSet, Toolchain};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

/// What was built for a run.
pub struct Kernels {
    /// Per kernel symbol its image, or why there is none.
    pub images: BTreeMap<String, Built>,
    /// Where everything came from.
    pub provenance: Provenance,
    /// The cache could not be written: one sentence.
    pub warning: Option<String>,
}

/// Builds the kernels that the cases launch, on all cores.
///
/// # Errors
/// When there is no compiler, or an overlay is not usable. A kernel that does not compile is no error here: its cases are.
pub fn build(
    named: &Named,
    options: &Options,
    cases: &[Case],
    on_event: &mut dyn FnMut(Event),
) -> Result<Kernels, RunError> {
    let tools = Toolchain::open(&options.out);
    let mut provenance = provenance(options, tools.cache().root());
    let Some(target) = named.target() else {
        return Ok(Kernels { images: BTreeMap::new(), provenance, warning: None });
    };
    let failed = |e: BuildError| RunError::Kernels(e.to_string());
    let every: Vec<String> = ops::REGISTRY.iter().flat_map(|op| op.kernels()).map(|k| k.symbol).collect();
    let pack = pack(options.pack.as_deref()).map_err(failed)?;
    let set = KernelSet::resolve_packed(&tools, &every, options.kernels.as_deref(), pack.map(|p| (p, &target)))
        .map_err(failed)?;
    let launched = launched(cases);
    let files: BTreeSet<&Path> =
        launched.iter().filter_map(|s| set.file_of(s).ok()).map(|f| f.path.as_path()).collect();
    on_event(Event::Building { files: files.len() });
    set.build_ahead(launched.iter().map(String::as_str), &target);
    let image = |symbol: &String| match set.file_of(symbol).and_then(|file| set.build(file, &target)) {
        Ok(image) => Built::from(image),
        Err(e) => Built::Failed(e.to_string()),
    };
    let images: BTreeMap<String, Built> = launched.iter().map(|s| (s.clone(), image(s))).collect();
    provenance.kernels = set.origins().into_iter().filter(|(symbol, _)| images.contains_key(symbol)).collect();
    provenance.compiler = target.compiler(&tools).unwrap_or_default();
    Ok(Kernels { images, provenance, warning: tools.cache().warning() })
}

/// The pack that was named, else the one behind this binary.
///
/// # Errors
/// `BadPack`, `Io`.
pub fn pack(named: Option<&Path>) -> Result<Option<Arc<Pack>>, BuildError> {
    let pack = match named {
        Some(path) => Some(Pack::read(path)?),
        None => Pack::own()?,
    };
    Ok(pack.map(Arc::new))
}

/// Every kernel symbol that the cases launch; for a case of declared size 0 every symbol of its op, so that it cannot pass where
/// nothing was built.
fn launched(cases: &[Case]) -> BTreeSet<String> {
    let planned = |c: &Case| ops::find(&c.op).and_then(|op| Some((op, op.plan(&c.params).ok()?)));
    cases.iter().filter_map(planned).flat_map(|(op, plan)| needed(op, &plan)).collect()
}

/// Kernel symbols without which a plan proves nothing.
pub fn needed(op: &dyn ops::Contract, plan: &ops::Plan) -> Vec<String> {
    if plan.launches.is_empty() {
        return op.kernels().into_iter().map(|k| k.symbol).collect();
    }
    plan.launches.iter().map(|l| l.symbol.clone()).collect()
}

/// Tree, binary and machine.
fn provenance(options: &Options, cache: &Path) -> Provenance {
    let cpu = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let cpu = cpu.lines().find_map(|l| l.strip_prefix("model name")).map(|l| l.trim_start_matches([' ', '\t', ':']));
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    let mut environment = BTreeMap::new();
    environment.insert("cpu".to_string(), cpu.unwrap_or("unknown").to_string());
    environment.insert("cores".to_string(), cores.to_string());
    for name in ["CXX", "ASSAY_CACHE_DIR", "XDG_CACHE_HOME", "ROCM_PATH"] {
        if let Ok(value) = std::env::var(name) {
            environment.insert(name.to_string(), value);
        }
    }
    Provenance {
        tree: toolchain::built_from().to_string(),
        dirty: toolchain::built_dirty(),
        binary: own_hash(&options.exe, cache).unwrap_or_else(|| "unknown".to_string()),
        environment,
        ..Provenance::default()
    }
}

/// sha256 of the assay binary, remembered by its path, size and time of modification: hashing it takes longer than a small run.
fn own_hash(exe: &Path, cache: &Path) -> Option<String> {
    let stamp = Stamp::of(exe).ok()?;
    let key = toolchain::hex(format!("{}|{}|{}", stamp.path.display(), stamp.size, stamp.mtime).as_bytes());
    let memo = cache.join("id").join(format!("assay-{key}"));
    let known =
        std::fs::read_to_string(&memo).ok().filter(|h| h.len() == 64 && h.bytes().all(|b| b.is_ascii_hexdigit()));
    if known.is_some() {
        return known;
    }
    let hash = toolchain::sha256_file(exe).ok()?;
    // Written whole or not at all; where that fails only the time is lost.
    let written = memo.parent().map(|folder| {
        std::fs::create_dir_all(folder)?;
        let mut file = tempfile::NamedTempFile::new_in(folder)?;
        std::io::Write::write_all(&mut file, hash.as_bytes())?;
        file.persist(&memo).map(drop).map_err(std::io::Error::from)
    });
    drop(written);
    Some(hash)
}
