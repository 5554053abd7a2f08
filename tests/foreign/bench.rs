//! Runs one kernel of `tests/kernels` on a simulated board, three times: plain ascending, sanitised descending, plain shuffled.

use assay::board::sim::{SimBoard, profile};
use assay::board::{
    Board, Bound, Buffer, Deadline, Extent, Finding, FindingKind, Image, Kind, LaunchCmd, Mode, ThreadOrder,
};
use assay::toolchain::{Toolchain, sim, user_kernel};
use std::error::Error;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

pub type Outcome<T> = Result<T, Box<dyn Error>>;

/// One kernel argument.
pub enum A {
    /// A buffer that is only read.
    In(Vec<u8>),
    /// A buffer of that many bytes that holds 0xa5 before the launch and must be written before it is read.
    Out(usize),
    /// A buffer that is read and written.
    InOut(Vec<u8>),
    I32(i32),
    I64(i64),
    F32(f32),
    /// A struct by value.
    Raw(Vec<u8>),
}

/// A launch.
pub struct Shot<'a> {
    pub kernel: &'a str,
    pub grid: [u32; 3],
    pub block: [u32; 3],
    pub lds: u32,
    pub args: Vec<A>,
}

/// A board with one kernel file loaded.
pub struct Bench {
    board: SimBoard,
    image: Image,
    /// Lanes of a wave.
    pub wave: usize,
}

impl Bench {
    pub fn open(tools: &Toolchain, file: &Path, board: &str) -> Outcome<Self> {
        let image = sim::build(tools, &user_kernel(file, vec![])?)?;
        let facts = profile(board)?;
        let wave = facts.wave as usize;
        Ok(Self { board: SimBoard::open(facts, env!("CARGO_BIN_EXE_assay").into())?, image, wave })
    }

    /// Bytes of every `Out` and `InOut`, in order. All three runs must agree, and have no finding.
    pub fn run(&mut self, shot: &Shot) -> Outcome<Vec<Vec<u8>>> {
        self.run_with_finding(shot, None)
    }

    /// As [`Self::run`], with the one kind of finding that is expected of every run.
    pub fn run_with_finding(&mut self, shot: &Shot, expected: Option<FindingKind>) -> Outcome<Vec<Vec<u8>>> {
        use ThreadOrder::{Ascending, Descending, Shuffled};
        let first = self.once(shot, Ascending, false, expected)?;
        for (order, sanitise) in [(Descending, true), (Shuffled, false)] {
            let again = self.once(shot, order, sanitise, expected)?;
            if again != first {
                return Err(format!("{order:?} order gives other bytes than ascending order").into());
            }
        }
        Ok(first)
    }

    /// Outputs of the three runs, without comparing them.
    pub fn run_each(&mut self, shot: &Shot) -> Outcome<Vec<Vec<Vec<u8>>>> {
        use ThreadOrder::{Ascending, Descending, Shuffled};
        [(Ascending, false), (Descending, true), (Shuffled, false)]
            .map(|(order, s)| self.once(shot, order, s, None))
            .into_iter()
            .collect()
    }

    fn once(
        &mut self,
        shot: &Shot,
        order: ThreadOrder,
        sanitise: bool,
        expected: Option<FindingKind>,
    ) -> Outcome<Vec<Vec<u8>>> {
        let module = self.board.load(&self.image)?;
        let mut buffers = Vec::new();
        let mut outputs = Vec::new();
        let mut args = Vec::new();
        for (i, arg) in shot.args.iter().enumerate() {
            args.push(match arg {
                A::In(bytes) => self.buffer(i, bytes, false, true, &mut buffers)?,
                A::InOut(bytes) => self.buffer(i, bytes, true, true, &mut buffers)?,
                A::Out(n) => self.buffer(i, &vec![0xa5; *n], true, false, &mut buffers)?,
                A::I32(v) => Bound::I32(*v),
                A::I64(v) => Bound::I64(*v),
                A::F32(v) => Bound::F32(*v),
                A::Raw(bytes) => {
                    let mut image = [0; 32];
                    image[..bytes.len()].copy_from_slice(bytes);
                    Bound::Raw { image, bytes: bytes.len() as u8 }
                }
            });
            if matches!(arg, A::Out(_) | A::InOut(_)) {
                outputs.push(buffers[buffers.len() - 1]);
            }
        }
        self.board.launch(LaunchCmd {
            module: module.0,
            kernel: shot.kernel.into(),
            grid: shot.grid,
            block: shot.block,
            lds: shot.lds,
            args,
            mode: Mode { order, sanitise },
        });
        for buffer in &outputs {
            self.board.copy_out(buffer, 0, buffer.bytes);
        }
        let done = self.board.wait(Deadline::after(Duration::from_secs(30)))?;
        buffers.into_iter().for_each(|b| self.board.free(b));
        let findings: Vec<Finding> = done.findings.into_iter().flatten().collect();
        let kinds = findings.iter().map(|f| f.kind).collect::<Vec<_>>();
        if kinds != expected.into_iter().collect::<Vec<_>>() || done.launches != 1 {
            return Err(
                format!("{order:?}, sanitised {sanitise}: {} launches, findings {findings:#?}", done.launches).into()
            );
        }
        Ok(done.copied)
    }

    fn buffer(
        &mut self,
        i: usize,
        bytes: &[u8],
        writable: bool,
        initialised: bool,
        all: &mut Vec<Buffer>,
    ) -> Outcome<Bound> {
        let buffer = self.board.alloc(Kind::Device, bytes.len())?;
        let extent = Extent { name: format!("argument {i}"), start: 0, end: bytes.len() as u64, writable, initialised };
        self.board.declare(&buffer, &[extent]);
        self.board.copy_in(&buffer, 0, &Arc::new(bytes.to_vec()));
        all.push(buffer);
        Ok(Bound::Ptr { buffer: buffer.id, offset: 0 })
    }
}

/// Plain data as little-endian bytes, and back.
pub trait Plain: Copy {
    fn put(self, out: &mut Vec<u8>);
    fn get(bytes: &[u8]) -> Self;
    const SIZE: usize = size_of::<Self>();
}
macro_rules! plain {
    ($($t:ty),*) => {$(
        impl Plain for $t {
            fn put(self, out: &mut Vec<u8>) { out.extend(self.to_le_bytes()); }
            fn get(bytes: &[u8]) -> Self { Self::from_le_bytes(bytes.try_into().expect("its size")) }
        }
    )*};
}
plain!(u8, i16, u16, i32, u32, i64, u64, f32, f64);

pub fn bytes<T: Plain>(values: &[T]) -> Vec<u8> {
    let mut out = Vec::new();
    values.iter().for_each(|v| v.put(&mut out));
    out
}

pub fn values<T: Plain>(bytes: &[u8]) -> Vec<T> {
    bytes.chunks_exact(T::SIZE).map(T::get).collect()
}

/// `got` and `want` have equal bytes; the first place that differs is named.
pub fn same<T: Plain + std::fmt::Debug>(what: &str, got: &[u8], want: &[T]) -> Outcome<()> {
    let expected = bytes(want);
    if got.len() != expected.len() || want.is_empty() {
        return Err(format!("{what}: {} bytes, wanted {}", got.len(), expected.len()).into());
    }
    let differs = got.chunks_exact(T::SIZE).zip(expected.chunks_exact(T::SIZE)).position(|(g, w)| g != w);
    match differs {
        None => Ok(()),
        Some(i) => Err(format!("{what}[{i}]: got {:?}, want {:?}", values::<T>(got)[i], want[i]).into()),
    }
}
