//! An encoder of your own, to the end: trained with a checkpoint, saved, loaded, used.
//!
//! `cargo run --release -p nigh --example own_encoder`

use nigh::models::Architecture;
use nigh::models::catalog::{self, Hyperparameters};
use nigh::models::encoder::{Encoder, Input, Scope};
use nigh::ops::Concatenate;
use nigh::ops::Propagate;
use nigh::tape::Var;
use nigh::{Checkpoint, Config, Dataset, Trained, Training};

/// Jumping knowledge (Xu et al.): `[X, Ã X, ..., Ã^K X] W + b`, every hop under one linear map.
#[derive(Debug)]
struct JumpingKnowledge {
    hops: usize,
}

impl Encoder for JumpingKnowledge {
    fn encode(&self, scope: &mut Scope<'_>, input: Input) -> Var {
        let mut hops = vec![scope.dense(&input)];
        for hop in 0..self.hops {
            let propagate = Propagate::new(scope.operator.clone(), 1);
            hops.push(scope.tape.push(propagate, &[hops[hop]]));
        }
        let all = scope.tape.push(Concatenate, &hops);
        scope.linear(&Input::dense(all), "jumping-knowledge", scope.width)
    }
}

/// The encoder over the stochastic matrix `E`, as one branch.
fn architecture(settings: &Hyperparameters) -> Architecture {
    catalog::model([catalog::signal().through(JumpingKnowledge { hops: settings.hops })])
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let dataset = Dataset::built_in("communities")?;
    let config = Config {
        model: "jumping-knowledge".into(),
        hops: 4.into(),
        epochs: 100.into(),
        repeats: 2,
        ..Config::default()
    };
    let folder = std::env::temp_dir().join(format!("nigh-own-encoder-{}", std::process::id()));
    let trained = Training::with_architecture(&dataset, config, architecture)?
        .checkpoint(Checkpoint::new(Trained::checkpoint_beside(&folder)))
        .run()?;
    println!("auc {:.1} ± {:.1} %", 100.0 * trained.summary.mean, 100.0 * trained.summary.std);

    trained.save(&folder)?;
    std::fs::remove_file(Trained::checkpoint_beside(&folder))?;
    let loaded = Trained::load_with(&folder, architecture)?;
    std::fs::remove_dir_all(&folder)?;
    assert_eq!(loaded.embed(&dataset)?.matrix, trained.embed(&dataset)?.matrix);
    for link in &loaded.session(&dataset)?.links(&[0], 3, false)?[0] {
        println!("0 - {}: {:.3}", link.node, link.score);
    }
    Ok(())
}
