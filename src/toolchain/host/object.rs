//! What each kernel of an object file uses, and the assembly stub that completes the library.
//! Refuses to trust names alone: use is what relocations reach, section by section.

use super::LDS_ROOM;
use object::{Object, ObjectSection, ObjectSymbol, RelocationTarget, SectionIndex, SymbolIndex};
use std::collections::{BTreeSet, HashSet};
use std::fmt::Write;

/// What the kernels of an object use.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Per kernel, in the order asked for.
    pub kernels: Vec<KernelUsage>,
    /// Undefined thread-local symbols: `extern __shared__` arrays.
    pub dynamic: BTreeSet<String>,
}

/// What one kernel reaches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct KernelUsage {
    /// Bytes of static shared memory.
    pub lds: u32,
    /// A barrier.
    pub barrier: bool,
    /// A wave operation.
    pub wave: bool,
    /// An `extern __shared__` array.
    pub dynamic: bool,
}

/// Reads an object that was compiled with one section per function and datum.
///
/// # Errors
/// When the bytes are no relocatable x86-64 object or lack a kernel.
pub fn usage(bytes: &[u8], kernels: &[&str]) -> Result<Usage, String> {
    let file = object::File::parse(bytes).map_err(|e| e.to_string())?;
    let reach = Reach { file: &file };
    let mut out = Usage::default();
    for s in file.symbols().filter(|s| s.is_undefined() && s.kind() == object::SymbolKind::Tls) {
        let name = s.name().map_err(|e| e.to_string())?;
        if name != "_TLS_MODULE_BASE_" {
            out.dynamic.insert(name.to_string());
        }
    }
    for kernel in kernels {
        let symbol = file.symbol_by_name(kernel).and_then(|s| s.section_index());
        let section = symbol.ok_or_else(|| format!("no symbol '{kernel}'"))?;
        out.kernels.push(reach.from(section)?);
    }
    Ok(out)
}

struct Reach<'f, 'd> {
    file: &'f object::File<'d>,
}

impl Reach<'_, '_> {
    fn from(&self, start: SectionIndex) -> Result<KernelUsage, String> {
        let (mut seen, mut todo, mut use_) = (HashSet::from([start]), vec![start], KernelUsage::default());
        while let Some(index) = todo.pop() {
            let section = self.file.section_by_index(index).map_err(|e| e.to_string())?;
            if matches!(section.kind(), object::SectionKind::Tls | object::SectionKind::UninitializedTls) {
                let align = section.align().max(1);
                use_.lds = u32::try_from((u64::from(use_.lds).div_ceil(align) * align) + section.size())
                    .map_err(|_| "shared memory beyond 4 GiB".to_string())?;
            }
            let (sections, undefined) = self.targets(index)?;
            for s in sections {
                if seen.insert(s) {
                    todo.push(s);
                }
            }
            for u in undefined {
                let symbol = self.file.symbol_by_index(u).map_err(|e| e.to_string())?;
                let name = symbol.name().unwrap_or_default();
                use_.barrier |= name == "assay_barrier";
                use_.wave |= name == "assay_wave";
                use_.dynamic |= symbol.kind() == object::SymbolKind::Tls && name != "_TLS_MODULE_BASE_";
            }
        }
        Ok(use_)
    }

    /// Sections and undefined symbols that a section refers to.
    fn targets(&self, index: SectionIndex) -> Result<(Vec<SectionIndex>, Vec<SymbolIndex>), String> {
        let section = self.file.section_by_index(index).map_err(|e| e.to_string())?;
        let mut found = (Vec::new(), Vec::new());
        for (_, relocation) in section.relocations() {
            match relocation.target() {
                RelocationTarget::Section(s) => found.0.push(s),
                RelocationTarget::Symbol(s) => {
                    let symbol = self.file.symbol_by_index(s).map_err(|e| e.to_string())?;
                    match symbol.section_index() {
                        Some(section) => found.0.push(section),
                        None => found.1.push(s),
                    }
                }
                _ => {}
            }
        }
        Ok(found)
    }
}

/// Entries of the library's runtime table, in order. The stub jumps through it; the executor fills it.
const RUNTIME: &[&str] = &["assay_barrier", "assay_wave", "assay_atomic", "assay_fence"];

/// Access sizes that have hooks of their own; reads first, then writes, in this order.
const SIZES: [u64; 5] = [1, 2, 4, 8, 16];
const READS: usize = RUNTIME.len();
const WRITES: usize = READS + SIZES.len();
const RANGE: usize = WRITES + SIZES.len();
const MEMORY: usize = RANGE + 1;
/// Bytes of the table.
const TABLE: usize = 8 * (MEMORY + 1);

/// The assembly that completes a library: dynamic shared memory, jumps into the executor, and the table of uses.
pub fn stub(usage: &Usage, divergent: bool, sanitise: bool) -> String {
    let mut s =
        String::from("\t.section .note.GNU-stack,\"\",@progbits\n\t.section .tbss,\"awT\",@nobits\n\t.balign 256\n");
    for name in usage.dynamic.iter().map(String::as_str).chain(["assay_lds"]) {
        let visibility = if name == "assay_lds" { "" } else { "\t.hidden \"{}\"\n" };
        let _ = write!(s, "\t.globl \"{name}\"\n\t.type \"{name}\",@tls_object\n");
        s.push_str(&visibility.replace("{}", name));
        let _ = writeln!(s, "\"{name}\":");
    }
    let _ = write!(
        s,
        "\t.zero {LDS_ROOM}\n\t.bss\n\t.balign 8\n\t.globl assay_runtime\n\t.protected assay_runtime\nassay_runtime:\n\t.zero {TABLE}\n\t.text\n"
    );
    // Lane state, C++ names. Defined here so that the sanitised unit can take it for constant and not instrument it.
    s.push_str("\t.bss\n\t.balign 16\n");
    for (name, bytes) in [("threadIdx", 12), ("blockIdx", 12), ("blockDim", 12), ("gridDim", 12), ("warpSize", 4)] {
        let _ = write!(s, "\t.globl {name}\n\t.hidden {name}\n{name}:\n\t.zero {bytes}\n\t.balign 4\n");
    }
    s.push_str("\t.text\n");
    for (i, name) in RUNTIME.iter().enumerate() {
        let offset = i * 8;
        // The return address goes along as one more argument of the atomic hook: it names the source line.
        let pc = if *name == "assay_atomic" { "\tmovq (%rsp), %rdx\n" } else { "" };
        let _ = write!(s, "\t.globl {name}\n\t.hidden {name}\n{name}:\n{pc}\tjmp *assay_runtime+{offset}(%rip)\n");
    }
    if sanitise {
        hooks(&mut s);
    }
    s.push_str("\t.section .rodata\n\t.balign 4\n\t.globl assay_usage\nassay_usage:\n");
    for k in &usage.kernels {
        let flags =
            u32::from(k.barrier) | u32::from(k.wave) << 1 | u32::from(k.dynamic) << 2 | u32::from(divergent) << 3;
        let _ = writeln!(s, "\t.long {}, {flags}", k.lds);
    }
    s
}

/// Jumps for every access that `-fsanitize=thread` instruments: the third argument becomes the return address, which names
/// the source line.
fn hooks(s: &mut String) {
    let mut jump = |name: &str, before: &str, entry: usize| {
        let _ =
            write!(s, "\t.globl {name}\n\t.hidden {name}\n{name}:\n{before}\tjmp *assay_runtime+{}(%rip)\n", entry * 8);
    };
    let pc = "\tmovq (%rsp), %rdx\n";
    for (i, size) in SIZES.iter().enumerate() {
        // The plain ones are the unit's own, from `assay/watch.h`.
        for kind in ["unaligned_", "volatile_"] {
            jump(&format!("__tsan_{kind}read{size}"), pc, READS + i);
            jump(&format!("__tsan_{kind}write{size}"), pc, WRITES + i);
        }
        jump(&format!("__tsan_read_write{size}"), pc, WRITES + i);
    }
    jump("__tsan_read_range", pc, RANGE);
    jump("__tsan_write_range", &format!("{pc}\tbtsq $63, %rsi\n"), RANGE);
    for (which, name) in ["memcpy", "memmove", "memset"].iter().enumerate() {
        let before = format!("\tmovl ${which}, %ecx\n\tmovq (%rsp), %r8\n");
        jump(name, &before, MEMORY);
        jump(&format!("__tsan_{name}"), &before, MEMORY);
    }
    for name in ["__tsan_init", "__tsan_func_entry", "__tsan_func_exit", "__tsan_vptr_update", "__tsan_vptr_read"] {
        let _ = write!(s, "\t.globl {name}\n\t.hidden {name}\n{name}:\n\tret\n");
    }
}
