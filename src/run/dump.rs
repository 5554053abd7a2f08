//! `--dump DIR`: what a case computed, as one safetensors file per case, so that anyone can check us in numpy.
//!
//! Tensors: `input.NAME`, `reference.NAME`, `device.NAME` in their dtype, and `oracle.NAME`, `bound.NAME` in f64; packed, row-major.
//! Elements of rows that the op skips hold anything in the reference and background on the device.

use super::job::{Job, Ran};
use crate::tensor::DType;
use safetensors::tensor::{Dtype, TensorView};
use sha2::{Digest, Sha256};
use std::path::{Path, PathBuf};

/// File of a case below `folder`: its id made a file name, cut, and told apart by a hash.
pub fn file(folder: &Path, id: &str) -> PathBuf {
    let plain = |c: char| if c.is_ascii_alphanumeric() || "=._-".contains(c) { c } else { '+' };
    let name: String = id.chars().map(plain).take(100).collect();
    let hash: String = Sha256::digest(id.as_bytes()).iter().take(4).map(|b| format!("{b:02x}")).collect();
    folder.join(format!("{name}-{hash}.safetensors"))
}

/// Writes the file of a case.
///
/// # Errors
/// One sentence, when it cannot be written.
pub fn write(job: &Job, ran: &Ran, folder: &Path) -> Result<(), String> {
    let mut tensors: Vec<(String, Dtype, Vec<usize>, Vec<u8>)> = vec![];
    for (i, arg) in job.plan.args.iter().enumerate().filter(|(_, a)| a.fill.is_some()) {
        let (dtype, shape) = (dtype(arg.view.dtype), arg.view.shape.clone());
        tensors.push((format!("input.{}", arg.name), dtype, shape, job.inputs.bytes(i).to_vec()));
    }
    let oracles = job.oracles.first().map_or(&[][..], |(_, columns)| columns);
    for (((i, arg, _), reference), oracle) in job.plan.outputs().zip(&job.reference).zip(oracles) {
        let (name, view) = (arg.name, &arg.view);
        let mut put =
            |what: &str, dtype, bytes| tensors.push((format!("{what}.{name}"), dtype, view.shape.clone(), bytes));
        put("reference", dtype(view.dtype), reference.clone());
        if let Some(snapshot) = ran.snapshots.first() {
            put("device", dtype(view.dtype), view.gather(&snapshot.bytes[job.region.slots[i].data.clone()]));
        }
        for (what, column) in [("oracle", &oracle.value), ("bound", &oracle.bound)] {
            if column.len() == view.len() {
                put(what, Dtype::F64, column.iter().flat_map(|x| x.to_le_bytes()).collect());
            }
        }
    }
    let path = file(folder, &job.case.id);
    let failed = |e: &dyn std::fmt::Display| format!("cannot dump to {}: {e}", path.display());
    std::fs::create_dir_all(folder).map_err(|e| failed(&e))?;
    let mut views = Vec::with_capacity(tensors.len());
    for (name, dtype, shape, bytes) in &tensors {
        views.push((name.as_str(), TensorView::new(*dtype, shape.clone(), bytes).map_err(|e| failed(&e))?));
    }
    let about = [("case".to_string(), job.case.id.clone()), ("seed".to_string(), job.case.seed.to_string())];
    let whole = safetensors::serialize(views, Some(about.into())).map_err(|e| failed(&e))?;
    std::fs::write(&path, whole).map_err(|e| failed(&e))
}

fn dtype(dtype: DType) -> Dtype {
    match dtype {
        DType::F32 => Dtype::F32,
        DType::F16 => Dtype::F16,
        DType::Bf16 => Dtype::BF16,
        DType::I32 => Dtype::I32,
        DType::I64 => Dtype::I64,
        DType::U8 => Dtype::U8,
    }
}
