//! What worker and executor say to each other: one request and one reply per batch, compact and little-endian.
//! Refuses anything that does not decode to its last byte. Bulk bytes never travel here.

use super::super::{Bound, Extent, ThreadOrder};
use serde::{Deserialize, Serialize};

/// First word of every message.
pub const MAGIC: u32 = 0x4d49_5341;

/// `from` of a copy whose bytes the worker has already put in place.
pub const IN_PLACE: u64 = u64::MAX;

/// How an executor is set up, handed over on its command line.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Config {
    /// Profile it enforces.
    pub facts: super::super::Facts,
    /// Socket to the worker.
    pub socket: i32,
    /// Device memory.
    pub arena: i32,
    /// Host kinds that kernels may reach.
    pub host: i32,
    /// Bytes on their way to the device.
    pub staging_in: i32,
    /// Bytes on their way back.
    pub staging_out: i32,
    /// Progress, for the report on a missed deadline.
    pub status: i32,
    /// Address of device memory.
    pub arena_base: u64,
    /// Address of host kinds.
    pub host_base: u64,
    /// Bytes reserved for each.
    pub span: u64,
}

/// One command of a batch. Addresses are device addresses.
#[derive(Clone, Debug, PartialEq)]
pub enum Command {
    /// Makes a range accessible, or makes it fault.
    Protect { address: u64, bytes: u64, open: bool },
    /// Loads a library.
    Load { module: u64, sanitised: bool, path: String },
    /// Exact extents of a buffer for sanitised launches; an empty list forgets it.
    Declare { address: u64, bytes: u64, extents: Vec<Extent> },
    /// Staging to device.
    CopyIn { address: u64, bytes: u64, from: u64 },
    /// Device to staging.
    CopyOut { address: u64, bytes: u64, to: u64 },
    /// Kernel launch.
    Launch(Box<Launch>),
}

/// A launch with its buffers resolved to addresses.
#[derive(Clone, Debug, PartialEq)]
pub struct Launch {
    pub module: u64,
    pub kernel: String,
    pub grid: [u32; 3],
    pub block: [u32; 3],
    pub lds: u32,
    pub order: ThreadOrder,
    pub sanitise: bool,
    pub args: Vec<Value>,
}

/// A resolved argument.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Value {
    /// `p`, `i`, `l`, `f` or `o`, as the library's parameter table writes them.
    pub code: u8,
    /// Size in bytes.
    pub bytes: u8,
    /// Image.
    pub image: [u8; 32],
}

impl Value {
    /// An argument that needs no resolving; `None` for a buffer.
    pub fn plain(bound: Bound) -> Option<Self> {
        let value = |code, bytes: &[u8]| {
            let mut image = [0; 32];
            image[..bytes.len()].copy_from_slice(bytes);
            Some(Self { code, bytes: bytes.len() as u8, image })
        };
        match bound {
            Bound::Ptr { .. } => None,
            Bound::Null => value(b'p', &[0; 8]),
            Bound::I32(i) => value(b'i', &i.to_le_bytes()),
            Bound::I64(i) => value(b'l', &i.to_le_bytes()),
            Bound::F32(f) => value(b'f', &f.to_le_bytes()),
            Bound::Raw { image, bytes } => Some(Self { code: b'o', bytes: bytes.min(32), image }),
        }
    }

    /// A device address.
    pub fn pointer(address: u64) -> Self {
        let mut image = [0; 32];
        image[..8].copy_from_slice(&address.to_le_bytes());
        Self { code: b'p', bytes: 8, image }
    }
}

/// Appends to a message.
#[derive(Default)]
pub struct Writer(pub Vec<u8>);

impl Writer {
    /// A message with room for its head, in the storage of an old one.
    pub fn reuse(mut storage: Vec<u8>) -> Self {
        storage.clear();
        storage.extend_from_slice(&MAGIC.to_le_bytes());
        storage.extend_from_slice(&[0; 4]);
        Self(storage)
    }

    /// Fills in the head.
    pub fn finish(mut self) -> Vec<u8> {
        let body = (self.0.len() - 8) as u32;
        self.0[4..8].copy_from_slice(&body.to_le_bytes());
        self.0
    }

    pub fn u8(&mut self, x: u8) {
        self.0.push(x);
    }
    pub fn u32(&mut self, x: u32) {
        self.0.extend_from_slice(&x.to_le_bytes());
    }
    pub fn u64(&mut self, x: u64) {
        self.0.extend_from_slice(&x.to_le_bytes());
    }
    pub fn text(&mut self, s: &str) {
        self.u32(s.len() as u32);
        self.0.extend_from_slice(s.as_bytes());
    }

    /// Appends a command.
    pub fn command(&mut self, c: &Command) {
        match c {
            Command::Protect { address, bytes, open } => {
                self.three(1, *address, *bytes);
                self.u8((*open).into());
            }
            Command::Load { module, sanitised, path } => {
                self.three(3, *module, (*sanitised).into());
                self.text(path);
            }
            Command::Declare { address, bytes, extents } => {
                self.three(4, *address, *bytes);
                self.u32(extents.len() as u32);
                for e in extents {
                    self.text(&e.name);
                    self.u64(e.start);
                    self.u64(e.end);
                    self.u8(u8::from(e.writable) | u8::from(e.initialised) << 1);
                }
            }
            Command::CopyIn { address, bytes, from } => {
                self.three(5, *address, *bytes);
                self.u64(*from);
            }
            Command::CopyOut { address, bytes, to } => {
                self.three(6, *address, *bytes);
                self.u64(*to);
            }
            Command::Launch(l) => self.launch(l),
        }
    }

    fn three(&mut self, tag: u8, a: u64, b: u64) {
        self.u8(tag);
        self.u64(a);
        self.u64(b);
    }

    fn launch(&mut self, l: &Launch) {
        self.three(7, l.module, l.lds.into());
        self.text(&l.kernel);
        l.grid.iter().chain(&l.block).for_each(|&x| self.u32(x));
        self.u8(match l.order {
            ThreadOrder::Ascending => 0,
            ThreadOrder::Descending => 1,
            ThreadOrder::Shuffled => 2,
        });
        self.u8(l.sanitise.into());
        self.u32(l.args.len() as u32);
        for a in &l.args {
            self.u8(a.code);
            self.u8(a.bytes);
            self.0.extend_from_slice(&a.image[..usize::from(a.bytes)]);
        }
    }
}

/// Reads a message; every getter is `None` past its end.
pub struct Reader<'a>(pub &'a [u8]);

impl<'a> Reader<'a> {
    fn take(&mut self, n: usize) -> Option<&'a [u8]> {
        let (head, tail) = self.0.split_at_checked(n)?;
        self.0 = tail;
        Some(head)
    }
    pub fn u8(&mut self) -> Option<u8> {
        self.take(1).map(|b| b[0])
    }
    pub fn u32(&mut self) -> Option<u32> {
        self.take(4).map(|b| u32::from_le_bytes(b.try_into().expect("4 bytes")))
    }
    pub fn u64(&mut self) -> Option<u64> {
        self.take(8).map(|b| u64::from_le_bytes(b.try_into().expect("8 bytes")))
    }
    fn text(&mut self) -> Option<String> {
        let n = self.u32()? as usize;
        String::from_utf8(self.take(n)?.to_vec()).ok()
    }

    /// The next command.
    pub fn command(&mut self) -> Option<Command> {
        let tag = self.u8()?;
        let (address, bytes) = (self.u64()?, self.u64()?);
        Some(match tag {
            1 => Command::Protect { address, bytes, open: self.u8()? != 0 },
            3 => Command::Load { module: address, sanitised: bytes != 0, path: self.text()? },
            4 => {
                let count = self.u32()?;
                let extents = (0..count).map(|_| self.extent()).collect::<Option<_>>()?;
                Command::Declare { address, bytes, extents }
            }
            5 => Command::CopyIn { address, bytes, from: self.u64()? },
            6 => Command::CopyOut { address, bytes, to: self.u64()? },
            7 => Command::Launch(Box::new(self.launch(address, u32::try_from(bytes).ok()?)?)),
            _ => return None,
        })
    }

    fn extent(&mut self) -> Option<Extent> {
        let (name, start, end, flags) = (self.text()?, self.u64()?, self.u64()?, self.u8()?);
        Some(Extent { name, start, end, writable: flags & 1 != 0, initialised: flags & 2 != 0 })
    }

    fn launch(&mut self, module: u64, lds: u32) -> Option<Launch> {
        let kernel = self.text()?;
        let mut dims = [0u32; 6];
        for d in &mut dims {
            *d = self.u32()?;
        }
        let order = match self.u8()? {
            0 => ThreadOrder::Ascending,
            1 => ThreadOrder::Descending,
            2 => ThreadOrder::Shuffled,
            _ => return None,
        };
        let sanitise = self.u8()? != 0;
        let count = self.u32()?;
        let args = (0..count).map(|_| self.value()).collect::<Option<_>>()?;
        let (grid, block) = ([dims[0], dims[1], dims[2]], [dims[3], dims[4], dims[5]]);
        Some(Launch { module, kernel, grid, block, lds, order, sanitise, args })
    }

    fn value(&mut self) -> Option<Value> {
        let (code, bytes) = (self.u8()?, self.u8()?);
        let mut image = [0; 32];
        image.get_mut(..usize::from(bytes))?.copy_from_slice(self.take(usize::from(bytes))?);
        Some(Value { code, bytes, image })
    }
}

/// First byte of a reply's body.
pub mod status {
    /// Done, nothing to say.
    pub const DONE: u8 = 0;
    /// Done; JSON findings follow.
    pub const FINDINGS: u8 = 1;
    /// A JSON `BoardError` follows.
    pub const ERROR: u8 = 2;
    /// A [`super::Fault`] follows and the executor has ended.
    pub const FAULT: u8 = 3;
}

/// A signal that a kernel raised, as the handler writes it.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct Fault {
    /// Always [`MAGIC`].
    pub magic: u32,
    /// Bytes that follow.
    pub length: u32,
    /// [`status::FAULT`] in the lowest byte.
    pub status: u32,
    /// Signal number.
    pub signal: u32,
    /// Faulting address.
    pub address: u64,
    /// Which launch of the batch; `u32::MAX` outside launches.
    pub launch: u32,
    /// Block.
    pub block: [u32; 3],
    /// Thread of the block.
    pub thread: [u32; 3],
    /// Padding that is written too.
    pub unused: u32,
}

impl Fault {
    /// Size on the wire.
    pub const BYTES: usize = size_of::<Self>();

    /// Its body, from a reply.
    pub fn decode(body: &[u8]) -> Option<Self> {
        let mut r = Reader(body);
        let mut f = Self { status: r.u32()?, signal: r.u32()?, address: r.u64()?, launch: r.u32()?, ..Self::default() };
        for x in f.block.iter_mut().chain(&mut f.thread) {
            *x = r.u32()?;
        }
        Some(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_comes_back_as_it_went() {
        let extents = vec![Extent { name: "x".into(), start: 1, end: 9, writable: true, initialised: false }];
        let launch = Launch {
            module: 3,
            kernel: "k".into(),
            grid: [1, 2, 3],
            block: [4, 5, 6],
            lds: 7,
            order: ThreadOrder::Shuffled,
            sanitise: true,
            args: vec![Value::pointer(42), Value::plain(Bound::F32(1.5)).expect("plain")],
        };
        let all = [
            Command::Protect { address: 1, bytes: 2, open: true },
            Command::Load { module: 1, sanitised: true, path: "/a b".into() },
            Command::Declare { address: 5, bytes: 6, extents },
            Command::CopyIn { address: 1, bytes: 2, from: IN_PLACE },
            Command::CopyOut { address: 1, bytes: 2, to: 0 },
            Command::Launch(Box::new(launch)),
        ];
        let mut w = Writer::reuse(Vec::new());
        all.iter().for_each(|c| w.command(c));
        let bytes = w.finish();
        let mut r = Reader(&bytes[8..]);
        for c in &all {
            assert_eq!(r.command().as_ref(), Some(c));
        }
        assert!(r.0.is_empty() && r.command().is_none());
    }
}
