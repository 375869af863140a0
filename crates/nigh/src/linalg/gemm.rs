//! Dense products `A B`, `A Bᵀ` and `Aᵀ B` in tiles that stay in registers, on the calling thread.
//!
//! An entry of a product is one chain `y = y + a b` in the order of the inner dimension, in any tile and any block of rows.
//! Vectors run along the columns, so no sum is split into lanes. AVX-512 and AVX2 round once per step and give the same bits;
//! the portable version rounds twice, so its last digits may differ.

// A closure would be compiled on its own, without the vector instructions.
#![allow(clippy::needless_range_loop)]

#[cfg(all(target_arch = "x86_64", not(nigh_portable)))]
mod x86;

use super::dispatch::{Level, by_level};
use super::prefetch_line;

/// Length of the inner dimension per pass: a panel of 32 columns then fits the first cache.
const INNER: usize = 256;

/// About how many entries of a wide matrix are visited panel by panel, so that they stay in the cache.
const CACHED_ENTRIES: usize = 1 << 16;

/// The widest panel of any level.
const WIDEST: usize = 32;

/// Numbers in a cache line.
const LINE: usize = 16;

/// What a product is added to.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Addend<'a> {
    /// `Y = A B`.
    Zero,
    /// `Y = 1 bᵀ + A B`.
    Row(&'a [f32]),
    /// `Y = Y + A B`.
    Present,
}

/// Numbers in a vector of a level.
fn lanes_of(level: Level) -> usize {
    by_level!(level, Avx512(_) => x86::Vector16::COUNT, Avx2(_) => x86::Vector8::COUNT, Portable => Vector4::COUNT)
}

/// The right factor of many products in the layout that they read: panels two vectors wide, one after the other. The last
/// is padded with zero columns, and is one vector wide where that is enough.
#[derive(Debug)]
pub(crate) struct Packed {
    level: Level,
    inner: usize,
    width: usize,
    /// Panels start at `first`, a cache line.
    data: Vec<f32>,
    first: usize,
}

impl Packed {
    /// Empty.
    pub(crate) fn new(level: Level) -> Packed {
        Packed { level, inner: 0, width: 0, data: Vec::new(), first: 0 }
    }

    /// Packs `B`, `inner × width` and row-major.
    pub(crate) fn pack(&mut self, b: &[f32], [inner, width]: [usize; 2]) {
        assert_eq!(b.len(), inner * width);
        self.fill(inner, width, |p, first, row| row.copy_from_slice(&b[p * width + first..][..row.len()]));
    }

    /// Packs `Bᵀ`, where `B` is `width × inner` and row-major.
    pub(crate) fn pack_transposed(&mut self, b: &[f32], [width, inner]: [usize; 2]) {
        assert_eq!(b.len(), inner * width);
        self.fill(inner, width, |p, first, row| {
            row.iter_mut().zip(b[first * inner..].chunks_exact(inner)).for_each(|(entry, b)| *entry = b[p]);
        });
    }

    /// Calls `write(p, first column, entries)` for the piece of row `p` in every panel.
    fn fill(&mut self, inner: usize, width: usize, write: impl Fn(usize, usize, &mut [f32])) {
        let lanes = lanes_of(self.level);
        (self.inner, self.width) = (inner, width);
        self.data.resize(inner * width.next_multiple_of(lanes) + LINE, 0.0);
        // The allocator aligns to a number only. If the offset is not known, any start is right, only slower.
        self.first = Some(self.data.as_ptr().align_offset(4 * LINE)).filter(|&first| first < LINE).unwrap_or(0);
        for first in (0..width).step_by(2 * lanes) {
            let used = (2 * lanes).min(width - first);
            let stride = used.next_multiple_of(lanes);
            let panel = &mut self.data[self.first + first * inner..][..stride * inner];
            for (p, row) in panel.chunks_exact_mut(stride).enumerate() {
                write(p, first, &mut row[..used]);
                row[used..].fill(0.0);
            }
        }
    }

    /// `Y = addend + A B[above..above + cols]`, where `A` has `cols` columns and as many rows as `Y`; both row-major.
    pub(crate) fn multiply(&self, a: &[f32], above: usize, cols: usize, addend: Addend<'_>, y: &mut [f32]) {
        if y.is_empty() {
            return;
        }
        let rows = y.len() / self.width;
        assert!(y.len() == rows * self.width && a.len() == rows * cols && above + cols <= self.inner);
        if let Addend::Row(row) = addend {
            assert_eq!(row.len(), self.width);
        }
        assert!(self.data.len() >= self.first + self.inner * self.width.next_multiple_of(lanes_of(self.level)));
        // SAFETY: the level proves that the machine has the instructions; the lengths were checked.
        unsafe {
            by_level! {
                self.level,
                Avx512(_) => x86::avx512::multiply(self, a, above, cols, addend, y),
                Avx2(_) => x86::avx2::multiply(self, a, above, cols, addend, y),
                Portable => multiply::<Vector4, 4>(self, a, above, cols, addend, y),
            }
        }
    }
}

/// `Y = X[:, first..]ᵀ G`, as many columns of `X` as `Y` has rows. `X` has `x_cols` columns and `G` has `width`.
pub(crate) fn multiply_transposed(
    level: Level,
    x: &[f32],
    x_cols: usize,
    first: usize,
    g: &[f32],
    width: usize,
    y: &mut [f32],
) {
    if y.is_empty() {
        return;
    }
    let (rows, cols) = (g.len() / width, y.len() / width);
    assert!(g.len() == rows * width && y.len() == cols * width && x.len() == rows * x_cols && first + cols <= x_cols);
    if rows == 0 {
        return y.fill(0.0);
    }
    let x = &x[first..];
    // SAFETY: the level proves that the machine has the instructions; the lengths were checked.
    unsafe {
        by_level! {
            level,
            Avx512(_) => x86::avx512::multiply_transposed(x, x_cols, g, width, y),
            Avx2(_) => x86::avx2::multiply_transposed(x, x_cols, g, width, y),
            Portable => multiply_transposed_by::<Vector4, 4>(x, x_cols, g, width, y),
        }
    }
}

/// A vector register.
///
/// # Safety
/// The machine must have the instructions, and pointers must be valid for the numbers that are read or written.
trait Vector: Copy {
    const COUNT: usize;

    unsafe fn splat(x: f32) -> Self;

    unsafe fn load(from: *const f32) -> Self;

    /// The first `count < COUNT` numbers, then zeros.
    unsafe fn load_first(from: *const f32, count: usize) -> Self;

    unsafe fn store(self, to: *mut f32);

    unsafe fn store_first(self, to: *mut f32, count: usize);

    /// `self + a b`.
    unsafe fn add_product(self, a: Self, b: Self) -> Self;
}

/// Four numbers, which the baseline of common machines adds at once.
#[derive(Clone, Copy)]
struct Vector4([f32; 4]);

impl Vector for Vector4 {
    const COUNT: usize = 4;

    #[inline(always)]
    unsafe fn splat(x: f32) -> Vector4 {
        Vector4([x; 4])
    }

    #[inline(always)]
    unsafe fn load(from: *const f32) -> Vector4 {
        // SAFETY: the caller of the trait guarantees the numbers that are read or written.
        Vector4(unsafe { from.cast::<[f32; 4]>().read_unaligned() })
    }

    #[inline(always)]
    unsafe fn load_first(from: *const f32, count: usize) -> Vector4 {
        let mut all = [0.0; 4];
        for (lane, entry) in all.iter_mut().enumerate().take(count) {
            // SAFETY: the caller of the trait guarantees the numbers that are read or written.
            *entry = unsafe { *from.add(lane) };
        }
        Vector4(all)
    }

    #[inline(always)]
    unsafe fn store(self, to: *mut f32) {
        // SAFETY: the caller of the trait guarantees the numbers that are read or written.
        unsafe { to.cast::<[f32; 4]>().write_unaligned(self.0) }
    }

    #[inline(always)]
    unsafe fn store_first(self, to: *mut f32, count: usize) {
        for (lane, &entry) in self.0.iter().enumerate().take(count) {
            // SAFETY: the caller of the trait guarantees the numbers that are read or written.
            unsafe { *to.add(lane) = entry };
        }
    }

    #[inline(always)]
    unsafe fn add_product(self, a: Vector4, b: Vector4) -> Vector4 {
        let mut sum = self.0;
        for lane in 0..4 {
            sum[lane] += a.0[lane] * b.0[lane];
        }
        Vector4(sum)
    }
}

/// # Safety
/// The machine has the instructions of `V`; lengths are as `Packed::multiply` checks them.
#[inline(always)]
unsafe fn multiply<V: Vector, const FULL: usize>(
    b: &Packed,
    a: &[f32],
    above: usize,
    cols: usize,
    addend: Addend<'_>,
    y: &mut [f32],
) {
    let (width, rows) = (b.width, y.len() / b.width);
    let cached_rows = (CACHED_ENTRIES / width).max(1).next_multiple_of(FULL);
    for top in (0..rows).step_by(cached_rows) {
        let mut inner = 0;
        // Once even without columns: the addend has to be written.
        while inner < cols.max(1) {
            let depth = INNER.min(cols - inner);
            let addend = if inner == 0 { addend } else { Addend::Present };
            for left in (0..width).step_by(2 * V::COUNT) {
                let used = (2 * V::COUNT).min(width - left);
                let stride = used.next_multiple_of(V::COUNT);
                // SAFETY: within the panel, within the rows of `A` and of `Y`.
                unsafe {
                    let panel = b.data.as_ptr().add(b.first + left * b.inner + (above + inner) * stride);
                    let a = a.as_ptr().add(top * cols + inner);
                    let strip = Strip { a, a_stride: cols, b: panel, b_stride: stride, depth };
                    let to = Target { addend, y: y.as_mut_ptr().add(top * width), y_stride: width, left, used };
                    strip.write::<V, FULL, false>(cached_rows.min(rows - top), to);
                }
            }
            inner += INNER;
        }
    }
}

/// # Safety
/// The machine has the instructions of `V`; lengths are as `multiply_transposed` checks them.
#[inline(always)]
unsafe fn multiply_transposed_by<V: Vector, const FULL: usize>(
    x: &[f32],
    x_cols: usize,
    g: &[f32],
    width: usize,
    y: &mut [f32],
) {
    /// A compact copy of rows of `G`: at their stride in `G`, many of them would map to the same cache set.
    #[repr(align(64))]
    struct Panel([f32; INNER * WIDEST]);
    let mut copy = Panel([0.0; INNER * WIDEST]);
    let (rows, cols) = (g.len() / width, y.len() / width);
    let cached_rows = (CACHED_ENTRIES / x_cols).clamp(64, INNER);
    let mut top = 0;
    while top < rows {
        let depth = cached_rows.min(rows - top);
        if x_cols >= 128 {
            // Tiles read down the columns; memory is faster along the rows.
            for row in x[top * x_cols..].chunks(x_cols).take(depth) {
                for line in row[..cols.min(row.len())].chunks(LINE) {
                    prefetch_line(line);
                }
            }
        }
        let addend = if top == 0 { Addend::Zero } else { Addend::Present };
        let mut left = 0;
        while left < width {
            let used = (2 * V::COUNT).min(width - left);
            let stride = used.next_multiple_of(V::COUNT);
            let (mut b, mut b_stride) = (&g[top * width + left..], width);
            if used < stride || width >= 128 {
                for r in 0..depth {
                    copy.0[r * stride..][..used].copy_from_slice(&b[r * width..][..used]);
                    copy.0[r * stride + used..][..stride - used].fill(0.0);
                }
                (b, b_stride) = (&copy.0[..], stride);
            }
            // SAFETY: within the rows of `X`, of `G` or its copy, and of `Y`.
            unsafe {
                let a = x.as_ptr().add(top * x_cols);
                let strip = Strip { a, a_stride: x_cols, b: b.as_ptr(), b_stride, depth };
                let to = Target { addend, y: y.as_mut_ptr(), y_stride: width, left, used };
                strip.write::<V, FULL, true>(cols, to);
            }
            left += used;
        }
        top += depth;
    }
}

/// A factor `A` and a panel of the other, `depth` of their inner dimension.
#[derive(Clone, Copy)]
struct Strip {
    a: *const f32,
    a_stride: usize,
    b: *const f32,
    b_stride: usize,
    depth: usize,
}

/// Columns `left..left + used` of the result.
#[derive(Clone, Copy)]
struct Target<'a> {
    addend: Addend<'a>,
    y: *mut f32,
    y_stride: usize,
    left: usize,
    used: usize,
}

impl Strip {
    /// All `rows` of the panel's columns in the result. `DOWN` the columns of `A`, or along its rows.
    ///
    /// # Safety
    /// As for `tile`, for all rows.
    #[inline(always)]
    unsafe fn write<V: Vector, const FULL: usize, const DOWN: bool>(self, rows: usize, to: Target<'_>) {
        // SAFETY: as promised by the caller.
        unsafe {
            if to.used > V::COUNT {
                self.write_panel::<V, FULL, 2, DOWN>(rows, to);
            } else {
                self.write_panel::<V, FULL, 1, DOWN>(rows, to);
            }
        }
    }

    #[inline(always)]
    unsafe fn write_panel<V: Vector, const FULL: usize, const VECTORS: usize, const DOWN: bool>(
        self,
        rows: usize,
        to: Target<'_>,
    ) {
        let mut row = 0;
        // SAFETY: as promised by the caller.
        unsafe {
            while rows - row >= FULL {
                self.tile::<V, FULL, VECTORS, DOWN>(row, to);
                row += FULL;
            }
            if FULL > 8 && rows - row >= 8 {
                self.tile::<V, 8, VECTORS, DOWN>(row, to);
                row += 8;
            }
            if FULL > 4 && rows - row >= 4 {
                self.tile::<V, 4, VECTORS, DOWN>(row, to);
                row += 4;
            }
            if rows - row >= 2 {
                self.tile::<V, 2, VECTORS, DOWN>(row, to);
                row += 2;
            }
            if row < rows {
                self.tile::<V, 1, VECTORS, DOWN>(row, to);
            }
        }
    }

    /// `ROWS` rows of the result from `row` on, `VECTORS` vectors wide.
    ///
    /// # Safety
    /// The machine has the instructions of `V`; the rows are within `a` and `y`, and the panel is `VECTORS` vectors wide.
    #[inline(always)]
    unsafe fn tile<V: Vector, const ROWS: usize, const VECTORS: usize, const DOWN: bool>(
        self,
        row: usize,
        to: Target<'_>,
    ) {
        let Strip { a, a_stride, b, b_stride, depth } = self;
        // SAFETY: as promised by the caller; the last vector reads and writes what is used of it and no more.
        unsafe {
            let mut sums = [[V::splat(0.0); VECTORS]; ROWS];
            let last = to.used - (VECTORS - 1) * V::COUNT;
            let y = to.y.add(row * to.y_stride + to.left);
            match to.addend {
                Addend::Zero => {}
                Addend::Row(first) => {
                    for v in 0..VECTORS {
                        let count = if v + 1 == VECTORS { last } else { V::COUNT };
                        let first = load_up_to::<V>(first.as_ptr().add(to.left + v * V::COUNT), count);
                        for sums in &mut sums {
                            sums[v] = first;
                        }
                    }
                }
                Addend::Present => {
                    for i in 0..ROWS {
                        for v in 0..VECTORS {
                            let count = if v + 1 == VECTORS { last } else { V::COUNT };
                            sums[i][v] = load_up_to::<V>(y.add(i * to.y_stride + v * V::COUNT), count);
                        }
                    }
                }
            }
            let a = if DOWN { a.add(row) } else { a.add(row * a_stride) };
            for p in 0..depth {
                let mut panel = [V::splat(0.0); VECTORS];
                for v in 0..VECTORS {
                    panel[v] = V::load(b.add(p * b_stride + v * V::COUNT));
                }
                for i in 0..ROWS {
                    let a = V::splat(*if DOWN { a.add(p * a_stride + i) } else { a.add(i * a_stride + p) });
                    for v in 0..VECTORS {
                        sums[i][v] = sums[i][v].add_product(a, panel[v]);
                    }
                }
            }
            for i in 0..ROWS {
                for v in 0..VECTORS {
                    let y = y.add(i * to.y_stride + v * V::COUNT);
                    if v + 1 == VECTORS && last < V::COUNT {
                        sums[i][v].store_first(y, last);
                    } else {
                        sums[i][v].store(y);
                    }
                }
            }
        }
    }
}

#[inline(always)]
unsafe fn load_up_to<V: Vector>(from: *const f32, count: usize) -> V {
    // SAFETY: as promised by the caller.
    unsafe { if count < V::COUNT { V::load_first(from, count) } else { V::load(from) } }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linalg::Matrix;
    use proptest::prelude::*;

    const SIDES: [usize; 15] = [0, 1, 2, 7, 15, 16, 17, 31, 32, 33, 63, 64, 65, 100, 257];

    /// Entries of both signs without a pattern that a wrong index could reproduce.
    fn matrix(rows: usize, cols: usize, salt: u32) -> Matrix {
        Matrix::from_fn(rows, cols, |i, c| {
            let mixed = (i as u32 * 7919 + c as u32 * 104_729 + salt).wrapping_mul(2_654_435_761);
            (mixed >> 8) as f32 / (1 << 23) as f32 - 1.0
        })
    }

    fn transposed(x: &Matrix) -> Matrix {
        Matrix::from_fn(x.cols(), x.rows(), |i, c| x.row(c)[i])
    }

    /// `start + A B` in double precision, and the sum of magnitudes that its error is measured by.
    fn naive(a: &Matrix, b: &Matrix, start: impl Fn(usize, usize) -> f32) -> Vec<[f64; 2]> {
        let entry = |i: usize, c: usize| {
            let first = f64::from(start(i, c));
            (0..b.rows()).fold([first, first.abs()], |[sum, size], p| {
                let term = f64::from(a.row(i)[p]) * f64::from(b.row(p)[c]);
                [sum + term, size + term.abs()]
            })
        };
        (0..a.rows()).flat_map(|i| (0..b.cols()).map(move |c| (i, c))).map(|(i, c)| entry(i, c)).collect()
    }

    fn assert_close(got: &[f32], expected: &[[f64; 2]], what: &str) {
        assert_eq!(got.len(), expected.len());
        for (at, (&got, &[sum, size])) in got.iter().zip(expected).enumerate() {
            assert!((f64::from(got) - sum).abs() <= 2e-6 * size + 1e-30, "{what}: entry {at} is {got}, not {sum}");
        }
    }

    /// All three products of one shape, at every level of this machine.
    fn check(rows: usize, inner: usize, width: usize) {
        let (a, b) = (matrix(rows, inner, 1), matrix(inner, width, 2));
        let (bias, before) = (matrix(1, width, 3), matrix(rows, width, 4));
        let plain = naive(&a, &b, |_, _| 0.0);
        let with_bias = naive(&a, &b, |_, c| bias.row(0)[c]);
        let added = naive(&a, &b, |i, c| before.row(i)[c]);
        let (a_down, b_down) = (transposed(&a), transposed(&b));
        for level in Level::available() {
            let what = format!("{rows} × {inner} × {width} by {level:?}");
            let mut packed = Packed::new(level);
            let mut y = before.clone();
            packed.pack(b.data(), [inner, width]);
            packed.multiply(a.data(), 0, inner, Addend::Present, y.data_mut());
            assert_close(y.data(), &added, &what);
            packed.multiply(a.data(), 0, inner, Addend::Row(bias.data()), y.data_mut());
            assert_close(y.data(), &with_bias, &what);
            y.data_mut().fill(f32::NAN);
            packed.multiply(a.data(), 0, inner, Addend::Zero, y.data_mut());
            assert_close(y.data(), &plain, &what);
            let forward = y.clone();

            y.data_mut().fill(f32::NAN);
            packed.pack_transposed(b_down.data(), [width, inner]);
            packed.multiply(a.data(), 0, inner, Addend::Zero, y.data_mut());
            assert_eq!(y, forward, "{what}, B transposed");
            y.data_mut().fill(f32::NAN);
            multiply_transposed(level, a_down.data(), rows, 0, b.data(), width, y.data_mut());
            assert_eq!(y, forward, "{what}, A transposed");
        }
    }

    #[test]
    fn every_product_agrees_with_a_naive_one_on_awkward_shapes() {
        for rows in SIDES {
            for inner in SIDES {
                // All of the largest sides together take long and cover nothing new.
                for width in SIDES.into_iter().filter(|&width| rows * inner * width <= 1 << 19) {
                    check(rows, inner, width);
                }
            }
        }
        check(257, 257, 257);
        check(30, 1000, 70);
    }

    proptest! {
        #[test]
        fn every_product_agrees_with_a_naive_one(rows in 0..40usize, inner in 0..600usize, width in 0..80usize) {
            check(rows, inner, width);
        }

        #[test]
        fn a_row_is_the_same_wherever_it_stands(first in 0..30usize, count in 1..30usize, width in 1..70usize) {
            let (a, b) = (matrix(60, 300, 5), matrix(300, width, 6));
            for level in Level::available() {
                let mut packed = Packed::new(level);
                packed.pack(b.data(), [300, width]);
                let [mut all, mut some] = [Matrix::zeros(60, width), Matrix::zeros(count, width)];
                packed.multiply(a.data(), 0, 300, Addend::Zero, all.data_mut());
                packed.multiply(&a.data()[first * 300..][..count * 300], 0, 300, Addend::Zero, some.data_mut());
                prop_assert_eq!(&all.data()[first * width..][..count * width], some.data());

                // Columns of A are rows of the product as well.
                let [mut all, mut some] = [Matrix::zeros(60, width), Matrix::zeros(count, width)];
                let down = transposed(&a);
                multiply_transposed(level, down.data(), 60, 0, b.data(), width, all.data_mut());
                multiply_transposed(level, down.data(), 60, first, b.data(), width, some.data_mut());
                prop_assert_eq!(&all.data()[first * width..][..count * width], some.data());
            }
        }

        #[test]
        fn the_inner_dimension_may_be_split(cut in 0..300usize, width in 1..70usize) {
            let (a, b) = (matrix(20, 300, 7), matrix(300, width, 8));
            let left = Matrix::from_fn(20, cut, |i, c| a.row(i)[c]);
            let right = Matrix::from_fn(20, 300 - cut, |i, c| a.row(i)[cut + c]);
            for level in Level::available() {
                let mut packed = Packed::new(level);
                packed.pack(b.data(), [300, width]);
                let [mut whole, mut pieces] = [Matrix::zeros(20, width), Matrix::zeros(20, width)];
                packed.multiply(a.data(), 0, 300, Addend::Zero, whole.data_mut());
                packed.multiply(left.data(), 0, cut, Addend::Zero, pieces.data_mut());
                packed.multiply(right.data(), cut, 300 - cut, Addend::Present, pieces.data_mut());
                prop_assert_eq!(&whole, &pieces);
            }
        }
    }

    #[test]
    fn levels_agree_to_the_last_digits_and_those_with_fused_steps_to_the_last_bit() {
        let (a, b) = (matrix(50, 256, 9), matrix(256, 70, 10));
        let products: Vec<Matrix> = Level::available()
            .map(|level| {
                let mut packed = Packed::new(level);
                let mut y = Matrix::zeros(50, 70);
                packed.pack(b.data(), [256, 70]);
                packed.multiply(a.data(), 0, 256, Addend::Zero, y.data_mut());
                y
            })
            .collect();
        // The last is the portable one, which rounds every product by itself.
        let fused = &products[..products.len() - 1];
        assert!(fused.windows(2).all(|pair| pair[0] == pair[1]));
        let scale = products[0].data().iter().fold(0f32, |most, entry| most.max(entry.abs()));
        for other in &products[1..] {
            for (a, b) in products[0].data().iter().zip(other.data()) {
                assert!((a - b).abs() <= 1e-5 * scale, "{a} and {b}");
            }
        }
    }
}
