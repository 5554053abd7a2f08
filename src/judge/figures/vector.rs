//! Four f64 lanes on whatever the machine has: SSE2 at the baseline, AVX2 by run-time dispatch, one lane for tails and slow paths.
//!
//! Every operation is a single IEEE operation or a bit operation, and none is fused, so that all of them give the same bits.

/// Lanes of a vector.
pub const LANES: usize = 4;

/// Operations on `F`. Masks are `F` with all bits of a lane set or clear.
pub trait Vector: Copy {
    /// The lanes.
    type F: Copy;
    /// How many of them count.
    const WIDTH: usize = LANES;

    /// The same value in every lane.
    fn splat(self, x: f64) -> Self::F;
    /// Lanes from memory order.
    fn load(self, x: [f64; LANES]) -> Self::F;
    /// Lanes from f32, exact.
    fn widen(self, x: [f32; LANES]) -> Self::F;
    /// Lanes in memory order.
    fn store(self, x: Self::F) -> [f64; LANES];
    /// `a + b`
    fn add(self, a: Self::F, b: Self::F) -> Self::F;
    /// `a - b`
    fn sub(self, a: Self::F, b: Self::F) -> Self::F;
    /// `a * b`
    fn mul(self, a: Self::F, b: Self::F) -> Self::F;
    /// `a > b ? a : b`
    fn max(self, a: Self::F, b: Self::F) -> Self::F;
    /// `a <= b`, false with NaN.
    fn le(self, a: Self::F, b: Self::F) -> Self::F;
    /// `a < b`, false with NaN.
    fn lt(self, a: Self::F, b: Self::F) -> Self::F;
    /// `a == b`, false with NaN.
    fn eq(self, a: Self::F, b: Self::F) -> Self::F;
    /// Bits of both.
    fn and(self, a: Self::F, b: Self::F) -> Self::F;
    /// Bits of either.
    fn or(self, a: Self::F, b: Self::F) -> Self::F;
    /// Bits of `b` that `a` lacks.
    fn andnot(self, a: Self::F, b: Self::F) -> Self::F;
    /// `a - b` on the bits as 64-bit integers.
    fn sub_bits(self, a: Self::F, b: Self::F) -> Self::F;
    /// Through f32 and back: one rounding to nearest even.
    fn through_f32(self, a: Self::F) -> Self::F;

    /// Lanes with these bits.
    #[inline(always)]
    fn bits(self, x: u64) -> Self::F {
        self.splat(f64::from_bits(x))
    }

    /// `m ? a : b`
    #[inline(always)]
    fn select(self, m: Self::F, a: Self::F, b: Self::F) -> Self::F {
        self.or(self.and(m, a), self.andnot(m, b))
    }

    /// Magnitude.
    #[inline(always)]
    fn abs(self, x: Self::F) -> Self::F {
        self.andnot(self.splat(-0.0), x)
    }

    /// `magnitude`, which is not negative, with the sign of `x`.
    #[inline(always)]
    fn with_sign(self, magnitude: Self::F, x: Self::F) -> Self::F {
        self.or(magnitude, self.and(self.splat(-0.0), x))
    }

    /// No lane has its sign bit set.
    #[inline(always)]
    fn unsigned(self, x: Self::F) -> bool {
        let [a, b, c, d] = self.store(x);
        (a.to_bits() | b.to_bits() | c.to_bits() | d.to_bits()) >> 63 == 0
    }

    /// Every bit of every lane of a mask is set.
    #[inline(always)]
    fn all(self, m: Self::F) -> bool {
        let [a, b, c, d] = self.store(m);
        a.to_bits() & b.to_bits() & c.to_bits() & d.to_bits() == u64::MAX
    }
}

/// One lane: tails and the slow path.
#[derive(Clone, Copy)]
pub struct Scalar;

/// A scalar mask.
#[inline(always)]
fn mask(b: bool) -> f64 {
    f64::from_bits(if b { u64::MAX } else { 0 })
}

impl Vector for Scalar {
    type F = f64;
    const WIDTH: usize = 1;

    #[inline(always)]
    fn splat(self, x: f64) -> f64 {
        x
    }
    #[inline(always)]
    fn load(self, x: [f64; LANES]) -> f64 {
        x[0]
    }
    #[inline(always)]
    fn widen(self, x: [f32; LANES]) -> f64 {
        x[0] as f64
    }
    #[inline(always)]
    fn store(self, x: f64) -> [f64; LANES] {
        [x; LANES]
    }
    #[inline(always)]
    fn add(self, a: f64, b: f64) -> f64 {
        a + b
    }
    #[inline(always)]
    fn sub(self, a: f64, b: f64) -> f64 {
        a - b
    }
    #[inline(always)]
    fn mul(self, a: f64, b: f64) -> f64 {
        a * b
    }
    #[inline(always)]
    fn max(self, a: f64, b: f64) -> f64 {
        if a > b { a } else { b }
    }
    #[inline(always)]
    fn le(self, a: f64, b: f64) -> f64 {
        mask(a <= b)
    }
    #[inline(always)]
    fn lt(self, a: f64, b: f64) -> f64 {
        mask(a < b)
    }
    #[inline(always)]
    fn eq(self, a: f64, b: f64) -> f64 {
        mask(a == b)
    }
    #[inline(always)]
    fn and(self, a: f64, b: f64) -> f64 {
        f64::from_bits(a.to_bits() & b.to_bits())
    }
    #[inline(always)]
    fn or(self, a: f64, b: f64) -> f64 {
        f64::from_bits(a.to_bits() | b.to_bits())
    }
    #[inline(always)]
    fn andnot(self, a: f64, b: f64) -> f64 {
        f64::from_bits(!a.to_bits() & b.to_bits())
    }
    #[inline(always)]
    fn sub_bits(self, a: f64, b: f64) -> f64 {
        f64::from_bits(a.to_bits().wrapping_sub(b.to_bits()))
    }
    #[inline(always)]
    fn through_f32(self, a: f64) -> f64 {
        a as f32 as f64
    }
}

/// Four scalars: the baseline where there is no SSE2.
#[cfg(not(target_arch = "x86_64"))]
#[derive(Clone, Copy)]
pub struct Four;

#[cfg(not(target_arch = "x86_64"))]
mod four {
    use super::{Four, LANES, Scalar, Vector};

    #[inline(always)]
    fn zip(a: [f64; LANES], b: [f64; LANES], f: impl Fn(f64, f64) -> f64) -> [f64; LANES] {
        std::array::from_fn(|l| f(a[l], b[l]))
    }

    macro_rules! lanewise {
        ($($op:ident),*) => {$(
            #[inline(always)]
            fn $op(self, a: [f64; LANES], b: [f64; LANES]) -> [f64; LANES] {
                zip(a, b, |a, b| Scalar.$op(a, b))
            }
        )*};
    }

    impl Vector for Four {
        type F = [f64; LANES];

        #[inline(always)]
        fn splat(self, x: f64) -> Self::F {
            [x; LANES]
        }
        #[inline(always)]
        fn load(self, x: [f64; LANES]) -> Self::F {
            x
        }
        #[inline(always)]
        fn widen(self, x: [f32; LANES]) -> Self::F {
            x.map(f64::from)
        }
        #[inline(always)]
        fn store(self, x: Self::F) -> [f64; LANES] {
            x
        }
        #[inline(always)]
        fn through_f32(self, a: Self::F) -> Self::F {
            a.map(|x| x as f32 as f64)
        }
        lanewise!(add, sub, mul, max, le, lt, eq, and, or, andnot, sub_bits);
    }
}

#[cfg(target_arch = "x86_64")]
mod sse2 {
    use super::{LANES, Vector};
    use pulp::x86::V1;
    use std::arch::x86_64::*;

    macro_rules! pairwise {
        ($($op:ident = $f:ident),*) => {$(
            #[inline(always)]
            fn $op(self, a: Self::F, b: Self::F) -> Self::F {
                [self.sse2.$f(a[0], b[0]), self.sse2.$f(a[1], b[1])]
            }
        )*};
    }

    /// Two pairs of lanes.
    impl Vector for V1 {
        type F = [__m128d; 2];

        #[inline(always)]
        fn splat(self, x: f64) -> Self::F {
            [self.sse2._mm_set1_pd(x); 2]
        }
        #[inline(always)]
        fn load(self, x: [f64; LANES]) -> Self::F {
            [self.sse2._mm_set_pd(x[1], x[0]), self.sse2._mm_set_pd(x[3], x[2])]
        }
        #[inline(always)]
        fn widen(self, x: [f32; LANES]) -> Self::F {
            let four = self.sse._mm_set_ps(x[3], x[2], x[1], x[0]);
            [self.sse2._mm_cvtps_pd(four), self.sse2._mm_cvtps_pd(self.sse._mm_movehl_ps(four, four))]
        }
        #[inline(always)]
        fn store(self, x: Self::F) -> [f64; LANES] {
            let (low, high): ([f64; 2], [f64; 2]) = (pulp::cast(x[0]), pulp::cast(x[1]));
            [low[0], low[1], high[0], high[1]]
        }
        #[inline(always)]
        fn sub_bits(self, a: Self::F, b: Self::F) -> Self::F {
            let bits = |x| self.sse2._mm_castpd_si128(x);
            let pair = |a, b| self.sse2._mm_castsi128_pd(self.sse2._mm_sub_epi64(bits(a), bits(b)));
            [pair(a[0], b[0]), pair(a[1], b[1])]
        }
        #[inline(always)]
        fn through_f32(self, a: Self::F) -> Self::F {
            let one = |v| self.sse2._mm_cvtps_pd(self.sse2._mm_cvtpd_ps(v));
            [one(a[0]), one(a[1])]
        }
        pairwise!(add = _mm_add_pd, sub = _mm_sub_pd, mul = _mm_mul_pd, max = _mm_max_pd, le = _mm_cmple_pd);
        pairwise!(lt = _mm_cmplt_pd, eq = _mm_cmpeq_pd, and = _mm_and_pd, or = _mm_or_pd, andnot = _mm_andnot_pd);
    }
}

#[cfg(target_arch = "x86_64")]
mod avx2 {
    use super::{LANES, Vector};
    use pulp::x86::V3;
    use std::arch::x86_64::*;

    macro_rules! lanewise {
        ($($op:ident = $f:ident),*) => {$(
            #[inline(always)]
            fn $op(self, a: __m256d, b: __m256d) -> __m256d {
                self.avx.$f(a, b)
            }
        )*};
    }

    impl Vector for V3 {
        type F = __m256d;

        #[inline(always)]
        fn splat(self, x: f64) -> __m256d {
            self.avx._mm256_set1_pd(x)
        }
        #[inline(always)]
        fn load(self, x: [f64; LANES]) -> __m256d {
            self.avx._mm256_set_pd(x[3], x[2], x[1], x[0])
        }
        #[inline(always)]
        fn widen(self, x: [f32; LANES]) -> __m256d {
            self.avx._mm256_cvtps_pd(self.sse._mm_set_ps(x[3], x[2], x[1], x[0]))
        }
        #[inline(always)]
        fn store(self, x: __m256d) -> [f64; LANES] {
            pulp::cast(x)
        }
        #[inline(always)]
        fn le(self, a: __m256d, b: __m256d) -> __m256d {
            self.avx._mm256_cmp_pd::<_CMP_LE_OQ>(a, b)
        }
        #[inline(always)]
        fn lt(self, a: __m256d, b: __m256d) -> __m256d {
            self.avx._mm256_cmp_pd::<_CMP_LT_OQ>(a, b)
        }
        #[inline(always)]
        fn eq(self, a: __m256d, b: __m256d) -> __m256d {
            self.avx._mm256_cmp_pd::<_CMP_EQ_OQ>(a, b)
        }
        #[inline(always)]
        fn sub_bits(self, a: __m256d, b: __m256d) -> __m256d {
            let bits = |x| self.avx._mm256_castpd_si256(x);
            self.avx._mm256_castsi256_pd(self.avx2._mm256_sub_epi64(bits(a), bits(b)))
        }
        #[inline(always)]
        fn through_f32(self, a: __m256d) -> __m256d {
            self.avx._mm256_cvtps_pd(self.avx._mm256_cvtpd_ps(a))
        }
        lanewise!(add = _mm256_add_pd, sub = _mm256_sub_pd, mul = _mm256_mul_pd, max = _mm256_max_pd);
        lanewise!(and = _mm256_and_pd, or = _mm256_or_pd, andnot = _mm256_andnot_pd);
    }
}
