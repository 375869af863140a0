//! A small HTTP server on loopback, that behaves as well or as badly as a test needs. The program's tests use it too.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

/// Answers until it is dropped.
pub struct Server {
    port: u16,
    requests: Arc<Mutex<Vec<Request>>>,
    stopped: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

/// The request of a client.
#[derive(Debug, Clone, PartialEq)]
pub struct Request {
    pub method: String,
    pub path: String,
    /// The first byte, if not the whole file was requested.
    pub range: Option<usize>,
    /// How many requests came before.
    pub before: usize,
}

/// An answer.
#[derive(Debug, Clone)]
pub struct Answer {
    head: String,
    body: Vec<u8>,
    first_pause: Option<Duration>,
    pace: Option<Duration>,
}

impl Server {
    pub fn start(answer: impl Fn(&Request) -> Answer + Send + Sync + 'static) -> Server {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let port = listener.local_addr().expect("an address").port();
        let (requests, stopped) = (Arc::new(Mutex::new(Vec::new())), Arc::new(AtomicBool::new(false)));
        let (log, stop, answer) = (Arc::clone(&requests), Arc::clone(&stopped), Arc::new(answer));
        let thread = std::thread::spawn(move || {
            for stream in listener.incoming() {
                if stop.load(Ordering::Relaxed) {
                    break;
                }
                let (log, answer) = (Arc::clone(&log), Arc::clone(&answer));
                // A client may disconnect at any time.
                std::thread::spawn(move || stream.and_then(|stream| serve(stream, &log, &*answer)));
            }
        });
        Server { port, requests, stopped, thread: Some(thread) }
    }

    /// With a slash at its end.
    pub fn address(&self) -> String {
        format!("http://127.0.0.1:{}/", self.port)
    }

    /// Every request so far.
    pub fn requests(&self) -> Vec<Request> {
        self.requests.lock().expect("nobody panicked").clone()
    }

    /// The first byte of every request so far.
    pub fn ranges(&self) -> Vec<Option<usize>> {
        self.requests().iter().map(|request| request.range).collect()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stopped.store(true, Ordering::Relaxed);
        // Wakes the thread that waits for the next client.
        let _ = TcpStream::connect(("127.0.0.1", self.port));
        self.thread.take().map(JoinHandle::join);
    }
}

fn serve(
    stream: TcpStream,
    log: &Mutex<Vec<Request>>,
    answer: &(impl Fn(&Request) -> Answer + ?Sized),
) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream.try_clone()?);
    let mut line = String::new();
    reader.read_line(&mut line)?;
    let mut words = line.split_whitespace().map(str::to_string);
    let (method, path) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let mut range = None;
    loop {
        let mut line = String::new();
        if reader.by_ref().take(1 << 16).read_line(&mut line)? == 0 || line.trim().is_empty() {
            break;
        }
        if let Some(bytes) = line.to_lowercase().strip_prefix("range: bytes=") {
            range = bytes.trim().trim_end_matches('-').parse().ok();
        }
    }
    let request = {
        let mut log = log.lock().expect("nobody panicked");
        let request = Request { method, path, range, before: log.len() };
        log.push(request.clone());
        request
    };
    let answer = answer(&request);
    let mut stream = stream;
    stream.write_all(answer.head.as_bytes())?;
    if let Some(pause) = answer.first_pause {
        std::thread::sleep(pause);
    }
    for piece in answer.body.chunks(1 << 14) {
        stream.write_all(piece)?;
        if let Some(pace) = answer.pace {
            std::thread::sleep(pace);
        }
    }
    stream.flush()
}

impl Answer {
    /// A status with these lines of header, and a body that may be anything.
    pub fn raw(status: &str, lines: &[String], body: &[u8]) -> Answer {
        let lines: String = lines.iter().map(|line| format!("{line}\r\n")).collect();
        let head = format!("HTTP/1.1 {status}\r\nConnection: close\r\n{lines}\r\n");
        Answer { head, body: body.to_vec(), first_pause: None, pace: None }
    }

    /// A status and a page about it.
    pub fn status(status: &str) -> Answer {
        let page = format!("<html>{status}</html>");
        Answer::raw(status, &[format!("Content-Length: {}", page.len())], page.as_bytes())
    }

    /// A whole file, whatever range was requested.
    pub fn whole(bytes: &[u8]) -> Answer {
        Answer::raw("200 OK", &[format!("Content-Length: {}", bytes.len())], bytes)
    }

    /// The requested part of a file.
    pub fn file(request: &Request, bytes: &[u8]) -> Answer {
        let length = bytes.len();
        match request.range {
            None => Answer::whole(bytes),
            Some(start) if start >= length => {
                Answer::raw("416 Range Not Satisfiable", &[format!("Content-Range: bytes */{length}")], b"")
            }
            Some(start) => {
                let range = format!("Content-Range: bytes {start}-{}/{length}", length - 1);
                let count = format!("Content-Length: {}", length - start);
                Answer::raw("206 Partial Content", &[range, count], &bytes[start..])
            }
        }
    }

    /// The connection ends after this many bytes of the body.
    pub fn cut(mut self, bytes: usize) -> Answer {
        self.body.truncate(bytes);
        self
    }

    /// With a pause between head and body.
    pub fn after_a_pause(self, pause: Duration) -> Answer {
        Answer { first_pause: Some(pause), ..self }
    }

    /// With a pause after every 16 KiB.
    pub fn slowly(self, pace: Duration) -> Answer {
        Answer { pace: Some(pace), ..self }
    }
}
