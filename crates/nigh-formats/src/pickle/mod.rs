//! Python pickles, read without executing anything: only the opcodes and classes that public datasets use.
//!
//! An object is kept as data: its class, its arguments and its state (`PickleValue::Object`). All values are
//! in one flat list and refer to each other by index, so neither a deep nor a circular file can exhaust the stack, and what
//! a file repeats is held once. Bytes and text are borrowed from the file.

pub mod numpy;

use crate::error::Parsed;
use std::borrow::Cow;
use std::collections::HashMap;

/// An opcode makes at most one value, one entry of the stack and one of the memo, so this bounds them all.
/// PubMed's graph, the largest of its kind, takes 170,000.
const MAX_STEPS: usize = 1 << 22;

/// Names are short. A long one that is mentioned a million times would be compared as often.
const MAX_NAME: usize = 1000;

/// The place of a value in its pickle.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ValueId(u32);

/// A value of a pickle.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum PickleValue<'a> {
    None,
    Bool(bool),
    Integer(i64),
    Float(f64),
    /// Also the strings of Python 2.
    Bytes(Cow<'a, [u8]>),
    Text(Cow<'a, str>),
    Tuple(Vec<ValueId>),
    List(Vec<ValueId>),
    /// In the order of the file; of equal keys the last counts.
    Dict(Vec<(ValueId, ValueId)>),
    /// The name of a class.
    Class(PickleClass),
    /// What Python would construct; nothing is constructed here.
    Object {
        class: PickleClass,
        args: ValueId,
        state: Option<ValueId>,
    },
    /// A reference to what is stored beside the pickle.
    Persistent(ValueId),
}

/// The only names that a pickle may mention.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PickleClass {
    Array,
    Reconstruct,
    Dtype,
    CsrMatrix,
    NewObject,
    BaseObject,
    List,
    Bytes,
    DefaultDict,
    OrderedDict,
    Encode,
    Tensor,
    LongStorage,
    IntStorage,
}

/// Some have several names, from different versions of a library.
const CLASSES: &[(&str, &str, PickleClass)] = &[
    ("numpy", "ndarray", PickleClass::Array),
    ("numpy.core.multiarray", "_reconstruct", PickleClass::Reconstruct),
    ("numpy._core.multiarray", "_reconstruct", PickleClass::Reconstruct),
    ("numpy", "dtype", PickleClass::Dtype),
    ("scipy.sparse.csr", "csr_matrix", PickleClass::CsrMatrix),
    ("scipy.sparse._csr", "csr_matrix", PickleClass::CsrMatrix),
    ("copy_reg", "_reconstructor", PickleClass::NewObject),
    ("__builtin__", "object", PickleClass::BaseObject),
    ("__builtin__", "list", PickleClass::List),
    ("builtins", "list", PickleClass::List),
    ("__builtin__", "bytes", PickleClass::Bytes),
    ("collections", "defaultdict", PickleClass::DefaultDict),
    ("collections", "OrderedDict", PickleClass::OrderedDict),
    ("_codecs", "encode", PickleClass::Encode),
    ("torch._utils", "_rebuild_tensor_v2", PickleClass::Tensor),
    ("torch", "LongStorage", PickleClass::LongStorage),
    ("torch", "IntStorage", PickleClass::IntStorage),
];

/// A pickle that has been read.
#[derive(Debug)]
pub struct Pickle<'a> {
    values: Vec<PickleValue<'a>>,
    root: ValueId,
    /// What follows in the file.
    pub rest: &'a [u8],
}

impl<'a> Pickle<'a> {
    /// Reads one pickle from the start of `bytes`.
    pub fn read(bytes: &'a [u8]) -> Parsed<Pickle<'a>> {
        let mut machine = PickleMachine { rest: bytes, ..PickleMachine::default() };
        for _ in 0..MAX_STEPS {
            let at = bytes.len() - machine.rest.len();
            if let Some(root) = machine.step().map_err(|problem| format!("byte {at}: {problem}"))? {
                return Ok(Pickle { values: machine.values, root, rest: machine.rest });
            }
        }
        Err(format!("more than {MAX_STEPS} pickle operations; no dataset that is read here needs as many"))
    }

    /// The value that was pickled.
    pub fn root(&self) -> ValueId {
        self.root
    }

    /// The value at a place.
    pub(crate) fn value(&self, id: ValueId) -> &PickleValue<'a> {
        &self.values[id.0 as usize]
    }

    /// Every value, reachable or not.
    pub(crate) fn values(&self) -> impl Iterator<Item = &PickleValue<'a>> {
        self.values.iter()
    }

    /// The place of every value.
    pub fn ids(&self) -> impl Iterator<Item = ValueId> + use<> {
        (0..self.values.len() as u32).map(ValueId)
    }

    /// An integer.
    pub fn integer(&self, id: ValueId) -> Parsed<i64> {
        match self.value(id) {
            PickleValue::Integer(integer) => Ok(*integer),
            other => Err(format!("expected an integer, found {}", other.kind())),
        }
    }

    /// An integer that counts something.
    pub fn size(&self, id: ValueId) -> Parsed<usize> {
        let integer = self.integer(id)?;
        usize::try_from(integer).map_err(|_| format!("expected a size, found {integer}"))
    }

    /// A text. Byte strings of Python 2 must be short, since each call checks them again.
    pub fn text(&self, id: ValueId) -> Parsed<&str> {
        match self.value(id) {
            PickleValue::Text(text) => Ok(text),
            PickleValue::Bytes(bytes) if bytes.len() <= MAX_NAME => {
                std::str::from_utf8(bytes).map_err(|_| "expected a text, found bytes".into())
            }
            other => Err(format!("expected a text, found {}", other.kind())),
        }
    }

    /// A text that names something.
    pub fn name(&self, id: ValueId) -> Parsed<&str> {
        let text = self.text(id)?;
        if text.len() <= MAX_NAME { Ok(text) } else { Err(format!("a name of {} bytes", text.len())) }
    }

    /// Bytes; Python 3 writes them as `_codecs.encode(text, "latin1")` for readers older than itself.
    pub fn bytes(&self, id: ValueId) -> Parsed<Cow<'_, [u8]>> {
        match self.value(id) {
            PickleValue::Bytes(bytes) => Ok(Cow::Borrowed(bytes)),
            PickleValue::Object { class: PickleClass::Encode, args, .. } => match *self.tuple(*args)? {
                [text, codec] if self.text(codec)? == "latin1" => {
                    let byte = |c: char| u8::try_from(c).map_err(|_| format!("{c:?} is no latin1 character"));
                    self.text(text)?.chars().map(byte).collect::<Parsed<Vec<u8>>>().map(Cow::Owned)
                }
                _ => Err("expected bytes as latin1 text".into()),
            },
            other => Err(format!("expected bytes, found {}", other.kind())),
        }
    }

    /// The items of a tuple.
    pub fn tuple(&self, id: ValueId) -> Parsed<&[ValueId]> {
        match self.value(id) {
            PickleValue::Tuple(items) => Ok(items),
            other => Err(format!("expected a tuple, found {}", other.kind())),
        }
    }

    /// The items of a list.
    pub fn list(&self, id: ValueId) -> Parsed<&[ValueId]> {
        match self.value(id) {
            PickleValue::List(items) => Ok(items),
            other => Err(format!("expected a list, found {}", other.kind())),
        }
    }

    /// The entries of a dictionary.
    pub fn dict(&self, id: ValueId) -> Parsed<&[(ValueId, ValueId)]> {
        match self.value(id) {
            PickleValue::Dict(entries) => Ok(entries),
            other => Err(format!("expected a dictionary, found {}", other.kind())),
        }
    }

    /// The value under a key of a dictionary.
    pub fn entry(&self, dict: ValueId, key: &str) -> Parsed<Option<ValueId>> {
        let named = |entry: &&(ValueId, ValueId)| match self.value(entry.0) {
            PickleValue::Text(text) => text == key,
            PickleValue::Bytes(bytes) => bytes.as_ref() == key.as_bytes(),
            _ => false,
        };
        Ok(self.dict(dict)?.iter().rfind(named).map(|entry| entry.1))
    }
}

impl PickleValue<'_> {
    /// The kind of value, for messages.
    pub fn kind(&self) -> &'static str {
        match self {
            PickleValue::None => "None",
            PickleValue::Bool(_) => "a truth value",
            PickleValue::Integer(_) => "an integer",
            PickleValue::Float(_) => "a number",
            PickleValue::Bytes(_) => "bytes",
            PickleValue::Text(_) => "a text",
            PickleValue::Tuple(_) => "a tuple",
            PickleValue::List(_) => "a list",
            PickleValue::Dict(_) => "a dictionary",
            PickleValue::Class(_) => "the name of a class",
            PickleValue::Object { class: PickleClass::Reconstruct, .. } => "a numpy array",
            PickleValue::Object { class: PickleClass::CsrMatrix, .. } => "a sparse matrix",
            PickleValue::Object { class: PickleClass::Tensor, .. } => "a tensor",
            PickleValue::Object { .. } => "an object",
            PickleValue::Persistent(_) => "a storage",
        }
    }
}

/// The stack machine that pickles are written for, without any calls.
#[derive(Default)]
struct PickleMachine<'a> {
    rest: &'a [u8],
    values: Vec<PickleValue<'a>>,
    stack: Vec<ValueId>,
    /// The height of the stack at each open mark.
    marks: Vec<usize>,
    memo: HashMap<u64, ValueId>,
}

impl<'a> PickleMachine<'a> {
    /// One opcode. Returns the value of the pickle when it ends.
    fn step(&mut self) -> Parsed<Option<ValueId>> {
        let value = match self.number::<1>()? as u8 {
            0x80 => match self.number::<1>()? {
                0..=3 => return Ok(None),
                newer => return Err(format!("pickle protocol {newer}; protocols 0 to 3 are read")),
            },
            b'.' => return self.pop().map(Some),
            b'(' => {
                self.marks.push(self.stack.len());
                return Ok(None);
            }
            b'N' => PickleValue::None,
            0x88 => PickleValue::Bool(true),
            0x89 => PickleValue::Bool(false),
            b'K' => PickleValue::Integer(self.number::<1>()? as i64),
            b'M' => PickleValue::Integer(self.number::<2>()? as i64),
            b'J' => PickleValue::Integer(i64::from(self.number::<4>()? as i32)),
            0x8a => PickleValue::Integer(self.long()?),
            b'I' => match self.line()? {
                b"00" => PickleValue::Bool(false),
                b"01" => PickleValue::Bool(true),
                digits => PickleValue::Integer(parse(digits, "integer")?),
            },
            b'L' => {
                let digits = self.line()?;
                PickleValue::Integer(parse(digits.strip_suffix(b"L").unwrap_or(digits), "integer")?)
            }
            b'F' => PickleValue::Float(parse(self.line()?, "number")?),
            b'G' => PickleValue::Float(f64::from_bits(self.number::<8>()?.swap_bytes())),
            b'U' | b'C' => PickleValue::Bytes(self.counted::<1>()?.into()),
            b'T' | b'B' => PickleValue::Bytes(self.counted::<4>()?.into()),
            b'S' => PickleValue::Bytes(quoted(self.line()?)?),
            b'X' => {
                let text = std::str::from_utf8(self.counted::<4>()?);
                PickleValue::Text(text.map_err(|_| "a text that is not UTF-8")?.into())
            }
            b'V' => PickleValue::Text(unicode(self.line()?)?.into()),
            b')' => PickleValue::Tuple(Vec::new()),
            b't' => PickleValue::Tuple(self.pop_to_mark()?),
            code @ 0x85..=0x87 => {
                let mut items = Vec::with_capacity(3);
                for _ in 0x85..=code {
                    items.push(self.pop()?);
                }
                items.reverse();
                PickleValue::Tuple(items)
            }
            b']' => PickleValue::List(Vec::new()),
            b'l' => PickleValue::List(self.pop_to_mark()?),
            b'a' => {
                let item = self.pop()?;
                return self.append(vec![item]);
            }
            b'e' => {
                let items = self.pop_to_mark()?;
                return self.append(items);
            }
            b'}' => PickleValue::Dict(Vec::new()),
            b'd' => {
                let items = self.pop_to_mark()?;
                self.push(PickleValue::Dict(Vec::new()));
                return self.set_items(items);
            }
            b's' => {
                let (value, key) = (self.pop()?, self.pop()?);
                return self.set_items(vec![key, value]);
            }
            b'u' => {
                let items = self.pop_to_mark()?;
                return self.set_items(items);
            }
            b'q' => return self.remember::<1>(),
            b'r' => return self.remember::<4>(),
            b'p' => {
                let at = parse(self.line()?, "place in the memo")?;
                return self.store(at);
            }
            b'h' => return self.recall_number::<1>(),
            b'j' => return self.recall_number::<4>(),
            b'g' => {
                let at = parse(self.line()?, "place in the memo")?;
                return self.recall(at);
            }
            b'c' => PickleValue::Class(class(self.line()?, self.line()?)?),
            b'R' | 0x81 => {
                let (args, callee) = (self.pop()?, self.pop()?);
                self.object(callee, args)?
            }
            b'b' => return self.build(),
            b'Q' => PickleValue::Persistent(self.pop()?),
            code => return Err(format!("opcode 0x{code:02x} is none that these files use")),
        };
        self.push(value);
        Ok(None)
    }

    fn push(&mut self, value: PickleValue<'a>) {
        self.stack.push(ValueId(self.values.len() as u32));
        self.values.push(value);
    }

    fn top(&self) -> Parsed<ValueId> {
        let floor = self.marks.last().copied().unwrap_or(0);
        if self.stack.len() > floor { Ok(self.stack[self.stack.len() - 1]) } else { Err("the stack is empty".into()) }
    }

    fn pop(&mut self) -> Parsed<ValueId> {
        let top = self.top()?;
        self.stack.pop();
        Ok(top)
    }

    fn pop_to_mark(&mut self) -> Parsed<Vec<ValueId>> {
        let mark = self.marks.pop().ok_or("a mark is missing")?;
        Ok(self.stack.split_off(mark))
    }

    fn append(&mut self, items: Vec<ValueId>) -> Parsed<Option<ValueId>> {
        let list = self.top()?;
        match &mut self.values[list.0 as usize] {
            PickleValue::List(list) => list.extend(items),
            other => return Err(format!("can't append to {}", other.kind())),
        }
        Ok(None)
    }

    fn set_items(&mut self, items: Vec<ValueId>) -> Parsed<Option<ValueId>> {
        let dict = self.top()?;
        if items.len() % 2 == 1 {
            return Err("a key without a value".into());
        }
        match &mut self.values[dict.0 as usize] {
            PickleValue::Dict(entries) => entries.extend(items.chunks_exact(2).map(|pair| (pair[0], pair[1]))),
            other => return Err(format!("can't set a key of {}", other.kind())),
        }
        Ok(None)
    }

    fn remember<const N: usize>(&mut self) -> Parsed<Option<ValueId>> {
        let at = self.number::<N>()?;
        self.store(at)
    }

    fn store(&mut self, at: u64) -> Parsed<Option<ValueId>> {
        let top = self.top()?;
        self.memo.insert(at, top);
        Ok(None)
    }

    fn recall_number<const N: usize>(&mut self) -> Parsed<Option<ValueId>> {
        let at = self.number::<N>()?;
        self.recall(at)
    }

    fn recall(&mut self, at: u64) -> Parsed<Option<ValueId>> {
        let id = self.memo.get(&at).ok_or_else(|| format!("nothing was remembered at place {at}"))?;
        self.stack.push(*id);
        Ok(None)
    }

    /// The value of a call: an empty dictionary, or a record of the class and its arguments.
    fn object(&self, callee: ValueId, args: ValueId) -> Parsed<PickleValue<'a>> {
        let PickleValue::Class(class) = self.values[callee.0 as usize] else { return Err("a call of no class".into()) };
        let PickleValue::Tuple(given) = &self.values[args.0 as usize] else {
            return Err("a call without arguments".into());
        };
        let given_class = |at: usize| match given.get(at).map(|id| &self.values[id.0 as usize]) {
            Some(PickleValue::Class(class)) => Some(*class),
            _ => None,
        };
        match class {
            PickleClass::DefaultDict if given.len() == 1 && given_class(0) == Some(PickleClass::List) => {
                Ok(PickleValue::Dict(Vec::new()))
            }
            PickleClass::OrderedDict if given.is_empty() => Ok(PickleValue::Dict(Vec::new())),
            PickleClass::Bytes if given.is_empty() => Ok(PickleValue::Bytes(Cow::Borrowed(&[]))),
            PickleClass::NewObject if given_class(0) == Some(PickleClass::CsrMatrix) => {
                Ok(PickleValue::Object { class: PickleClass::CsrMatrix, args, state: None })
            }
            PickleClass::Reconstruct
            | PickleClass::Dtype
            | PickleClass::CsrMatrix
            | PickleClass::Encode
            | PickleClass::Tensor => Ok(PickleValue::Object { class, args, state: None }),
            _ => Err(format!("a call of {class:?} with {} arguments that these files do not make", given.len())),
        }
    }

    fn build(&mut self) -> Parsed<Option<ValueId>> {
        let (given, object) = (self.pop()?, self.top()?);
        match &mut self.values[object.0 as usize] {
            PickleValue::Object { state: state @ None, .. } => *state = Some(given),
            other => return Err(format!("can't set the state of {}", other.kind())),
        }
        Ok(None)
    }

    fn take(&mut self, count: u64) -> Parsed<&'a [u8]> {
        let here = self.rest.len();
        let cut = usize::try_from(count).ok().and_then(|count| self.rest.split_at_checked(count));
        let (taken, rest) = cut.ok_or_else(|| format!("{count} bytes announced, but the file ends after {here}"))?;
        self.rest = rest;
        Ok(taken)
    }

    /// An unsigned little-endian number of `N` bytes.
    fn number<const N: usize>(&mut self) -> Parsed<u64> {
        let mut bytes = [0; 8];
        bytes[..N].copy_from_slice(self.take(N as u64)?);
        Ok(u64::from_le_bytes(bytes))
    }

    /// Bytes behind their own number, which itself takes `N` bytes.
    fn counted<const N: usize>(&mut self) -> Parsed<&'a [u8]> {
        let count = self.number::<N>()?;
        self.take(count)
    }

    fn long(&mut self) -> Parsed<i64> {
        let bytes = self.counted::<1>()?;
        if bytes.len() > 8 {
            return Err(format!("an integer of {} bytes; at most 8 are read", bytes.len()));
        }
        let negative = bytes.last().is_some_and(|&byte| byte >= 0x80);
        let mut wide = [if negative { 0xff } else { 0 }; 8];
        wide[..bytes.len()].copy_from_slice(bytes);
        Ok(i64::from_le_bytes(wide))
    }

    fn line(&mut self) -> Parsed<&'a [u8]> {
        let end = self.rest.iter().position(|&byte| byte == b'\n').ok_or("the file ends within a line")?;
        let line = &self.rest[..end];
        self.rest = &self.rest[end + 1..];
        Ok(line)
    }
}

fn class(module: &[u8], name: &[u8]) -> Parsed<PickleClass> {
    let known = CLASSES.iter().find(|known| known.0.as_bytes() == module && known.1.as_bytes() == name);
    known.map(|known| known.2).ok_or_else(|| {
        let (module, name) = (shown(module), shown(name));
        format!("`{module}.{name}` is refused: the data that are read here need no such class or function")
    })
}

/// Bytes for a message.
fn shown(bytes: &[u8]) -> String {
    let cut = if bytes.len() > 60 { "..." } else { "" };
    format!("{}{cut}", bytes[..bytes.len().min(60)].escape_ascii())
}

fn parse<T: std::str::FromStr>(line: &[u8], what: &str) -> Parsed<T> {
    let parsed = std::str::from_utf8(line).ok().and_then(|text| text.parse().ok());
    parsed.ok_or_else(|| format!("`{}` is no {what} that can be read", shown(line)))
}

/// A string as Python 2 prints it, quotes and escapes included.
fn quoted(line: &[u8]) -> Parsed<Cow<'_, [u8]>> {
    let inner = match line {
        [b'\'', inner @ .., b'\''] | [b'"', inner @ .., b'"'] => inner,
        _ => return Err(format!("`{}` is no quoted string", shown(line))),
    };
    if !inner.contains(&b'\\') {
        return Ok(inner.into());
    }
    let mut bytes = Vec::new();
    let mut rest = inner;
    while let [first, after @ ..] = rest {
        rest = after;
        bytes.push(match first {
            b'\\' => {
                let (byte, after) = match after {
                    [b'n', after @ ..] => (b'\n', after),
                    [b't', after @ ..] => (b'\t', after),
                    [b'r', after @ ..] => (b'\r', after),
                    [same @ (b'\\' | b'\'' | b'"'), after @ ..] => (*same, after),
                    [b'x', high, low, after @ ..] => (hexadecimal(&[*high, *low])? as u8, after),
                    _ => return Err(format!("`\\{}` is no escape of a string", shown(after))),
                };
                rest = after;
                byte
            }
            byte => *byte,
        });
    }
    Ok(bytes.into())
}

/// A text as protocol 0 writes it: latin1, and `\u` escapes for the rest.
fn unicode(line: &[u8]) -> Parsed<String> {
    let mut text = String::new();
    let mut rest = line;
    while let [first, after @ ..] = rest {
        let width = match rest {
            [b'\\', b'u', ..] => 4,
            [b'\\', b'U', ..] => 8,
            _ => {
                text.push(char::from(*first));
                rest = after;
                continue;
            }
        };
        let digits = after.get(1..=width).ok_or("a text ends within an escape")?;
        text.push(char::from_u32(hexadecimal(digits)?).ok_or("an escape that is no character")?);
        rest = &after[1 + width..];
    }
    Ok(text)
}

fn hexadecimal(digits: &[u8]) -> Parsed<u32> {
    let text = std::str::from_utf8(digits).ok().filter(|text| text.bytes().all(|byte| byte.is_ascii_hexdigit()));
    let number = text.and_then(|text| u32::from_str_radix(text, 16).ok());
    number.ok_or_else(|| format!("`{}` are no hexadecimal digits", shown(digits)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::pickle as build;
    use proptest::prelude::*;

    // Made by Python 3.11 from
    // {'a': [1, -2, 300, 70000, 1 << 40, 3.5, True, None, 'é€😀'], 'b': (1,), 'c': (), 'd': (1, 2, 3, 4)}
    const BY_PROTOCOL: [&[u8]; 3] = [
        b"(dp0\nVa\np1\n(lp2\nI1\naI-2\naI300\naI70000\naL1099511627776L\naF3.5\naI01\naNaV\xe9\\u20ac\\U0001f600\np3\
            \nasVb\np4\n(I1\ntp5\nsVc\np6\n(tsVd\np7\n(I1\nI2\nI3\nI4\ntp8\ns.",
        b"}q\x00(X\x01\x00\x00\x00aq\x01]q\x02(K\x01J\xfe\xff\xff\xffM,\x01Jp\x11\x01\x00L1099511627776L\nG@\x0c\x00\
            \x00\x00\x00\x00\x00I01\nNX\x09\x00\x00\x00\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80q\x03eX\x01\x00\x00\x00bq\
            \x04(K\x01tq\x05X\x01\x00\x00\x00cq\x06)X\x01\x00\x00\x00dq\x07(K\x01K\x02K\x03K\x04tq\x08u.",
        b"\x80\x02}q\x00(X\x01\x00\x00\x00aq\x01]q\x02(K\x01J\xfe\xff\xff\xffM,\x01Jp\x11\x01\x00\x8a\x06\x00\x00\x00\
            \x00\x00\x01G@\x0c\x00\x00\x00\x00\x00\x00\x88NX\x09\x00\x00\x00\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80q\x03\
            eX\x01\x00\x00\x00bq\x04K\x01\x85q\x05X\x01\x00\x00\x00cq\x06)X\x01\x00\x00\x00dq\x07(K\x01K\x02K\x03K\
            \x04tq\x08u.",
    ];

    // [b'\x00\xff', b''] in protocols 0, 2 and 3.
    const BYTES: [&[u8]; 3] = [
        b"(lp0\nc_codecs\nencode\np1\n(V\\u0000\xff\np2\nVlatin1\np3\ntp4\nRp5\nac__builtin__\nbytes\np6\n(tRp7\na.",
        b"\x80\x02]q\x00(c_codecs\nencode\nq\x01X\x03\x00\x00\x00\x00\xc3\xbfq\x02X\x06\x00\x00\x00latin1q\x03\x86q\
            \x04Rq\x05c__builtin__\nbytes\nq\x06)Rq\x07e.",
        b"\x80\x03]q\x00(C\x02\x00\xffq\x01C\x00q\x02e.",
    ];

    // defaultdict(list, {0: [1, 2], 1: [0], 2: [0]}) in protocols 0 and 2.
    const GRAPH: [&[u8]; 2] = [
        b"ccollections\ndefaultdict\np0\n(c__builtin__\nlist\np1\ntp2\nRp3\nI0\n(lp4\nI1\naI2\nasI1\n(lp5\nI0\nasI2\n\
            (lp6\nI0\nas.",
        b"\x80\x02ccollections\ndefaultdict\nq\x00c__builtin__\nlist\nq\x01\x85q\x02Rq\x03(K\x00]q\x04(K\x01K\x02eK\
            \x01]q\x05K\x00aK\x02]q\x06K\x00au.",
    ];

    fn problem(bytes: &[u8]) -> String {
        Pickle::read(bytes).unwrap_err()
    }

    #[test]
    fn protocols_0_to_2_say_the_same() {
        for bytes in BY_PROTOCOL {
            let pickle = Pickle::read(bytes).unwrap();
            assert!(pickle.rest.is_empty());
            let entry = |name| pickle.entry(pickle.root(), name).unwrap().unwrap();
            let list: Vec<_> = pickle.list(entry("a")).unwrap().iter().map(|&id| pickle.value(id).clone()).collect();
            let integers = [1, -2, 300, 70_000, 1 << 40].map(PickleValue::Integer);
            assert_eq!(list[..5], integers);
            assert_eq!(list[5..8], [PickleValue::Float(3.5), PickleValue::Bool(true), PickleValue::None]);
            assert_eq!(list[8], PickleValue::Text("é€😀".into()));
            let lengths = ["b", "c", "d"].map(|name| pickle.tuple(entry(name)).unwrap().len());
            assert_eq!(lengths, [1, 0, 4]);
            assert_eq!(pickle.entry(pickle.root(), "e").unwrap(), None);
        }
    }

    #[test]
    fn bytes_are_bytes_in_every_protocol() {
        for bytes in BYTES {
            let pickle = Pickle::read(bytes).unwrap();
            let [some, none] = *pickle.list(pickle.root()).unwrap() else { panic!("two entries") };
            assert_eq!(pickle.bytes(some).unwrap().as_ref(), [0, 0xff]);
            assert!(pickle.bytes(none).unwrap().is_empty());
        }
    }

    #[test]
    fn strings_of_python_2_are_unescaped() {
        let pickle = Pickle::read(b"S'a\\x00\\n\\\\\\'\\xff'\n.").unwrap();
        assert_eq!(pickle.bytes(pickle.root()).unwrap().as_ref(), b"a\x00\n\\'\xff");
        for bad in [&b"S'a\n."[..], b"S'\n.", b"Sa\n.", b"S'\\x+1'\n.", b"S'\\'\n.", b"V\\u12\n.", b"V\\ud800\n."] {
            assert!(Pickle::read(bad).is_err(), "{}", bad.escape_ascii());
        }
    }

    #[test]
    fn a_default_dictionary_is_a_dictionary() {
        for bytes in GRAPH {
            let pickle = Pickle::read(bytes).unwrap();
            let entries = pickle.dict(pickle.root()).unwrap();
            let lists = entries.iter().map(|&(_, list)| pickle.list(list).unwrap().len());
            assert_eq!(lists.collect::<Vec<_>>(), [2, 1, 1]);
        }
    }

    #[test]
    fn of_equal_keys_the_last_counts() {
        let pickle = Pickle::read(b"}(U\x01aK\x01U\x01aK\x02u.").unwrap();
        let id = pickle.entry(pickle.root(), "a").unwrap().unwrap();
        assert_eq!(pickle.integer(id), Ok(2));
    }

    #[test]
    fn foreign_names_are_refused_by_name() {
        let refused = "`os.system` is refused: the data that are read here need no such class or function";
        // os.system('echo') in protocols 0 and 2, and as an old instance.
        assert_eq!(problem(b"cos\nsystem\np0\n(Vecho\np1\ntp2\nRp3\n."), format!("byte 0: {refused}"));
        let second = b"\x80\x02cos\nsystem\nq\x00X\x04\x00\x00\x00echoq\x01\x85q\x02Rq\x03.";
        assert_eq!(problem(second), format!("byte 2: {refused}"));
        assert_eq!(problem(b"(S'echo'\nios\nsystem\n."), "byte 9: opcode 0x69 is none that these files use");
        assert!(problem(b"c__builtin__\neval\n.").contains("`__builtin__.eval` is refused"));
        assert!(problem(&[&b"c"[..], &[b'\xff'; 500], b"\nx\n."].concat()).len() < 400);
        // Known names are called as these files call them, and only so.
        assert!(problem(b"ccollections\ndefaultdict\n(c__builtin__\nobject\ntR.").contains("a call of DefaultDict"));
        assert!(problem(b"c__builtin__\nlist\n)R.").contains("a call of List"));
        assert!(problem(b"K\x01)R.").contains("a call of no class"));
        assert!(problem(b"\x80\x04.").contains("protocol 4"));
    }

    #[test]
    fn a_file_that_ends_early_is_an_error_wherever_it_ends() {
        for whole in BY_PROTOCOL.iter().chain(&BYTES).chain(&GRAPH) {
            assert!(Pickle::read(whole).is_ok());
            for end in 0..whole.len() {
                assert!(Pickle::read(&whole[..end]).is_err(), "cut at {end}");
            }
        }
    }

    #[test]
    fn announced_lengths_are_held_against_the_file() {
        let announced = "byte 0: 2147483648 bytes announced, but the file ends after 1";
        for code in *b"TBX" {
            assert_eq!(problem(&[code, 0, 0, 0, 0x80, b'.']), announced);
        }
        assert_eq!(problem(b"U\xff."), "byte 0: 255 bytes announced, but the file ends after 1");
        assert!(problem(b"\x8a\x09123456789.").contains("an integer of 9 bytes"));
    }

    #[test]
    fn a_deep_nest_is_no_deep_call() {
        let deep = [vec![b']'; 100_000], vec![b'a'; 99_999], b".".to_vec()].concat();
        let pickle = Pickle::read(&deep).unwrap();
        let mut depth = 0;
        let mut list = pickle.list(pickle.root()).unwrap();
        while let [inner] = *list {
            list = pickle.list(inner).unwrap();
            depth += 1;
        }
        assert_eq!(depth, 99_999);
        assert!(Pickle::read(&[vec![b'('; 100_000], b".".to_vec()].concat()).is_err());
    }

    #[test]
    fn a_list_may_hold_itself() {
        for bytes in [&b"(lp0\ng0\na."[..], b"\x80\x02]q\x00h\x00a."] {
            let pickle = Pickle::read(bytes).unwrap();
            assert_eq!(pickle.list(pickle.root()).unwrap(), [pickle.root()]);
        }
    }

    #[test]
    fn the_memo_and_the_stack_are_checked() {
        assert_eq!(problem(b"h\x00."), "byte 0: nothing was remembered at place 0");
        assert_eq!(problem(b"j\xff\xff\xff\xff."), "byte 0: nothing was remembered at place 4294967295");
        assert!(problem(b"g-1\n.").contains("`-1` is no place in the memo"));
        assert!(Pickle::read(b"Nr\xff\xff\xff\xffj\xff\xff\xff\xff\x86.").is_ok());
        for bad in [&b"."[..], b"a.", b"]a.", b"t.", b"u.", b"K\x01(a.", b"]K\x01s.", b"q\x00.", b"}(K\x01u.", b"}}b."]
        {
            assert!(Pickle::read(bad).is_err(), "{}", bad.escape_ascii());
        }
    }

    #[test]
    fn work_is_bounded() {
        let long = [vec![b']'], b"Na".repeat(MAX_STEPS), vec![b'.']].concat();
        assert!(problem(&long).contains("pickle operations"));
    }

    /// Calls every method with every value.
    fn ask_everything(bytes: &[u8]) {
        let Ok(pickle) = Pickle::read(bytes) else { return };
        for id in pickle.ids() {
            let _ = (pickle.size(id), pickle.text(id), pickle.bytes(id), pickle.list(id), pickle.entry(id, "a"));
            let _ = (numpy::integers(&pickle, id), numpy::sparse_rows(&pickle, id));
        }
    }

    const CODES: &[u8] = b".()]}NKMJIhqgpcRb\x81atulde\x85\x86\x87Q01\n";

    fn samples() -> Vec<Vec<u8>> {
        let built = [build::sparse([2, 3], &[0, 1, 3], &[2, 0, 1], &[1.0, 2.0, 3.0]), build::graph(&[&[1], &[0]])];
        let literal = BY_PROTOCOL.iter().chain(&BYTES).chain(&GRAPH).map(|bytes| bytes.to_vec());
        literal.chain(built.map(build::pickle)).collect()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]

        #[test]
        fn no_bytes_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            ask_everything(&bytes);
        }

        #[test]
        fn no_opcodes_make_it_panic(codes in prop::collection::vec(prop::sample::select(CODES), 0..60)) {
            ask_everything(&codes);
        }

        #[test]
        fn no_change_of_a_file_makes_it_panic(
            sample in prop::sample::select(samples()),
            changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..8),
        ) {
            let mut bytes = sample;
            changes.iter().for_each(|(at, byte)| { let at = at.index(bytes.len()); bytes[at] = *byte; });
            ask_everything(&bytes);
        }
    }
}
