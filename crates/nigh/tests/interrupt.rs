//! Work stops at whichever check an interruption meets it, with nothing left behind but a checkpoint.

use nigh::dataset::{Folders, InputFiles};
use nigh::threads::{self, Interrupt};
use nigh::{Checkpoint, Config, Dataset, Error, Result, Task, Trained, Training};
use std::path::Path;

/// Numbers of checks to stop after: all of the first, and later ones farther and farther apart.
fn numbers_of_checks() -> impl Iterator<Item = usize> {
    std::iter::successors(Some(0usize), |&count| Some(count + 1 + count / 3))
}

/// Interrupts the work after each of these numbers of checks, until one is beyond its end.
fn interrupt_everywhere(threads: usize, what: &str, work: impl Fn() -> Result<()> + Sync) {
    let stopped = |&count: &usize| {
        let interrupt = Interrupt::after_checks(count);
        match threads::run(Some(threads), &interrupt, &work) {
            Ok(()) => false,
            Err(Error::Interrupted) => true,
            Err(error) => panic!("{what} after {count} checks: {error}"),
        }
    };
    let count = numbers_of_checks().take_while(stopped).count();
    assert!(count > 4, "{what} looks {count} times");
}

fn config(task: Task, model: &str) -> Config {
    let epochs = if model == "katz" { 1 } else { 2 };
    Config { task, model: model.into(), epochs: epochs.into(), repeats: 1, ..Config::default() }
}

#[test]
fn training_of_every_kind_of_model_stops_wherever_it_is() {
    let dataset = Dataset::built_in("communities").unwrap();
    let links = ["smp-linear", "smp", "gcn", "gat", "p-gnn", "node2vec", "katz"];
    let known: Vec<&str> = nigh::models::catalog::MODELS.iter().map(|row| row.name).collect();
    for model in links.into_iter().filter(|model| known.contains(model)) {
        let work = || Training::new(&dataset, config(Task::LinkPrediction, model))?.run().map(drop);
        interrupt_everywhere(2, model, work);
    }
    let work = || Training::new(&dataset, config(Task::NodeClassification, "smp-linear"))?.run().map(drop);
    [1, 2].into_iter().for_each(|threads| interrupt_everywhere(threads, "node classification", work));
}

#[test]
fn reading_using_and_saving_stop_wherever_they_are_and_leave_nothing_half_written() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("edges.csv");
    let edges: String = (0..20_000u32).map(|at| format!("n{},n{}\n", at % 3000, at * 7 % 2999)).collect();
    std::fs::write(&file, edges).unwrap();
    let read = || Dataset::load(file.to_str().unwrap(), &InputFiles::default(), &Folders::new(None));
    let dataset = read().unwrap();
    interrupt_everywhere(2, "reading", || read().map(drop));
    let trained = Training::new(&dataset, config(Task::LinkPrediction, "smp-linear")).unwrap().run().unwrap();
    interrupt_everywhere(2, "embedding", || trained.embed(&dataset).map(drop));
    let out = folder.path().join("model");
    interrupt_everywhere(2, "training and saving", || {
        if out.exists() {
            std::fs::remove_dir_all(&out).unwrap();
        }
        Training::new(&dataset, config(Task::LinkPrediction, "smp-linear"))?.run()?.save(&out)
    });
    let left: Vec<_> = std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left.len(), 2, "{left:?}");
    assert_eq!(Trained::load(&out).unwrap().summary, trained.summary);
}

#[test]
fn an_interrupted_training_resumes_from_its_checkpoint_to_the_same_bits() {
    let dataset = Dataset::built_in("communities").unwrap();
    let folder = tempfile::tempdir().unwrap();
    let train = |checkpoint: &Path| {
        let checkpoint = Checkpoint::new(checkpoint).every_epochs(1);
        let config = Config { epochs: 9.into(), repeats: 2, ..config(Task::LinkPrediction, "smp-linear") };
        Training::new(&dataset, config)?.checkpoint(checkpoint).run()
    };
    let whole = train(&folder.path().join("whole")).unwrap();
    let path = folder.path().join("stopped");
    let mut times = 0;
    let trained = loop {
        match threads::run(Some(2), &Interrupt::after_checks(200 * (times + 1)), || train(&path)) {
            Err(Error::Interrupted) => times += 1,
            Ok(trained) => break trained,
            Err(error) => panic!("{error}"),
        }
        assert!(times < 100, "no progress is made");
    };
    assert!(times > 1 && path.exists());
    assert_eq!(trained.summary, whole.summary);
    assert_eq!(trained.embed(&dataset).unwrap().matrix, whole.embed(&dataset).unwrap().matrix);
}
