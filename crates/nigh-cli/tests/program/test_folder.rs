//! A temporary folder for each test, and the program run inside it.

use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use tempfile::TempDir;

/// A temporary folder that is removed when the test ends.
#[derive(Debug)]
pub struct TestFolder(TempDir);

/// Exit code and output of a run.
#[derive(Debug)]
pub struct Answer {
    line: String,
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

/// Every file below a folder with its bytes; `None` for a folder.
pub type Files = BTreeMap<PathBuf, Option<Vec<u8>>>;

impl TestFolder {
    pub fn new() -> TestFolder {
        TestFolder(TempDir::with_prefix("nigh-program-").expect("a writable temporary folder"))
    }

    /// A folder with these files.
    pub fn with<B: AsRef<[u8]>>(files: &[(&str, B)]) -> TestFolder {
        let folder = TestFolder::new();
        files.iter().for_each(|(name, content)| folder.write(name, content));
        folder
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        fs::write(self.path(name), content).expect("a file can be written");
    }

    pub fn read(&self, name: &str) -> Vec<u8> {
        fs::read(self.path(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    pub fn text(&self, name: &str) -> String {
        String::from_utf8(self.read(name)).expect("UTF-8 text")
    }

    /// All files below `name`.
    pub fn files(&self, name: &str) -> Files {
        let mut files = Files::new();
        let mut waiting = vec![self.path(name)];
        while let Some(folder) = waiting.pop() {
            for entry in fs::read_dir(&folder).expect("a folder") {
                let path = entry.expect("an entry").path();
                let relative = path.strip_prefix(self.path(name)).expect("below the folder").to_path_buf();
                if path.is_dir() {
                    files.insert(relative, None);
                    waiting.push(path);
                } else {
                    files.insert(relative, Some(fs::read(&path).expect("a file")));
                }
            }
        }
        files
    }

    /// Asserts that two folders have the same files with the same bytes.
    #[track_caller]
    pub fn assert_same(&self, one: &str, two: &str) {
        let (one_files, two_files) = (self.files(one), self.files(two));
        let names = one_files.keys().chain(two_files.keys());
        let different: Vec<_> = names.filter(|name| one_files.get(*name) != two_files.get(*name)).collect();
        assert!(different.is_empty() && !one_files.is_empty(), "{one} and {two} differ in {different:?}");
    }

    /// The names of the entries of the folder.
    pub fn names(&self) -> Vec<String> {
        let mut names: Vec<String> = fs::read_dir(self.0.path())
            .expect("a folder")
            .map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned())
            .collect();
        names.sort();
        names
    }

    /// `nigh` with the words of `line`, without terminal and environment variables.
    pub fn command(&self, line: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_nigh"));
        command.args(line.split_whitespace()).current_dir(self.0.path()).env_clear().stdin(Stdio::null());
        command
    }

    pub fn nigh(&self, line: &str) -> Answer {
        self.nigh_with(line, &[])
    }

    /// Runs `nigh` with these environment variables.
    pub fn nigh_with(&self, line: &str, variables: &[(&str, &str)]) -> Answer {
        let output = self.command(line).envs(variables.iter().copied()).output().expect("the program starts");
        Answer {
            line: line.to_string(),
            code: output.status.code(),
            stdout: String::from_utf8(output.stdout).expect("UTF-8 text"),
            stderr: String::from_utf8(output.stderr).expect("UTF-8 text"),
        }
    }

    /// Asserts that `nigh line` fails with this exit code, a message that contains all of `says`, nothing on stdout and
    /// every file unchanged.
    #[track_caller]
    pub fn refuses(&self, line: &str, code: i32, says: &[&str]) {
        self.refuses_with(line, &[], code, says);
    }

    #[track_caller]
    pub fn refuses_with(&self, line: &str, variables: &[(&str, &str)], code: i32, says: &[&str]) {
        let before = self.files("");
        let answer = self.nigh_with(line, variables);
        let (shown, stderr) = (format!("nigh {line}\n{}", answer.stderr), &answer.stderr);
        assert!(!stderr.contains("panicked"), "{shown}");
        assert_eq!(answer.code, Some(code), "{shown}");
        assert!(stderr.lines().any(|line| line.starts_with("error: ")), "{shown}");
        says.iter().for_each(|says| assert!(stderr.contains(says), "`{says}` is missing: {shown}"));
        assert_eq!(answer.stdout, "", "stdout of {shown}");
        let names = |files: &Files| files.keys().cloned().collect::<Vec<_>>();
        let after = self.files("");
        assert_eq!(names(&after), names(&before), "files after {shown}");
        assert!(after == before, "a file was changed by {shown}");
    }
}

impl Answer {
    /// The output of a run, which must have succeeded.
    #[track_caller]
    pub fn ok(self) -> String {
        assert_eq!(self.code, Some(0), "nigh {}\n{}", self.line, self.stderr);
        self.stdout
    }

    #[track_caller]
    pub fn json(self) -> Value {
        let stdout = self.ok();
        serde_json::from_str(&stdout).unwrap_or_else(|error| panic!("{error} in {stdout}"))
    }
}

/// Copies a folder of files.
pub fn copy(from: &Path, to: &Path) {
    fs::create_dir(to).expect("a new folder");
    for entry in fs::read_dir(from).expect("a folder") {
        let entry = entry.expect("an entry");
        fs::copy(entry.path(), to.join(entry.file_name())).expect("a file can be copied");
    }
}
