//! `nigh propagate`: `Ã^K E` of a graph of any size.

use super::{check_writable, create_parents, load, print_notes};
use crate::cli::{Propagate, PropagationOptions};
use crate::progress::Activity;
use anyhow::Result;
use nigh::answer::RowWriter;
use nigh::propagation::{CostEstimate, PanelPlan, PanelProgress, PanelSource, Propagation, Workload};
use nigh::{Error, Memory, Operator, Purpose, Seeds, SignalScale};
use nigh_paper::Peak;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

pub fn run(options: &Propagate, quiet: bool) -> Result<()> {
    let PropagationOptions { signal_dim: dim, hops, hop_storage: storage, memory } = options.of;
    check_counts(&options.of)?;
    RowWriter::check_name(&options.out)?;
    check_writable(&options.out)?;
    let dataset = load(&options.data, quiet)?;
    let [sample] = &dataset.samples[..] else {
        return Err(Error::SeveralGraphs { count: dataset.samples.len() }.into());
    };
    let graph = &sample.graph;
    let workload = Workload { storage, id_bytes: sample.ids.num_bytes(), ..Workload::of_graph(graph, dim, hops) };
    let estimate = within(&workload, memory)?;
    print_notes(&[estimate.to_string()], quiet || memory.is_none());
    let stream = Seeds::new(options.seed).stream(Purpose::Signal, &[0]);
    let factor = SignalScale::InverseSqrt.factor(dim);
    let source = PanelSource::Signal { signal: options.signal, stream, dim, factor };
    let operator = Operator::symmetric(graph.clone());
    let propagation = Propagation { operator, hops, storage, source, addresses: None };
    create_parents(&options.out)?;
    let mut writer = RowWriter::create(&options.out, sample.ids.clone(), dim)?;
    let plan = estimate.plan(folder_of(&options.out));
    let plan = PanelPlan { progress: shown(format!("propagating over {}", dataset.name), quiet), ..plan };
    propagation.for_each_rows(&plan, &mut |_, rows| writer.rows(rows))?;
    let files = writer.finish()?;
    let files: Vec<String> = files.iter().map(|file| file.display().to_string()).collect();
    let written = format!("{} nodes, {dim} numbers each: {}", graph.num_nodes(), files.join(", "));
    print_notes(&[format!("{written}; {}", peak())], quiet);
    Ok(())
}

/// Shows how much of a propagation is done, from its first report to its last.
pub fn shown(what: String, quiet: bool) -> PanelProgress {
    let working = Mutex::new(None);
    PanelProgress::new(move |done, total| {
        let mut working = working.lock().unwrap_or_else(PoisonError::into_inner);
        match done < total {
            true => {
                let activity = working.get_or_insert_with(|| Activity::uncounted(what.clone(), quiet));
                activity.show(format!("{what}, {} %", 100 * done / total));
            }
            false => *working = None,
        }
    })
}

/// What the process took at most.
pub fn peak() -> String {
    let bytes = Peak::so_far().bytes();
    bytes.map_or("peak memory unknown".into(), |peak| format!("peak memory {}", Memory::new(peak as usize)))
}

/// Where files without names are: beside the output, or where others are.
pub fn working_folder(out: Option<&Path>) -> PathBuf {
    let above = out.map(|out| folder_of(out).ancestors().find(|folder| folder.is_dir()).unwrap_or(Path::new(".")));
    above.map_or_else(std::env::temp_dir, Path::to_path_buf)
}

/// The folder of a file.
pub fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|above| !above.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

pub fn check_counts(options: &PropagationOptions) -> Result<()> {
    for (name, value, most) in [("signal-dim", options.signal_dim, 1 << 16), ("hops", options.hops, 64)] {
        if !(1..=most).contains(&value) {
            return Err(Error::setting(name, value, format!("expected a whole number from 1 to {most}")).into());
        }
    }
    Ok(())
}

/// How a propagation is done within a limit.
pub fn within(workload: &Workload, memory: Option<Memory>) -> Result<CostEstimate> {
    let remedy = match workload.stored {
        true => "--hop-storage float16 halves the panels",
        false => {
            "a graph file (`nigh data convert`) lets edges stay on disk, and --hop-storage float16 halves the panels"
        }
    };
    workload.propagation(memory).map_err(|least| memory.unwrap_or(least).too_little(least, remedy).into())
}
