//! The worker of the benchmarks: it runs one case per request, so that it and its peers take turns.
//!
//! A line of JSON in, a line of JSON out; `benches/speed` sends the requests. By hand:
//! `echo '{"case": "epoch/smp-linear/cora"}' | cargo bench -p nigh --bench speed`.

mod cases;
mod shapes;

use serde_json::{Value, json};
use std::io::{BufRead, Write};
use std::path::Path;
use std::time::Instant;

/// How long a case is timed, in seconds.
const BUDGET: f64 = 0.5;
/// Most units that are timed.
const MOST: usize = 1000;

fn main() {
    let mut kept: Option<(String, cases::Case)> = None;
    for line in std::io::stdin().lock().lines() {
        let answer = line.map_err(|error| error.to_string()).and_then(|line| answer(&line, &mut kept));
        println!("{}", answer.unwrap_or_else(|problem| json!({ "error": problem })));
        let _ = std::io::stdout().flush();
    }
}

fn answer(line: &str, kept: &mut Option<(String, cases::Case)>) -> Result<Value, String> {
    let request: Value = serde_json::from_str(line).map_err(|error| error.to_string())?;
    let folder = request["folder"].as_str().map(Path::new);
    if let Some(shape) = request["write"].as_str() {
        let folder = folder.ok_or("a folder to write to is missing")?;
        shapes::write(shape, &folder.join(shape)).map_err(|error| error.to_string())?;
        return Ok(json!({ "written": true }));
    }
    let name = request["case"].as_str().ok_or("expected a case or a shape to write")?;
    if kept.as_ref().is_none_or(|(last, _)| last != name) {
        // The old one is dropped first, so that two large graphs are not in memory together.
        *kept = None;
        *kept = Some((name.to_string(), cases::case(name, folder)?));
    }
    let (_, case) = kept.as_mut().expect("just made");
    match case {
        cases::Case::Unit(unit) => {
            unit();
            Ok(timed(unit))
        }
        cases::Case::Units(units) => Ok(summary(units(BUDGET))),
        cases::Case::Report(report) => report(),
    }
}

/// Times a unit again and again for as long as the budget lasts.
fn timed(unit: &mut dyn FnMut()) -> Value {
    let (started, mut seconds) = (Instant::now(), Vec::new());
    while seconds.len() < MOST && (seconds.len() < 3 || started.elapsed().as_secs_f64() < BUDGET) {
        let start = Instant::now();
        unit();
        seconds.push(start.elapsed().as_secs_f64());
        if seconds[0] > 5.0 {
            break;
        }
    }
    summary(seconds)
}

/// The median of what was timed.
fn summary(mut seconds: Vec<f64>) -> Value {
    seconds.sort_by(f64::total_cmp);
    json!({ "seconds": seconds[seconds.len() / 2], "units": seconds.len() })
}
