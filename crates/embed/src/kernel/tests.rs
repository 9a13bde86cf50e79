//! Every instantiation that this machine can run, compared with plain loops in f64.

use super::*;

/// Pseudo-random numbers in [-1, 1), equal in every run.
fn numbers(count: usize, seed: u32) -> Vec<f32> {
    let mut state = seed.wrapping_mul(2_654_435_761).wrapping_add(1);
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 8) as f32 / (1 << 23) as f32 - 1.0
    };
    (0..count).map(|_| next()).collect()
}

fn assert_close(found: &[f32], expected: &[f64], tolerance: f64, what: &str) {
    assert_eq!(found.len(), expected.len(), "{what}");
    for (index, (found, expected)) in found.iter().zip(expected).enumerate() {
        let distance = (f64::from(*found) - expected).abs();
        assert!(
            distance <= tolerance,
            "{what}: {found} instead of {expected} at {index}"
        );
    }
}

/// Abramowitz and Stegun 7.1.5, the series, in f64: exact enough below 6.
fn erf(x: f64) -> f64 {
    let (mut term, mut sum) = (x, x);
    for n in 1..200 {
        let n = f64::from(n);
        term *= -x * x / n;
        sum += term / (2.0 * n + 1.0);
    }
    (sum * 2.0 / std::f64::consts::PI.sqrt()).clamp(-1.0, 1.0)
}

#[test]
fn the_best_instantiation_comes_first_and_plain_rust_is_always_there() {
    let sets: Vec<_> = Kernels::available().into_iter().map(Kernels::set).collect();
    assert_eq!(sets.last(), Some(&InstructionSet::Portable));
    assert_eq!(sets.first(), Some(&Kernels::detect().set()));
}

#[test]
fn products_of_every_row_count_equal_the_definition() {
    let (depth, columns, stride) = (67, 2 * PANEL, 70);
    let weights = numbers(depth * columns, 1);
    let packed = Packed::from_fn(depth, columns, |k, n| weights[k * columns + n]);
    let bias = numbers(columns, 2);
    for kernels in Kernels::available() {
        for count in 0..20 {
            let left = numbers(count * stride, 3);
            let expected = |i: usize, n: usize| -> f64 {
                let terms = (0..depth)
                    .map(|k| f64::from(left[i * stride + k]) * f64::from(weights[k * columns + n]));
                terms.sum::<f64>() + f64::from(bias[n])
            };
            let expected: Vec<f64> = (0..count * columns)
                .map(|at| expected(at / columns, at % columns))
                .collect();
            let mut out = vec![f32::NAN; count * columns];
            let (first, second) = (0..depth / 2, depth / 2..depth);
            for (rows, addend) in [(first, Addend::Bias(&bias)), (second, Addend::Output)] {
                let left = Rows {
                    data: left.get(rows.start..).unwrap_or(&[]),
                    stride,
                    count,
                };
                let out = RowsMut {
                    data: &mut out,
                    stride: columns,
                };
                kernels.product(left, packed.block(0..2, rows), addend, out);
            }
            assert_close(
                &out,
                &expected,
                1e-4,
                &format!("{:?} × {count}", kernels.set()),
            );
        }
    }
}

#[test]
fn a_product_writes_its_own_columns_only() {
    let packed = Packed::from_fn(8, 2 * PANEL, |k, n| (k * n) as f32);
    let left = numbers(3 * 8, 4);
    for kernels in Kernels::available() {
        let mut out = vec![7.0; 3 * 2 * PANEL];
        let left = Rows {
            data: &left,
            stride: 8,
            count: 3,
        };
        let target = RowsMut {
            data: &mut out[PANEL..],
            stride: 2 * PANEL,
        };
        kernels.product(left, packed.block(0..1, 0..8), Addend::Nothing, target);
        for row in out.chunks_exact(2 * PANEL) {
            assert_eq!(row[..PANEL], [7.0; PANEL], "{:?}", kernels.set());
            assert_ne!(row[PANEL..], [7.0; PANEL], "{:?}", kernels.set());
        }
    }
}

#[test]
#[should_panic(expected = "assertion failed")]
fn a_product_beyond_its_output_is_refused() {
    let packed = Packed::from_fn(8, PANEL, |_, _| 1.0);
    let left = Rows {
        data: &[1.0; 16],
        stride: 8,
        count: 2,
    };
    let out = RowsMut {
        data: &mut [0.0; 2 * PANEL - 1],
        stride: PANEL,
    };
    Kernels::detect().product(left, packed.block(0..1, 0..8), Addend::Nothing, out);
}

#[test]
fn weighted_sums_equal_the_definition() {
    let (depth, stride) = (21, 96);
    let values = numbers(depth * stride, 5);
    for kernels in Kernels::available() {
        for count in [1, 4, 7, 8, 9, 32] {
            let left = numbers(count * PANEL, 6);
            let mut out = vec![f32::NAN; count * generic::HEAD];
            let weights = Rows {
                data: &left,
                stride: PANEL,
                count,
            };
            let right = Rows {
                data: &values,
                stride,
                count: depth,
            };
            let target = RowsMut {
                data: &mut out,
                stride: generic::HEAD,
            };
            kernels.weighted_sum(weights, depth, right, target);
            let expected: Vec<f64> = (0..count * generic::HEAD)
                .map(|at| {
                    let (i, n) = (at / generic::HEAD, at % generic::HEAD);
                    let term =
                        |k| f64::from(left[i * PANEL + k]) * f64::from(values[k * stride + n]);
                    (0..depth).map(term).sum()
                })
                .collect();
            assert_close(
                &out,
                &expected,
                1e-4,
                &format!("{:?} × {count}", kernels.set()),
            );
        }
    }
}

#[test]
fn gelu_is_the_exact_form_over_its_whole_range() {
    let inputs: Vec<f32> = (-4096..4096).map(|step| step as f32 / 700.0).collect();
    let expected: Vec<f64> = inputs
        .iter()
        .map(|&x| f64::from(x) * 0.5 * (1.0 + erf(f64::from(x) / std::f64::consts::SQRT_2)))
        .collect();
    for kernels in Kernels::available() {
        let mut values = inputs.clone();
        kernels.gelu(&mut values);
        assert_close(&values, &expected, 2e-6, &format!("{:?}", kernels.set()));
        let mut far = [-1e4, -50.0, 50.0, 1e4].repeat(4);
        kernels.gelu(&mut far);
        assert_close(&far, &[0.0, 0.0, 50.0, 1e4].repeat(4), 1e-3, "far out");
    }
}

#[test]
fn softmax_sums_to_one_and_gives_nothing_to_padding() {
    for kernels in Kernels::available() {
        for spread in [1.0, 30.0, 1000.0] {
            let mut row: Vec<f32> = numbers(48, 7).iter().map(|x| x * spread).collect();
            row[37..].fill(f32::NEG_INFINITY);
            let greatest = row.iter().copied().fold(f32::NEG_INFINITY, f32::max);
            let powers: Vec<f64> = row
                .iter()
                .map(|&x| (f64::from(x) - f64::from(greatest)).exp())
                .collect();
            let total: f64 = powers.iter().sum();
            let expected: Vec<f64> = powers.iter().map(|power| power / total).collect();
            kernels.softmax(&mut row);
            assert_close(&row, &expected, 1e-6, &format!("{:?}", kernels.set()));
        }
    }
}

#[test]
fn layer_normalisation_equals_the_definition() {
    let (scale, shift) = (numbers(384, 8), numbers(384, 9));
    let inputs: Vec<f32> = numbers(384, 10).iter().map(|x| x * 3.0 + 5.0).collect();
    let wide: Vec<f64> = inputs.iter().map(|&x| f64::from(x)).collect();
    let mean = wide.iter().sum::<f64>() / 384.0;
    let variance = wide.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / 384.0;
    let expected: Vec<f64> = wide
        .iter()
        .enumerate()
        .map(|(at, x)| {
            let normal = (x - mean) / (variance + 1e-12).sqrt();
            f64::from(scale[at]) * normal + f64::from(shift[at])
        })
        .collect();
    for kernels in Kernels::available() {
        let mut row = inputs.clone();
        kernels.layer_norm(&mut row, &scale, &shift, 1e-12);
        assert_close(&row, &expected, 1e-5, &format!("{:?}", kernels.set()));
    }
}
