//! The card in a model's folder: what it is, on what, how well, and how to use it.

use super::Trained;
use crate::display::{markdown, mean_and_deviation, percent, pluralize};
use crate::source::Source;

/// A page of Markdown that is the same for the same training.
pub(super) fn card(trained: &Trained) -> String {
    let (config, summary, run) = (&trained.config, &trained.summary, trained.run());
    let repeats = summary.repeats.len();
    let classes = match summary.class_names.len() {
        0 => String::new(),
        count if summary.multi_label => format!(", {count} classes, several per node"),
        count => format!(", {count} classes"),
    };
    let hops = match summary.storage_error {
        None => String::new(),
        Some(error) => format!("| hops | stored as {}, {error} |\n", config.hop_storage),
    };
    let architecture = trained.model().architecture();
    let signal = if architecture.uses(Source::Signal) {
        format!("| signal | {}, d = {}, {} |\n", config.signal, config.signal_dim, config.refresh)
    } else {
        String::new()
    };
    let connected = match summary.connected() {
        None => String::new(),
        Some(figure) => format!(
            "| {}, test, pairs whose ends both have a visible edge | {} % on {} % of positives, {} % of negatives |\n",
            config.metric,
            mean_and_deviation((figure.mean, figure.std), repeats),
            percent(figure.positives),
            percent(figure.negatives),
        ),
    };
    let note = match summary.note_on_hits(config.metric) {
        None => String::new(),
        Some(note) => format!("\n\nNote: {note}."),
    };
    let warnings: String =
        summary.warnings(config.metric).iter().map(|text| format!("**Warning:** {text}.\n\n")).collect();
    let interval = match summary.chosen_metric().interval_95 {
        None => String::new(),
        Some([low, high]) => format!("| its 95 % interval (Student's t) | {} to {} % |\n", percent(low), percent(high)),
    };
    let others: String = summary
        .metrics()
        .iter()
        .filter(|(metric, _)| **metric != config.metric)
        .map(|(metric, of)| format!("| {metric}, test | {} % |\n", mean_and_deviation((of.mean, of.std), repeats)))
        .collect();
    let baselines: String = summary
        .baselines()
        .iter()
        .map(|baseline| match (baseline.metrics.get(&config.metric), &baseline.left_out) {
            (Some(figure), _) => {
                format!("| {}, test, by {} | {} % |\n", config.metric, baseline.name, percent(*figure))
            }
            (None, reason) => {
                format!(
                    "| {}, test, by {} | left out: {} |\n",
                    config.metric,
                    baseline.name,
                    reason.as_deref().unwrap_or("")
                )
            }
        })
        .collect();
    let pairs_option = if config.task.is_about_pairs() { " --pairs PAIRS" } else { "" };
    let given = if config.task.uses_features() && architecture.uses(Source::Features) && summary.num_features > 0 {
        "\n\nA graph of your own needs its `--features FILE` each time."
    } else {
        ""
    };
    format!(
        "# {model} for {task} on {dataset}\n\n\
         {parameters} parameters, trained by nigh {version} on {nodes} and {edges} with {features} per \
         node{classes}.\n\n\
         {warnings}\
         | | |\n|---|---|\n\
         | {metric}, test, mean of {repeats} | {mean} % |\n\
         {interval}\
         {connected}\
         {others}\
         {baselines}\
         | {metric}, test, this model (seed {seed}) | {test} % |\n\
         | {metric}, validation, this model | {valid} % at epoch {epoch} |\n\
         | protocol | {protocol}, decoder {decoder} |\n\
         {signal}\
         {hops}\
         | graph | `{graph}` |\n\
         | split | `{split}` |\n\n\
         The figures hold for the split named above; `nigh evaluate` measures them again.{note}\n\n\
         ```\n\
         nigh evaluate FOLDER GRAPH\n\
         nigh embed FOLDER GRAPH --out vectors.npy\n\
         nigh predict FOLDER GRAPH{pairs_option}\n\
         ```{given}\n\n\
         `config.toml` has every setting, `model.json` the figures of every repeat.\n",
        model = markdown(&config.model),
        task = config.task,
        dataset = markdown(&summary.dataset),
        parameters = trained.model().weights.num_parameters(),
        version = env!("CARGO_PKG_VERSION"),
        nodes = pluralize(summary.num_nodes, "node"),
        edges = pluralize(summary.num_edges, "edge"),
        features = pluralize(summary.num_features, "feature"),
        metric = config.metric,
        mean = mean_and_deviation((summary.mean, summary.std), repeats),
        seed = run.seed,
        test = percent(run.test),
        valid = percent(run.valid),
        epoch = run.best_epoch,
        protocol = config.protocol,
        decoder = match config.task.is_about_pairs() {
            true => config.decoder.to_string(),
            false if summary.multi_label => "sigmoid, labels above 0.5".into(),
            false => "softmax".into(),
        },
        graph = summary.graph,
        split = run.split,
    )
}
