//! A forked process trains on threads of its own. Alone in its binary, since a fork copies whatever other tests are doing.
#![cfg(unix)]

use nigh::threads::{self, Interrupt};
use nigh::{Config, Dataset, Training};
use std::time::{Duration, Instant};

fn train() -> nigh::Result<f64> {
    threads::run(Some(2), &Interrupt::new(), || {
        let dataset = Dataset::built_in("communities")?;
        let config = Config { epochs: 3.into(), repeats: 1, ..Config::default() };
        Ok(Training::new(&dataset, config)?.run()?.summary.mean)
    })
}

#[test]
fn training_in_a_parent_and_again_in_its_forked_child_works() {
    let expected = train().unwrap();
    // SAFETY: the child only trains and ends; no other thread holds a lock that it needs.
    let child = unsafe { libc::fork() };
    assert!(child >= 0, "fork: {}", std::io::Error::last_os_error());
    if child == 0 {
        let code = if train().is_ok_and(|found| found == expected) { 0 } else { 1 };
        // SAFETY: ends the child without the parent's handlers at exit.
        unsafe { libc::_exit(code) };
    }
    let (started, mut status) = (Instant::now(), 0);
    loop {
        // SAFETY: a child of this process, and a place for its status.
        let ended = unsafe { libc::waitpid(child, &mut status, libc::WNOHANG) };
        if ended == child {
            break;
        }
        if started.elapsed() > Duration::from_secs(60) {
            // SAFETY: a child of this process that has not ended.
            unsafe { libc::kill(child, libc::SIGKILL) };
            panic!("the child hangs");
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    assert!(libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == 0, "the child ended with {status}");
    assert_eq!(train().unwrap(), expected, "and the parent goes on");
}
