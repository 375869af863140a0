//! The same bytes after a kill and `--resume`, and on any number of threads.

use crate::sample_graphs as graphs;
use crate::test_folder::TestFolder;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

const SETTINGS: [&str; 2] = [
    "communities --model smp-linear-gcn-both --refresh resampled --batch-size 2000 --epochs 60 --repeats 2",
    "leaders --task node-classification --model smp-mlp --epochs 150 --repeats 2",
];

fn started(folder: &TestFolder, line: &str) -> Child {
    folder.command(line).stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("the program starts")
}

/// Waits until `seen`, then kills the run as `kill -9` does. Returns whether it had ended by itself before.
fn killed_once(mut child: Child, mut seen: impl FnMut() -> bool) -> bool {
    let since = Instant::now();
    loop {
        if let Some(status) = child.try_wait().expect("a child") {
            assert!(status.success(), "the run failed by itself");
            return true;
        }
        assert!(since.elapsed() < Duration::from_secs(60), "nothing came to be seen");
        if seen() {
            child.kill().expect("a child that was not waited for");
            return child.wait().expect("a child").success();
        }
        std::thread::sleep(Duration::from_micros(200));
    }
}

#[test]
fn a_run_killed_again_and_again_ends_with_the_bytes_of_an_uninterrupted_one() {
    for settings in SETTINGS {
        let folder = TestFolder::new();
        folder.nigh(&format!("train {settings} -q --out whole")).ok();
        let line = format!("train {settings} -q --out killed --checkpoint-every 5 --resume");
        let checkpoint = folder.path("killed.checkpoint");
        let mut kills = 0;
        loop {
            let before = std::fs::read(&checkpoint).ok();
            let moved_on = || std::fs::read(&checkpoint).ok().is_some_and(|now| Some(now) != before);
            // The folder is complete or does not exist.
            if killed_once(started(&folder, &line), moved_on) || folder.path("killed").exists() {
                break;
            }
            kills += 1;
        }
        assert!(kills >= 2, "{settings} was killed {kills} times only");
        folder.assert_same("killed", "whole");
    }
}

#[test]
fn a_run_killed_while_writing_a_checkpoint_leaves_no_temporary_file_once_resumed() {
    let folder = TestFolder::with(&[("edges.txt", graphs::edges())]);
    let line = "train edges.txt --epochs 300 --repeats 1 -q --out model --checkpoint-every 1 --resume";
    let expected = ["edges.txt", "model", "model.checkpoint"];
    let is_writing = || folder.names().iter().any(|name| !expected.contains(&name.as_str()));
    // A write is short: the kill may come too late a few times.
    for _ in 0..20 {
        if killed_once(started(&folder, line), is_writing) || is_writing() {
            break;
        }
    }
    if !folder.path("model").exists() {
        folder.nigh(line).ok();
    }
    assert_eq!(folder.names(), ["edges.txt", "model"]);
}

#[test]
fn one_two_and_four_threads_write_the_same_bytes() {
    // Wide enough that threads have something to share.
    let ring: String =
        (0..6000).map(|at| format!("{at} {}\n{at} {}\n", (at + 1) % 6000, (at * 7 + 3) % 6000)).collect();
    let folder = TestFolder::with(&[("ring.txt", ring)]);
    let ring = "ring.txt --model smp-linear-gcn-both --decoder hadamard-mlp --epochs 5 --repeats 1";
    for (at, settings) in SETTINGS.into_iter().chain([ring]).enumerate() {
        for threads in [1, 2, 4] {
            folder.nigh(&format!("train {settings} -q --threads {threads} --out {at}-{threads}")).ok();
        }
        folder.assert_same(&format!("{at}-1"), &format!("{at}-2"));
        folder.assert_same(&format!("{at}-1"), &format!("{at}-4"));
    }
}

/// A command for which Ctrl-C counts, also where these tests run in the background, with Ctrl-C ignored.
#[cfg(unix)]
fn heeding_ctrl_c(folder: &TestFolder, line: &str) -> std::process::Command {
    use std::os::unix::process::CommandExt;
    let mut command = folder.command(line);
    // SAFETY: `signal` may be called between fork and exec, and nothing else is.
    unsafe {
        command.pre_exec(|| {
            libc::signal(libc::SIGINT, libc::SIG_DFL);
            Ok(())
        });
    }
    command
}

/// Waits until `seen`, then presses Ctrl-C. Returns exit code and messages.
#[cfg(unix)]
fn stopped_by_ctrl_c(folder: &TestFolder, line: &str, mut seen: impl FnMut() -> bool) -> (Option<i32>, String) {
    let mut command = heeding_ctrl_c(folder, line);
    let child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("the program starts");
    let since = Instant::now();
    while !seen() {
        assert!(since.elapsed() < Duration::from_secs(60), "nothing came to be seen");
        std::thread::sleep(Duration::from_millis(1));
    }
    let sent = std::process::Command::new("kill").args(["-INT", &child.id().to_string()]).status();
    assert!(sent.expect("the program kill").success());
    let output = child.wait_with_output().expect("a child");
    (output.status.code(), String::from_utf8(output.stderr).expect("UTF-8 text"))
}

#[cfg(unix)]
#[test]
fn ctrl_c_keeps_the_checkpoint_and_nothing_half_written() {
    let folder = TestFolder::with(&[("edges.txt", graphs::edges())]);
    let line = "train edges.txt --epochs 1000000 --repeats 1 --checkpoint-every 1 --out model";
    let checkpoint = folder.path("model.checkpoint");
    let (code, stderr) = stopped_by_ctrl_c(&folder, line, || checkpoint.exists());
    assert_eq!(code, Some(130), "{stderr}");
    assert!(stderr.ends_with("error: interrupted\n"), "{stderr}");
    assert!(stderr.contains("model.checkpoint has what was learned; --resume continues from it"), "{stderr}");
    assert_eq!(folder.names(), ["edges.txt", "model.checkpoint"]);
    let before = folder.read("model.checkpoint");
    let moved_on = || std::fs::read(&checkpoint).is_ok_and(|now| now != before);
    let (code, stderr) = stopped_by_ctrl_c(&folder, &format!("{line} --resume"), moved_on);
    assert_eq!((code, stderr.contains("resuming from model.checkpoint")), (Some(130), true), "{stderr}");
}

#[cfg(unix)]
#[test]
fn ctrl_c_ends_what_waits_for_standard_input() {
    let folder = TestFolder::new();
    let mut command = heeding_ctrl_c(&folder, "train - --out deep/model");
    let mut child = command.stdin(Stdio::piped()).stderr(Stdio::null()).spawn().expect("the program starts");
    let open = child.stdin.take();
    // Until it reads.
    std::thread::sleep(Duration::from_millis(500));
    let sent = std::process::Command::new("kill").args(["-INT", &child.id().to_string()]).status();
    assert!(sent.expect("the program kill").success());
    assert_eq!(child.wait().expect("a child").code(), Some(130));
    drop(open);
    assert!(folder.names().is_empty());
}

/// A folder with the checkpoint of a run of `edges.txt` that was killed.
fn interrupted(line: &str) -> TestFolder {
    let folder = TestFolder::with(&[("edges.txt", graphs::edges())]);
    let checkpoint = folder.path("model.checkpoint");
    let ended = killed_once(started(&folder, &format!("{line} --checkpoint-every 100")), || checkpoint.exists());
    assert!(!ended, "it ended before it could be killed");
    // Another test covers a kill during a write.
    folder.names().iter().filter(|name| name.ends_with(".partial")).for_each(|name| {
        let _ = std::fs::remove_file(folder.path(name));
    });
    folder
}

#[test]
fn a_checkpoint_is_only_used_with_resume_and_only_for_its_own_run() {
    let line = "train edges.txt --epochs 1000000 --repeats 1 --out model";
    let folder = interrupted(line);
    folder.refuses(
        line,
        1,
        &["model.checkpoint is left from an interrupted run", "--resume continues", "removing the file starts"],
    );
    let other = "train edges.txt --epochs 10 --repeats 1 --out model --resume";
    folder.refuses(other, 1, &["model.checkpoint", "other settings or data"]);
    folder.write("other.txt", graphs::edges().replace("ada0 ada1\n", ""));
    let other = "train other.txt --epochs 1000000 --repeats 1 --out model --resume";
    folder.refuses(other, 1, &["model.checkpoint", "other settings or data"]);
    let whole = folder.read("model.checkpoint");
    folder.write("model.checkpoint", &whole[..whole.len() - 9]);
    folder.refuses(&format!("{line} --resume"), 1, &["model.checkpoint", "not a whole safetensors file"]);
}

#[test]
fn resuming_without_a_checkpoint_starts_from_the_beginning() {
    let folder = TestFolder::with(&[("edges.txt", graphs::edges())]);
    folder.nigh("train edges.txt --epochs 10 --repeats 1 -q --out model --resume").ok();
    assert_eq!(folder.names(), ["edges.txt", "model"]);
}

#[test]
fn resuming_a_run_that_was_killed_just_after_it_had_saved_ends_well() {
    for options in ["", "--task node-classification --labels labels.csv", "--model katz"] {
        let folder = TestFolder::with(&[("edges.txt", graphs::edges()), ("labels.csv", graphs::labels())]);
        let line = format!("train edges.txt --epochs 10 --repeats 2 -q --json --out model {options}");
        let mut whole = folder.nigh(&line).json();
        // As a kill between the last rename and the removal of the checkpoint leaves it.
        let saved = folder.files("model");
        folder.write("model.checkpoint", "");
        let resumed = folder.nigh(&format!("{line} --resume"));
        assert_eq!(resumed.stderr, "");
        let mut resumed = resumed.json();
        for of_this_process in ["millis_per_epoch", "peak_rss_bytes"] {
            whole[of_this_process].take();
            resumed[of_this_process].take();
        }
        assert_eq!(resumed, whole);
        assert_eq!(folder.names(), ["edges.txt", "labels.csv", "model"]);
        assert_eq!(folder.files("model"), saved);
        let answer = folder.nigh(&format!("{line} --resume").replace("-q --json", ""));
        assert!(
            answer.stderr.contains("note: model is complete; there is nothing left to resume"),
            "{}",
            answer.stderr
        );
        assert!(!answer.ok().contains("ms per epoch"));
        // Anything else is not that training.
        folder.write("fewer.txt", graphs::edges().replace("ada0 ada1\n", ""));
        for other in [line.replace("-q", "-q --seed 2"), line.replace("edges.txt", "fewer.txt")] {
            let says = ["model: exists already, of a training with other settings or data"];
            folder.refuses(&format!("{other} --resume"), 1, &says);
        }
    }
}

#[cfg(unix)]
#[test]
fn a_checkpoint_is_never_written_through_a_link() {
    let folder = TestFolder::with(&[("edges.txt", graphs::edges()), ("precious", "precious".into())]);
    for name in ["model.checkpoint.partial", "model.partial", ".nigh.partial"] {
        std::os::unix::fs::symlink(folder.path("precious"), folder.path(name)).unwrap();
    }
    folder.nigh("train edges.txt --epochs 10 --repeats 1 -q --out model --checkpoint-every 1").ok();
    assert_eq!(folder.text("precious"), "precious");
    assert_eq!(folder.names(), ["edges.txt", "model", "precious"]);
}
