//! One file over HTTP, resumed as often as necessary.

use super::{FetchObserver, Trouble};
use crate::atomic;
use crate::error::{Error, Result};
use crate::interrupt;
use std::fs::File;
use std::io::{ErrorKind, Read, Write};
use std::path::Path;
use std::time::Duration;
use ureq::http::Response;
use ureq::{Agent, Body, Timeout};

/// A connection that brought this many bytes resets the count of failures.
const WORTHWHILE: u64 = 1 << 16;

/// What is wrong with a server that accepts a request and sends nothing. Another would take as long and bring no more.
const SILENT: &str = "the server sent nothing in time";

/// Time limits and pauses.
#[derive(Debug, Clone)]
pub(super) struct TimeLimits {
    /// Before each further attempt.
    pub waits: Vec<Duration>,
    /// For a connection.
    pub connect: Duration,
    /// For the next byte. A connection that stops is made again; one that never brings a byte is given up.
    pub silence: Duration,
}

impl Default for TimeLimits {
    fn default() -> TimeLimits {
        TimeLimits {
            waits: [500, 1000, 2000, 4000].map(Duration::from_millis).to_vec(),
            connect: Duration::from_secs(20),
            silence: Duration::from_secs(30),
        }
    }
}

impl TimeLimits {
    /// Proxies are those of the environment, and none for this machine. From https nothing leads to plain http.
    pub fn agent(&self, address: &str) -> Agent {
        let local = ["http://127.0.0.1", "http://localhost", "http://[::1]"].iter().any(|at| address.starts_with(at));
        let config = Agent::config_builder()
            .proxy(if local { None } else { ureq::Proxy::try_from_env() })
            .https_only(address.starts_with("https://"))
            .http_status_as_error(false)
            .user_agent(concat!("nigh/", env!("CARGO_PKG_VERSION")))
            .accept_encoding("identity")
            .timeout_resolve(Some(self.connect))
            .timeout_connect(Some(self.connect))
            .timeout_send_request(Some(self.silence))
            .timeout_recv_response(Some(self.silence))
            .timeout_per_read(Some(self.silence));
        config.build().into()
    }
}

/// A file to be downloaded.
pub(super) struct Download<'a> {
    pub address: &'a str,
    /// Its name, for messages.
    pub name: &'a str,
    /// Where its bytes are collected.
    pub partial: &'a Path,
    /// How long it is, where that is known beforehand.
    pub length: Option<u64>,
    /// No file may be longer.
    pub limit: u64,
    /// What to do if the download fails.
    pub remedy: String,
}

/// What is known during a download.
struct DownloadState {
    /// How long the file is.
    total: Option<u64>,
    /// Whether a server has answered.
    answered: bool,
    /// Whether the bytes of an earlier run are still part of it.
    resumed: bool,
}

impl Download<'_> {
    /// Completes the partial file. Returns whether it starts with bytes of an earlier run.
    pub fn run(&self, agent: &Agent, limits: &TimeLimits, observer: &mut dyn FetchObserver) -> Result<bool> {
        if self.present() > self.limit {
            std::fs::remove_file(self.partial).map_err(Error::io(self.partial))?;
        }
        let mut state = DownloadState { total: self.length, answered: false, resumed: self.present() > 0 };
        let (mut furthest, mut failures) = (self.present(), 0);
        loop {
            let problem = match self.attempt(agent, &mut state, observer) {
                Ok(()) => break,
                Err(Trouble::Passing(problem)) => problem,
                Err(Trouble::Lasting(problem)) => return Err(self.error(problem)),
                Err(Trouble::Here(error)) => return Err(error),
            };
            if self.present() >= furthest + WORTHWHILE {
                (furthest, failures) = (self.present(), 0);
            }
            let Some(wait) = limits.waits.get(failures) else {
                return Err(self.error(format!("{problem}; gave up after {} attempts", failures + 1)));
            };
            observer.note(&format!("{}: {problem}; trying again in {} s", self.name, wait.as_secs_f32()));
            std::thread::sleep(*wait);
            failures += 1;
        }
        let file = File::options().write(true).open(self.partial);
        file.and_then(|file| file.sync_all()).map_err(Error::io(self.partial))?;
        Ok(state.resumed)
    }

    /// What is wrong with the address, and what to do instead.
    pub fn error(&self, problem: impl Into<String>) -> Error {
        Error::Fetch { address: self.address.to_string(), problem: problem.into(), remedy: self.remedy.clone() }
    }

    /// Number of bytes that have arrived. What a link leads to has not.
    fn present(&self) -> u64 {
        let found = self.partial.symlink_metadata().ok().filter(|found| found.is_file());
        found.map_or(0, |found| found.len())
    }

    /// Discards the bytes that have arrived.
    fn discard(&self) -> std::result::Result<(), Trouble> {
        std::fs::remove_file(self.partial).map_err(|error| Trouble::Here(Error::io(self.partial)(error)))
    }

    /// One request for all missing bytes.
    fn attempt(
        &self,
        agent: &Agent,
        state: &mut DownloadState,
        observer: &mut dyn FetchObserver,
    ) -> std::result::Result<(), Trouble> {
        let present = self.present();
        if state.total == Some(present) {
            return Ok(());
        }
        let mut request = agent.get(self.address);
        if present > 0 {
            request = request.header("Range", format!("bytes={present}-"));
        }
        let response = request.call().map_err(|error| unanswered(error, agent, state.answered))?;
        state.answered = true;
        let status = response.status();
        let range = content_range(&response);
        let (start, total) = match (status.as_u16(), present) {
            // The whole file, whatever range was requested.
            (200, _) => (0, response.body().content_length()),
            (206, 1..) => match range {
                Some(Range { start: Some(start), total })
                    if start == present
                        && total
                            .is_none_or(|total| total > start && state.total.is_none_or(|known| known == total)) =>
                {
                    (start, total.or(state.total))
                }
                _ => {
                    self.discard()?;
                    return Err(Trouble::Passing("another part was sent than the one requested".into()));
                }
            },
            (416, 1..) => {
                // Nothing is missing, or the bytes are those of another file.
                if range.is_some_and(|range| range.total == Some(present)) && state.total.is_none() {
                    return Ok(());
                }
                self.discard()?;
                return Err(Trouble::Passing(format!("there is nothing behind byte {present}")));
            }
            (408 | 429 | 500 | 502 | 503 | 504, _) => return Err(Trouble::Passing(format!("answered {status}"))),
            _ => return Err(Trouble::Lasting(format!("answered {status}"))),
        };
        if let (Some(total), Some(expected)) = (total, self.length)
            && total != expected
        {
            return Err(Trouble::Lasting(format!("is {total} bytes long, expected {expected}")));
        }
        if let Some(total) = total.filter(|&total| total > self.limit) {
            return Err(Trouble::Lasting(format!("is {total} bytes long, more than the {} allowed", self.limit)));
        }
        state.resumed &= start > 0;
        state.total = total.or(self.length);
        self.receive(response, start, state.total, observer)
    }

    /// Appends the body, never more than was announced.
    fn receive(
        &self,
        response: Response<Body>,
        start: u64,
        total: Option<u64>,
        observer: &mut dyn FetchObserver,
    ) -> std::result::Result<(), Trouble> {
        let here = |error| Trouble::Here(Error::io(self.partial)(error));
        let file = match start {
            0 => atomic::create_afresh(self.partial),
            _ => File::options().append(true).open(self.partial),
        };
        let mut file = file.map_err(here)?;
        let mut source = response.into_body().into_reader();
        let mut buffer = vec![0; 1 << 16];
        let (mut present, most) = (start, total.unwrap_or(self.limit));
        loop {
            interrupt::check();
            observer.progress(self.name, present, total);
            let count = match source.read(&mut buffer) {
                Ok(count) => count,
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) if present == start && is_timeout(&error) => {
                    return Err(Trouble::Lasting(format!("{SILENT} behind byte {start}")));
                }
                Err(error) => {
                    return Err(Trouble::Passing(format!("the connection broke after {present} bytes: {error}")));
                }
            };
            if count as u64 > most - present {
                self.discard()?;
                return Err(Trouble::Lasting(format!("continues after the {most} bytes that it should have")));
            }
            if count == 0 {
                break;
            }
            file.write_all(&buffer[..count]).map_err(here)?;
            present += count as u64;
        }
        match total {
            Some(total) if present < total => Err(Trouble::Passing(format!("ended after {present} of {total} bytes"))),
            _ => Ok(()),
        }
    }
}

/// Why there was no answer. A server that was never reached is not tried again, so that users without a network need not wait.
fn unanswered(error: ureq::Error, agent: &Agent, reached: bool) -> Trouble {
    use ureq::Error as Http;
    let broke = |io: &std::io::Error| {
        use ErrorKind::{BrokenPipe, ConnectionAborted, ConnectionReset, Interrupted, TimedOut, UnexpectedEof};
        let kinds = [BrokenPipe, ConnectionAborted, ConnectionReset, Interrupted, TimedOut, UnexpectedEof];
        kinds.contains(&io.kind())
    };
    let (problem, passing) = match error {
        Http::HostNotFound => ("the host was not found; is there a network?".to_string(), reached),
        Http::Timeout(Timeout::Resolve | Timeout::Connect) => ("nobody answered; is there a network?".into(), reached),
        Http::Timeout(_) => (SILENT.into(), false),
        Http::Io(io) if broke(&io) => (format!("the connection broke: {io}"), true),
        Http::Io(io) if io.kind() == ErrorKind::ConnectionRefused => ("the connection was refused".into(), reached),
        // A certificate that is not valid, for one.
        Http::Io(io) if io.kind() == ErrorKind::InvalidData => (format!("it can't be trusted: {io}"), false),
        Http::Io(io) => (format!("it can't be reached, is there a network? ({io})"), reached),
        Http::RequireHttpsOnly(address) => (format!("leads to {address}, which is not https"), false),
        other => (other.to_string(), false),
    };
    let through = match agent.config().proxy() {
        Some(proxy) => format!(" (through the proxy {}:{})", proxy.host(), proxy.port()),
        None => String::new(),
    };
    if passing { Trouble::Passing(problem + &through) } else { Trouble::Lasting(problem + &through) }
}

fn is_timeout(error: &std::io::Error) -> bool {
    let inner = error.get_ref().and_then(|inner| inner.downcast_ref());
    error.kind() == ErrorKind::TimedOut || matches!(inner, Some(ureq::Error::Timeout(_)))
}

/// `Content-Range: bytes START-END/TOTAL`, or `bytes */TOTAL` when there is nothing to send.
struct Range {
    start: Option<u64>,
    total: Option<u64>,
}

fn content_range(response: &Response<Body>) -> Option<Range> {
    let text = response.headers().get("Content-Range")?.to_str().ok()?;
    let (range, total) = text.trim().strip_prefix("bytes")?.trim_start().split_once('/')?;
    let start = range.split_once('-').and_then(|(start, _)| start.parse().ok());
    Some(Range { start, total: total.parse().ok() })
}
