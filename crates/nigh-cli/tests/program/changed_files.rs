//! A graph file that is cut or overwritten while a command uses it: an error that names it or the right result, never a signal.

use crate::test_folder::TestFolder;
use std::fs::File;
use std::io::{Seek, SeekFrom, Write};
use std::process::Stdio;
use std::time::Duration;

/// Half a million edges, in a fixed order.
fn edges() -> String {
    let mut state = 1u64;
    let mut node = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % 100_000
    };
    let mut text = String::new();
    for _ in 0..500_000 {
        text += &format!("{},{}\n", node(), node());
    }
    text
}

#[test]
fn commands_end_with_an_error_or_the_right_result_whenever_their_graph_file_changes() {
    let folder = TestFolder::with(&[("edges.csv", edges())]);
    folder.nigh("data convert edges.csv -q --out whole.nigh").ok();
    let whole = folder.read("whole.nigh");
    let lines = [
        ("propagate graph.nigh --signal-dim 32 --hops 12 --memory 83MB --out OUT", "out.npy"),
        (
            "train graph.nigh --model smp-linear --pairs-per-epoch 500 --epochs 3 --repeats 1 --memory 260MB -q --out OUT",
            "out",
        ),
        ("certify graph.nigh --signal-dim 48 --pairs 40 --json --memory 83MB", ""),
    ];
    for (line, out) in lines {
        let result = |out: &str, stdout: Vec<u8>| match out {
            "" => stdout,
            file if folder.path(file).is_file() => folder.read(file),
            model => folder.files(model).into_values().flatten().collect::<Vec<_>>().concat(),
        };
        let remove = || {
            let _ = std::fs::remove_file(folder.path(out));
            // A training that fails between two repeats can be resumed.
            let _ = std::fs::remove_file(folder.path(&format!("{out}.checkpoint")));
            let _ = !out.is_empty() && std::fs::remove_dir_all(folder.path(out)).is_ok();
        };
        folder.write("graph.nigh", &whole);
        let line = line.replace("OUT", out);
        let started = std::time::Instant::now();
        let answer = folder.nigh(&line);
        let lasted = started.elapsed();
        assert_eq!(answer.code, Some(0), "{}", answer.stderr);
        let expected = result(out, answer.stdout.into_bytes());
        let mut failed = 0;
        for (round, at) in [whole.len() / 3, 5_000, whole.len() / 2, whole.len() - 300_000].into_iter().enumerate() {
            for is_cut in [true, false] {
                folder.write("graph.nigh", &whole);
                remove();
                let mut child = folder.command(&line);
                let child = child.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the program starts");
                std::thread::sleep(lasted * (2 * round as u32 + u32::from(is_cut)) / 10 + Duration::from_millis(5));
                let mut file = File::options().write(true).open(folder.path("graph.nigh")).unwrap();
                match is_cut {
                    true => file.set_len(at as u64).unwrap(),
                    false => {
                        file.seek(SeekFrom::Start(at as u64)).unwrap();
                        file.write_all(&vec![0xab; 200_000]).unwrap();
                    }
                }
                let output = child.wait_with_output().expect("the program ends");
                let stderr = String::from_utf8_lossy(&output.stderr);
                match output.status.code() {
                    Some(0) => assert!(result(out, output.stdout) == expected, "{line}: another result"),
                    Some(1) => {
                        assert!(
                            stderr.contains("error: graph.nigh: ") && !stderr.contains("panicked"),
                            "{line}: {stderr}"
                        );
                        failed += 1;
                    }
                    code => panic!("{line} ends with {code:?} ({:?}): {stderr}", output.status),
                }
            }
        }
        assert!(failed > 0, "{line} never met the change");
    }
}
