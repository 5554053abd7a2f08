use super::*;

fn bytes(x: &[f32]) -> Vec<u8> {
    x.iter().flat_map(|v| v.to_le_bytes()).collect()
}

fn right<'a>(bytes: &'a [u8], oracle: &'a [f64], input: Option<&'a [u8]>) -> Right<'a> {
    Right { dtype: DType::F32, class: Class::Rounded, bytes, row_len: 3, skipped: &[], oracle, input }
}

/// What a fault makes of two rows of three, and among which elements it differs.
fn wrong(null: Null) -> (Vec<f32>, Range<usize>) {
    // 1.5 was rounded up, 6.0 down, the others not at all.
    let (y, x) = (bytes(&[1.5, 2.0, 3.0, 4.0, -5.0, 6.0]), bytes(&[10.0, 20.0, 3.0, 40.0, 50.0, 60.0, 70.0]));
    let oracle = [1.5 - 1e-9, 2.0, 3.0, 4.0, -5.0, 6.0 + 1e-9];
    match null.apply(&right(&y, &oracle, Some(&x))) {
        Candidate::Wrong(bytes, at) => (codec::decode_f32(DType::F32, &bytes), at),
        other => panic!("{null:?}: {other:?}"),
    }
}

#[test]
fn every_fault_of_a_small_tensor_is_what_its_name_says() {
    assert_eq!(wrong(Null::Zeros), (vec![0.0; 6], 0..6));
    assert_eq!(wrong(Null::Copied), (vec![10.0, 20.0, 3.0, 40.0, 50.0, 60.0], 0..6));
    assert_eq!(wrong(Null::RowsShifted), (vec![4.0, -5.0, 6.0, 1.5, 2.0, 3.0], 0..6));
    assert_eq!(wrong(Null::LastRowLost), (vec![1.5, 2.0, 3.0, 0.0, 0.0, 0.0], 3..6));
    assert_eq!(wrong(Null::TailLost), (vec![0.0; 6], 0..6));
    assert_eq!(wrong(Null::RowsExchanged), (vec![4.0, -5.0, 6.0, 1.5, 2.0, 3.0], 0..6));
    assert_eq!(wrong(Null::SignFlipped), (vec![1.5, 2.0, 3.0, -4.0, -5.0, 6.0], 3..4));
    let stepped = f32::from_bits(4.0f32.to_bits() + 4);
    assert_eq!(wrong(Null::Steps(4)), (vec![1.5, 2.0, 3.0, stepped, -5.0, 6.0], 3..4));
    let down = f32::from_bits(1.5f32.to_bits() - 1);
    assert_eq!(wrong(Null::Truncated), (vec![down, 2.0, 3.0, 4.0, -5.0, 6.0], 0..1));
    assert_eq!(wrong(Null::Scaled(1.5)), (vec![2.25, 3.0, 4.5, 6.0, -7.5, 9.0], 0..6));
    let (values, at) = wrong(Null::Nan);
    assert!(values[3].is_nan() && at == (3..4));
}

#[test]
fn a_tail_is_the_rest_over_a_vector() {
    let y = bytes(&[1.0; 20]);
    let long = Right { row_len: 10, ..right(&y, &[], None) };
    let Candidate::Wrong(lost, _) = Null::TailLost.apply(&long) else { panic!("material") };
    let zeros: Vec<usize> = (0..20).filter(|i| lost[4 * i..4 * i + 4] == [0; 4]).collect();
    assert_eq!(zeros, [8, 9, 18, 19]);
}

#[test]
fn what_changes_nothing_is_immaterial() {
    let zeros = bytes(&[0.0, -0.0, 0.0, 0.0, 0.0, 0.0]);
    let r = right(&zeros, &[], None);
    for null in
        [Null::Zeros, Null::RowsShifted, Null::LastRowLost, Null::TailLost, Null::SignFlipped, Null::Scaled(1.1)]
    {
        assert_eq!(null.apply(&r), Candidate::Immaterial, "{null:?}");
    }
    // Moved bytes are compared as bits: the sign of a zero counts.
    let copy = Right { class: Class::Copy, ..r };
    assert!(matches!(Null::Zeros.apply(&copy), Candidate::Wrong(_, at) if at == (1..2)));
    let same = bytes(&[7.0; 6]);
    assert_eq!(Null::RowsExchanged.apply(&right(&same, &[7.0; 6], None)), Candidate::Immaterial);
    assert_eq!(Null::Truncated.apply(&right(&same, &[7.0; 6], None)), Candidate::Immaterial);
}

#[test]
fn what_cannot_happen_is_inapplicable() {
    let y = bytes(&[1.0, 2.0, 3.0]);
    let one = right(&y, &[], None);
    for null in [Null::Copied, Null::RowsShifted, Null::RowsExchanged] {
        assert!(matches!(null.apply(&one), Candidate::Inapplicable(_)), "{null:?}");
    }
    let integers = Right { dtype: DType::I32, class: Class::Integer, ..one };
    for null in [Null::Nan, Null::Scaled(1.1), Null::Truncated] {
        assert!(matches!(null.apply(&integers), Candidate::Inapplicable(_)), "{null:?}");
    }
    assert!(matches!(Null::Zeros.apply(&Right { bytes: &[], ..one }), Candidate::Inapplicable(_)));
}

#[test]
fn skipped_rows_are_left_alone() {
    let y = bytes(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
    let r = Right { skipped: &[false, true], ..right(&y, &[], None) };
    for null in [Null::Zeros, Null::LastRowLost] {
        let Candidate::Wrong(lost, at) = null.apply(&r) else { panic!("material") };
        assert_eq!((&lost[..12], &lost[12..], at), (&[0; 12][..], &y[12..], 0..3));
    }
}

#[test]
fn every_step_stays_a_number() {
    for dtype in [DType::F32, DType::F16, DType::Bf16] {
        let most = steps(dtype).last().expect("steps");
        let one = codec::encode_f64(dtype, &[1.0]);
        let r = Right { dtype, bytes: &one, row_len: 1, ..right(&[], &[], None) };
        let two = Null::Steps(most).element(&r, 0).expect("an element");
        assert_eq!(codec::decode_f32(dtype, &two.to_le_bytes()[..dtype.size()]), [2.0]);
    }
}
