//! `nigh data fetch`, from a server on loopback: messages, and several processes. Faults of the server are tested in the
//! library.

use crate::server::{self, Request, Server};
use crate::test_folder::{Answer, TestFolder};
use std::path::PathBuf;
use std::process::{Output, Stdio};
use std::time::{Duration, Instant};

const FILES: [&str; 2] = ["email.txt", "email_labels.txt"];

/// The real files, since their checksums are part of the program.
fn email() -> [Vec<u8>; 2] {
    let folder = PathBuf::from(std::env::var_os("NIGH_DATA").expect("NIGH_DATA names the folder of the datasets"));
    FILES.map(|name| {
        std::fs::read(folder.join("email").join(name)).expect("email is in the folder that NIGH_DATA names")
    })
}

/// The file of a path, or 404.
fn answer(request: &Request, files: &[Vec<u8>; 2]) -> server::Answer {
    match FILES.iter().position(|name| request.path == format!("/email/{name}")) {
        Some(at) => server::Answer::file(request, &files[at]),
        None => server::Answer::status("404 Not Found"),
    }
}

/// An empty folder for data, and where to fetch from.
struct Machine {
    folder: TestFolder,
    origin: String,
}

impl Machine {
    fn of(origin: &str) -> Machine {
        let folder = TestFolder::new();
        std::fs::create_dir(folder.path("data")).unwrap();
        Machine { folder, origin: origin.to_string() }
    }

    fn nigh(&self, line: &str) -> Answer {
        self.folder.nigh_with(line, &[("NIGH_ORIGIN", &self.origin)])
    }

    #[track_caller]
    fn refuses(&self, line: &str, says: &[&str]) {
        self.folder.refuses_with(line, &[("NIGH_ORIGIN", &self.origin)], 1, says);
    }

    fn start(&self, line: &str) -> std::process::Child {
        let mut command = self.folder.command(line);
        command.env("NIGH_ORIGIN", &self.origin).stdout(Stdio::piped()).stderr(Stdio::piped());
        command.spawn().expect("the program starts")
    }

    /// Asserts that both files are there with the right bytes, and no other.
    #[track_caller]
    fn has(&self, files: &[Vec<u8>; 2]) {
        let there = self.folder.files("data");
        let names: Vec<_> = there.keys().map(|name| name.display().to_string()).collect();
        assert_eq!(names, ["email", "email/email.txt", "email/email_labels.txt"]);
        FILES
            .iter()
            .zip(files)
            .for_each(|(name, file)| assert!(self.folder.read(&format!("data/email/{name}")) == *file));
    }
}

#[test]
#[ignore = "needs NIGH_DATA"]
fn a_dataset_is_fetched_once() {
    let files = email();
    let served = files.clone();
    let server = Server::start(move |request| answer(request, &served));
    let machine = Machine::of(&server.address());
    let fetched = machine.nigh("data fetch email --data data");
    assert_eq!(fetched.stderr, "email.txt: 193 kB\nemail_labels.txt: 6.5 kB\n");
    assert_eq!(fetched.ok(), "email: 199 kB in data/email\n");
    machine.has(&files);
    assert_eq!(
        machine.nigh("data fetch grid email --data data").ok(),
        "grid is built in; nothing to fetch\nemail is here already, in data/email\n"
    );
    assert_eq!(server.requests().len(), 2);
    let again = machine.nigh("data fetch email --data data --force -q");
    assert_eq!((again.stderr.as_str(), server.requests().len()), ("", 4));
    again.ok();
    assert!(
        machine
            .nigh("data list --data data")
            .ok()
            .lines()
            .any(|line| line.starts_with("email ") && line.ends_with("--data"))
    );
}

#[test]
#[ignore = "needs NIGH_DATA"]
fn a_killed_download_resumes() {
    let files = email();
    let served = files.clone();
    let server = Server::start(move |request| match request.before {
        0 => answer(request, &served).slowly(Duration::from_millis(100)),
        _ => answer(request, &served),
    });
    let machine = Machine::of(&server.address());
    let mut child = machine.start("data fetch email --data data");
    let partial = machine.folder.path("data/email/email.txt.partial");
    let start = Instant::now();
    while partial.metadata().map_or(0, |about| about.len()) < 1 << 15 {
        assert!(start.elapsed() < Duration::from_secs(20), "the download did not start");
        std::thread::sleep(Duration::from_millis(5));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(machine.folder.path("data/email.lock").exists(), "a killed process leaves its lock");
    let left = partial.metadata().unwrap().len() as usize;
    machine.nigh("data fetch email --data data").ok();
    assert_eq!(server.ranges(), [None, Some(left), None]);
    machine.has(&files);
}

#[test]
#[ignore = "needs NIGH_DATA"]
fn two_processes_fetch_a_dataset_once() {
    let files = email();
    let served = files.clone();
    let server = Server::start(move |request| answer(request, &served).slowly(Duration::from_millis(100)));
    let machine = Machine::of(&server.address());
    let children = [0, 1].map(|_| machine.start("data fetch email --data data"));
    let outputs: Vec<Output> = children.into_iter().map(|child| child.wait_with_output().unwrap()).collect();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    for output in &outputs {
        assert!(output.status.success(), "{}", text(&output.stderr));
    }
    let count = |says: &str| {
        let says = |output: &&Output| text(&output.stdout).contains(says) || text(&output.stderr).contains(says);
        outputs.iter().filter(says).count()
    };
    assert_eq!((count("email: 199 kB in"), count("is here already")), (1, 1));
    assert_eq!(count("is being fetched by another process; waiting for it"), 1);
    assert_eq!(server.requests().len(), 2);
    machine.has(&files);
}

#[test]
#[ignore = "needs NIGH_DATA"]
fn a_command_fetches_the_dataset_it_needs() {
    let files = email();
    let served = files.clone();
    let server = Server::start(move |request| answer(request, &served));
    let machine = Machine::of(&server.address());
    let trained = machine.nigh("train email --epochs 2 --repeats 1 --data data");
    let note = format!("note: email is not here; fetching it from {}email/ into data/email\n", server.address());
    assert!(trained.stderr.contains(&note), "{}", trained.stderr);
    assert!(trained.ok().contains("smp-proximity on email"));
    machine.has(&files);
    let again = machine.nigh("train email --epochs 2 --repeats 1 --data data");
    assert!(!again.stderr.contains("fetching"), "{}", again.stderr);
    again.ok();
}

#[cfg(target_os = "linux")]
#[test]
#[ignore = "needs NIGH_DATA"]
fn without_a_folder_the_cache_is_used() {
    let files = email();
    let server = Server::start(move |request| answer(request, &files));
    let folder = TestFolder::new();
    let home = folder.path("home").display().to_string();
    let variables = [("NIGH_ORIGIN", server.address()), ("HOME", home)];
    let variables = variables.each_ref().map(|(name, value)| (*name, value.as_str()));
    folder.nigh_with("data show email", &variables).ok();
    let list = folder.nigh_with("data list", &variables).ok();
    let line = list.lines().find(|line| line.starts_with("email ")).unwrap();
    let [.., files, kb, _, unit, place] = line.split_whitespace().collect::<Vec<_>>()[..] else { panic!("{line}") };
    assert_eq!([files, kb, unit, place], ["199", "kB", "kB", "cache"], "a compact copy was made");
    assert!(list.contains("/home/.cache/nigh\n"), "{list}");
}

#[test]
fn a_file_with_a_wrong_checksum_is_refused_and_removed() {
    let server = Server::start(|request| match request.path.as_str() {
        "/email/email.txt" => server::Answer::file(request, &[b'0'; 192_698]),
        _ => server::Answer::status("404 Not Found"),
    });
    let machine = Machine::of(&server.address());
    let address = server.address();
    let expected = "expected 23e0ca0bce21a053025e78f7e9691ac9210ae806a0689bd5edff3c3bac572d4c";
    let place = "by hand, put the file at data/email/email.txt";
    for line in ["data fetch email", "train email --epochs 2", "data show email"] {
        let says = [&format!("{address}email/email.txt: its sha256 is "), expected, "it was not kept", place];
        machine.refuses(&format!("{line} --data data"), &says);
    }
    let says = [&format!("{address}cora/ind.cora.x: answered 404 Not Found"), "data/cora/ind.cora.x"];
    machine.refuses("data fetch cora --data data", &says);
    let says = [&format!("{address}ppi.zip: answered 404 Not Found"), "unpack it so that data/ppi/ppi-G.json is there"];
    machine.refuses("data fetch ppi --data data", &says);
}

#[test]
fn without_network_the_message_names_the_place_of_the_file() {
    let origin = Server::start(|_| server::Answer::status("404 Not Found")).address();
    let machine = Machine::of(&origin);
    let says =
        [&format!("{origin}email/email.txt: the connection was refused"), "put the file at data/email/email.txt"];
    machine.refuses("data fetch email --data data", &says);
    machine.refuses("train email --data data", &says);
}

#[test]
fn a_proxy_of_the_environment_is_used() {
    let proxy = Server::start(|_| server::Answer::status("403 Forbidden"));
    let address = proxy.address();
    let machine = Machine::of("http://mirror.invalid");
    let variables = [("NIGH_ORIGIN", machine.origin.as_str()), ("HTTPS_PROXY", address.as_str())];
    let through = format!("through the proxy {}", address.trim_start_matches("http://").trim_end_matches('/'));
    machine.folder.refuses_with("data fetch email --data data", &variables, 1, &["mirror.invalid", &through]);
    let requests = proxy.requests();
    assert_eq!((requests[0].method.as_str(), requests[0].path.as_str()), ("CONNECT", "mirror.invalid:80"));
}

#[test]
fn names_are_checked_before_anything_is_fetched() {
    let machine = Machine::of("http://127.0.0.1:9");
    let variables = [("NIGH_ORIGIN", machine.origin.as_str())];
    let refuses = |line: &str, code: i32, says: &[&str]| machine.folder.refuses_with(line, &variables, code, says);
    refuses("data fetch email corra --data data", 2, &["unknown dataset `corra`; did you mean `cora`?"]);
    refuses("data fetch", 2, &["<NAME>..."]);
    refuses("data fetch email", 1, &["no folder to put email into", "--data DIR"]);
    refuses(
        "train ogbl-ppa --data data",
        1,
        &["more than 1 GB", "`nigh data fetch ogbl-ppa --data data` downloads it"],
    );
    // Files cannot be combined with the name of a dataset.
    machine.folder.write("features.txt", "0 1\n");
    refuses("train email --data data --features features.txt", 1, &["brings its own features"]);
    // Without a folder to download to, the library reports what is missing.
    refuses(
        "train email",
        1,
        &["email is not here; put the files email.txt, email_labels.txt from https://github.com"],
    );
    machine.folder.refuses_with(
        "data fetch email --data data",
        &[("NIGH_ORIGIN", "mirror")],
        2,
        &["NIGH_ORIGIN", "https://"],
    );
}
