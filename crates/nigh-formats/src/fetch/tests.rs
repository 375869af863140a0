//! Against a server on loopback that disconnects, lies and stalls.

use super::server::{Answer, Request, Server};
use super::*;
use crate::digest::sha256;
use std::io::Write;
use std::time::Duration;
use zip::ZipWriter;
use zip::write::SimpleFileOptions;

const HALF: usize = 50_000;

/// 100 kB that repeat nowhere near a power of two.
fn long() -> Vec<u8> {
    (0..2 * HALF).map(|at| (at % 251) as u8).collect()
}

const SHORT: &[u8] = b"0 1\n1 2\n";

fn leaked<T: ?Sized>(content: Box<T>) -> &'static T {
    Box::leak(content)
}

fn known(origin: Origin, files: &[(&'static str, &[u8])]) -> Published {
    let file = |(name, content): &(&'static str, &[u8])| DatasetFile {
        name,
        bytes: content.len() as u64,
        sha256: leaked(sha256(content).into_boxed_str()),
    };
    Published { name: "toy", folder: "toy", files: leaked(files.iter().map(file).collect()), origin }
}

fn one_by_one() -> Published {
    known(Origin::Folder("https://origin.invalid/"), &[("long.bin", &long()), ("short.txt", SHORT)])
}

fn together() -> Published {
    known(Origin::Archive("https://origin.invalid/toy.zip"), &[("raw/long.bin", &long()), ("short.txt", SHORT)])
}

fn zipped(members: &[(&str, &[u8])]) -> Vec<u8> {
    let mut zip = ZipWriter::new(std::io::Cursor::new(Vec::new()));
    for (name, content) in members {
        zip.start_file(*name, SimpleFileOptions::default()).unwrap();
        zip.write_all(content).unwrap();
    }
    zip.finish().unwrap().into_inner()
}

fn toy_zip() -> Vec<u8> {
    zipped(&[("toy/raw/long.bin", &long()), ("toy/short.txt", SHORT), ("toy/walks.txt", b"not needed")])
}

/// The right file for every path.
fn right(request: &Request) -> Answer {
    match request.path.as_str() {
        "/toy/long.bin" => Answer::file(request, &long()),
        "/toy/short.txt" => Answer::file(request, SHORT),
        "/toy.zip" => Answer::file(request, &toy_zip()),
        _ => Answer::status("404 Not Found"),
    }
}

#[derive(Default)]
struct Heard {
    notes: Vec<String>,
    finished: Vec<String>,
    furthest: u64,
}

impl FetchObserver for Heard {
    fn note(&mut self, text: &str) {
        self.notes.push(text.to_string());
    }

    fn progress(&mut self, _file: &str, bytes: u64, total: Option<u64>) {
        assert!(total.is_none_or(|total| bytes <= total));
        self.furthest = self.furthest.max(bytes);
    }

    fn finished(&mut self, file: &str, _bytes: u64) {
        self.finished.push(file.to_string());
    }
}

/// A folder for data, and short time limits.
struct User {
    temporary: tempfile::TempDir,
    fetch: Fetch,
}

impl User {
    fn of(server: &Server) -> User {
        let limits = TimeLimits {
            waits: vec![Duration::from_millis(1); 4],
            connect: Duration::from_secs(5),
            silence: Duration::from_millis(300),
        };
        User {
            temporary: tempfile::tempdir().unwrap(),
            fetch: Fetch { limits, ..Fetch::from_mirror(&server.address()).unwrap() },
        }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.temporary.path().join(name)
    }

    fn write(&self, name: &str, content: &[u8]) {
        std::fs::create_dir_all(self.path(name).parent().unwrap()).unwrap();
        std::fs::write(self.path(name), content).unwrap();
    }

    fn fetch(&self, known: &Published) -> Result<(Fetched, Heard)> {
        let mut heard = Heard::default();
        let fetched = self.fetch.run(*known, &Folders::new(Some(self.temporary.path())), &mut heard)?;
        Ok((fetched, heard))
    }

    /// Everything below the folder.
    fn files(&self) -> Vec<String> {
        fn below(folder: &Path, files: &mut Vec<PathBuf>) {
            for entry in std::fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() { below(&path, files) } else { files.push(path) }
            }
        }
        let mut files = Vec::new();
        below(self.temporary.path(), &mut files);
        let relative = |path: &PathBuf| path.strip_prefix(self.temporary.path()).unwrap().display().to_string();
        let mut names: Vec<String> = files.iter().map(relative).collect();
        names.sort();
        names
    }

    /// Fetches well, and leaves nothing beside what was wanted.
    #[track_caller]
    fn gets(&self, known: &Published) -> Heard {
        let (fetched, heard) = self.fetch(known).unwrap();
        assert_eq!(fetched, Fetched::New(self.path("toy"), known.files.iter().map(|file| file.bytes).sum()));
        let expected: Vec<String> = known.files.iter().map(|file| format!("toy/{}", file.name)).collect();
        assert_eq!(self.files(), expected);
        for file in known.files {
            assert_eq!(checksum(&self.path("toy").join(file.name)).unwrap(), file.sha256, "{}", file.name);
        }
        heard
    }

    /// Is refused for all of these reasons.
    #[track_caller]
    fn refused(&self, known: &Published, says: &[&str]) -> String {
        let error = self.fetch(known).map(|fetched| fetched.0).unwrap_err().to_string();
        says.iter().for_each(|says| assert!(error.contains(says), "`{says}` is missing: {error}"));
        assert!(error.contains("by hand, ") && error.contains(&self.path("toy").display().to_string()), "{error}");
        error
    }
}

#[test]
fn files_arrive_whole_and_only_once() {
    let server = Server::start(right);
    let user = User::of(&server);
    let heard = user.gets(&one_by_one());
    assert_eq!((&heard.finished[..], &heard.notes[..]), (&["long.bin".to_string(), "short.txt".into()][..], &[][..]));
    assert_eq!(heard.furthest, 2 * HALF as u64);
    assert_eq!(user.fetch(&one_by_one()).unwrap().0, Fetched::Here(user.path("toy")));
    assert_eq!(server.requests().len(), 2, "nothing is requested twice");
    let again = User { fetch: user.fetch.clone().again(), ..user };
    again.gets(&one_by_one());
    assert_eq!(server.requests().len(), 4);
}

#[test]
fn a_file_of_another_length_is_fetched_again_and_the_others_are_not() {
    let server = Server::start(right);
    let user = User::of(&server);
    user.write("toy/long.bin", &long());
    user.write("toy/short.txt", b"0 1\n");
    let (fetched, _) = user.fetch(&one_by_one()).unwrap();
    assert_eq!(fetched, Fetched::New(user.path("toy"), SHORT.len() as u64));
    assert_eq!(server.requests().iter().map(|request| &request.path).collect::<Vec<_>>(), ["/toy/short.txt"]);
}

#[test]
fn a_download_resumes_after_a_broken_connection() {
    let server = Server::start(|request| match request.before {
        0 => right(request).cut(HALF),
        1 => right(request).cut(10),
        _ => right(request),
    });
    let user = User::of(&server);
    let heard = user.gets(&one_by_one());
    assert_eq!(server.ranges(), [None, Some(HALF), Some(HALF + 10), None]);
    assert!(heard.notes[0].contains("long.bin") && heard.notes[0].contains("trying again"), "{:?}", heard.notes);
}

#[test]
fn what_a_killed_run_left_is_resumed() {
    let server = Server::start(right);
    let user = User::of(&server);
    user.write("toy/long.bin.partial", &long()[..HALF]);
    user.write("toy/short.txt.partial", SHORT);
    user.write("toy.lock", b"");
    user.gets(&one_by_one());
    assert_eq!(server.ranges(), [Some(HALF)], "and what was complete is only checked");
}

#[test]
fn what_an_earlier_run_left_of_another_file_is_replaced() {
    for left in [vec![7; HALF], vec![7; 2 * HALF], vec![7; 3 * HALF]] {
        let server = Server::start(right);
        let user = User::of(&server);
        user.write("toy/long.bin.partial", &left);
        let heard = user.gets(&one_by_one());
        assert_eq!(heard.notes.is_empty(), left.len() > 2 * HALF, "{:?}", heard.notes);
    }
}

#[test]
fn a_server_without_ranges_starts_over() {
    let server = Server::start(|request| match (request.path.as_str(), request.before) {
        ("/toy/long.bin", 0) => Answer::whole(&long()).cut(HALF),
        ("/toy/long.bin", _) => Answer::whole(&long()),
        _ => right(request),
    });
    let user = User::of(&server);
    user.gets(&one_by_one());
    assert_eq!(server.ranges(), [None, Some(HALF), None]);
}

#[test]
fn a_part_that_was_not_requested_is_not_taken() {
    let lies = [
        Answer::raw("206 Partial Content", &["Content-Range: bytes 0-99999/100000".into()], &long()),
        Answer::raw("206 Partial Content", &["Content-Range: bytes 50000-50009/50010".into()], &long()[..10]),
        Answer::raw("206 Partial Content", &["Content-Range: bytes 50000-49999/7".into()], b""),
        Answer::raw("206 Partial Content", &["Content-Range: nonsense".into()], &long()),
        Answer::raw("206 Partial Content", &[], &long()),
        Answer::raw("416 Range Not Satisfiable", &["Content-Range: bytes */7".into()], b""),
        Answer::raw("416 Range Not Satisfiable", &[], b""),
    ];
    for lie in lies {
        let server =
            Server::start(move |request| if request.range == Some(HALF) { lie.clone() } else { right(request) });
        let user = User::of(&server);
        user.write("toy/long.bin.partial", &long()[..HALF]);
        user.gets(&one_by_one());
        assert_eq!(server.ranges(), [Some(HALF), None, None]);
    }
}

#[test]
fn a_wrong_checksum_is_refused_and_nothing_is_kept() {
    let server = Server::start(|request| {
        let mut bytes = long();
        bytes[HALF] ^= 1;
        Answer::file(request, &bytes)
    });
    let user = User::of(&server);
    let address = format!("{}toy/long.bin: ", server.address());
    let error = user.refused(&one_by_one(), &[&address, &sha256(&long()), "expected", "toy/long.bin"]);
    assert!(!error.contains("attempts"), "a wrong file is not requested again: {error}");
    assert_eq!(user.files(), [""; 0]);
    assert!(!user.path("toy").exists());
}

#[test]
fn a_length_that_is_not_the_expected_one_is_refused() {
    let chunked = |body: &[u8]| {
        let body = [format!("{:x}\r\n", body.len()).as_bytes(), body, b"\r\n0\r\n\r\n"].concat();
        Answer::raw("200 OK", &["Transfer-Encoding: chunked".into()], &body)
    };
    let longer = [long(), vec![0]].concat();
    let until_closed = |body: &[u8]| Answer::raw("200 OK", &[], body);
    for (answer, says) in [
        (Answer::whole(&longer), "is 100001 bytes long, expected 100000"),
        (Answer::whole(b"version https://git-lfs"), "is 23 bytes long, expected 100000"),
        (chunked(&longer), "continues after the 100000 bytes"),
        (until_closed(&longer), "continues after the 100000 bytes"),
    ] {
        let server = Server::start(move |_| answer.clone());
        let user = User::of(&server);
        user.refused(&one_by_one(), &[says]);
        assert_eq!(user.files(), [""; 0]);
        assert_eq!(server.requests().len(), 1);
    }
    // Without a length, the missing part is requested.
    for answer in [chunked(&long()), until_closed(&long()), until_closed(&long()[..HALF])] {
        let server = Server::start(move |request| match request.before {
            0 => answer.clone(),
            _ => right(request),
        });
        User::of(&server).gets(&one_by_one());
    }
}

#[test]
fn an_error_of_the_server_is_named() {
    for (status, requests) in [("404 Not Found", 1), ("403 Forbidden", 1), ("503 Service Unavailable", 5)] {
        let server = Server::start(move |_| Answer::status(status));
        let user = User::of(&server);
        user.refused(&one_by_one(), &[&format!("answered {status}"), &server.address()]);
        assert_eq!((server.requests().len(), user.files().len()), (requests, 0));
    }
    let server = Server::start(|request| match request.before {
        0..3 => Answer::status("502 Bad Gateway"),
        _ => right(request),
    });
    User::of(&server).gets(&one_by_one());
}

#[test]
fn a_server_that_stops_sending_is_tried_again() {
    let server = Server::start(|request| match request.before {
        0 => right(request).slowly(Duration::from_secs(2)),
        _ => right(request),
    });
    User::of(&server).gets(&one_by_one());
    assert_eq!(server.ranges(), [None, Some(1 << 14), None]);
}

#[test]
fn a_silent_server_is_given_up_without_another_attempt() {
    assert_eq!(TimeLimits::default().silence, Duration::from_secs(30));
    let head = || Answer::raw("200 OK", &["Content-Length: 100000".into()], &long());
    for (answer, says) in [(None, "sent nothing in time"), (Some(head()), "sent nothing in time behind byte 0")] {
        let server = Server::start(move |_| match &answer {
            None => {
                std::thread::sleep(Duration::from_secs(2));
                Answer::status("200 OK")
            }
            Some(answer) => answer.clone().after_a_pause(Duration::from_secs(2)),
        });
        let started = std::time::Instant::now();
        User::of(&server).refused(&one_by_one(), &[says]);
        assert!(started.elapsed() < Duration::from_secs(2), "after {:?}", started.elapsed());
        assert_eq!(server.requests().len(), 1);
    }
}

#[cfg(unix)]
#[test]
fn bytes_are_never_written_through_a_link() {
    let server = Server::start(right);
    let user = User::of(&server);
    user.write("toy/precious", &long()[..HALF]);
    std::os::unix::fs::symlink(user.path("toy/precious"), user.path("toy/long.bin.partial")).unwrap();
    user.fetch(&one_by_one()).unwrap();
    assert_eq!(server.ranges()[0], None, "what the link leads to is not the start of the file");
    assert_eq!(std::fs::read(user.path("toy/precious")).unwrap(), &long()[..HALF]);
    assert_eq!(std::fs::read(user.path("toy/long.bin")).unwrap(), long());
}

#[test]
fn a_server_that_always_breaks_off_is_given_up_and_its_bytes_are_kept() {
    let server = Server::start(|request| right(request).cut(10));
    let user = User::of(&server);
    user.refused(&one_by_one(), &["gave up after 5 attempts"]);
    assert_eq!(server.ranges(), [None, Some(10), Some(20), Some(30), Some(40)]);
    assert_eq!(user.files(), ["toy/long.bin.partial"]);
    // Each connection that brings enough is worth another.
    let server = Server::start(|request| match request.before {
        0..6 => Answer::file(request, &vec![3; 1 << 20]).cut(1 << 17),
        _ => Answer::file(request, &vec![3; 1 << 20]),
    });
    User::of(&server).gets(&known(Origin::Folder(""), &[("large.bin", &vec![3; 1 << 20])]));
    assert_eq!(server.requests().len(), 7);
}

#[test]
fn without_a_network_the_answer_is_quick() {
    let server = Server::start(right);
    let mut user = User::of(&server);
    drop(server);
    user.fetch.limits = TimeLimits::default();
    let start = std::time::Instant::now();
    user.refused(&one_by_one(), &["http://127.0.0.1:", "the connection was refused", "toy/long.bin"]);
    assert!(start.elapsed() < Duration::from_secs(2));
    assert_eq!(user.files(), [""; 0]);
}

#[test]
fn an_archive_gives_the_files_that_are_needed() {
    let server = Server::start(right);
    let user = User::of(&server);
    let heard = user.gets(&together());
    assert_eq!(heard.finished, ["raw/long.bin", "short.txt"]);
    assert_eq!(user.fetch(&together()).unwrap().0, Fetched::Here(user.path("toy")));
    // Without a folder on top, and with the droppings of another system.
    let flat = zipped(&[("raw/long.bin", &long()), ("short.txt", SHORT), ("__MACOSX/._short.txt", b"x")]);
    let server = Server::start(move |request| Answer::file(request, &flat));
    User::of(&server).gets(&together());
}

#[test]
fn the_download_of_an_archive_resumes() {
    let server = Server::start(|request| if request.before == 0 { right(request).cut(100) } else { right(request) });
    User::of(&server).gets(&together());
    assert_eq!(server.ranges(), [None, Some(100)]);
    let server = Server::start(right);
    let user = User::of(&server);
    user.write("toy.zip.partial", &toy_zip()[..100]);
    user.write("toy.unpacked/raw/long.bin", b"from a killed process");
    user.gets(&together());
    // Killed after the last byte.
    let user = User::of(&server);
    user.write("toy.zip.partial", &toy_zip());
    user.gets(&together());
    assert_eq!(server.ranges(), [Some(100), Some(toy_zip().len())]);
    // Left of another archive.
    let user = User::of(&server);
    user.write("toy.zip.partial", &b"PK".repeat(50));
    let heard = user.gets(&together());
    assert!(heard.notes.iter().any(|note| note.contains("starting over")), "{:?}", heard.notes);
    // Longer than the one that is there now.
    let user = User::of(&server);
    user.write("toy.zip.partial", &vec![0; 3 * HALF]);
    user.gets(&together());
}

#[test]
fn an_archive_that_is_not_the_right_one_is_refused_and_nothing_is_kept() {
    let mut damaged = toy_zip();
    // Behind the header of the first member.
    damaged[60] ^= 1;
    let other = b"0 1\n1 3\n";
    let (got, expected) = (sha256(other), sha256(SHORT));
    let checksums = ["`short.txt`", &got[..], &expected[..]];
    let cases: Vec<(Vec<u8>, &[&str])> = vec![
        (zipped(&[("toy/short.txt", SHORT)]), &["does not hold `raw/long.bin`"]),
        (zipped(&[("toy/raw/long.bin", &long()), ("toy/short.txt", b"x")]), &["`short.txt`", "1 bytes", "expected 8"]),
        (zipped(&[("toy/raw/long.bin", &long()), ("toy/short.txt", other)]), &checksums),
        (
            zipped(&[("toy/raw/long.bin", &long()), ("toy/short.txt", SHORT), ("short.txt", SHORT)]),
            &["`short.txt` twice"],
        ),
        (zipped(&[("../evil.txt", b"x"), ("toy/short.txt", SHORT)]), &["`../evil.txt` would leave the folder"]),
        (zipped(&[("toy/raw/long.bin", &long()), ("toy/../../short.txt", SHORT)]), &["would leave the folder"]),
        (zipped(&[("/short.txt", SHORT)]), &["would leave the folder"]),
        (zipped(&[("toy\\..\\short.txt", SHORT)]), &["would leave the folder"]),
        (damaged, &["can't be unpacked"]),
        (toy_zip()[..300].to_vec(), &["is not a readable zip archive"]),
        (b"<html>please log in</html>".to_vec(), &["is not a readable zip archive"]),
    ];
    for (archive, says) in cases {
        let server = Server::start(move |request| Answer::file(request, &archive));
        let user = User::of(&server);
        user.refused(&together(), says);
        assert_eq!(user.files(), [""; 0], "{says:?}");
        assert!(!user.path("evil.txt").exists() && !user.path("../evil.txt").exists());
        assert_eq!(server.requests().len(), 1, "{says:?}");
    }
}

/// Rewrites the unpacked length that the list at the end of an archive claims for its last member.
fn claiming(mut archive: Vec<u8>, length: u32) -> Vec<u8> {
    let entry = archive.windows(4).rposition(|window| window == b"PK\x01\x02").unwrap();
    archive[entry + 24..][..4].copy_from_slice(&length.to_le_bytes());
    archive
}

#[test]
fn without_a_list_what_the_reader_needs_is_unpacked() {
    let unlisted = known(Origin::Archive("https://origin.invalid/toy.zip"), &[]);
    let members: Vec<(&str, &[u8])> = vec![
        ("ppassoc/raw/edge.csv.gz", b"edges"),
        ("ppassoc/raw/num-node-list.csv.gz", b"3"),
        ("ppassoc/raw/num-edge-list.csv.gz", b"2"),
        ("ppassoc/raw/node-feat.csv.gz", b"features"),
        ("ppassoc/raw/", b""),
        ("ppassoc/mapping/nodeidx2proteinid.csv.gz", b"not needed"),
        ("ppassoc/split/throughput/train.pt", b"not needed"),
        ("ppassoc/split/throughput/valid.pt", b"valid"),
        ("ppassoc/split/throughput/test.pt", b"test"),
    ];
    let archive = zipped(&members);
    let server = Server::start(move |request| Answer::file(request, &archive));
    let user = User::of(&server);
    let (fetched, heard) = user.fetch(&unlisted).unwrap();
    assert_eq!(fetched, Fetched::New(user.path("toy"), 24));
    assert!(heard.notes[0].contains("no checksums"), "{:?}", heard.notes);
    assert_eq!(heard.finished.last().unwrap(), LAST, "what makes the folder complete comes last");
    let raw = ["edge", "node-feat", "num-edge-list", "num-node-list"].map(|name| format!("toy/raw/{name}.csv.gz"));
    let split = ["test", "valid"].map(|name| format!("toy/split/throughput/{name}.pt"));
    assert_eq!(user.files(), [&raw[..], &split[..]].concat());

    let refused = |archive: Vec<u8>, says: &[&str]| {
        let server = Server::start(move |request| Answer::file(request, &archive));
        let user = User::of(&server);
        user.refused(&unlisted, says);
        assert_eq!(user.files(), [""; 0], "{says:?}");
    };
    refused(zipped(&members[1..]), &["does not hold `raw/edge.csv.gz`"]);
    refused(zipped(&members[..8]), &["does not hold `/test.pt`"]);
    refused(claiming(zipped(&members), 1 << 30), &["`split/throughput/test.pt`", "zip bomb"]);
    refused(claiming(zipped(&members), 3), &["`split/throughput/test.pt`"]);
    refused(claiming(zipped(&members), 1000), &["`split/throughput/test.pt`"]);
}

#[test]
fn who_comes_second_waits_and_finds_it_here() {
    let server = Server::start(|request| right(request).slowly(Duration::from_millis(20)));
    let user = User::of(&server);
    let known = one_by_one();
    std::thread::scope(|scope| {
        let run = || scope.spawn(|| user.fetch(&known).unwrap());
        let both = [run(), run()].map(|thread| thread.join().unwrap());
        let here = both.iter().filter(|(fetched, _)| matches!(fetched, Fetched::Here(_))).count();
        assert_eq!(here, 1);
    });
    assert_eq!(server.requests().len(), 2);
    assert_eq!(user.files(), ["toy/long.bin", "toy/short.txt"]);
}

#[test]
fn a_lock_that_was_removed_while_it_was_waited_for_is_taken_again() {
    let temporary = tempfile::tempdir().unwrap();
    let path = temporary.path().join("toy.lock");
    let holders = std::sync::atomic::AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                for _ in 0..20 {
                    let lock = Lock::take(&path, || ()).unwrap();
                    assert_eq!(holders.fetch_add(1, std::sync::atomic::Ordering::SeqCst), 0, "one at a time");
                    std::thread::yield_now();
                    holders.fetch_sub(1, std::sync::atomic::Ordering::SeqCst);
                    drop(lock);
                }
            });
        }
    });
    assert!(!path.exists());
}

#[test]
fn a_mirror_is_an_address() {
    for wrong in ["", "mirror.org", "ftp://mirror.org", "https://", "http:///data", "https://mirror org/"] {
        let error = Fetch::from_mirror(wrong).unwrap_err().to_string();
        assert!(error.contains("NIGH_ORIGIN") && error.contains("https://"), "{error}");
    }
    let fetch = Fetch::from_mirror("https://mirror.org/data").unwrap();
    let address = |known| fetch.address(known).unwrap();
    assert_eq!(address(one_by_one()), "https://mirror.org/data/toy/");
    assert_eq!(address(together()), "https://mirror.org/data/toy.zip");
    assert_eq!(
        address(known(Origin::Converted("https://origin.invalid/toy.mat"), &[])),
        "https://mirror.org/data/toy/"
    );
}

#[test]
fn what_is_published_in_another_format_is_not_downloaded() {
    let known = known(Origin::Converted("https://origin.invalid/toy.mat"), &[("toy.txt", SHORT)]);
    assert_eq!(Fetch::from_origin().address(known), None);
    let folder = tempfile::tempdir().unwrap();
    let folders = Folders::new(Some(folder.path()));
    let error = Fetch::from_origin().run(known, &folders, &mut ()).unwrap_err().to_string();
    assert!(
        error.contains("put toy.txt (a line with two ids per link, made from https://origin.invalid/toy.mat"),
        "{error}"
    );
    assert!(error.contains(&folder.path().join("toy").display().to_string()), "{error}");
    std::fs::create_dir(folder.path().join("toy")).unwrap();
    std::fs::write(folder.path().join("toy/toy.txt"), SHORT).unwrap();
    let fetched = Fetch::from_origin().run(known, &folders, &mut ()).unwrap();
    assert_eq!(fetched, Fetched::Here(folder.path().join("toy")));
}
