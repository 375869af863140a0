//! All eigenpairs of a small dense symmetric matrix: Householder reflections to three diagonals, then implicit QR steps.

/// Eigenvalues in no particular order, and row `k` of the second is the eigenvector of value `k`. `a` is row-major.
pub(crate) fn symmetric(a: Vec<f64>, n: usize) -> (Vec<f64>, Vec<f64>) {
    let (mut diagonal, mut beside, mut vectors) = tridiagonal(a, n);
    // Values are wanted to within the size of the matrix, not of themselves: many of a graph's are zero.
    let size = diagonal.iter().chain(&beside).fold(0.0f64, |size, x| size.max(x.abs()));
    let negligible = |x: f64| x.abs() <= f64::EPSILON * size;
    let mut last = n.saturating_sub(1);
    // Two or three steps per value are usual. Beyond the bound the residual shows the failure.
    for _ in 0..60 * n {
        while last > 0 && negligible(beside[last - 1]) {
            last -= 1;
        }
        if last == 0 {
            break;
        }
        let first = (1..last).rev().find(|&k| negligible(beside[k - 1])).unwrap_or(0);
        step(&mut diagonal, &mut beside, &mut vectors, first, last);
    }
    (diagonal, vectors)
}

/// `Q^T A Q` as its diagonal and the one beside it, and `Q^T`.
fn tridiagonal(mut a: Vec<f64>, n: usize) -> (Vec<f64>, Vec<f64>, Vec<f64>) {
    let mut beside = vec![0.0; n.saturating_sub(1)];
    // Reflections I - v v^T, with |v|² = 2.
    let mut reflections: Vec<Vec<f64>> = Vec::new();
    for k in 0..n.saturating_sub(1) {
        let mut v = a[k * n + k + 1..][..n - k - 1].to_vec();
        let length = dot(&v, &v).sqrt();
        // The sign that makes v longer: nothing cancels.
        beside[k] = -length.copysign(v[0]);
        v[0] -= beside[k];
        let scale = (2.0 / dot(&v, &v)).sqrt();
        // What is zero already stays as it is.
        let scale = if scale.is_finite() { scale } else { 0.0 };
        v.iter_mut().for_each(|x| *x *= scale);
        // (I - v v^T) B (I - v v^T) = B - v w^T - w v^T with w = B v - (v^T B v / 2) v.
        let mut w: Vec<f64> = (0..v.len()).map(|i| dot(&a[(k + 1 + i) * n + k + 1..][..v.len()], &v)).collect();
        let half = dot(&v, &w) / 2.0;
        w.iter_mut().zip(&v).for_each(|(w, v)| *w -= half * v);
        for i in 0..v.len() {
            let row = &mut a[(k + 1 + i) * n + k + 1..][..v.len()];
            row.iter_mut().zip(v.iter().zip(&w)).for_each(|(b, (vj, wj))| *b -= v[i] * wj + w[i] * vj);
        }
        reflections.push(v);
    }
    let diagonal = (0..n).map(|i| a[i * n + i]).collect();
    let mut q = a;
    q.fill(0.0);
    (0..n).for_each(|i| q[i * n + i] = 1.0);
    // Last reflection first: rows and columns before it are still those of I.
    for (k, v) in reflections.iter().enumerate().rev() {
        for i in k + 1..n {
            let row = &mut q[i * n + k + 1..][..v.len()];
            let along = dot(row, v);
            row.iter_mut().zip(v).for_each(|(q, v)| *q -= along * v);
        }
    }
    (diagonal, beside, q)
}

/// One implicit QR step, with the shift of Wilkinson, on rows `first..=last` (Golub and Van Loan, section 8.3).
fn step(diagonal: &mut [f64], beside: &mut [f64], vectors: &mut [f64], first: usize, last: usize) {
    let n = diagonal.len();
    let half = (diagonal[last - 1] - diagonal[last]) / 2.0;
    let corner = beside[last - 1];
    let shift = diagonal[last] - corner * corner / (half + half.hypot(corner).copysign(half));
    let (mut x, mut bulge) = (diagonal[first] - shift, beside[first]);
    for k in first..last {
        let r = x.hypot(bulge);
        let (c, s) = if r == 0.0 { (1.0, 0.0) } else { (x / r, bulge / r) };
        if k > first {
            beside[k - 1] = r;
        }
        let (a, b, f) = (diagonal[k], diagonal[k + 1], beside[k]);
        diagonal[k] = c * c * a + 2.0 * c * s * f + s * s * b;
        diagonal[k + 1] = s * s * a - 2.0 * c * s * f + c * c * b;
        beside[k] = c * s * (b - a) + (c * c - s * s) * f;
        if k + 1 < last {
            x = beside[k];
            bulge = s * beside[k + 1];
            beside[k + 1] *= c;
        }
        let (above, below) = vectors[k * n..][..2 * n].split_at_mut(n);
        for (u, v) in above.iter_mut().zip(below) {
            (*u, *v) = (c * *u + s * *v, c * *v - s * *u);
        }
    }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}
