//! Text tables: lines of columns, separated by comma, semicolon, tab or blanks, plain or compressed. They are read in
//! blocks of whole lines, which all threads take in turn.

mod attributes;
mod write;

pub use self::attributes::{attribute, attributes_start};
pub use self::write::{Formulas, csv_field};

use crate::compressed;
use crate::error::{Error, Parsed, Result};
use crate::files;
use crate::interrupt;
use std::borrow::Cow;
use std::io::{Cursor, Read};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// Large enough to make locking cheap, small enough for the cache of a core.
const BLOCK: usize = 1 << 18;
/// Longer than any row of features.
const LONGEST_LINE: usize = 64 << 20;

/// A text file of lines and columns.
#[derive(Debug)]
pub struct TextTable {
    /// The file, or the name of what is in memory.
    pub path: PathBuf,
    /// The decompressed content of what can't be read twice.
    memory: Option<Arc<[u8]>>,
    /// What separates columns, as the first line shows.
    pub separator: Separator,
    /// The first two lines of content, without the comments above.
    pub head: Vec<HeadLine>,
    /// Whether a line ended with a separator that was left out.
    has_trailing: AtomicBool,
    /// Whether both tabs and blanks separate columns.
    is_mixed: AtomicBool,
}

/// What separates two columns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Separator {
    /// One character of ASCII; columns may be quoted.
    Byte(u8),
    /// Any number of blanks.
    Blanks,
}

/// One line that is neither empty nor a comment.
#[derive(Debug, Clone, PartialEq)]
pub struct HeadLine {
    /// Counted from one.
    pub number: usize,
    /// Its content.
    pub text: String,
}

/// Whole lines.
pub struct LineBlock<'a> {
    /// Counted from zero in the order of the file.
    pub index: usize,
    bytes: &'a [u8],
    /// Lines of content to leave out at its start.
    skip: usize,
}

/// The result of a block.
#[derive(Debug)]
pub struct BlockResult<T> {
    /// The worker that read it.
    pub worker: usize,
    /// Lines of the file above the block.
    pub above: usize,
    /// Lines in it that were left out as comments.
    pub comments: usize,
    /// What the worker made of it.
    pub result: T,
}

/// A remark on lines that were left out, if there are any.
pub fn comments_note<T>(path: &Path, blocks: &[BlockResult<T>]) -> Option<String> {
    let count: usize = blocks.iter().map(|block| block.comments).sum();
    let lines = if count == 1 { "1 line that begins".to_string() } else { format!("{count} lines that begin") };
    (count > 0).then(|| format!("{lines} with # in {}, left out as a comment", path.display()))
}

/// What is wrong with a line of a block, counted from zero.
#[derive(Debug)]
pub struct BadLine {
    line: usize,
    problem: String,
}

/// What was made of a line or a block.
pub type ParsedLine<T> = std::result::Result<T, BadLine>;

impl BadLine {
    /// A problem on a line of the block.
    pub fn new(line: usize, problem: impl Into<String>) -> BadLine {
        BadLine { line, problem: problem.into() }
    }
}

impl TextTable {
    /// Opens a file and looks at its first lines.
    pub fn open(path: &Path) -> Result<TextTable> {
        match files::is_stream(path) {
            false => TextTable::new(path, None),
            // A pipe can be read once, and a table is read twice.
            true => TextTable::in_memory(path, compressed::open(path)?),
        }
    }

    /// From memory, plain or compressed; `name` stands in messages.
    pub fn from_bytes(name: &Path, bytes: Vec<u8>) -> Result<TextTable> {
        TextTable::in_memory(name, compressed::from_bytes(name, bytes)?)
    }

    fn in_memory(name: &Path, source: impl Read) -> Result<TextTable> {
        TextTable::new(name, Some(files::bounded(name, source)?.into()))
    }

    fn new(path: &Path, memory: Option<Arc<[u8]>>) -> Result<TextTable> {
        let mut text = TextTable {
            path: path.to_path_buf(),
            memory,
            separator: Separator::Blanks,
            head: Vec::new(),
            has_trailing: AtomicBool::new(false),
            is_mixed: AtomicBool::new(false),
        };
        let mut blocks = BlockReader::open(&text)?;
        let mut bytes = Vec::new();
        if blocks.fill(&mut bytes)?.is_some() {
            let block = LineBlock { index: 0, bytes: &bytes, skip: 0 };
            let located = |wrong: BadLine| Error::line(path, blocks.above + wrong.line + 1, wrong.problem);
            // Two lines, since the first may be a header.
            for line in block.lines().take(2) {
                let (at, text_of_line) = line.map_err(located)?;
                text.head.push(HeadLine { number: blocks.above + at + 1, text: text_of_line.to_string() });
            }
        }
        if let Some(first) = text.head.first() {
            let columns = attributes_start(&first.text).map_or(&first.text[..], |start| &first.text[..start]);
            let found = [b'\t', b',', b';'].into_iter().find(|&byte| columns.as_bytes().contains(&byte));
            // A single word is a table of one column, whose values may contain blanks.
            let single = !columns.trim().contains([' ', '\t']);
            let other = if single { Separator::Byte(b',') } else { Separator::Blanks };
            text.separator = found.map_or(other, Separator::Byte);
        }
        if text.separator == Separator::Byte(b'\t') && text.head.iter().all(|line| is_mixed_numbers(&line.text)) {
            text.separator = Separator::Blanks;
        }
        // One column that is empty, such as `""`, ends with no separator.
        let ends_empty = |line: &HeadLine| {
            text.columns(line).map(|fields| fields.len() > 1 && fields.last().is_some_and(String::is_empty))
        };
        // A header may end with a separator and name a column without a name: then the line below has a value there.
        let has_trailing = match &text.head[..] {
            [] => false,
            [first] => ends_empty(first)?,
            [first, second, ..] => {
                ends_empty(first)?
                    && (ends_empty(second)? || text.columns(second)?.len() + 1 == text.columns(first)?.len())
            }
        };
        text.has_trailing = AtomicBool::new(has_trailing);
        Ok(text)
    }

    /// Hands every block, below the first `skip` lines of content, to one of several workers, one per thread. Results
    /// come in the order of the file; of several errors the first in the file is returned.
    pub fn blocks<W: Send, T: Send>(
        &self,
        skip: usize,
        worker: impl Fn() -> W + Sync,
        each: impl Fn(&mut W, &LineBlock<'_>) -> ParsedLine<T> + Sync,
    ) -> Result<(Vec<W>, Vec<BlockResult<T>>)> {
        let blocks = Mutex::new(BlockReader::open(self)?);
        let stop = AtomicBool::new(false);
        let work = |_: rayon::BroadcastContext<'_>| {
            let (mut worker, mut done, mut bytes) = (worker(), Vec::new(), Vec::new());
            while !stop.load(Ordering::Relaxed) {
                interrupt::check();
                let filled = blocks.lock().unwrap_or_else(PoisonError::into_inner).fill(&mut bytes);
                let (index, counts, result) = match filled {
                    Ok(None) => break,
                    Ok(Some(index)) => {
                        let block = LineBlock { index, bytes: &bytes, skip: if index == 0 { skip } else { 0 } };
                        let counts = (block.num_lines(), block.num_comments());
                        (index, counts, each(&mut worker, &block).map_err(BlockProblem::Line))
                    }
                    // No block comes after it.
                    Err(error) => (usize::MAX, (0, 0), Err(BlockProblem::Reading(error))),
                };
                if result.is_err() {
                    stop.store(true, Ordering::Relaxed);
                }
                done.push((index, counts, result));
            }
            (worker, done)
        };
        let mut workers = Vec::new();
        let mut done = Vec::new();
        for (number, (worker, blocks)) in rayon::broadcast(work).into_iter().enumerate() {
            workers.push(worker);
            done.extend(blocks.into_iter().map(|(index, counts, result)| (index, number, counts, result)));
        }
        done.sort_unstable_by_key(|block| block.0);
        let mut above = blocks.into_inner().unwrap_or_else(PoisonError::into_inner).above;
        let mut results = Vec::with_capacity(done.len());
        for (_, number, (lines, comments), result) in done {
            match result {
                Ok(result) => results.push(BlockResult { worker: number, above, comments, result }),
                Err(BlockProblem::Line(wrong)) => {
                    return Err(Error::line(&self.path, above + wrong.line + 1, wrong.problem));
                }
                Err(BlockProblem::Reading(error)) => return Err(error),
            }
            above += lines;
        }
        Ok((workers, results))
    }

    /// Every line of content below the first `skip`, one after the other, with its columns.
    pub fn each_line<E: From<Error>>(
        &self,
        skip: usize,
        mut each: impl FnMut(usize, &[Cow<'_, str>]) -> std::result::Result<(), E>,
    ) -> std::result::Result<(), E> {
        let mut blocks = BlockReader::open(self)?;
        let (mut bytes, mut above) = (Vec::new(), blocks.above);
        while let Some(index) = blocks.fill(&mut bytes)? {
            interrupt::check();
            let block = LineBlock { index, bytes: &bytes, skip: if index == 0 { skip } else { 0 } };
            let mut fields = Vec::new();
            let located = |wrong: BadLine| Error::line(&self.path, above + wrong.line + 1, wrong.problem);
            for line in block.lines() {
                let (at, text) = line.map_err(located)?;
                self.separator.split(text, &mut fields).map_err(|problem| located(BadLine::new(at, problem)))?;
                each(above + at + 1, &fields)?;
            }
            above += block.num_lines();
        }
        Ok(())
    }

    /// The columns of a line of the head.
    pub fn fields(&self, line: &HeadLine) -> Result<Vec<String>> {
        let mut fields = self.columns(line)?;
        if self.has_trailing.load(Ordering::Relaxed) && fields.len() > 1 {
            fields.pop_if(|field| field.is_empty());
        }
        Ok(fields)
    }

    /// As `fields`, with an empty column behind a separator at the end.
    fn columns(&self, line: &HeadLine) -> Result<Vec<String>> {
        let mut fields = Vec::new();
        let split = self.separator.split(&line.text, &mut fields);
        split.map_err(|problem| Error::line(&self.path, line.number, problem))?;
        Ok(fields.into_iter().map(Cow::into_owned).collect())
    }

    /// The columns of up to `most` first lines of content, as far as they are within the first block.
    pub fn sample(&self, most: usize) -> Result<Vec<Vec<String>>> {
        let (mut blocks, mut bytes) = (BlockReader::open(self)?, Vec::new());
        blocks.fill(&mut bytes)?;
        let block = LineBlock { index: 0, bytes: &bytes, skip: 0 };
        // What is wrong with a line is told when it is read.
        let lines = block.lines().take(most).map_while(|line| line.ok());
        let mut rows = Vec::new();
        for (at, text) in lines {
            let line = HeadLine { number: blocks.above + at + 1, text: text.to_string() };
            rows.extend(self.fields(&line));
        }
        Ok(rows)
    }

    /// Splits a line that should have `width` columns. A separator at its end is left out, and blanks separate columns
    /// where tabs should; `notes` tells both. It is for the caller to compare the number of columns.
    #[inline]
    pub fn split<'a>(&self, line: &'a str, width: usize, fields: &mut Vec<Cow<'a, str>>) -> Parsed<()> {
        self.separator.split(line, fields)?;
        match self.separator {
            Separator::Byte(_) if fields.len() == width + 1 && fields.last().is_some_and(|last| last.is_empty()) => {
                fields.pop();
                self.has_trailing.store(true, Ordering::Relaxed);
            }
            Separator::Byte(b'\t') if fields.len() != width => {
                let count = line.split_ascii_whitespace().count();
                if count == width {
                    self.is_mixed.store(true, Ordering::Relaxed);
                    return Separator::Blanks.split(line, fields);
                }
            }
            Separator::Blanks if line.contains('\t') => self.is_mixed.store(true, Ordering::Relaxed),
            _ => {}
        }
        Ok(())
    }

    /// Remarks on how lines were split.
    pub fn notes(&self) -> Vec<String> {
        let path = self.path.display();
        let trailing = || format!("lines of {path} end with a separator, which was left out");
        let mixed = || format!("columns of {path} are separated by tabs and by blanks; both were read as separators");
        let notes = [
            self.has_trailing.load(Ordering::Relaxed).then(trailing),
            self.is_mixed.load(Ordering::Relaxed).then(mixed),
        ];
        notes.into_iter().flatten().collect()
    }
}

/// Whether a line has numbers only, and both tabs and blanks between them.
fn is_mixed_numbers(line: &str) -> bool {
    let blank_within = line.split('\t').any(|field| field.trim().contains(' '));
    blank_within && line.split_ascii_whitespace().all(|word| word.parse::<f64>().is_ok())
}

enum BlockProblem {
    Line(BadLine),
    Reading(Error),
}

/// The file, cut after ends of lines.
struct BlockReader {
    path: PathBuf,
    source: Box<dyn Read + Send>,
    /// Read, but not returned yet.
    rest: Vec<u8>,
    ended: bool,
    next: usize,
    /// Lines above the first line of content.
    above: usize,
}

impl BlockReader {
    fn open(text: &TextTable) -> Result<BlockReader> {
        let source = match &text.memory {
            Some(content) => Box::new(Cursor::new(content.clone())),
            None => compressed::open(&text.path)?,
        };
        let mut blocks =
            BlockReader { path: text.path.clone(), source, rest: Vec::new(), ended: false, next: 0, above: 0 };
        blocks.skip_preamble()?;
        Ok(blocks)
    }

    /// Drops comments above the first line of content; some collections mark them with `%`.
    fn skip_preamble(&mut self) -> Result<()> {
        loop {
            let mut bytes = Vec::new();
            if !self.cut(&mut bytes)? {
                return Ok(());
            }
            let mut rest = &bytes[..];
            while !rest.is_empty() {
                let end = rest.iter().position(|&byte| byte == b'\n').map_or(rest.len(), |at| at + 1);
                if !(is_blank(&rest[..end]) || rest[..end].trim_ascii_start().starts_with(b"%")) {
                    self.rest.splice(..0, rest.iter().copied());
                    return Ok(());
                }
                rest = &rest[end..];
                self.above += 1;
            }
        }
    }

    /// The next block and its index.
    fn fill(&mut self, bytes: &mut Vec<u8>) -> Result<Option<usize>> {
        let there = self.cut(bytes)?;
        self.next += usize::from(there);
        Ok(there.then(|| self.next - 1))
    }

    fn cut(&mut self, bytes: &mut Vec<u8>) -> Result<bool> {
        bytes.clear();
        bytes.append(&mut self.rest);
        let mut wanted = BLOCK;
        loop {
            while !self.ended && bytes.len() < wanted {
                let missing = (wanted - bytes.len()) as u64;
                let read = self.source.by_ref().take(missing).read_to_end(bytes);
                self.ended = read.map_err(Error::io(&self.path))? == 0;
            }
            if self.ended {
                return Ok(!bytes.is_empty());
            }
            if let Some(last) = bytes.iter().rposition(|&byte| byte == b'\n') {
                self.rest.extend_from_slice(&bytes[last + 1..]);
                bytes.truncate(last + 1);
                return Ok(true);
            }
            wanted *= 2;
            if wanted > LONGEST_LINE {
                let problem = format!("a line of more than {} MiB; expected a table of lines", LONGEST_LINE >> 20);
                return Err(Error::file(&self.path, problem));
            }
        }
    }
}

/// Whether a line is empty or a comment.
#[inline]
fn is_blank(line: &[u8]) -> bool {
    let content = line.trim_ascii();
    content.is_empty() || content[0] == b'#'
}

impl<'a> LineBlock<'a> {
    /// The bytes, without the lines to be left out, and the number of these.
    #[inline]
    pub fn content(&self) -> (&'a [u8], usize) {
        let mut content = self.bytes;
        let mut skipped = 0;
        let mut left = self.skip;
        while left > 0 && !content.is_empty() {
            let end = content.iter().position(|&byte| byte == b'\n').map_or(content.len(), |at| at + 1);
            left -= usize::from(!is_blank(&content[..end]));
            content = &content[end..];
            skipped += 1;
        }
        (content, skipped)
    }

    fn num_lines(&self) -> usize {
        // In bytes, so that many are counted at once.
        let ends = |bytes: &[u8]| bytes.iter().map(|&byte| u8::from(byte == b'\n')).sum::<u8>();
        self.bytes.chunks(255).map(|bytes| usize::from(ends(bytes))).sum()
    }

    /// Lines that begin with `#`; those above the content were dropped before.
    fn num_comments(&self) -> usize {
        let starts = self.bytes.iter().zip(self.bytes.get(1..).unwrap_or_default());
        usize::from(self.bytes.first() == Some(&b'#'))
            + starts.filter(|&(&end, &start)| end == b'\n' && start == b'#').count()
    }

    /// Lines of content with their numbers, counted from zero.
    #[inline]
    pub fn lines(&self) -> impl Iterator<Item = ParsedLine<(usize, &'a str)>> + use<'a> {
        let (content, skipped) = self.content();
        let lines = content.split(|&byte| byte == b'\n').zip(skipped..);
        lines.filter_map(|(line, number)| Some(line_text(line, number)?.map(|text| (number, text))))
    }
}

/// The text of a line, unless it is empty or a comment.
#[inline]
pub fn line_text(line: &[u8], number: usize) -> Option<ParsedLine<&str>> {
    let text = std::str::from_utf8(line).map(|text| text.trim_end_matches('\r')).map_err(|error| {
        let (column, byte) = (error.valid_up_to() + 1, line[error.valid_up_to()]);
        BadLine::new(number, format!("byte {column} (0x{byte:02x}) is not UTF-8 text"))
    });
    (!is_blank(line)).then_some(text)
}

impl Separator {
    /// Splits a line into trimmed columns. A column may be quoted, unless blanks separate columns.
    #[inline]
    pub fn split<'a>(self, line: &'a str, fields: &mut Vec<Cow<'a, str>>) -> std::result::Result<(), String> {
        fields.clear();
        let separator = match self {
            Separator::Blanks => {
                fields.extend(line.split_ascii_whitespace().map(Cow::Borrowed));
                return Ok(());
            }
            Separator::Byte(byte) => char::from(byte),
        };
        if !line.contains('"') {
            fields.extend(line.split(separator).map(|field| Cow::Borrowed(field.trim())));
            return Ok(());
        }
        let mut field = String::new();
        let mut quoted = false;
        let mut characters = line.chars().peekable();
        while let Some(character) = characters.next() {
            match character {
                '"' if quoted && characters.peek() == Some(&'"') => {
                    field.push('"');
                    characters.next();
                }
                '"' if quoted || field.trim().is_empty() => quoted = !quoted,
                _ if character == separator && !quoted => {
                    fields.push(Cow::Owned(field.trim().to_string()));
                    field.clear();
                }
                _ => field.push(character),
            }
        }
        fields.push(Cow::Owned(field.trim().to_string()));
        if quoted { Err(format!("`{}` opens a quote and does not close it", line.trim())) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(content: &[u8]) -> Result<TextTable> {
        TextTable::from_bytes(Path::new("x.txt"), content.to_vec())
    }

    #[test]
    fn blocks_come_in_order_and_lines_keep_their_numbers() {
        let mut content = b"% konect\n\n# more\n".to_vec();
        (0..200_000).for_each(|at| content.extend(format!("{at} x\n").into_bytes()));
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.txt");
        std::fs::write(&path, &content).unwrap();
        for text in [TextTable::open(&path).unwrap(), table(&content).unwrap()] {
            check_blocks(&text);
        }
    }

    fn check_blocks(text: &TextTable) {
        assert_eq!(text.head[0], HeadLine { number: 4, text: "0 x".into() });
        let first_of = |block: &LineBlock<'_>| block.lines().next().unwrap().unwrap().1.to_string();
        let (_, firsts) = text.blocks(0, || (), |(), block| Ok((block.index, first_of(block)))).unwrap();
        assert!(firsts.len() > 4, "several blocks");
        assert!(firsts.iter().enumerate().all(|(at, done)| done.result.0 == at));
        let wrong_from = |least: usize| {
            move |(): &mut (), block: &LineBlock<'_>| -> ParsedLine<()> {
                for line in block.lines() {
                    let (at, text) = line?;
                    let number: usize = text.split(' ').next().unwrap().parse().unwrap();
                    if number >= least {
                        return Err(BadLine::new(at, format!("{number} is wrong")));
                    }
                }
                Ok(())
            }
        };
        let error = text.blocks(0, || (), wrong_from(150_000)).unwrap_err().to_string();
        assert!(error.ends_with("x.txt:150004: 150000 is wrong"), "{error}");
        let mut last = 0;
        text.each_line(1, |number, fields| {
            assert_eq!(fields[0].parse::<usize>().unwrap() + 4, number);
            last = number;
            Ok::<(), Error>(())
        })
        .unwrap();
        assert_eq!(last, 200_003);
    }

    #[test]
    fn a_line_without_end_is_refused_before_it_fills_the_memory() {
        let error = table(&vec![b'1'; LONGEST_LINE + 1]).unwrap_err().to_string();
        assert!(error.ends_with("a line of more than 64 MiB; expected a table of lines"), "{error}");
    }

    #[test]
    fn separators_are_seen_in_the_first_line() {
        for (content, separator) in [
            ("a,b", Separator::Byte(b',')),
            ("a;b c", Separator::Byte(b';')),
            ("a,b\tc", Separator::Byte(b'\t')),
            ("a  b", Separator::Blanks),
            ("", Separator::Blanks),
            ("id\na b", Separator::Byte(b',')),
            ("1 2 {'a': 1, 'b': 2}", Separator::Blanks),
            ("1,2,{'a': 1}", Separator::Byte(b',')),
            ("1\t2 3\n4\t5 6", Separator::Blanks),
            ("New York\tParis", Separator::Byte(b'\t')),
        ] {
            assert_eq!(table(content.as_bytes()).unwrap().separator, separator, "{content}");
        }
    }
    #[test]
    fn a_line_of_one_empty_text_has_one_column() {
        for content in [&b"\"\"\n"[..], b"a,\n\"\"\n"] {
            let text = table(content).unwrap();
            assert!(text.head.iter().all(|line| text.fields(line).unwrap().len() == 1), "{content:?}");
        }
        assert_eq!(table(b"\"\"\n").unwrap().notes(), [""; 0]);
    }

    #[test]
    fn separators_at_the_end_and_mixed_ones_are_noted() {
        let split = |content: &str, line: &'static str| -> (Vec<String>, Vec<String>) {
            let text = table(content.as_bytes()).unwrap();
            let width = text.fields(&text.head[0]).unwrap().len();
            let mut fields = Vec::new();
            text.split(line, width, &mut fields).unwrap();
            (fields.into_iter().map(Cow::into_owned).collect(), text.notes())
        };
        let trailing = "lines of x.txt end with a separator, which was left out";
        let mixed = "columns of x.txt are separated by tabs and by blanks; both were read as separators";
        for (content, line, note) in [
            ("a,b,\nc,d,\n", "c,d,", Some(trailing)),
            ("a,b,\nc,d\n", "c,d", Some(trailing)),
            ("a,b\nc,d\n", "c,d,", Some(trailing)),
            ("a\tb\n", "c d", Some(mixed)),
            ("a b\n", "c\td", Some(mixed)),
            ("a\tb\n", "c\td", None),
        ] {
            let expected = (vec!["c".to_string(), "d".to_string()], note.map(String::from).into_iter().collect());
            assert_eq!(split(content, line), expected, "{content}");
        }
        // A column without a name that has values, and an empty value.
        assert_eq!(split("id,x,\na,1,2\n", "a,1,2").0.len(), 3);
        assert_eq!(split("id,x\na,\n", "a,"), (vec!["a".to_string(), String::new()], vec![]));
    }
}
