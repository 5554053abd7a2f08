//! What each kernel of `tests/kernels` must compute, written again by hand for the host.

use super::bench::{A, Bench, Outcome, Shot, bytes, same, values};
use assay::board::FindingKind;
use assay::tensor::codec::{bf16_to_f32, f16_to_f32, f32_to_bf16, f32_to_f16, f64_to_f16};

pub type Check = fn(&mut Bench) -> Outcome<()>;

/// File stem of every kernel with its check.
pub const CHECKS: [(&str, Check); 21] = [
    ("atomics", atomics),
    ("ballot_scan", ballot_scan),
    ("bfloat162_math", bfloat162_math),
    ("block_reduce", block_reduce),
    ("butterfly", butterfly),
    ("cas_loop", cas_loop),
    ("double_math", double_math),
    ("dynamic_shared", dynamic_shared),
    ("early_return", early_return),
    ("grid_3d", grid_3d),
    ("half2_math", half2_math),
    ("last_block", last_block),
    ("launch_bounds", launch_bounds),
    ("long_index", long_index),
    ("narrow_convert", narrow_convert),
    ("softmax_row", softmax_row),
    ("struct_by_value", struct_by_value),
    ("tables", tables),
    ("template_shared", template_shared),
    ("vector_types", vector_types),
    ("vote", vote),
];

/// A fixed sequence without structure.
fn noise(n: usize) -> impl Iterator<Item = u32> {
    (0..n as u32).scan(0x1234_5678_u32, |state, i| {
        *state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223).rotate_left(7) ^ i;
        Some(*state)
    })
}

fn small_ints(n: usize, span: i32) -> Vec<i32> {
    noise(n).map(|x| (x >> 8) as i32 % span - span / 2).collect()
}

/// Values with short mantissas around 1.
fn floats(n: usize) -> Vec<f32> {
    noise(n).map(|x| ((x >> 12) as f32 - 524_288.0) / 65_536.0).collect()
}

fn shot(kernel: &str, grid: u32, block: u32, args: Vec<A>) -> Shot<'_> {
    Shot { kernel, grid: [grid, 1, 1], block: [block, 1, 1], lds: 0, args }
}

fn block_reduce(bench: &mut Bench) -> Outcome<()> {
    let (rows, n, block) = (3, 1000, 256);
    let ints = small_ints(rows * n, 1000);
    let out =
        bench.run(&shot("block_reduce_i32", 3, 256, vec![A::In(bytes(&ints)), A::Out(4 * rows), A::I32(n as i32)]))?;
    let want: Vec<i32> = ints.chunks(n).map(|row| row.iter().sum()).collect();
    same("block_reduce_i32", &out[0], &want)?;

    let data = floats(rows * n);
    let out =
        bench.run(&shot("block_reduce_f32", 3, 256, vec![A::In(bytes(&data)), A::Out(4 * rows), A::I32(n as i32)]))?;
    // The lanes' order: strided sums, then halving within a wave; a lane past the end of the wave keeps its own value.
    let wave_sum = |lanes: &mut [f32]| {
        let mut offset = lanes.len() / 2;
        while offset > 0 {
            let before = lanes.to_vec();
            for (i, lane) in lanes.iter_mut().enumerate() {
                *lane += before[if i + offset < before.len() { i + offset } else { i }];
            }
            offset /= 2;
        }
        lanes[0]
    };
    let sum = |row: &[f32]| {
        let mut threads: Vec<f32> =
            (0..block).map(|t| row.iter().skip(t).step_by(block).fold(0.0, |a, b| a + b)).collect();
        let mut partial: Vec<f32> = threads.chunks_mut(bench.wave).map(wave_sum).collect();
        partial.resize(bench.wave, 0.0);
        wave_sum(&mut partial)
    };
    same("block_reduce_f32", &out[0], &data.chunks(n).map(sum).collect::<Vec<f32>>())
}

fn ballot_scan(bench: &mut Bench) -> Outcome<()> {
    let n = 250;
    let data = small_ints(n, 100);
    let args = vec![A::In(bytes(&data)), A::InOut(bytes(&[-1i32; 250])), A::Out(4), A::I32(n as i32)];
    let out = bench.run(&shot("ballot_compact", 1, 256, args))?;
    let mut want: Vec<i32> = data.iter().copied().filter(|v| *v > 0).collect();
    same("count", &out[1], &[want.len() as i32])?;
    want.resize(n, -1);
    same("ballot_compact", &out[0], &want)
}

fn dynamic_shared(bench: &mut Bench) -> Outcome<()> {
    let n = 777;
    let data = floats(2 * n);
    let args = vec![A::In(bytes(&data)), A::Out(8 * n), A::I32(n as i32)];
    let out = bench.run(&Shot { lds: 4 * n as u32, ..shot("reverse_rows", 2, 64, args) })?;
    let want: Vec<f32> = data.chunks(n).flat_map(|row| row.iter().rev().copied()).collect();
    same("reverse_rows", &out[0], &want)
}

fn template_shared(bench: &mut Bench) -> Outcome<()> {
    let (rows, cols) = (37, 50);
    let launch = |kernel, input, size| Shot {
        grid: [4, 3, 1],
        block: [16, 16, 1],
        ..shot(kernel, 1, 1, vec![A::In(input), A::Out(size * rows * cols), A::I32(rows as i32), A::I32(cols as i32)])
    };
    let data = floats(rows * cols);
    let out = bench.run(&launch("transpose_f32", bytes(&data), 4))?;
    let at = |i: usize| i % rows * cols + i / rows;
    same("transpose_f32", &out[0], &(0..rows * cols).map(|i| data[at(i)]).collect::<Vec<_>>())?;
    let shorts: Vec<i16> = noise(rows * cols).map(|x| x as i16).collect();
    let out = bench.run(&launch("transpose_i16", bytes(&shorts), 2))?;
    same("transpose_i16", &out[0], &(0..rows * cols).map(|i| shorts[at(i)]).collect::<Vec<_>>())
}

fn grid_3d(bench: &mut Bench) -> Outcome<()> {
    let [nx, ny, nz] = [13u32, 7, 5];
    let (grid, block) = ([4, 4, 2], [4, 2, 3]);
    let args = vec![A::Out(4 * (nx * ny * nz) as usize), A::I32(nx as i32), A::I32(ny as i32), A::I32(nz as i32)];
    let out = bench.run(&Shot { kernel: "index_3d", grid, block, lds: 0, args })?;
    let mut want = Vec::new();
    for (z, y, x) in (0..nz).flat_map(|z| (0..ny).flat_map(move |y| (0..nx).map(move |x| (z, y, x)))) {
        let thread = x % 4 + 4 * (y % 2 + 2 * (z % 3));
        want.push(x + 1000 * y + 1_000_000 * z + (thread << 24));
    }
    same("index_3d", &out[0], &want)
}

fn half2_math(bench: &mut Bench) -> Outcome<()> {
    let n = 300;
    let x: Vec<u16> = floats(2 * n).into_iter().map(f32_to_f16).collect();
    let y: Vec<u16> = floats(4 * n)[2 * n..].iter().map(|v| f32_to_f16(v * 3.0)).collect();
    let a = 1.337f32;
    let args = vec![A::In(bytes(&x)), A::In(bytes(&y)), A::Out(4 * n), A::Out(4 * n), A::F32(a), A::I32(n as i32)];
    let out = bench.run(&shot("axpby_half2", 3, 128, args))?;
    let f = |h: u16| f64::from(f16_to_f32(h));
    let scale = f(f32_to_f16(a));
    // Exact in f64: 22 bits of product and 11 of y, all exponents near 0.
    let fused: Vec<u16> = x.iter().zip(&y).map(|(x, y)| f64_to_f16(scale * f(*x) + f(*y))).collect();
    same("fma", &out[0], &fused)?;
    let two: Vec<u16> = x.iter().zip(&y).map(|(x, y)| f64_to_f16(f(f64_to_f16(f(*x) * f(*y))) + f(*x))).collect();
    same("mul, add", &out[1], &two)
}

fn bfloat162_math(bench: &mut Bench) -> Outcome<()> {
    let n = 300;
    let x: Vec<u16> = floats(2 * n).into_iter().map(f32_to_bf16).collect();
    let y: Vec<u16> = floats(4 * n)[2 * n..].iter().map(|v| f32_to_bf16(v * 5.0)).collect();
    let s = 0.7f32;
    let args = vec![A::In(bytes(&x)), A::In(bytes(&y)), A::Out(4 * n), A::Out(4 * n), A::F32(s), A::I32(n as i32)];
    let out = bench.run(&shot("scale_bfloat162", 2, 256, args))?;
    let f = bf16_to_f32;
    let scale = f(f32_to_bf16(s));
    let want: Vec<u16> = x.iter().zip(&y).map(|(x, y)| f32_to_bf16(f(f32_to_bf16(f(*x) + f(*y))) * scale)).collect();
    same("scale_bfloat162", &out[0], &want)?;
    let norm: Vec<f32> = want.chunks(2).map(|p| f(p[0]) * f(p[0]) + f(p[1]) * f(p[1])).collect();
    same("norm", &out[1], &norm)
}

fn atomics(bench: &mut Bench) -> Outcome<()> {
    let n = 1000;
    let data: Vec<i32> = noise(n).map(|x| (x >> 5) as i32 & 63).collect();
    let args = vec![A::In(bytes(&data)), A::InOut(bytes(&[7i32; 64])), A::I32(n as i32)];
    let out = bench.run(&shot("histogram_i32", 3, 128, args))?;
    let mut bins = [7i32; 64];
    data.iter().for_each(|v| bins[*v as usize] += 1);
    same("histogram_i32", &out[0], &bins)?;

    let floats: Vec<f32> = data.iter().map(|v| *v as f32).collect();
    let out = bench.run(&shot(
        "sum_f32",
        8,
        128,
        vec![A::In(bytes(&floats)), A::InOut(bytes(&[0.5f32])), A::I32(n as i32)],
    ))?;
    same("sum_f32", &out[0], &[data.iter().sum::<i32>() as f32 + 0.5])?;

    let wide = small_ints(n, 1_000_000);
    let args = vec![A::In(bytes(&wide)), A::InOut(bytes(&[i32::MAX])), A::InOut(bytes(&[i32::MIN])), A::I32(n as i32)];
    let out = bench.run(&shot("extremes_i32", 8, 128, args))?;
    same("lo", &out[0], &[*wide.iter().min().ok_or("no data")?])?;
    same("hi", &out[1], &[*wide.iter().max().ok_or("no data")?])
}

fn early_return(bench: &mut Bench) -> Outcome<()> {
    let n = 200;
    let data = small_ints(n, 500);
    let shot = shot("early_return_sum", 4, 64, vec![A::In(bytes(&data)), A::Out(16), A::I32(n as i32)]);
    let out = bench.run_with_finding(&shot, Some(FindingKind::ExitedBeforeBarrier))?;
    same("early_return_sum", &out[0], &data.chunks(64).map(|c| c.iter().sum::<i32>()).collect::<Vec<_>>())
}

fn last_block(bench: &mut Bench) -> Outcome<()> {
    let (n, blocks) = (3000, 5);
    let data = small_ints(n, 500);
    let args = vec![A::In(bytes(&data)), A::Out(4 * blocks), A::InOut(bytes(&[0u32])), A::Out(4), A::I32(n as i32)];
    let out = bench.run(&shot("last_block_sum", blocks as u32, 256, args))?;
    same("total", &out[2], &[data.iter().sum::<i32>()])?;
    same("ticket", &out[1], &[0u32])?;
    let partial = |b: usize| data.chunks(256).skip(b).step_by(blocks).flatten().sum::<i32>();
    same("partial", &out[0], &(0..blocks).map(partial).collect::<Vec<_>>())
}

fn struct_by_value(bench: &mut Bench) -> Outcome<()> {
    let (offset, inner, outer_stride, inner_stride, scale, bias) = (5usize, 7usize, 40usize, 3usize, 1.5f32, -4i8);
    let data = floats(1000);
    let mut layout = bytes(&[offset as i64]);
    layout.extend(bytes(&[inner as i32, outer_stride as i32, inner_stride as i32]));
    layout.extend(bytes(&[scale]));
    layout.extend([bias as u8, 0, 0, 0, 0, 0, 0, 0]);
    let n = 100;
    let args = vec![A::In(bytes(&data)), A::Out(4 * n), A::Raw(layout), A::I32(n as i32)];
    let out = bench.run(&shot("gather_strided", 2, 64, args))?;
    let at = |i: usize| offset + i / inner * outer_stride + i % inner * inner_stride;
    same("gather_strided", &out[0], &(0..n).map(|i| f32::from(bias) + scale * data[at(i)]).collect::<Vec<_>>())
}

fn long_index(bench: &mut Bench) -> Outcome<()> {
    let (data, n) = (floats(500), 400);
    let index: Vec<i64> = noise(n).map(|x| i64::from(x % 550) - 50).collect();
    let args = vec![A::In(bytes(&data)), A::In(bytes(&index)), A::Out(4 * n), A::I64(n as i64)];
    let out = bench.run(&shot("gather_i64", 2, 96, args))?;
    let want: Vec<f32> = index.iter().map(|i| usize::try_from(*i).map_or(0.0, |i| data[i])).collect();
    same("gather_i64", &out[0], &want)
}

fn launch_bounds(bench: &mut Bench) -> Outcome<()> {
    let n = 300;
    let data = floats(n);
    let args = vec![A::In(bytes(&data)), A::Out(4 * n), A::F32(-1.25), A::F32(3.5), A::I32(n as i32)];
    let out = bench.run(&shot("clamp_f32", 3, 128, args))?;
    same("clamp_f32", &out[0], &data.iter().map(|v| v.clamp(-1.25, 3.5)).collect::<Vec<_>>())
}

fn vote(bench: &mut Bench) -> Outcome<()> {
    let n = 512;
    // The first 64 all vote yes, the next 64 all no.
    let mut data = small_ints(n, 100);
    data[..64].fill(1);
    data[64..128].fill(0);
    let out = bench.run(&shot("vote", 2, 256, vec![A::In(bytes(&data)), A::Out(4 * n)]))?;
    let wave = |lanes: &[i32]| {
        let (any, all) = (lanes.iter().any(|v| *v > 0), lanes.iter().all(|v| *v > 0));
        lanes.iter().map(|v| i32::from(any) | i32::from(all) << 1 | i32::from(*v > 0) << 2).collect::<Vec<_>>()
    };
    same("vote", &out[0], &data.chunks(bench.wave).flat_map(wave).collect::<Vec<_>>())
}

fn butterfly(bench: &mut Bench) -> Outcome<()> {
    let n = 256;
    let data = floats(n);
    let out = bench.run(&shot(
        "butterfly_max",
        2,
        128,
        vec![A::In(bytes(&data)), A::Out(4 * n), A::Out(4 * n), A::Out(4 * n)],
    ))?;
    let group = |i: usize| &data[i / 16 * 16..i / 16 * 16 + 16];
    let each = |f: &dyn Fn(usize) -> f32| (0..n).map(f).collect::<Vec<f32>>();
    same("max", &out[0], &each(&|i| group(i).iter().copied().fold(f32::MIN, f32::max)))?;
    same("broadcast", &out[1], &each(&|i| group(i)[0]))?;
    same("up", &out[2], &each(&|i| group(i)[(i % 16).saturating_sub(1)]))
}

fn cas_loop(bench: &mut Bench) -> Outcome<()> {
    let n = 500;
    let data = floats(n);
    let out = bench.run(&shot(
        "max_f32_cas",
        4,
        128,
        vec![A::In(bytes(&data)), A::InOut(bytes(&[-1000.0f32])), A::I32(n as i32)],
    ))?;
    same("max_f32_cas", &out[0], &[data.iter().copied().fold(f32::MIN, f32::max)])?;

    // Where a key lands depends on the order of the threads; the set of keys does not. One launch, no comparison of bytes.
    let keys: Vec<u64> = noise(200).map(|x| u64::from(x % 150) * 0x1_0000_0001).collect();
    let shot = shot(
        "insert_cas",
        1,
        256,
        vec![A::In(bytes(&keys)), A::InOut(bytes(&[u64::MAX; 512])), A::I32(512), A::I32(200)],
    );
    for out in bench.run_each(&shot)? {
        let mut found: Vec<u64> = values::<u64>(&out[0]).into_iter().filter(|k| *k != u64::MAX).collect();
        let mut want = keys.clone();
        found.sort_unstable();
        want.sort_unstable();
        want.dedup();
        same("insert_cas", &bytes(&found), &want)?;
    }
    Ok(())
}

fn double_math(bench: &mut Bench) -> Outcome<()> {
    let (rows, n) = (70, 33);
    let data: Vec<f64> = floats(rows * n).into_iter().map(|v| f64::from(v) * 1.1).collect();
    let args = vec![A::In(bytes(&data)), A::Out(8 * rows), A::Out(8 * rows), A::I32(rows as i32), A::I32(n as i32)];
    let out = bench.run(&shot("variance_f64", 2, 64, args))?;
    let variance = |row: &[f64]| {
        let (mut mean, mut m2) = (0.0f64, 0.0f64);
        for (i, x) in row.iter().enumerate() {
            let delta = x - mean;
            mean += delta / (i + 1) as f64;
            m2 = delta.mul_add(x - mean, m2);
        }
        m2 / row.len() as f64
    };
    let want: Vec<f64> = data.chunks(n).map(variance).collect();
    same("variance", &out[0], &want)?;
    same("root", &out[1], &want.iter().map(|v| v.sqrt()).collect::<Vec<_>>())
}

fn tables(bench: &mut Bench) -> Outcome<()> {
    let n = 300;
    let packed: Vec<u8> = noise(n / 2).map(|x| (x >> 9) as u8).collect();
    let out = bench.run(&shot("decode_fp4", 3, 128, vec![A::In(packed.clone()), A::Out(4 * n), A::I32(n as i32)]))?;
    let decode = |i: usize| {
        let code = packed[i / 2] >> (i % 2 * 4) & 15;
        // e2m1: two bits of exponent with bias 1, one of mantissa.
        let (e, m) = (i32::from(code >> 1 & 3), f32::from(code & 1));
        let size = if e == 0 { m / 2.0 } else { (1.0 + m / 2.0) * (1 << (e - 1)) as f32 };
        (if code & 8 == 0 { size } else { -size }) * [0.25, 1.0, 4.0, 16.0][i / 32 % 4]
    };
    same("decode_fp4", &out[0], &(0..n).map(decode).collect::<Vec<f32>>())
}

fn vector_types(bench: &mut Bench) -> Outcome<()> {
    let n = 100;
    let data = floats(4 * n);
    let out = bench.run(&shot(
        "swizzle_float4",
        2,
        64,
        vec![A::In(bytes(&data)), A::Out(16 * n), A::Out(16 * n), A::I32(n as i32)],
    ))?;
    same("swizzle", &out[0], &data.chunks(4).flat_map(|v| [v[3], v[2], v[1], v[0]]).collect::<Vec<f32>>())?;
    let sum = |(i, v): (usize, &[f32])| [v[0].to_bits() ^ v[3].to_bits(), i as u32 % 64, i as u32 / 64, 64];
    same("sum", &out[1], &data.chunks(4).enumerate().flat_map(sum).collect::<Vec<u32>>())
}

fn softmax_row(bench: &mut Bench) -> Outcome<()> {
    let (rows, n) = (2, 300);
    // Powers of two: exp is taken of 0 only where the maximum is, so two rows have an exact result.
    let mut data = vec![f32::NEG_INFINITY; rows * n];
    data[17] = 3.0;
    data[n + 4] = -1.0;
    data[n + 290] = -1.0;
    let out =
        bench.run(&shot("softmax_row", 2, 256, vec![A::In(bytes(&data)), A::Out(4 * rows * n), A::I32(n as i32)]))?;
    let mut want = vec![0.0f32; rows * n];
    want[17] = 1.0;
    want[n + 4] = 0.5;
    want[n + 290] = 0.5;
    same("one and two maxima", &out[0], &want)?;

    let data = floats(rows * n);
    let out =
        bench.run(&shot("softmax_row", 2, 256, vec![A::In(bytes(&data)), A::Out(4 * rows * n), A::I32(n as i32)]))?;
    for (row, got) in data.chunks(n).zip(values::<f32>(&out[0]).chunks(n)) {
        let m = row.iter().copied().fold(f32::MIN, f32::max);
        let exp: Vec<f64> = row.iter().map(|x| f64::from(*x - m).exp()).collect();
        let sum: f64 = exp.iter().sum();
        for (got, exp) in got.iter().zip(&exp) {
            // One ulp of exp each, a tree of 10 additions, one division: 16 units of 2^-24 hold them all.
            let near = (f64::from(*got) - exp / sum).abs() <= 16.0 * 2f64.powi(-24) * exp / sum;
            if !near {
                return Err(format!("softmax: got {got}, want {}", exp / sum).into());
            }
        }
    }
    Ok(())
}

fn narrow_convert(bench: &mut Bench) -> Outcome<()> {
    // Every f16 and bf16 value, the midpoint above it, and both neighbours of that midpoint in f32.
    let mut data = Vec::new();
    for code in 0..=u16::MAX {
        let (half, next) = (f16_to_f32(code), f16_to_f32(code.wrapping_add(1)));
        let middle = (f64::from(half) / 2.0 + f64::from(next) / 2.0) as f32;
        let bits = u32::from(code) << 16 | 0x8000;
        data.push(half);
        data.extend([-1i32, 0, 1].map(|step| f32::from_bits(middle.to_bits().wrapping_add_signed(step))));
        data.extend([bits - 1, bits, bits + 1].map(f32::from_bits));
    }
    let n = data.len();
    let args = vec![A::In(bytes(&data)), A::Out(2 * n), A::Out(2 * n), A::I32(n as i32)];
    let out = bench.run(&shot("narrow_from_f32", n.div_ceil(256) as u32, 256, args))?;
    // NaN payloads are free.
    let canon = |bits: Vec<u16>, infinity: u16| -> Vec<u16> {
        bits.into_iter().map(|b| if b & 0x7fff > infinity { infinity + 1 } else { b }).collect()
    };
    let want = |round: fn(f32) -> u16| data.iter().map(|v| round(*v)).collect::<Vec<u16>>();
    same("half", &bytes(&canon(values(&out[0]), 0x7c00)), &canon(want(f32_to_f16), 0x7c00))?;
    same("bfloat", &bytes(&canon(values(&out[1]), 0x7f80)), &canon(want(f32_to_bf16), 0x7f80))?;

    let out = bench.run(&shot("narrow_to_f32", 256, 256, vec![A::Out(4 << 16), A::Out(4 << 16)]))?;
    let quiet = |values: Vec<f32>| {
        values.into_iter().map(|v| if v.is_nan() { u32::MAX } else { v.to_bits() }).collect::<Vec<u32>>()
    };
    let all = |widen: fn(u16) -> f32| quiet((0..=u16::MAX).map(widen).collect());
    same("from half", &bytes(&quiet(values(&out[0]))), &all(f16_to_f32))?;
    same("from bfloat", &bytes(&quiet(values(&out[1]))), &all(bf16_to_f32))
}
