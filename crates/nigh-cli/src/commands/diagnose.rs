//! `nigh diagnose`: whether a task needs where a node is, what it is, or both.

use super::compare::{heading, train_all};
use super::propagate::working_folder;
use super::train::LayeredSettings;
use super::{WrongUsage, check_writable, load, print, print_json, print_notes};
use crate::cli::Diagnose;
use crate::progress::Activity;
use anyhow::Result;
use nigh::display::{AlignedTable, mean_and_deviation};
use nigh::statistics::interval_95;
use nigh::train::mean_and_std;
use nigh::{Auto, Task, certify};
use nigh_paper::{DiagnosedModel, Diagnosis, Difference, Finding, Ingredients, p_value, points};
use serde_json::{Value, json};
use std::path::Path;

pub fn run(Diagnose { trainings: options }: &Diagnose, quiet: bool) -> Result<()> {
    let settings = LayeredSettings::read(options.config.as_deref(), &options.settings)?;
    if options.settings.table().contains_key("model") {
        let models: Vec<&str> = Ingredients::ALL.iter().map(|knows| knows.model()).collect();
        let problem = format!("--model has no place here: diagnose trains {}", models.join(", "));
        return Err(WrongUsage(problem).into());
    }
    if let Some(out) = &options.out {
        check_writable(out)?;
    }
    let dataset = load(&options.data, quiet)?;
    let mut config = settings.config.clone();
    match (settings.is_set("task"), &options.data.labels) {
        (false, Some(_)) => config.task = Task::NodeClassification,
        (false, None) if !dataset.class_names.is_empty() => {
            let note = "this is about links; --task node-classification asks about the labels of the graph";
            print_notes(&[note.to_string()], quiet);
        }
        _ => (),
    }
    let dataset = settings.with_split(&config, dataset)?;
    let diagnosis = Diagnosis::new(&dataset, config).map_err(|error| settings.locate(error))?;
    let diagnosis = match options.memory {
        Some(memory) => diagnosis.within(memory, &working_folder(options.out.as_deref())),
        None => diagnosis,
    };
    if let (Auto::Is(model), Some(file)) = (&settings.config.model, &options.config) {
        print_notes(&[format!("model {model} of {} is not used", file.display())], quiet);
    }
    let models = train_all(diagnosis.comparison(), options.out.as_deref(), quiet)?;
    let testing = Activity::uncounted("testing differences".to_string(), quiet);
    let finding = diagnosis.conclude(&models)?;
    drop(testing);
    if options.json {
        print_json(&as_json(&diagnosis, &finding, options.out.as_deref()))
    } else {
        print(&text(&diagnosis, &finding))
    }
}

fn as_json(diagnosis: &Diagnosis<'_>, finding: &Finding, out: Option<&Path>) -> Value {
    let (comparison, config) = (diagnosis.comparison(), diagnosis.comparison().config());
    let model = |DiagnosedModel { knows, model, chance_p, beats_chance }: &DiagnosedModel| {
        let ((mean, std), tests) = (model.mean_and_std(), model.tests());
        json!({
            "knows": knows, "model": model.model, "mean": mean, "std": std, "interval_95": interval_95(&tests), "tests": tests,
            "metrics": model.mean_metrics(), "beats_chance": beats_chance, "chance_p": chance_p.p,
            "chance_p_holm": chance_p.corrected, "millis_per_epoch": model.millis_per_epoch(), "seconds": model.seconds(),
            "peak_bytes": model.peak_bytes(),
        })
    };
    let difference = |difference: &Difference| {
        json!({
            "first": difference.first, "second": difference.second, "mean": difference.mean,
            "interval_95": difference.interval_95, "p": difference.p_values.p, "p_holm": difference.p_values.corrected,
            "better": difference.ranked().map(|[better, _]| better),
        })
    };
    json!({
        "dataset": comparison.dataset().name, "task": config.task, "metric": comparison.metric(),
        "protocol": config.protocol, "repeats": config.repeats, "seed": config.seed, "config": config,
        "has_features": diagnosis.has_features(), "needs": finding.need, "answer": finding.answer,
        "models": finding.models.iter().map(model).collect::<Vec<_>>(),
        "chance": { "mean": mean_and_std(&finding.chance).0, "tests": finding.chance },
        "differences": finding.differences.iter().map(difference).collect::<Vec<_>>(),
        "width": finding.width, "out": out.map(|out| out.display().to_string()),
    })
}

fn text(diagnosis: &Diagnosis<'_>, finding: &Finding) -> String {
    let comparison = diagnosis.comparison();
    let mut table = AlignedTable::new(&[
        "knows",
        "model",
        &format!("{}, %", comparison.metric()),
        "95 %",
        "p against chance",
        "seconds",
    ]);
    let range = |interval: Option<[f64; 2]>| match interval {
        Some([low, high]) => format!("{} to {}", points(low), points(high)),
        None => String::new(),
    };
    for DiagnosedModel { knows, model, chance_p, .. } in &finding.models {
        table.row(&[
            knows.to_string(),
            model.model.clone(),
            mean_and_deviation(model.mean_and_std(), model.tests().len()),
            range(interval_95(&model.tests())),
            p_value(chance_p.corrected),
            format!("{:.1}", model.seconds()),
        ]);
    }
    let of_chance = mean_and_deviation(mean_and_std(&finding.chance), finding.chance.len());
    let chance = ["nothing", "same answer to all", &of_chance, "", "", ""];
    table.row(&chance.map(str::to_string));
    let mut differences = AlignedTable::new(&["difference", "points", "95 %", "p (Holm)"]);
    for Difference { first, second, mean, interval_95, p_values } in &finding.differences {
        differences.row(&[
            format!("{first} - {second}"),
            points(*mean),
            range(Some(*interval_95)),
            p_value(p_values.corrected),
        ]);
    }
    let width = match &finding.width {
        Some(width) => width.to_string(),
        None => format!(
            "The width that Theorem 2 asks for is computed for at most {} hops; `nigh certify --hops K` computes it for more.",
            certify::WidthCheck::MOST_HOPS
        ),
    };
    let answer = finding.answer.join("\n");
    format!("{}\n\n{answer}\n\n{table}\n{differences}\n{width}\n", heading(comparison))
}
