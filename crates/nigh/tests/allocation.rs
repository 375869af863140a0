//! Epochs reuse the storage of the epoch before: allocations would have to be found, zeroed and freed.

use nigh::train::{Evaluation, Progress};
use nigh::{Config, Dataset, Observer, Task, Training};
use std::alloc::{GlobalAlloc, Layout, System};
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicUsize, Ordering};

struct Counting;

static BYTES: AtomicUsize = AtomicUsize::new(0);

// SAFETY: everything is left to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        BYTES.fetch_add(layout.size(), Ordering::Relaxed);
        // SAFETY: the caller keeps to the contract.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, place: *mut u8, layout: Layout) {
        // SAFETY: as above.
        unsafe { System.dealloc(place, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// How much had been allocated when each epoch ended.
struct Ends(Vec<usize>);

impl Observer for Ends {
    fn epoch(&mut self, _: &Progress, _: Option<&Evaluation>) -> ControlFlow<()> {
        self.0.push(BYTES.load(Ordering::Relaxed));
        ControlFlow::Continue(())
    }
}

#[test]
fn an_epoch_without_evaluation_allocates_next_to_nothing() {
    // The representation alone is 51,200 bytes; threads that hand each other work may need a few.
    const FEW: usize = 8192;
    let dataset = Dataset::built_in("communities").unwrap();
    for task in [Task::LinkPrediction, Task::NodeClassification] {
        for model in ["smp-linear", "smp-mlp", "smp-linear-gcn-both", "sgc", "gcn", "graphsage"] {
            let (epochs, evaluate_every) = (12, 100);
            let config = Config {
                task,
                model: model.into(),
                epochs: epochs.into(),
                evaluate_every: evaluate_every.into(),
                repeats: 1,
                ..Config::default()
            };
            let mut ends = Ends(Vec::with_capacity(epochs));
            Training::new(&dataset, config).unwrap().observer(&mut ends).run().unwrap();
            // The first epochs find their storage, the last is evaluated.
            let allocated: Vec<usize> = ends.0[3..epochs - 1].windows(2).map(|ends| ends[1] - ends[0]).collect();
            assert!(allocated.iter().all(|&bytes| bytes < FEW), "{model}, {task}: {allocated:?} bytes");
        }
    }
}
