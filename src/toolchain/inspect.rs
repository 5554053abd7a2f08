//! What a code object for AMD targets says of itself: target, kernels, parameters, registers. Refuses to trust a file: everything is
//! checked, nothing is executed.

use object::LittleEndian;
use object::elf::FileHeader64;
use object::read::elf::{FileHeader, SectionHeader};
use rmpv::Value;

/// Note type of the metadata map.
const NT_AMDGPU_METADATA: u32 = 32;

/// A code object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CodeObject {
    /// Target, such as `gfx942` or `gfx90a:xnack-`.
    pub target: String,
    /// Kernels, in the order of the metadata.
    pub kernels: Vec<KernelInfo>,
}

/// One kernel of a code object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KernelInfo {
    /// Symbol.
    pub name: String,
    /// Explicit parameters: byte offset and size.
    pub parameters: Vec<(usize, usize)>,
    /// Bytes of the whole argument segment, hidden arguments included.
    pub kernarg: u64,
    /// Vector registers.
    pub vgpr: u64,
    /// Scalar registers.
    pub sgpr: u64,
    /// Spilled registers, vector and scalar.
    pub spills: u64,
    /// Static shared memory, bytes.
    pub lds: u64,
    /// Scratch memory of a lane, bytes.
    pub scratch: u64,
    /// Lanes of a wave.
    pub wave: u64,
}

/// Reads a code object.
///
/// # Errors
/// One sentence that says why it is none.
pub fn code_object(bytes: &[u8]) -> Result<CodeObject, String> {
    let metadata = metadata(bytes)?;
    let target = get(&metadata, "amdhsa.target").and_then(Value::as_str).unwrap_or_default();
    let target = target.strip_prefix("amdgcn-amd-amdhsa--").unwrap_or(target).to_string();
    let kernels = get(&metadata, "amdhsa.kernels").and_then(Value::as_array).ok_or("its metadata lists no kernels")?;
    let kernels = kernels.iter().map(kernel).collect::<Option<_>>().ok_or("its metadata has a kernel without name")?;
    Ok(CodeObject { target, kernels })
}

fn metadata(bytes: &[u8]) -> Result<Value, String> {
    let failed = |e: object::Error| format!("no ELF file: {e}");
    let header = FileHeader64::<LittleEndian>::parse(bytes).map_err(failed)?;
    let endian = header.endian().map_err(failed)?;
    if header.e_machine(endian) != object::elf::EM_AMDGPU {
        return Err("an ELF file for another machine than AMDGPU".into());
    }
    for section in header.sections(endian, bytes).map_err(failed)?.iter() {
        let Some(mut notes) = section.notes(endian, bytes).map_err(failed)? else { continue };
        while let Some(note) = notes.next().map_err(failed)? {
            if note.name() == b"AMDGPU" && note.n_type(endian).0 == NT_AMDGPU_METADATA {
                return rmpv::decode::read_value(&mut note.desc()).map_err(|e| format!("bad metadata: {e}"));
            }
        }
    }
    Err("an ELF file without AMDGPU metadata".into())
}

fn kernel(map: &Value) -> Option<KernelInfo> {
    let number = |key: &str| get(map, key).and_then(Value::as_u64).unwrap_or(0);
    let args = get(map, ".args").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let explicit = args.iter().filter(|arg| {
        let kind = get(arg, ".value_kind").and_then(Value::as_str).unwrap_or_default();
        !kind.starts_with("hidden_")
    });
    let place = |arg: &Value| {
        let number = |key: &str| get(arg, key).and_then(Value::as_u64).map(|x| x as usize);
        Some((number(".offset")?, number(".size")?))
    };
    Some(KernelInfo {
        name: get(map, ".name")?.as_str()?.to_string(),
        parameters: explicit.map(place).collect::<Option<_>>()?,
        kernarg: number(".kernarg_segment_size"),
        vgpr: number(".vgpr_count"),
        sgpr: number(".sgpr_count"),
        spills: number(".vgpr_spill_count") + number(".sgpr_spill_count"),
        lds: number(".group_segment_fixed_size"),
        scratch: number(".private_segment_fixed_size"),
        wave: number(".wavefront_size"),
    })
}

/// The value under a text key of a map.
fn get<'v>(map: &'v Value, key: &str) -> Option<&'v Value> {
    map.as_map()?.iter().find(|(k, _)| k.as_str() == Some(key)).map(|(_, v)| v)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_code_object_is_told_apart() {
        assert!(code_object(b"").is_err_and(|e| e.starts_with("no ELF file")));
        let own = std::fs::read("/proc/self/exe").expect("own binary");
        assert_eq!(code_object(&own).unwrap_err(), "an ELF file for another machine than AMDGPU");
    }
}
