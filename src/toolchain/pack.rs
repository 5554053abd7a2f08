//! Kernel packs: images for many targets in one file, or behind a copy of the assay binary, for machines without a compiler. Refuses
//! an image whose hash is not the listed one, and a pack of other kernels than this binary's.
//!
//! Layout: the images, the index as JSON, then 24 bytes: length of images and index as two little-endian u64, and [`MAGIC`]. Read
//! from the end, so that the same bytes are a pack as a file of their own and behind a binary.

use super::source::KernelFile;
use super::target::Target;
use super::util::{hex, write_whole};
use super::{BuildError, Toolchain};
use crate::board::Image;
use serde::{Deserialize, Serialize};
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

const MAGIC: &[u8; 8] = b"ASSAYPK1";

/// One image of a pack.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// Target.
    pub target: Target,
    /// Kernel source below `kernels/`.
    pub source: String,
    /// Kernel symbols of the source.
    pub symbols: Vec<String>,
    /// The image, and for the host its sanitised twin.
    pub parts: Vec<Part>,
}

/// Bytes of a pack.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Part {
    /// First byte, from the start of the images.
    pub offset: usize,
    /// Bytes.
    pub bytes: usize,
    /// Their sha256.
    pub sha256: String,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Index {
    /// Fingerprint of the kernels they were built from.
    kernels: String,
    entries: Vec<Entry>,
}

/// A pack, read.
#[derive(Clone, Debug, Default)]
pub struct Pack {
    index: Index,
    images: Vec<u8>,
}

impl Pack {
    /// An empty pack of this binary's kernels.
    pub fn new() -> Self {
        Self { index: Index { kernels: super::kernels_fingerprint().to_string(), entries: vec![] }, images: vec![] }
    }

    /// Adds an image.
    ///
    /// # Errors
    /// `Io` when a part cannot be read.
    pub fn add(
        &mut self,
        target: &Target,
        source: &str,
        symbols: Vec<String>,
        image: &Image,
    ) -> Result<(), BuildError> {
        let mut parts = Vec::new();
        for path in [Some(&image.path), image.sanitised.as_ref()].into_iter().flatten() {
            let bytes = std::fs::read(path).map_err(|e| BuildError::io("cannot read", path, &e))?;
            parts.push(Part { offset: self.images.len(), bytes: bytes.len(), sha256: hex(&bytes) });
            self.images.extend(bytes);
        }
        let (target, source) = (target.clone(), source.to_string());
        self.index.entries.push(Entry { target, source, symbols, parts });
        Ok(())
    }

    /// Everything in it.
    pub fn entries(&self) -> &[Entry] {
        &self.index.entries
    }

    /// The bytes of a part; none when the index lies.
    pub fn bytes(&self, part: &Part) -> Option<&[u8]> {
        let bytes = self.images.get(part.offset..part.offset.checked_add(part.bytes)?)?;
        (hex(bytes) == part.sha256).then_some(bytes)
    }

    /// Writes the pack to `path`, behind the bytes of `front` where given.
    ///
    /// # Errors
    /// `Io`.
    pub fn write(&self, path: &Path, front: Option<&Path>) -> Result<(), BuildError> {
        let failed = |e: &std::io::Error| BuildError::io("cannot write", path, e);
        let mut all = match front {
            Some(front) => std::fs::read(front).map_err(|e| BuildError::io("cannot read", front, &e))?,
            None => Vec::new(),
        };
        // A binary that carries a pack already gets the new one in its place.
        all.truncate(all.len() - tail(&all).map_or(0, |(images, index)| images + index + 24));
        let index = serde_json::to_vec(&self.index).unwrap_or_default();
        all.extend_from_slice(&self.images);
        all.extend_from_slice(&index);
        all.extend_from_slice(&(self.images.len() as u64).to_le_bytes());
        all.extend_from_slice(&(index.len() as u64).to_le_bytes());
        all.extend_from_slice(MAGIC);
        write_whole(path, &all).map_err(|e| failed(&e))?;
        if front.is_some() {
            let open = <std::fs::Permissions as std::os::unix::fs::PermissionsExt>::from_mode(0o755);
            std::fs::set_permissions(path, open).map_err(|e| failed(&e))?;
        }
        Ok(())
    }

    /// Reads the pack at the end of a file.
    ///
    /// # Errors
    /// `BadPack` when it is none, or of other kernels; `Io`.
    pub fn read(path: &Path) -> Result<Self, BuildError> {
        let bad = |why: String| BuildError::BadPack { file: path.to_path_buf(), why };
        let io = |e: &std::io::Error| BuildError::io("cannot read", path, e);
        let mut file = std::fs::File::open(path).map_err(|e| io(&e))?;
        let length = file.metadata().map_err(|e| io(&e))?.len();
        let mut end = [0; 24];
        let none = || bad("it does not end as a pack does".into());
        let from = |back: u64| SeekFrom::Start(length.saturating_sub(back));
        file.seek(from(24)).and_then(|_| file.read_exact(&mut end)).map_err(|_| none())?;
        let (images, index) = tail(&end).ok_or_else(none)?;
        let whole = (images as u64).checked_add(index as u64).and_then(|n| n.checked_add(24)).filter(|n| *n <= length);
        let whole = whole.ok_or_else(|| bad("it is shorter than it says".into()))?;
        let mut bytes = vec![0; images + index];
        file.seek(from(whole)).and_then(|_| file.read_exact(&mut bytes)).map_err(|e| io(&e))?;
        let index = serde_json::from_slice(&bytes[images..]).map_err(|e| bad(format!("its index: {e}")))?;
        bytes.truncate(images);
        let pack = Self { index, images: bytes };
        if pack.index.kernels != super::kernels_fingerprint() {
            return Err(bad("it holds other kernels than this assay's; build it again with this version".into()));
        }
        Ok(pack)
    }

    /// The pack behind this program's own binary, if it carries one.
    ///
    /// # Errors
    /// As [`Pack::read`], for a pack that is damaged.
    pub fn own() -> Result<Option<Self>, BuildError> {
        let Ok(exe) = std::env::current_exe() else { return Ok(None) };
        let mut end = [0; 24];
        let carries = std::fs::File::open(&exe)
            .and_then(|mut f| f.seek(SeekFrom::End(-24)).and_then(|_| f.read_exact(&mut end)))
            .is_ok_and(|()| tail(&end).is_some());
        if carries { Self::read(&exe).map(Some) } else { Ok(None) }
    }

    /// The entry of a kernel source for a target: the very target, else its base without features.
    pub fn find(&self, source: &str, target: &Target) -> Option<&Entry> {
        let of = |wanted: &Target| self.index.entries.iter().find(|e| e.source == source && e.target == *wanted);
        of(target).or_else(|| of(&target.base()))
    }

    /// (source, symbols) of everything that has an image for a target.
    pub fn sources(&self, target: &Target) -> Vec<(&str, &[String])> {
        let base = target.base();
        let fits = |e: &&Entry| e.target == *target || e.target == base;
        self.index.entries.iter().filter(fits).map(|e| (e.source.as_str(), e.symbols.as_slice())).collect()
    }

    /// Unpacks an image.
    ///
    /// # Errors
    /// `BadProduct` when its hash is not the listed one; `Io`.
    pub fn image(&self, tools: &Toolchain, entry: &Entry, file: &KernelFile) -> Result<Image, BuildError> {
        let bad =
            || BuildError::BadProduct { file: file.path.clone(), why: "the pack is damaged: a hash differs".into() };
        let mut paths = Vec::new();
        for part in &entry.parts {
            let bytes = self.bytes(part).ok_or_else(bad)?;
            let name = Path::new("kernel.bin");
            let folder = tools.cache().unpack(&format!("pack-{}", part.sha256), &[(name, bytes)])?;
            paths.push(folder.join(name));
        }
        let mut paths = paths.into_iter();
        Ok(Image { path: paths.next().ok_or_else(bad)?, sanitised: paths.next() })
    }
}

/// Lengths of images and index, when the bytes end as a pack does.
fn tail(bytes: &[u8]) -> Option<(usize, usize)> {
    let rest = bytes.strip_suffix(MAGIC)?;
    let (rest, index) = rest.split_last_chunk::<8>()?;
    let (_, images) = rest.split_last_chunk::<8>()?;
    let number = |b: [u8; 8]| usize::try_from(u64::from_le_bytes(b)).ok();
    Some((number(*images)?, number(*index)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pack(folder: &Path) -> Pack {
        let mut pack = Pack::new();
        for (target, text) in [("gfx1151", "one"), ("gfx90a", "two")] {
            let path = folder.join(target);
            std::fs::write(&path, text).unwrap();
            let image = Image { path, sanitised: None };
            pack.add(&Target::Amd(target.into()), "norm/rms_norm.hip", vec!["k".into()], &image).unwrap();
        }
        pack
    }

    #[test]
    fn a_pack_comes_back_as_a_file_and_behind_a_binary() {
        let folder = tempfile::tempdir().unwrap();
        let made = pack(folder.path());
        let (file, binary, both) = (folder.path().join("p"), folder.path().join("exe"), folder.path().join("both"));
        std::fs::write(&binary, "a binary").unwrap();
        made.write(&file, None).unwrap();
        made.write(&both, Some(&binary)).unwrap();
        // A second time, over the one it has.
        made.write(&both, Some(&both.clone())).unwrap();
        assert!(std::fs::read(&both).unwrap().starts_with(b"a binary"));
        for path in [file, both] {
            let read = Pack::read(&path).unwrap();
            assert_eq!(read.entries(), made.entries());
            let exact = read.find("norm/rms_norm.hip", &Target::Amd("gfx90a:xnack-".into())).unwrap();
            assert_eq!(read.bytes(&exact.parts[0]), Some(&b"two"[..]));
            assert!(read.find("norm/rms_norm.hip", &Target::Nvidia("sm_90".into())).is_none());
        }
        assert_eq!(std::fs::read(folder.path().join("both")).unwrap().windows(8).filter(|w| w == MAGIC).count(), 1);
    }

    #[test]
    fn damage_anywhere_is_noticed() {
        let folder = tempfile::tempdir().unwrap();
        let made = pack(folder.path());
        let path = folder.path().join("p");
        made.write(&path, None).unwrap();
        let good = std::fs::read(&path).unwrap();
        for at in 0..good.len() {
            let mut bytes = good.clone();
            bytes[at] ^= 1;
            std::fs::write(&path, &bytes).unwrap();
            let intact = Pack::read(&path).is_ok_and(|p| {
                p.entries() == made.entries()
                    && p.entries().iter().all(|e| e.parts.iter().all(|x| p.bytes(x).is_some()))
            });
            assert!(!intact, "byte {at}");
        }
        for cut in [0, 1, 24, good.len() - 1] {
            std::fs::write(&path, &good[..cut]).unwrap();
            assert!(Pack::read(&path).is_err(), "cut at {cut}");
        }
    }
}
