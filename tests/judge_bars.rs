//! The judge's promises, kept on data: each bar can fail and can pass, nothing that is NaN passes, every canary is refused.

use assay::judge::spec::{BarLimits, Class, Determinism, Exact, Flush, Oracle, Output, OutputSpec, UlpLimit};
use assay::judge::{JudgeError, Judged, canary, output, verdict};
use assay::record::{Assertion, Tier, Verdict};
use assay::tensor::{DType, codec};
use rand_core::Rng;
use rand_core::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;

/// One output with everything it owns. The reference tier is right unless a test spoils it.
struct Case {
    dtype: DType,
    shape: Vec<usize>,
    spec: OutputSpec,
    device: Vec<u8>,
    reference: Vec<u8>,
    oracle: Oracle,
    limits: BarLimits,
    flush: Flush,
}

impl Case {
    /// Right device and reference for these oracle values, B0 = 0.
    fn rounded(dtype: DType, values: &[f64], row_len: usize) -> Self {
        let bytes = codec::encode_f64(dtype, values);
        let oracle = Oracle { value: values.to_vec(), bound: vec![0.0; values.len()], ..Oracle::default() };
        Self {
            dtype,
            shape: vec![values.len() / row_len.max(1), row_len],
            spec: OutputSpec {
                class: Class::Rounded,
                row_len,
                skipped_rows: vec![],
                determinism: Determinism::Bytes,
                exact: Exact::No,
                ulp: UlpLimit { l: Some(1.0), l32: 0.0 },
                path: true,
                non_finite_declared: false,
                degenerate: None,
            },
            device: bytes.clone(),
            reference: bytes,
            oracle,
            limits: BarLimits::new(),
            flush: Flush::default(),
        }
    }

    fn normal(dtype: DType, n: usize, row_len: usize, seed: u64) -> Self {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
        let values: Vec<f64> = (0..n).map(|_| (rng.next_u64() as f64 / 2f64.powi(63) - 1.0) * 3.0 + 1e-3).collect();
        Self::rounded(dtype, &values, row_len)
    }

    fn integers(values: &[i64], class: Class) -> Self {
        let mut case = Self::rounded(DType::F32, &values.iter().map(|&v| v as f64).collect::<Vec<_>>(), 4);
        case.dtype = DType::I32;
        case.spec.class = class;
        case.device = codec::encode_i64(DType::I32, values);
        case.reference = case.device.clone();
        case
    }

    fn out(&self) -> Output<'_> {
        Output {
            name: "y",
            dtype: self.dtype,
            shape: &self.shape,
            spec: &self.spec,
            device: &self.device,
            reference: &self.reference,
            oracle: &self.oracle,
            other_paths: &[],
            limits: &self.limits,
            flush: self.flush,
        }
    }

    fn judge(&self) -> Judged {
        output(&self.out(), Tier::Device)
    }

    fn set(&mut self, i: usize, x: f64) {
        let size = self.dtype.size();
        self.device[i * size..(i + 1) * size].copy_from_slice(&codec::encode_f64(self.dtype, &[x]));
    }

    fn get(&self, i: usize) -> f64 {
        let size = self.dtype.size();
        f64::from(codec::decode_f32(self.dtype, &self.device[i * size..(i + 1) * size])[0])
    }
}

fn failed(j: &Judged) -> Vec<&str> {
    j.assertions.iter().filter(|a| !a.pass).map(|a| a.bar.as_str()).collect()
}

fn bar<'a>(j: &'a Judged, name: &str) -> &'a Assertion {
    j.assertions.iter().find(|a| a.bar == name).unwrap_or_else(|| panic!("no {name}: {j:?}"))
}

fn verdict_of(j: &Judged) -> Verdict {
    verdict::case(&j.assertions, &j.errors, verdict::Served::Board).0
}

#[test]
fn right_rounding_passes_every_bar_in_every_format() {
    for dtype in [DType::F32, DType::F16, DType::Bf16] {
        for (n, row) in [(1, 1), (64, 64), (300, 3), (51, 17), (9 * 769, 769), (3 * 10_000, 10_000), (40_960, 4096)] {
            let case = Case::normal(dtype, n, row, n as u64);
            let j = case.judge();
            assert!(j.accepted(), "{dtype} {n}x{row}: {:?} {:?}", failed(&j), j.errors);
            assert!(j.assertions.iter().all(|a| a.elements > 0));
            let flock = canary(&case.out(), &j);
            assert!(flock.errors.is_empty(), "{dtype} {n}x{row}: {:?}", flock.errors);
            assert_eq!(flock.canaries.run, flock.canaries.refused);
            assert!(flock.canaries.run >= if n > 1 { 7 } else { 6 }, "{:?}", flock.canaries);
        }
    }
}

#[test]
fn every_bar_of_a_rounded_output_can_fail() {
    let base = || Case::normal(DType::Bf16, 4096, 512, 7);
    let mut nan = base();
    nan.set(100, f64::NAN);
    assert!(failed(&nan.judge()).contains(&"class"));
    let mut off = base();
    off.set(100, off.get(100) * 1.02);
    let j = off.judge();
    assert_eq!(failed(&j), ["ulp", "bound", "path"]);
    let w = bar(&j, "ulp").worst.as_ref().unwrap();
    assert_eq!((w.index, w.row, w.col), (100, 0, 100));
    assert!(w.got_hex.starts_with("0x") && w.got_hex.len() == 6 && w.got != w.want);
    let mut row = base();
    for i in 512..1024 {
        row.set(i, 0.0);
    }
    let j = row.judge();
    assert!(failed(&j).contains(&"row_nmse") && failed(&j).contains(&"nmse") && failed(&j).contains(&"nmse_oracle"));
    assert_eq!(bar(&j, "row_nmse").worst.as_ref().unwrap().row, 1);
    let mut cast = base();
    cast.spec.exact = Exact::NonNan;
    assert!(cast.judge().accepted());
    cast.set(9, cast.get(9) * 1.01);
    assert!(failed(&cast.judge()).contains(&"exact"));
}

#[test]
fn truncated_bf16_fails_bias_and_the_right_rounding_does_not() {
    let good = Case::normal(DType::Bf16, 8192, 1024, 3);
    let j = good.judge();
    assert!(j.accepted());
    assert!(bar(&j, "bias").figure.unwrap() <= 0.0);
    let mut bad = Case::normal(DType::Bf16, 8192, 1024, 3);
    // Room for the truncation everywhere else, so that bias alone speaks.
    for (i, b) in bad.oracle.bound.iter_mut().enumerate() {
        *b = bad.oracle.value[i].abs() / 64.0;
    }
    let truncated: Vec<u8> =
        bad.oracle.value.iter().flat_map(|&v| (((v as f32).to_bits() >> 16) as u16).to_le_bytes()).collect();
    bad.device = truncated;
    assert_eq!(failed(&bad.judge()), ["bias"]);
}

#[test]
fn a_bias_of_one_column_residue_or_one_row_is_seen() {
    let spoil = |hit: fn(usize) -> bool| {
        let mut case = Case::normal(DType::Bf16, 65_536, 1024, 5);
        for i in 0..65_536 {
            case.oracle.bound[i] = case.oracle.value[i].abs() / 64.0;
            if hit(i) {
                let cut = (((case.oracle.value[i] as f32).to_bits() >> 16) as u16).to_le_bytes();
                case.device[2 * i..2 * i + 2].copy_from_slice(&cut);
            }
        }
        let j = case.judge();
        assert_eq!(failed(&j), ["bias"]);
        bar(&j, "bias").note.clone().unwrap()
    };
    assert_eq!(spoil(|i| i % 8 == 5), "columns with residue 5 modulo 8");
    assert_eq!(spoil(|i| i / 1024 == 17), "row 17");
}

#[test]
fn no_figure_that_is_nan_ever_passes_in_a_million_random_outputs() {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(11);
    let specials = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 0.0, -0.0, 1e-45, f64::MAX];
    for round in 0..1_000_000u32 {
        let dtype = [DType::F32, DType::F16, DType::Bf16][round as usize % 3];
        let mut pick = || {
            let k = rng.next_u32();
            let special = specials[k as usize % specials.len()];
            if k >> 29 == 0 { special } else { f64::from(rng.next_u32() as i32) / 1e7 }
        };
        let values = [pick(), pick()];
        let device: Vec<f64> = values.iter().map(|&v| if pick() > 100.0 { pick() } else { v }).collect();
        let mut case = Case::rounded(dtype, &values, 2);
        case.spec.non_finite_declared = round % 2 == 0;
        case.device = codec::encode_f64(dtype, &device);
        let j = case.judge();
        for a in &j.assertions {
            assert!(!a.pass || a.figure.is_none_or(|f| f.is_finite()));
            assert!(!a.pass || a.note.as_deref().is_none_or(|n| !n.contains("NaN") && !n.contains("figure is")));
        }
        for (&o, i) in values.iter().zip(0..) {
            let rounded = codec::decode_f32(dtype, &codec::encode_f64(dtype, &[o]))[0];
            if rounded.is_finite() && !case.get(i).is_finite() {
                assert!(!j.accepted(), "{device:?} passed against {values:?}");
            }
            if rounded.is_nan() != case.get(i).is_nan() {
                assert!(!j.accepted(), "{device:?} passed against {values:?}");
            }
        }
    }
}

#[test]
fn declared_infinities_and_nans_pass_where_they_belong_and_nowhere_else() {
    let values = [1.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 1e39, 2.0, 3.0, 4.0];
    let mut case = Case::rounded(DType::F32, &values, 8);
    case.spec.non_finite_declared = true;
    assert!(case.judge().accepted());
    for (i, wrong) in [(0, f64::NAN), (1, 1.0), (2, f64::NEG_INFINITY), (2, 5.0), (3, f64::NAN), (4, f32::MAX as f64)] {
        let mut bad = Case::rounded(DType::F32, &values, 8);
        bad.spec.non_finite_declared = true;
        bad.set(i, wrong);
        assert!(failed(&bad.judge()).contains(&"class"), "element {i} as {wrong}");
    }
}

#[test]
fn on_the_overflow_edge_either_side_is_allowed_and_a_far_number_is_not() {
    let mut case = Case::rounded(DType::F16, &[65519.0, 1.0, 2.0, 3.0], 4);
    case.oracle.bound = vec![8.0; 4];
    for (x, good) in
        [(65504.0, true), (f64::INFINITY, true), (f64::NEG_INFINITY, false), (f64::NAN, false), (9.0, false)]
    {
        case.set(0, x);
        assert_eq!(!failed(&case.judge()).contains(&"class"), good, "{x}");
    }
}

#[test]
fn the_nearer_of_two_legal_values_is_taken_and_a_third_is_refused() {
    let mut case = Case::rounded(DType::Bf16, &[1.0, 2.0, 3.0, 4.0], 4);
    case.oracle.other = vec![1.0, 2.5, 3.0, 4.0];
    assert!(case.judge().accepted());
    case.set(1, 2.5);
    assert!(!failed(&case.judge()).iter().any(|b| ["ulp", "bound", "path", "nmse_oracle"].contains(b)));
    case.set(1, 2.25);
    assert!(failed(&case.judge()).contains(&"path"));
}

#[test]
fn skipped_rows_are_not_looked_at() {
    let mut case = Case::normal(DType::F32, 12, 4, 1);
    case.spec.skipped_rows = vec![false, true, false];
    for i in 4..8 {
        case.set(i, f64::NAN);
        case.oracle.value[i] = f64::NAN;
        case.oracle.bound[i] = f64::NAN;
    }
    let j = case.judge();
    assert!(j.accepted(), "{:?} {:?}", failed(&j), j.errors);
    assert!(j.assertions.iter().all(|a| a.elements == 8));
    let flock = canary(&case.out(), &j);
    assert!(flock.errors.is_empty() && flock.canaries.run == 7);
    case.spec.skipped_rows = vec![true; 3];
    let j = case.judge();
    assert!(j.assertions.is_empty() && j.errors.is_empty() && !j.absent.is_empty());
}

#[test]
fn figures_are_the_same_bits_with_and_without_vector_instructions_and_in_any_chunk_order() {
    use assay::judge::figures::Input;
    use assay::judge::limits::Limits;
    for dtype in [DType::F32, DType::F16, DType::Bf16] {
        for (n, row) in [(3 * 9001, 9001), (20_000, 5), (7 * 1029, 1029)] {
            let mut case = Case::normal(dtype, n, row, 2);
            case.oracle.bound.fill(1e-2);
            case.oracle.other = case.oracle.value.iter().map(|v| v + 1e-9).collect();
            let limits = Limits::derived(dtype, &case.spec);
            let out = case.out();
            let best = Input::new(&out, &limits);
            let plain = Input { arch: pulp::Arch::Scalar, ..best };
            let want = best.partials();
            assert_eq!(want, plain.partials(), "{dtype} {n}");
            let mut backwards: Vec<_> = (0..want.len()).rev().map(|i| best.chunk(i)).collect();
            backwards.reverse();
            let threads: Vec<_> = std::thread::scope(|s| {
                let handles: Vec<_> = (0..want.len()).map(|i| s.spawn(move || best.chunk(i))).collect();
                handles.into_iter().map(|h| h.join().unwrap()).collect()
            });
            assert_eq!(want, backwards);
            assert_eq!(want, threads);
            assert_eq!(best.fold(&want), plain.fold(&threads));
        }
    }
}

#[test]
fn the_slow_path_gives_the_fast_paths_figures_on_finite_data() {
    // One declared NaN in the first chunk sends that chunk, and only it, the slow way.
    let mut case = Case::normal(DType::Bf16, 8192, 64, 4);
    case.oracle.bound.fill(1e-2);
    let clean = case.judge();
    // A flush that never happens, declared over one subnormal oracle value, does the same without changing a figure.
    case.flush.outputs = true;
    case.oracle.value[0] = 1e-39;
    case.set(0, 1e-39);
    case.reference[..2].copy_from_slice(&case.device[..2]);
    let slow = case.judge();
    case.flush.outputs = false;
    let fast = case.judge();
    assert!(clean.accepted() && slow.accepted() && fast.accepted());
    for (a, b) in slow.assertions.iter().zip(&fast.assertions) {
        assert_eq!((a.figure, a.limit, a.elements), (b.figure, b.limit, b.elements), "{}", a.bar);
    }
}

#[test]
fn unusable_oracles_are_errors_and_not_verdicts_about_the_device() {
    for bound in [f64::NAN, -1.0, f64::INFINITY] {
        let mut case = Case::normal(DType::F32, 8, 4, 1);
        case.oracle.bound[3] = bound;
        let j = case.judge();
        assert!(matches!(j.errors[0], JudgeError::BadBound { index: 3, .. }), "{:?}", j.errors);
        assert_eq!(verdict_of(&j), Verdict::Error);
    }
    let undeclared = Case::rounded(DType::F32, &[1.0, f64::NAN], 2);
    assert!(matches!(undeclared.judge().errors[0], JudgeError::UndeclaredNonFinite { index: 1, .. }));
    let mut short = Case::normal(DType::F32, 8, 4, 1);
    short.oracle.bound.pop();
    assert!(matches!(short.judge().errors[0], JudgeError::Columns { column: "bound", got: 7, want: 8, .. }));
}

#[test]
fn everything_declared_non_finite_is_vacuous() {
    let mut case = Case::rounded(DType::F32, &[f64::NAN; 4], 4);
    case.spec.non_finite_declared = true;
    let j = case.judge();
    assert!(j.errors.iter().all(|e| matches!(e, JudgeError::Vacuous { .. })) && !j.errors.is_empty());
    assert_eq!(verdict_of(&j), Verdict::Error);
}

#[test]
fn the_reference_tier_is_held_against_the_oracle_alone() {
    let mut case = Case::normal(DType::F32, 16, 4, 1);
    case.set(5, 9.0);
    let out = Output { reference: &case.device, ..case.out() };
    let j = output(&out, Tier::Reference);
    assert!(j.assertions.iter().all(|a| a.tier == Tier::Reference && a.bar != "nmse"));
    assert_eq!(verdict_of(&j), Verdict::Error);
}

#[test]
fn copies_and_integers_are_compared_by_bits_and_their_canaries_are_refused() {
    for (class, run) in [(Class::Copy, 1), (Class::Integer, 3)] {
        let mut case = Case::integers(&[5, -1, 7, 9, 0, 1, 2, 3], class);
        let j = case.judge();
        assert!(j.accepted() && output(&case.out(), Tier::Reference).accepted());
        let flock = canary(&case.out(), &j);
        assert_eq!((flock.canaries.run, flock.canaries.refused, flock.errors.len()), (run, run, 0));
        case.device[20] ^= 0x40;
        let j = case.judge();
        let w = bar(&j, "exact").worst.as_ref().unwrap();
        assert_eq!((w.index, w.row, w.col, w.got.as_str(), w.want.as_str()), (5, 1, 1, "65", "1"));
        let spoiled = Output { reference: &case.device, ..case.out() };
        assert!(!output(&spoiled, Tier::Reference).accepted());
    }
}

#[test]
fn a_limit_so_loose_that_a_canary_passes_is_a_blind_gate_and_carries_its_mark() {
    let mut case = Case::normal(DType::F32, 64, 64, 1);
    case.spec.path = false;
    for bar in ["ulp", "bound", "nmse", "row_nmse"] {
        case.limits.insert(bar.into(), 1e30);
    }
    let j = case.judge();
    assert!(j.accepted());
    assert_eq!(bar(&j, "nmse").note.as_deref(), Some("loosened from 5e-4 to 1e30"));
    let flock = canary(&case.out(), &j);
    assert!(flock.canaries.accepted >= 5, "{:?}", flock.canaries);
    assert!(flock.errors.iter().all(|e| matches!(e, JudgeError::BlindGate { .. })));
    assert_eq!(verdict::case(&j.assertions, &flock.errors, verdict::Served::Board).0, Verdict::Error);
}

#[test]
fn a_lost_row_that_element_bars_cannot_see_is_judged_by_the_whole_fold() {
    // With the element bars opened wide, the canaries are still refused by nmse and row_nmse where these can see them.
    let mut case = Case::normal(DType::F32, 20_000, 10_000, 1);
    case.spec.path = false;
    case.limits.insert("ulp".into(), 1e30);
    case.limits.insert("bound".into(), 1e30);
    let flock = canary(&case.out(), &case.judge());
    for kind in ["zeroed", "last_row_lost", "tail_lost", "sign", "swap", "nan", "inf"] {
        let blind = flock.canaries.notes.iter().any(|n| n.starts_with(kind));
        assert_eq!((kind, blind, flock.canaries.kinds[kind]), (kind, false, 1));
    }
}

#[test]
fn data_that_no_canary_can_spoil_must_be_declared_degenerate() {
    let mut case = Case::rounded(DType::F32, &[0.0; 8], 4);
    case.oracle.bound.fill(f64::from(f32::MAX) / 4.0);
    case.spec.ulp.l = None;
    let j = case.judge();
    let flock = canary(&case.out(), &j);
    assert_eq!(flock.canaries.kinds.len(), 2, "NaN and infinity still apply: {:?}", flock.canaries);
    let empty = Case::rounded(DType::F32, &[], 4);
    let j = empty.judge();
    assert!(j.assertions.is_empty() && j.errors.is_empty());
    assert!(canary(&empty.out(), &j).errors.is_empty());
}

#[test]
fn a_wrong_case_gets_no_canaries() {
    let mut case = Case::normal(DType::F32, 64, 64, 1);
    case.set(3, 100.0);
    assert_eq!(canary(&case.out(), &case.judge()).canaries.run, 0);
}

// Golden facts: comparators of other harnesses that passed what is wrong.

#[test]
fn an_eighth_of_wrong_elements_is_a_fail_with_a_nonzero_exit() {
    let mut case = Case::normal(DType::F32, 64, 64, 1);
    for i in 0..8 {
        case.set(8 * i, 50.0);
    }
    let j = case.judge();
    assert_eq!(verdict_of(&j), Verdict::Fail);
    let counts = assay::record::Counts { planned: 1, fail: 1, ..Default::default() };
    let facts = verdict::RunFacts { counts, assertions: j.assertions.len() as u64, ..Default::default() };
    assert_ne!(verdict::run(&facts).1 as u8, 0);
}

#[test]
fn a_subnormal_or_infinite_oracle_accepts_only_itself() {
    let mut tiny = Case::rounded(DType::F32, &[1e-40, 1.0], 2);
    tiny.set(0, 123.0);
    assert_eq!(verdict_of(&tiny.judge()), Verdict::Fail);
    tiny.set(0, 0.0);
    assert_eq!(verdict_of(&tiny.judge()), Verdict::Fail);
    tiny.flush.outputs = true;
    assert_eq!(verdict_of(&tiny.judge()), Verdict::Pass);
    tiny.set(0, -0.0);
    assert_eq!(verdict_of(&tiny.judge()), Verdict::Fail);
    let mut infinite = Case::rounded(DType::F32, &[f64::INFINITY, 1.0], 2);
    infinite.spec.non_finite_declared = true;
    infinite.set(0, 5.0);
    assert_eq!(verdict_of(&infinite.judge()), Verdict::Fail);
    // The true value 200704 is beyond f16: the oracle is rounded to the output's format first.
    let mut overflow = Case::rounded(DType::F16, &[200704.0, 1.0], 2);
    overflow.spec.non_finite_declared = true;
    assert_eq!(overflow.get(0), f64::INFINITY);
    assert_eq!(verdict_of(&overflow.judge()), Verdict::Pass);
}

#[test]
fn zero_energy_is_undefined_and_the_tolerance_alone_decides() {
    let mut zeros = Case::rounded(DType::F32, &[0.0; 8], 4);
    let j = zeros.judge();
    assert_eq!(verdict_of(&j), Verdict::Pass);
    let nmse = bar(&j, "nmse_oracle");
    assert_eq!((nmse.figure, nmse.note.as_deref()), (None, Some("undefined (zero energy)")));
    zeros.set(3, 1e-3);
    let j = zeros.judge();
    assert_eq!(verdict_of(&j), Verdict::Fail);
    assert!(failed(&j).contains(&"nmse_oracle") && failed(&j).contains(&"row_nmse"));
}

#[test]
fn a_short_or_long_result_is_an_error_with_both_sizes_before_any_comparison() {
    for bytes in [4, 1028] {
        let mut case = Case::normal(DType::F32, 256, 256, 1);
        case.device.resize(bytes, 0);
        let j = case.judge();
        assert!(j.assertions.is_empty());
        assert_eq!(verdict_of(&j), Verdict::Error);
        let text = j.errors[0].to_string();
        assert!(text.contains(&bytes.to_string()) && text.contains("1024"), "{text}");
    }
}

#[test]
fn each_element_has_its_own_bound() {
    // Worst error over worst reference is 0.008; element 1 is off by 0.8 where about 0.22 is allowed.
    let mut case = Case::rounded(DType::F32, &[100.0, 0.1], 2);
    case.oracle.bound = vec![20.2, 0.22];
    case.spec.ulp.l = None;
    case.set(1, 0.9);
    let j = case.judge();
    assert!(failed(&j).contains(&"bound"));
    assert_eq!(bar(&j, "bound").worst.as_ref().unwrap().index, 1);
    case.set(1, 0.3);
    assert!(!failed(&case.judge()).contains(&"bound"));
}

#[test]
fn a_right_bf16_rounding_half_a_step_off_passes() {
    let case = Case::rounded(DType::Bf16, &[16.0625, 16.1875], 2);
    assert_eq!(case.get(0), 16.0);
    assert_eq!(verdict_of(&case.judge()), Verdict::Pass);
}

#[test]
fn a_nan_on_both_sides_that_should_be_finite_is_an_unusable_reference() {
    let mut case = Case::normal(DType::F32, 8, 8, 1);
    case.set(2, f64::NAN);
    case.reference = case.device.clone();
    let j = case.judge();
    assert_eq!(j.errors, [JudgeError::UnusableReference { on: "y".into(), index: 2, count: 1 }]);
    assert_eq!(verdict_of(&j), Verdict::Error);
}
