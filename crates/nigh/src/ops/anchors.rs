//! The layer of P-GNN (You et al., ICML 2019) without its tensor of nodes × anchor sets × width.
//!
//! A node `u` receives a message from the closest member `a` of each set `s`: `message_us = ReLU([c_us x_a, x_u] W + b)`,
//! where `c_us` is how close it is. The linear map is split, `P = X W_anchor` and `Q = X W_own + b`, so that
//! `message_us = ReLU(c_us P_a + Q_u)` takes a few instructions: it is computed wherever it is needed, and never stored.

use crate::graph::Graph;
use crate::graph::anchors::{Closest, LANES, num_sizes, unpack};
use crate::linalg::dispatch::simd;
use crate::linalg::{Matrix, ROWS_PER_TASK, WORTH_A_THREAD, for_row_blocks, sum_over_row_blocks};
use crate::seeds::{Purpose, Stream};
use crate::tape::{Gradients, Inputs, Operation, Pass};
use crate::threads;
use rayon::prelude::*;
use std::array;
use std::sync::{Arc, Mutex, PoisonError};

/// `c` of the paper at distance 0, 1 and 2, `1 / (hops + 1)`, and zero for a set that is further away.
pub const CLOSENESS: [f32; 4] = [1.0, 1.0 / 2.0, 1.0 / 3.0, 0.0];

/// The anchors of one graph, drawn in every pass and shared by all operations that hold a clone.
#[derive(Debug, Clone)]
pub struct Anchors {
    graph: Arc<Graph>,
    addresses: Arc<[u32]>,
    at_most: Option<usize>,
    work: Arc<Mutex<Work>>,
}

/// The anchors of the last pass, and buffers for one operation at a time.
#[derive(Debug, Default)]
struct Work {
    drawn: Option<Stream>,
    messages: Messages,
    sent: Columns,
    own: Columns,
    /// Per block of columns and block of rows, what these rows send to all anchors.
    shares: Vec<Lanes>,
    sums: Vec<Sums>,
    partial: Vec<f32>,
}

impl Anchors {
    /// Anchors of `graph`, whose node `u` has the address `addresses[u]`. With `at_most`, there are at most this many sizes of
    /// sets, and this many sets of each size: a model has the width of the graph that it was made for.
    pub fn new(graph: Arc<Graph>, addresses: Arc<[u32]>, at_most: Option<usize>) -> Anchors {
        assert_eq!(addresses.len(), graph.num_nodes(), "one address per node");
        Anchors { graph, addresses, at_most, work: Arc::default() }
    }

    /// How many sets there are.
    pub fn num_sets(&self) -> usize {
        num_sizes(self.graph.num_nodes()).min(self.at_most.unwrap_or(usize::MAX)).pow(2)
    }

    /// Runs `body` with the anchors of a pass, which are drawn unless the last pass was the same. The buffers are taken out of
    /// the lock meanwhile: a thread that waits for its tasks may run another tape, which would deadlock.
    fn with(&self, stream: Stream, body: impl FnOnce(&mut Work)) {
        let lock = || self.work.lock().unwrap_or_else(PoisonError::into_inner);
        let mut work = std::mem::take(&mut *lock());
        if work.drawn != Some(stream) {
            work.messages.closest.rebuild(&self.graph, &self.addresses, stream, self.at_most);
            work.drawn = Some(stream);
        }
        body(&mut work);
        *lock() = work;
    }
}

/// `position_us = <message_us, v> + v0`, a column per set: where a node is. Columns beyond the sets of the graph are zero.
///
/// `inputs = [P, Q, closeness (1 × 4), v (width × 1), v0 (1 × 1)]`.
#[derive(Debug)]
pub struct Position {
    anchors: Anchors,
    width: usize,
    stream: Option<Stream>,
}

impl Position {
    /// An output of `width` columns, as many as `anchors` has sets or more.
    pub fn new(anchors: Anchors, width: usize) -> Position {
        assert!(anchors.num_sets() <= width, "{} sets do not fit {width} columns", anchors.num_sets());
        Position { anchors, width, stream: None }
    }
}

impl Operation for Position {
    fn width(&self, _: &[usize]) -> usize {
        self.width
    }

    fn forward(&mut self, inputs: Inputs<'_>, output: &mut Matrix, pass: &Pass) {
        let stream = *self.stream.insert(pass.stream(Purpose::Anchors, 0));
        self.anchors.with(stream, |work| {
            let messages = work.messages.read(inputs);
            assert_eq!(inputs.get(3).shape(), [inputs.get(0).cols(), 1], "v is a column as long as a message");
            let (v, v0) = (padded(inputs.get(3).data()), inputs.get(4).data()[0]);
            output.reshape(inputs.get(0).rows(), self.width);
            for_row_blocks(output.data_mut(), self.width, messages.cost_per_row(), |first, rows| {
                position_rows(messages, &v, v0, first, self.width, rows);
            });
        });
    }

    fn backward(&mut self, inputs: Inputs<'_>, _: &Matrix, gradient: &Matrix, wanted: &mut Gradients<'_>) {
        let stream = self.stream.expect("forward comes first");
        self.anchors.with(stream, |work| {
            let v = padded(inputs.get(3).data());
            let with_closeness = wanted.get(2).is_some();
            work.send_back(inputs, Upstream::Position { gradient, v: &v }, with_closeness);
            work.gradients(inputs.get(0).cols(), wanted);
            if let Some(dv) = wanted.get(3) {
                dv.reshape(inputs.get(3).rows(), 1);
                work.gradient_of_v(dv.data_mut());
            }
            if let Some(dv0) = wanted.get(4) {
                dv0.reshape(1, 1);
                let (rows, num_sets) = (gradient.rows(), work.messages.closest.num_sets());
                // Many numbers of both signs: a sum in single precision would be mostly rounding.
                let row_sum = |u: usize| gradient.row(u)[..num_sets].iter().map(|&g| f64::from(g)).sum::<f64>();
                let block_sum = |first: usize, count: usize, sum: &mut [f32]| {
                    sum[0] = (first..first + count).map(row_sum).sum::<f64>() as f32;
                };
                sum_over_row_blocks(rows, dv0.data_mut(), &mut work.partial, num_sets, block_sum);
            }
        });
    }

    fn is_dynamic(&self) -> bool {
        true
    }
}

/// `structure_u`, the mean over all sets of `message_us`: what the next layer reads. Zero if there are no sets.
///
/// `inputs = [P, Q, closeness (1 × 4)]`.
#[derive(Debug)]
pub struct Structure {
    anchors: Anchors,
    stream: Option<Stream>,
}

impl Structure {
    /// The mean over the sets of `anchors`.
    pub fn new(anchors: Anchors) -> Structure {
        Structure { anchors, stream: None }
    }
}

impl Operation for Structure {
    fn forward(&mut self, inputs: Inputs<'_>, output: &mut Matrix, pass: &Pass) {
        let stream = *self.stream.insert(pass.stream(Purpose::Anchors, 0));
        self.anchors.with(stream, |work| {
            let messages = work.messages.read(inputs);
            let [rows, width] = inputs.get(0).shape();
            output.reshape(rows, width);
            for_row_blocks(output.data_mut(), width, messages.cost_per_row(), |first, rows| {
                structure_rows(messages, first, width, rows);
            });
        });
    }

    fn backward(&mut self, inputs: Inputs<'_>, _: &Matrix, gradient: &Matrix, wanted: &mut Gradients<'_>) {
        let stream = self.stream.expect("forward comes first");
        self.anchors.with(stream, |work| {
            let mut sent = std::mem::take(&mut work.sent);
            sent.fill(gradient, mean_factor(work.messages.closest.num_sets()));
            let with_closeness = wanted.get(2).is_some();
            work.send_back(inputs, Upstream::Structure(&sent), with_closeness);
            work.sent = sent;
            work.gradients(inputs.get(0).cols(), wanted);
        });
    }

    fn is_dynamic(&self) -> bool {
        true
    }
}

/// One over the number of sets; the mean over no sets is zero.
fn mean_factor(num_sets: usize) -> f32 {
    1.0 / num_sets.max(1) as f32
}

/// Sixteen columns of a row: a register or a cache line.
#[derive(Debug, Clone, Copy, Default)]
#[repr(align(64))]
struct Lanes([f32; LANES]);

/// A matrix by blocks of sixteen columns: all rows of the first, then all rows of the next. The last is padded with
/// zeros, which contribute no message, so that no kernel needs a path for a remainder.
#[derive(Debug, Default)]
struct Columns {
    num_rows: usize,
    lanes: Vec<Lanes>,
}

impl Columns {
    fn reshape(&mut self, num_rows: usize, width: usize) {
        self.num_rows = num_rows;
        self.lanes.resize(num_rows * width.div_ceil(LANES), Lanes::default());
    }

    /// `factor * x`.
    fn fill(&mut self, x: &Matrix, factor: f32) {
        self.reshape(x.rows(), x.cols());
        for (block, lanes) in self.lanes.chunks_mut(x.rows().max(1)).enumerate() {
            let columns = block * LANES..x.cols().min((block + 1) * LANES);
            let body = |(row, lanes): (usize, &mut Lanes)| {
                *lanes = Lanes::default();
                lanes.0.iter_mut().zip(&x.row(row)[columns.clone()]).for_each(|(to, from)| *to = factor * from);
            };
            if x.data().len() < WORTH_A_THREAD {
                lanes.iter_mut().enumerate().for_each(body);
            } else {
                lanes.par_iter_mut().with_min_len(1 << 10).enumerate().for_each(body);
            }
        }
    }

    #[inline(always)]
    fn block(&self, block: usize) -> &[Lanes] {
        &self.lanes[block * self.num_rows..][..self.num_rows]
    }

    fn num_blocks(&self) -> usize {
        self.lanes.len() / self.num_rows.max(1)
    }
}

/// A vector in blocks of sixteen, padded with zeros.
fn padded(x: &[f32]) -> Vec<Lanes> {
    let block = |x: &[f32]| Lanes(array::from_fn(|lane| x.get(lane).copied().unwrap_or(0.0)));
    x.chunks(LANES).map(block).collect()
}

/// The inputs of messages.
#[derive(Debug, Default)]
struct Messages {
    closest: Closest,
    p: Columns,
    q: Columns,
    closeness: [f32; 4],
}

impl Messages {
    fn read(&mut self, inputs: Inputs<'_>) -> &Messages {
        let [p, q, closeness] = [0, 1, 2].map(|input| inputs.get(input));
        assert_eq!(p.shape(), q.shape(), "P and Q have the same shape");
        assert_eq!(p.rows(), self.closest.num_nodes(), "one row per node");
        self.p.fill(p, 1.0);
        self.q.fill(q, 1.0);
        self.closeness = closeness.data().try_into().expect("a closeness for each of four distances");
        self
    }

    fn cost_per_row(&self) -> usize {
        4 * self.closest.num_sets() * LANES * self.p.num_blocks()
    }
}

/// `c_us P_a + Q_u`, the argument of ReLU.
#[inline(always)]
fn before_relu(c: f32, Lanes(p): &Lanes, Lanes(q): &Lanes) -> [f32; LANES] {
    let mut x = [0.0; LANES];
    for lane in 0..LANES {
        x[lane] = c * p[lane] + q[lane];
    }
    x
}

/// `max(x, 0)`, except that NaN stays NaN and is noticed.
#[inline(always)]
fn relu(x: f32) -> f32 {
    if x < 0.0 { 0.0 } else { x }
}

/// `sum += x`.
#[inline(always)]
fn add(sum: &mut [f32; LANES], x: &[f32; LANES]) {
    for lane in 0..LANES {
        sum[lane] += x[lane];
    }
}

/// The sum over all lanes, by halves.
#[inline(always)]
fn total(lanes: &[f32; LANES]) -> f32 {
    let (mut eight, mut four) = ([0.0; 8], [0.0; 4]);
    for lane in 0..8 {
        eight[lane] = lanes[lane] + lanes[lane + 8];
    }
    for lane in 0..4 {
        four[lane] = eight[lane] + eight[lane + 4];
    }
    (four[0] + four[2]) + (four[1] + four[3])
}

simd! {
    fn position_rows(messages: &Messages, v: &[Lanes], v0: f32, first: usize, width: usize, rows: &mut [f32]) {
        for row in rows.chunks_exact_mut(width) {
            let (sets, beyond) = row.split_at_mut(messages.closest.num_sets());
            sets.fill(v0);
            beyond.fill(0.0);
        }
        let (twos, rest) = v.as_chunks::<2>();
        for (at, v) in twos.iter().enumerate() {
            position_columns(messages, v, 2 * at, first, width, rows);
        }
        if let [last] = rest {
            position_columns(messages, &[*last], 2 * twos.len(), first, width, rows);
        }
    }
}

/// Adds what `B` blocks of columns contribute to the inner products of some rows.
#[inline(always)]
fn position_columns<const B: usize>(
    messages: &Messages,
    v: &[Lanes; B],
    column: usize,
    first: usize,
    width: usize,
    rows: &mut [f32],
) {
    let p: [&[Lanes]; B] = array::from_fn(|block| messages.p.block(column + block));
    for (at, row) in rows.chunks_exact_mut(width).enumerate() {
        let u = first + at;
        let q: [Lanes; B] = array::from_fn(|block| messages.q.block(column + block)[u]);
        let sets = &mut row[..messages.closest.num_sets()];
        for (entries, positions) in messages.closest.row(u).zip(sets.chunks_mut(LANES)) {
            // The lanes of sixteen products are summed afterwards: one by one, that would take longer than the rest.
            let mut products = [[0.0; LANES]; LANES];
            for (&entry, product) in entries.0.iter().zip(&mut products[..positions.len()]) {
                let (anchor, distance) = unpack(entry);
                let mut sums = [0.0; LANES];
                for block in 0..B {
                    let x = before_relu(messages.closeness[distance], &p[block][anchor], &q[block]);
                    for lane in 0..LANES {
                        sums[lane] += relu(x[lane]) * v[block].0[lane];
                    }
                }
                *product = sums;
            }
            for (position, product) in positions.iter_mut().zip(&products) {
                *position += total(product);
            }
        }
    }
}

simd! {
    fn structure_rows(messages: &Messages, first: usize, width: usize, rows: &mut [f32]) {
        let num_blocks = width.div_ceil(LANES);
        for two in 0..num_blocks / 2 {
            structure_columns::<2>(messages, 2 * two, first, width, rows);
        }
        if num_blocks % 2 == 1 {
            structure_columns::<1>(messages, num_blocks - 1, first, width, rows);
        }
    }
}

/// `B` blocks of columns of some rows, summed in registers in the order of the sets.
#[inline(always)]
fn structure_columns<const B: usize>(messages: &Messages, column: usize, first: usize, width: usize, rows: &mut [f32]) {
    let p: [&[Lanes]; B] = array::from_fn(|block| messages.p.block(column + block));
    let num_sets = messages.closest.num_sets();
    let factor = mean_factor(num_sets);
    for (at, row) in rows.chunks_exact_mut(width).enumerate() {
        let u = first + at;
        let q: [Lanes; B] = array::from_fn(|block| messages.q.block(column + block)[u]);
        let mut sums = [[0.0; LANES]; B];
        for (block_of_sets, entries) in messages.closest.row(u).enumerate() {
            for &entry in &entries.0[..LANES.min(num_sets - block_of_sets * LANES)] {
                let (anchor, distance) = unpack(entry);
                for block in 0..B {
                    let x = before_relu(messages.closeness[distance], &p[block][anchor], &q[block]);
                    for lane in 0..LANES {
                        sums[block][lane] += relu(x[lane]);
                    }
                }
            }
        }
        let columns = &mut row[column * LANES..];
        columns.iter_mut().zip(sums.as_flattened()).for_each(|(to, sum)| *to = factor * sum);
    }
}

/// The gradient that reaches `message_us`.
#[derive(Clone, Copy)]
enum Upstream<'a> {
    /// `gradient_us v`.
    Position { gradient: &'a Matrix, v: &'a [Lanes] },
    /// The same for every set, divided by their number already.
    Structure(&'a Columns),
}

/// Sums over some rows, by lane.
#[derive(Debug, Clone, Copy, Default)]
struct Sums {
    v: Lanes,
    closeness: [Lanes; 4],
}

/// Sixteen columns of a block of rows: the gradients of one task.
struct BackwardTask<'a> {
    column: usize,
    first: usize,
    /// What the rows send to every anchor.
    shares: &'a mut [Lanes],
    /// What stays with the rows themselves.
    own: &'a mut [Lanes],
    sums: &'a mut Sums,
}

/// The number of blocks of rows, each of which keeps sums for all anchors: enough for some threads, fewer in a large graph,
/// where the sums are large. Depends on the number of rows alone, so that sums have one order.
fn num_row_blocks(num_rows: usize) -> usize {
    (num_rows / 1024).min((1 << 18) / num_rows.max(1)).clamp(1, 8)
}

impl Work {
    /// Computes every message again and adds its gradient. Many nodes share an anchor, and their sum must have one order: a
    /// task takes its rows from first to last, and the sums of tasks are added in order afterwards.
    fn send_back(&mut self, inputs: Inputs<'_>, upstream: Upstream<'_>, with_closeness: bool) {
        let [n, width] = inputs.get(0).shape();
        let num_row_blocks = num_row_blocks(n);
        let rows_per_block = n.div_ceil(num_row_blocks).max(1);
        let num_column_blocks = width.div_ceil(LANES);
        self.own.reshape(n, width);
        self.shares.resize(num_column_blocks * num_row_blocks * n, Lanes::default());
        self.sums.clear();
        self.sums.resize(num_column_blocks * num_row_blocks, Sums::default());
        if n == 0 {
            return;
        }
        let messages = self.messages.read(inputs);
        let own = self.own.lanes.chunks_mut(n).flat_map(|column| column.chunks_mut(rows_per_block));
        let tasks = self.shares.chunks_mut(n).zip(own).zip(&mut self.sums).enumerate();
        let task = |(at, ((shares, own), sums))| {
            let (column, row_block) = (at / num_row_blocks, at % num_row_blocks);
            BackwardTask { column, first: row_block * rows_per_block, shares, own, sums }
        };
        let mut tasks: Vec<BackwardTask> = tasks.map(task).collect();
        let body = |task: &mut BackwardTask| send_rows_back(messages, upstream, with_closeness, task);
        if n * messages.cost_per_row() < WORTH_A_THREAD {
            tasks.iter_mut().for_each(body);
        } else {
            tasks.par_iter_mut().with_max_len(1).for_each(body);
        }
    }

    /// The gradients of `P`, `Q` and closeness, from what was sent back.
    fn gradients(&self, width: usize, wanted: &mut Gradients<'_>) {
        let n = self.messages.closest.num_nodes();
        let num_row_blocks = num_row_blocks(n);
        let shares = &self.shares;
        if let Some(dp) = wanted.get(0) {
            dp.reshape(n, width);
            for_row_blocks(dp.data_mut(), width, width * num_row_blocks, |first, rows| {
                add_shares(shares, n, num_row_blocks, first, width, rows);
            });
        }
        if let Some(dq) = wanted.get(1) {
            dq.reshape(n, width);
            for_row_blocks(dq.data_mut(), width, width, |first, rows| {
                add_shares(&self.own.lanes, n, 1, first, width, rows);
            });
        }
        if let Some(closeness) = wanted.get(2) {
            closeness.reshape(1, 4);
            for (distance, sum) in closeness.data_mut().iter_mut().enumerate() {
                *sum = self.sums.iter().map(|sums| total(&sums.closeness[distance].0)).sum();
            }
        }
    }

    /// The gradient of `v`: blocks of rows are added in order.
    fn gradient_of_v(&self, dv: &mut [f32]) {
        dv.fill(0.0);
        let num_row_blocks = num_row_blocks(self.messages.closest.num_nodes());
        for (dv, blocks) in dv.chunks_mut(LANES).zip(self.sums.chunks(num_row_blocks)) {
            for sums in blocks {
                dv.iter_mut().zip(sums.v.0).for_each(|(dv, part)| *dv += part);
            }
        }
    }
}

simd! {
    fn send_rows_back(messages: &Messages, upstream: Upstream<'_>, with_closeness: bool, task: &mut BackwardTask<'_>) {
        match (upstream, with_closeness) {
            (Upstream::Position { gradient, v }, true) => position_back::<true>(messages, gradient, v, task),
            (Upstream::Position { gradient, v }, false) => position_back::<false>(messages, gradient, v, task),
            (Upstream::Structure(sent), true) => structure_back::<true>(messages, sent, task),
            (Upstream::Structure(sent), false) => structure_back::<false>(messages, sent, task),
        }
    }
}

#[inline(always)]
fn position_back<const CLOSENESS: bool>(messages: &Messages, g: &Matrix, v: &[Lanes], task: &mut BackwardTask<'_>) {
    let v = v[task.column];
    rows_back::<true, CLOSENESS>(messages, task, |u| (g.row(u), v));
}

#[inline(always)]
fn structure_back<const CLOSENESS: bool>(messages: &Messages, sent: &Columns, task: &mut BackwardTask<'_>) {
    let sent = sent.block(task.column);
    rows_back::<false, CLOSENESS>(messages, task, |u| (&[], sent[u]));
}

/// What `message_us` sends back if `scale_us lanes_u` reaches it. `SCALED` says whether there is a scale; only then is
/// the sum of `scale_us message_us` kept. `CLOSENESS` says whether the gradient of the closeness is wanted.
#[inline(always)]
fn rows_back<'a, const SCALED: bool, const CLOSENESS: bool>(
    messages: &Messages,
    task: &mut BackwardTask<'_>,
    upstream: impl Fn(usize) -> (&'a [f32], Lanes),
) {
    let num_sets = messages.closest.num_sets();
    let (p, q) = (messages.p.block(task.column), messages.q.block(task.column));
    task.shares.fill(Lanes::default());
    let mut sums = Sums::default();
    for (at, own) in task.own.iter_mut().enumerate() {
        // A task of a large graph takes seconds.
        if at.is_multiple_of(ROWS_PER_TASK) {
            threads::check();
        }
        let u = task.first + at;
        let (scales, Lanes(lanes)) = upstream(u);
        // A sum per row and then the sum of these loses fewer digits than one long sum.
        let mut by_distance = [[0.0; LANES]; 4];
        let mut weighed = [0.0; LANES];
        let mut stays = [0.0; LANES];
        for (block, entries) in messages.closest.row(u).enumerate() {
            let first = block * LANES;
            for (at, &entry) in entries.0[..LANES.min(num_sets - first)].iter().enumerate() {
                let (anchor, distance) = unpack(entry);
                let (c, p) = (messages.closeness[distance], &p[anchor]);
                let x = before_relu(c, p, &q[u]);
                let scale = if SCALED { scales[first + at] } else { 1.0 };
                let mut sent = [0.0; LANES];
                for lane in 0..LANES {
                    sent[lane] = if x[lane] > 0.0 { scale * lanes[lane] } else { 0.0 };
                }
                add(&mut stays, &sent);
                let share = &mut task.shares[anchor].0;
                for lane in 0..LANES {
                    share[lane] += c * sent[lane];
                }
                if SCALED {
                    for lane in 0..LANES {
                        weighed[lane] += scale * relu(x[lane]);
                    }
                }
                if CLOSENESS {
                    let (mut sum, Lanes(p)) = (by_distance[distance], p);
                    for lane in 0..LANES {
                        sum[lane] += sent[lane] * p[lane];
                    }
                    by_distance[distance] = sum;
                }
            }
        }
        *own = Lanes(stays);
        if SCALED {
            add(&mut sums.v.0, &weighed);
        }
        if CLOSENESS {
            for (sum, row) in sums.closeness.iter_mut().zip(&by_distance) {
                add(&mut sum.0, row);
            }
        }
    }
    *task.sums = sums;
}

simd! {
    /// Rows of the sum of `num_shares` matrices, each stored by columns as `Columns` is, in order.
    fn add_shares(
        shares: &[Lanes], num_rows: usize, num_shares: usize, first: usize, width: usize, rows: &mut [f32],
    ) {
        for (column, shares) in shares.chunks_exact(num_shares * num_rows).enumerate() {
            for (at, row) in rows.chunks_exact_mut(width).enumerate() {
                let mut sum = [0.0; LANES];
                for share in shares.chunks_exact(num_rows) {
                    add(&mut sum, &share[first + at].0);
                }
                row[column * LANES..].iter_mut().zip(sum).for_each(|(to, sum)| *to = sum);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dataset::generate::{self, PowerLaw};
    use crate::linalg::dispatch::testing::assert_same_bits_at_every_level;
    use crate::seeds::Seeds;
    use crate::tape::{Tape, Var, Weights, check_gradients};

    fn pass(draw: u64) -> Pass {
        Pass { training: true, seeds: Seeds::new(5), graph: 0, draw }
    }

    fn anchors(graph: Graph, at_most: Option<usize>) -> Anchors {
        let addresses = (0..graph.num_nodes() as u32).collect();
        Anchors::new(graph.into(), addresses, at_most)
    }

    fn random(shape: [usize; 2], address: u64) -> Matrix {
        let mut rng = Seeds::new(3).rng(Purpose::Generate, &[address]);
        Matrix::from_fn(shape[0], shape[1], |_, _| 2.0 * rng.unit() - 1.0)
    }

    /// Random inputs of `Position`, of which `Structure` reads the first three.
    fn inputs(num_nodes: usize, width: usize) -> Vec<Matrix> {
        let shapes = [[num_nodes, width], [num_nodes, width], [1, 4], [width, 1], [1, 1]];
        shapes.into_iter().zip(0..).map(|(shape, address)| random(shape, address)).collect()
    }

    /// The value of an operation, and the gradient of each input if `upstream(shape)` reaches the value.
    fn run(operation: impl Operation + 'static, inputs: &[Matrix], pass: &Pass) -> (Matrix, Vec<Matrix>) {
        let mut tape = Tape::default();
        let mut weights = Weights::new(Seeds::new(0));
        let vars: Vec<Var> = inputs.iter().map(|input| tape.feed(input.cols())).collect();
        vars.iter().zip(inputs).for_each(|(&var, x)| tape.value_mut(var).copy_from(x));
        let output = tape.push(operation, &vars);
        tape.forward(&weights, pass);
        let value = tape.value(output).clone();
        tape.output_and_gradient(output).1.copy_from(&upstream(value.shape()));
        tape.backward(output, &mut weights);
        (value, vars.iter().map(|&var| tape.gradient(var).clone()).collect())
    }

    fn upstream(shape: [usize; 2]) -> Matrix {
        random(shape, 99)
    }

    /// The layer as it is written: messages of all nodes and sets, positions and structures, each with the gradients
    /// of its inputs.
    fn dense(anchors: &Anchors, inputs: &[Matrix], width_out: usize) -> [(Matrix, Vec<Matrix>); 2] {
        let mut closest = Closest::default();
        closest.rebuild(&anchors.graph, &anchors.addresses, pass(0).stream(Purpose::Anchors, 0), anchors.at_most);
        let [p, q, closeness, v, v0] = [0, 1, 2, 3, 4].map(|at| &inputs[at]);
        let ([n, width], sets) = (p.shape(), closest.num_sets());
        let of = |u: usize, s: usize| closest.find(u, s).unwrap_or((u, 3));
        let mut before_relu = vec![0f32; n * sets * width];
        for (at, x) in before_relu.iter_mut().enumerate() {
            let (u, s, k) = (at / (sets * width), at / width % sets, at % width);
            let (a, d) = of(u, s);
            *x = closeness.data()[d] * p.row(a)[k] + q.row(u)[k];
        }
        let message = |u: usize, s: usize, k: usize| f64::from(before_relu[(u * sets + s) * width + k].max(0.0));
        let entry = |x: f64| x as f32;
        let position = Matrix::from_fn(n, width_out, |u, s| {
            let product = |k: usize| message(u, s, k) * f64::from(v.data()[k]);
            if s < sets { entry((0..width).map(product).sum::<f64>() + f64::from(v0.data()[0])) } else { 0.0 }
        });
        let structure = Matrix::from_fn(n, width, |u, k| {
            entry((0..sets).map(|s| message(u, s, k)).sum::<f64>() / sets.max(1) as f64)
        });
        let back = |of_message: &dyn Fn(usize, usize, usize) -> f64| {
            let [mut dp, mut dq] = [0, 1].map(|_| vec![0f64; n * width]);
            let mut dc = [0f64; 4];
            for (at, _) in before_relu.iter().enumerate().filter(|(_, x)| **x > 0.0) {
                let (u, s, k) = (at / (sets * width), at / width % sets, at % width);
                let ((a, d), g) = (of(u, s), of_message(u, s, k));
                dp[a * width + k] += f64::from(closeness.data()[d]) * g;
                dq[u * width + k] += g;
                dc[d] += g * f64::from(p.row(a)[k]);
            }
            let matrix = |rows, cols, data: &[f64]| Matrix::from_fn(rows, cols, |i, c| entry(data[i * cols + c]));
            vec![matrix(n, width, &dp), matrix(n, width, &dq), matrix(1, 4, &dc)]
        };
        let g = upstream(position.shape());
        let mut position_gradients = back(&|u, s, k| f64::from(g.row(u)[s]) * f64::from(v.data()[k]));
        let sum = |of: &dyn Fn(usize, usize) -> f64| (0..n * sets).map(|at| of(at / sets, at % sets)).sum::<f64>();
        let weighed = |k: usize| sum(&|u, s| f64::from(g.row(u)[s]) * message(u, s, k));
        position_gradients.push(Matrix::from_fn(width, 1, |k, _| entry(weighed(k))));
        position_gradients.push(Matrix::from_fn(1, 1, |_, _| entry(sum(&|u, s| f64::from(g.row(u)[s])))));
        let g = upstream(structure.shape());
        let structure_gradients = back(&|u, _, k| f64::from(g.row(u)[k]) / sets as f64);
        [(position, position_gradients), (structure, structure_gradients)]
    }

    fn assert_close(got: &(Matrix, Vec<Matrix>), expected: &(Matrix, Vec<Matrix>), what: &str) {
        let pairs = std::iter::once((&got.0, &expected.0)).chain(got.1.iter().zip(&expected.1));
        for (at, (got, expected)) in pairs.enumerate() {
            assert_eq!(got.shape(), expected.shape(), "{what}: {at}");
            let largest = expected.data().iter().fold(1f32, |largest, x| largest.max(x.abs()));
            for (got, expected) in got.data().iter().zip(expected.data()) {
                assert!((got - expected).abs() < 2e-5 * largest, "{what}: {at}: {got}, expected {expected}");
            }
        }
        assert_eq!(got.1.len(), expected.1.len());
    }

    #[test]
    fn it_is_the_layer_that_forms_the_tensor() {
        let graphs = [
            (Graph::from_edges(0, &[]).unwrap().0, vec![3]),
            (Graph::from_edges(1, &[]).unwrap().0, vec![3]),
            (Graph::from_edges(5, &[[0, 1], [1, 2], [2, 3]]).unwrap().0, vec![1, 3]),
            (generate::grid(7, 7), vec![7, 15, 16, 20, 32, 33, 50]),
            (generate::power_law(&PowerLaw::new(2500, 4000), 2).unwrap().graph, vec![20]),
        ];
        for (graph, widths) in graphs {
            for width in widths {
                for (at_most, padding) in [(None, 0), (Some(4), 3)] {
                    let anchors = anchors(graph.clone(), at_most);
                    let inputs = inputs(graph.num_nodes(), width);
                    let width_out = anchors.num_sets() + padding;
                    let [position, structure] = dense(&anchors, &inputs, width_out);
                    let what = format!("{} nodes, width {width}", graph.num_nodes());
                    let got = run(Position::new(anchors.clone(), width_out), &inputs, &pass(0));
                    assert_close(&got, &position, &format!("position of {what}"));
                    let got = run(Structure::new(anchors), &inputs[..3], &pass(0));
                    assert_close(&got, &structure, &format!("structure of {what}"));
                }
            }
        }
    }

    #[test]
    fn gradients_agree_with_finite_differences() {
        // A path and a node apart: all distances occur. With these addresses no message is so close to the kink of ReLU
        // that a finite difference would cross it.
        let graph = Arc::new(Graph::from_edges(7, &[[0, 1], [1, 2], [2, 3], [3, 4], [4, 5]]).unwrap().0);
        for (width, first) in [(3, 17u32), (2, 32)] {
            let anchors = || Anchors::new(graph.clone(), (first..first + 7).collect(), None);
            let shapes = [[7, width], [7, width], [1, 4], [width, 1], [1, 1]];
            check_gradients(&shapes, || Position::new(anchors(), 6));
            check_gradients(&shapes[..3], || Structure::new(anchors()));
        }
    }

    #[test]
    fn columns_beyond_the_sets_are_zero_and_send_nothing_back() {
        let anchors = anchors(generate::grid(3, 4), None);
        let inputs = inputs(12, 5);
        let (value, _) = run(Position::new(anchors.clone(), 14), &inputs, &pass(0));
        let (narrow, _) = run(Position::new(anchors, 9), &inputs, &pass(0));
        for u in 0..12 {
            assert_eq!(value.row(u)[..9], *narrow.row(u));
            assert_eq!(value.row(u)[9..], [0.0; 5]);
        }
    }

    #[test]
    fn one_pass_has_one_set_of_anchors_and_another_pass_another() {
        let anchors = anchors(generate::grid(5, 5), None);
        let inputs = inputs(25, 8);
        let values = [0, 1, 0].map(|draw| run(Position::new(anchors.clone(), 16), &inputs, &pass(draw)));
        assert_ne!(values[0].0, values[1].0);
        assert_eq!(values[0], values[2]);

        // Another operation that runs between forward and backward, in another pass, is not noticed.
        let mut tape = Tape::default();
        let mut weights = Weights::new(Seeds::new(0));
        let vars: Vec<Var> = inputs.iter().map(|input| tape.feed(input.cols())).collect();
        vars.iter().zip(&inputs).for_each(|(&var, x)| tape.value_mut(var).copy_from(x));
        let output = tape.push(Position::new(anchors.clone(), 16), &vars);
        tape.forward(&weights, &pass(0));
        run(Structure::new(anchors), &inputs[..3], &pass(1));
        tape.output_and_gradient(output).1.copy_from(&upstream([25, 16]));
        tape.backward(output, &mut weights);
        assert_eq!(tape.gradient(vars[0]), &values[0].1[0]);
    }

    #[test]
    fn a_closeness_that_stays_gets_no_gradient_and_changes_no_other() {
        let anchors = anchors(generate::grid(5, 5), None);
        let mut inputs = inputs(25, 8);
        inputs[2] = Matrix::from_rows(&[CLOSENESS]);
        let (value, gradients) = run(Structure::new(anchors.clone()), &inputs[..3], &pass(0));
        let mut tape = Tape::default();
        let (p, q) = (tape.feed(8), tape.feed(8));
        let closeness = tape.constant(inputs[2].clone());
        tape.value_mut(p).copy_from(&inputs[0]);
        tape.value_mut(q).copy_from(&inputs[1]);
        let output = tape.push(Structure::new(anchors), &[p, q, closeness]);
        assert!(!tape.is_constant(output));
        let mut weights = Weights::new(Seeds::new(0));
        tape.forward(&weights, &pass(0));
        assert_eq!(tape.value(output), &value);
        tape.output_and_gradient(output).1.copy_from(&upstream(value.shape()));
        tape.backward(output, &mut weights);
        assert_eq!([tape.gradient(p), tape.gradient(q)], [&gradients[0], &gradients[1]]);
    }

    #[test]
    fn the_number_of_threads_does_not_matter() {
        let graph = generate::power_law(&PowerLaw::new(5000, 9000), 1).unwrap().graph;
        let inputs = inputs(5000, 20);
        let on = |num_threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(num_threads).build().unwrap();
            pool.install(|| {
                let anchors = anchors(graph.clone(), Some(6));
                let position = run(Position::new(anchors.clone(), 40), &inputs, &pass(0));
                [position, run(Structure::new(anchors), &inputs[..3], &pass(0))]
            })
        };
        let one = on(1);
        assert!([2, 4].into_iter().all(|num_threads| on(num_threads) == one));
    }

    #[test]
    fn the_bits_are_the_same_at_every_level() {
        let graph = generate::communities(6, 20, 0.05, 3).graph;
        for width in [5, 16, 40] {
            let inputs = inputs(120, width);
            assert_same_bits_at_every_level(|| {
                let position = Position::new(anchors(graph.clone(), None), 40);
                let structure = Structure::new(anchors(graph.clone(), None));
                (run(position, &inputs, &pass(0)), run(structure, &inputs[..3], &pass(0)))
            });
        }
    }
}
