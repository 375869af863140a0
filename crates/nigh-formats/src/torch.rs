//! Files of `torch.save`, old form and new, that hold a dictionary of integer matrices: tensors or numpy arrays.

use crate::error::{Error, Parsed, Result};
use crate::files::{MAX_BYTES, read_bounded};
use crate::pickle::numpy::{NumpyArray, integers};
use crate::pickle::{Pickle, PickleClass, PickleValue, ValueId};
use std::collections::HashMap;
use std::io::{Cursor, Read};
use std::path::Path;

/// Before PyTorch 1.6 a file is a row of pickles: a magic number, version 1001, ...
const OLD_FORM: &[u8] = b"\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19.\x80\x02M\xe9\x03.";

/// ... and a zip archive since.
const NEW_FORM: &[u8] = b"PK\x03\x04";

/// An entry of an archive may be this many times as large as its compressed bytes, and a MiB more.
const MAX_RATIO: u64 = 1000;

/// Opens a file and reads the matrices of these names.
pub fn open<const N: usize>(path: &Path, names: [&str; N]) -> Result<[NumpyArray<i64>; N]> {
    read(path, &read_bounded(path)?, names)
}

/// Reads the matrices of these names from the bytes of a file; `file` stands in messages.
pub fn read<const N: usize>(file: &Path, bytes: &[u8], names: [&str; N]) -> Result<[NumpyArray<i64>; N]> {
    let read = if bytes.starts_with(OLD_FORM) {
        read_old(&bytes[OLD_FORM.len()..], names)
    } else if bytes.starts_with(NEW_FORM) {
        read_new(bytes, names)
    } else {
        Err("is no file of torch.save".into())
    };
    read.map_err(|problem| Error::file(file, problem))
}

fn read_old<const N: usize>(bytes: &[u8], names: [&str; N]) -> Parsed<[NumpyArray<i64>; N]> {
    let system = Pickle::read(bytes).map_err(|problem| format!("description of the writer: {problem}"))?;
    let little = system.entry(system.root(), "little_endian")?;
    if !little.is_some_and(|id| *system.value(id) == PickleValue::Bool(true)) {
        return Err("was written on a big-endian machine, which is not read".into());
    }
    let saved = Pickle::read(system.rest).map_err(|problem| format!("dictionary: {problem}"))?;
    let keys = Pickle::read(saved.rest).map_err(|problem| format!("list of storages: {problem}"))?;
    let mut kinds = HashMap::new();
    for value in saved.values() {
        if let PickleValue::Persistent(id) = value {
            let storage = TensorStorage::of(&saved, *id)?;
            kinds.insert(storage.key.to_string(), storage.width);
        }
    }
    // The storages follow in the order of their keys, each behind its number of entries.
    let mut storages: HashMap<&str, &[u8]> = HashMap::new();
    let mut rest = keys.rest;
    for &key in keys.list(keys.root())? {
        let key = keys.name(key)?;
        let width = kinds.get(key).ok_or_else(|| format!("storage `{}` is of no known type", key.escape_debug()))?;
        let (count, after) = rest.split_first_chunk::<8>().ok_or("the file ends before a storage")?;
        let count = u64::from_le_bytes(*count);
        let size = usize::try_from(count).ok().and_then(|count| count.checked_mul(*width));
        let (content, after) = size
            .and_then(|size| after.split_at_checked(size))
            .ok_or_else(|| format!("a storage of {count} entries announced, but the file ends before"))?;
        storages.insert(key, content);
        rest = after;
    }
    matrices(&saved, names, |key| storages.get(key).map(|content| content.to_vec()).ok_or("is not in the file".into()))
}

fn read_new<const N: usize>(bytes: &[u8], names: [&str; N]) -> Parsed<[NumpyArray<i64>; N]> {
    let mut archive = zip::ZipArchive::new(Cursor::new(bytes)).map_err(|error| format!("zip archive: {error}"))?;
    // All entries are in one folder, named after the file when it was written.
    let main =
        archive.file_names().flatten().find(|name| name.ends_with("/data.pkl")).ok_or("no data.pkl in the archive")?;
    let folder = main.trim_end_matches("data.pkl").to_string();
    let order = format!("{folder}byteorder");
    if archive.index_for_name(&order).is_some() && extract(&mut archive, &order)? != b"little" {
        return Err("was written on a big-endian machine, which is not read".into());
    }
    let main = extract(&mut archive, &format!("{folder}data.pkl"))?;
    let saved = Pickle::read(&main).map_err(|problem| format!("data.pkl: {problem}"))?;
    matrices(&saved, names, |key| extract(&mut archive, &format!("{folder}data/{key}")))
}

/// An entry of an archive, unless it is a bomb.
fn extract(archive: &mut zip::ZipArchive<Cursor<&[u8]>>, name: &str) -> Parsed<Vec<u8>> {
    let within = |problem: String| format!("{}: {problem}", name.escape_debug());
    let entry = archive.by_name(name).map_err(|error| within(error.to_string()))?;
    let packed = entry.compressed_size();
    let most = packed.saturating_mul(MAX_RATIO).saturating_add(1 << 20).min(MAX_BYTES);
    let bomb =
        |size: u64| within(format!("{size} bytes or more from {packed} compressed ones; at most {most} are read"));
    if entry.size() > most {
        return Err(bomb(entry.size()));
    }
    let mut content = Vec::new();
    entry.take(most + 1).read_to_end(&mut content).map_err(|error| within(error.to_string()))?;
    if content.len() as u64 > most { Err(bomb(content.len() as u64)) } else { Ok(content) }
}

/// Only the requested matrices: names that share one storage would multiply it.
fn matrices<const N: usize>(
    saved: &Pickle<'_>,
    names: [&str; N],
    mut storage: impl FnMut(&str) -> Parsed<Vec<u8>>,
) -> Parsed<[NumpyArray<i64>; N]> {
    let mut read = Vec::with_capacity(N);
    for name in names {
        let id = saved.entry(saved.root(), name)?.ok_or_else(|| missing(saved, name))?;
        let matrix = match saved.value(id) {
            PickleValue::Object { class: PickleClass::Tensor, args, .. } => tensor(saved, *args, &mut storage),
            _ => integers(saved, id),
        };
        read.push(matrix.map_err(|problem| format!("`{name}`: {problem}"))?);
    }
    Ok(read.try_into().expect("one matrix per name"))
}

fn missing(saved: &Pickle<'_>, name: &str) -> String {
    let keys = saved.dict(saved.root()).unwrap_or_default();
    let known: Vec<String> = keys.iter().filter_map(|entry| saved.text(entry.0).ok()).take(10).map(shown).collect();
    format!("no `{name}` in the dictionary; it holds {}", known.join(", "))
}

fn shown(name: &str) -> String {
    format!("`{}`", name.chars().take(40).collect::<String>().escape_debug())
}

/// Where the numbers of a tensor are stored.
struct TensorStorage<'p> {
    key: &'p str,
    /// Bytes per entry.
    width: usize,
    entries: usize,
}

impl<'p> TensorStorage<'p> {
    fn of(saved: &'p Pickle<'_>, id: ValueId) -> Parsed<TensorStorage<'p>> {
        let (kind, key, entries) = match *saved.tuple(id)? {
            [_, kind, key, _, entries] => (kind, key, entries),
            [_, kind, key, _, entries, view] if *saved.value(view) == PickleValue::None => (kind, key, entries),
            _ => return Err("a storage of an unknown layout".into()),
        };
        let width = match saved.value(kind) {
            PickleValue::Class(PickleClass::LongStorage) => 8,
            PickleValue::Class(PickleClass::IntStorage) => 4,
            other => return Err(format!("expected a storage of integers, found {}", other.kind())),
        };
        Ok(TensorStorage { key: saved.name(key)?, width, entries: saved.size(entries)? })
    }
}

fn tensor(
    saved: &Pickle<'_>,
    args: ValueId,
    content: &mut impl FnMut(&str) -> Parsed<Vec<u8>>,
) -> Parsed<NumpyArray<i64>> {
    let &[storage, first, shape, strides, ..] = saved.tuple(args)? else {
        return Err("a tensor of an unknown layout".into());
    };
    let &PickleValue::Persistent(storage) = saved.value(storage) else {
        return Err("a tensor without a storage".into());
    };
    let storage = TensorStorage::of(saved, storage)?;
    let first = saved.size(first)?;
    let sizes = |id: ValueId| saved.tuple(id)?.iter().map(|&size| saved.size(size)).collect::<Parsed<Vec<_>>>();
    let (shape, strides) = (sizes(shape)?, sizes(strides)?);
    let (&[rows, columns], &[down, right]) = (&shape[..], &strides[..]) else {
        return Err(format!("shape {shape:?} with strides {strides:?}; expected a matrix"));
    };
    let bytes =
        content(storage.key).map_err(|problem| format!("storage `{}` {problem}", storage.key.escape_debug()))?;
    if storage.entries.checked_mul(storage.width) != Some(bytes.len()) {
        return Err(format!("a storage of {} entries has {} bytes", storage.entries, bytes.len()));
    }
    let count = rows.checked_mul(columns);
    let along = |size: usize, stride: usize| size.saturating_sub(1).checked_mul(stride);
    let last = along(rows, down).zip(along(columns, right)).and_then(|(a, b)| first.checked_add(a)?.checked_add(b));
    // Strides of zero would repeat entries, so the count is compared with the storage too.
    let fits = count == Some(0)
        || count.is_some_and(|count| count <= storage.entries) && last.is_some_and(|last| last < storage.entries);
    if !fits {
        let entries = storage.entries;
        return Err(format!(
            "shape {shape:?} with strides {strides:?} from entry {first} leaves its storage of {entries}"
        ));
    }
    let count = count.unwrap_or(0);
    let entry = |at: usize| {
        let place = (first + at / columns * down + at % columns * right) * storage.width;
        let entry = &bytes[place..place + storage.width];
        entry.try_into().map_or_else(
            |_| i64::from(i32::from_le_bytes([entry[0], entry[1], entry[2], entry[3]])),
            i64::from_le_bytes,
        )
    };
    Ok(NumpyArray { data: (0..count).map(entry).collect(), shape })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::pickle as build;
    use proptest::prelude::*;
    use std::io::Write;

    // Streams as torch.save writes them: edge is 3 x 2 in storage 0, edge_neg 2 x 2 in storage 1 and transposed.
    const NEW: &[u8] = b"\x80\x02}q\x00(X\x04\x00\x00\x00edgeq\x01ctorch._utils\n_rebuild_tensor_v2\nq\x02((X\x07\x00\
        \x00\x00storageq\x03ctorch\nLongStorage\nq\x04X\x01\x00\x00\x000q\x05X\x03\x00\x00\x00cpuq\x06K\x06tq\x07QK\
        \x00K\x03K\x02\x86q\x08K\x02K\x01\x86q\x09\x89ccollections\nOrderedDict\nq\n)Rq\x0btq\x0cRq\x0dX\x08\x00\x00\
        \x00edge_negq\x0eh\x02((h\x03h\x04X\x01\x00\x00\x001q\x0fh\x06K\x04tq\x10QK\x00K\x02K\x02\x86q\x11K\x01K\x02\
        \x86q\x12\x89h\n)Rq\x13tq\x14Rq\x15u.";
    const OLD: &[u8] = b"\x80\x02}q\x00(X\x04\x00\x00\x00edgeq\x01ctorch._utils\n_rebuild_tensor_v2\nq\x02((X\x07\x00\
        \x00\x00storageq\x03ctorch\nLongStorage\nq\x04X\x01\x00\x00\x000q\x05X\x03\x00\x00\x00cpuq\x06K\x06Ntq\x07QK\
        \x00K\x03K\x02\x86q\x08K\x02K\x01\x86q\x09\x89ccollections\nOrderedDict\nq\n)Rq\x0btq\x0cRq\x0dX\x08\x00\x00\
        \x00edge_negq\x0eh\x02((h\x03h\x04X\x01\x00\x00\x001q\x0fh\x06K\x04Ntq\x10QK\x00K\x02K\x02\x86q\x11K\x01K\x02\
        \x86q\x12\x89h\n)Rq\x13tq\x14Rq\x15u.";

    fn longs(values: &[i64]) -> Vec<u8> {
        values.iter().flat_map(|value| value.to_le_bytes()).collect()
    }

    fn zipped(entries: &[(&str, &[u8])]) -> Vec<u8> {
        let mut archive = zip::ZipWriter::new(Cursor::new(Vec::new()));
        for (name, content) in entries {
            let options = zip::write::SimpleFileOptions::default().compression_method(zip::CompressionMethod::Deflated);
            archive.start_file(format!("valid/{name}"), options).unwrap();
            archive.write_all(content).unwrap();
        }
        archive.finish().unwrap().into_inner()
    }

    fn new_form() -> Vec<u8> {
        let storages = [longs(&[1, 2, 3, 4, 5, 6]), longs(&[7, 8, 9, -10])];
        zipped(&[("data.pkl", NEW), ("byteorder", b"little"), ("data/0", &storages[0]), ("data/1", &storages[1])])
    }

    fn old_form() -> Vec<u8> {
        let system = build::pickle(build::dict(&[("little_endian", vec![0x88])]));
        let keys = b"\x80\x02](U\x010U\x011e.";
        let storages = [longs(&[6, 1, 2, 3, 4, 5, 6]), longs(&[4, 7, 8, 9, -10])].concat();
        [OLD_FORM, &system, OLD, keys, &storages].concat()
    }

    fn written(bytes: &[u8]) -> Result<[NumpyArray<i64>; 2]> {
        read(Path::new("valid.pt"), bytes, ["edge", "edge_neg"])
    }

    fn message(bytes: &[u8]) -> String {
        written(bytes).unwrap_err().to_string().split_once("valid.pt: ").unwrap().1.to_string()
    }

    #[test]
    fn both_forms_give_the_same_matrices() {
        for bytes in [new_form(), old_form()] {
            let [edge, negative] = written(&bytes).unwrap();
            assert_eq!(edge, NumpyArray { shape: vec![3, 2], data: vec![1, 2, 3, 4, 5, 6] });
            assert_eq!(negative, NumpyArray { shape: vec![2, 2], data: vec![7, 9, 8, -10] });
        }
    }

    #[test]
    fn numpy_arrays_count_as_matrices() {
        let array = build::array("<i4", &[1, 2], false, &build::i4(&[3, 4]));
        let saved = build::pickle(build::dict(&[("edge", array.clone()), ("edge_neg", array)]));
        let [edge, _] = written(&zipped(&[("data.pkl", &saved)])).unwrap();
        assert_eq!(edge, NumpyArray { shape: vec![1, 2], data: vec![3, 4] });
    }

    /// A tensor of any layout over a storage of six entries.
    fn laid_out(first: i32, shape: &[i32], strides: &[i32]) -> Result<[NumpyArray<i64>; 2]> {
        let names = [build::bytes(b"storage"), build::name("torch", "LongStorage"), build::bytes(b"0")];
        let storage = [names.concat(), build::bytes(b"cpu"), build::integer(6)];
        let persistent = [build::tuple(&storage), b"Q".to_vec()].concat();
        let args = [persistent, build::integer(first), build::integers(shape), build::integers(strides)];
        let tensor = build::call(build::name("torch._utils", "_rebuild_tensor_v2"), &args);
        let saved = build::pickle(build::dict(&[("edge", tensor.clone()), ("edge_neg", tensor)]));
        written(&zipped(&[("data.pkl", &saved), ("data/0", &longs(&[0, 1, 2, 3, 4, 5]))]))
    }

    #[test]
    fn a_tensor_stays_within_its_storage() {
        assert_eq!(laid_out(1, &[2, 2], &[2, 1]).unwrap()[0].data, [1, 2, 3, 4]);
        assert_eq!(laid_out(2, &[2, 2], &[2, 1]).unwrap()[0].data, [2, 3, 4, 5]);
        assert_eq!(laid_out(0, &[0, 2], &[2, 1]).unwrap()[0].data, [0; 0]);
        let (most, cases) = (i32::MAX, [(3, [2, 2], [2, 1]), (0, [4, 2], [2, 1]), (0, [2, 2], [5, 1])]);
        let hostile =
            [(0, [most, 2], [0, 0]), (most, [1, 1], [1, 1]), (0, [2, 2], [most, most]), (0, [most, most], [1, 1])];
        for (first, shape, strides) in cases.into_iter().chain(hostile) {
            let error = laid_out(first, &shape, &strides).unwrap_err().to_string();
            assert!(error.contains("leaves its storage of 6"), "{error}");
        }
        assert!(laid_out(0, &[2, 2], &[-2, 1]).unwrap_err().to_string().contains("expected a size, found -2"));
        assert!(laid_out(0, &[6], &[1]).unwrap_err().to_string().contains("expected a matrix"));
    }

    #[test]
    fn errors_say_what_and_where() {
        assert_eq!(message(b"hello"), "is no file of torch.save");
        assert_eq!(message(&zipped(&[("else", b"")])), "no data.pkl in the archive");
        let empty = build::pickle(build::dict(&[("edges", build::integer(1))]));
        assert_eq!(message(&zipped(&[("data.pkl", &empty)])), "no `edge` in the dictionary; it holds `edges`");
        assert!(
            message(&zipped(&[("data.pkl", b"cos\nsystem\n.")])).contains("data.pkl: byte 0: `os.system` is refused")
        );
        assert!(
            message(&zipped(&[("data.pkl", b"ctorch\nFloatStorage\n.")])).contains("`torch.FloatStorage` is refused")
        );
        let missing = message(&zipped(&[("data.pkl", NEW)]));
        assert!(missing.starts_with("`edge`: storage `0` valid/data/0: "), "{missing}");
        let short = zipped(&[("data.pkl", NEW), ("data/0", &longs(&[1, 2]))]);
        assert_eq!(message(&short), "`edge`: a storage of 6 entries has 16 bytes");
        let big = zipped(&[("data.pkl", NEW), ("byteorder", b"big")]);
        assert!(message(&big).contains("big-endian"));
        let old = old_form();
        assert!(message(&old[..old.len() - 1]).contains("a storage of 4 entries announced, but the file ends before"));
    }

    #[test]
    fn a_long_name_is_read_once() {
        let start = std::time::Instant::now();
        let long = [b"X\x00\x00\x80\x00".to_vec(), vec![b'k'; 0x80_0000]].concat();
        // A million keys and storages, all of the same eight million letters.
        let keys =
            [b"}(".to_vec(), long.clone(), b"q\x00N".to_vec(), b"h\x00N".repeat(1_000_000), b"u".to_vec()].concat();
        assert!(message(&zipped(&[("data.pkl", &build::pickle(keys))])).starts_with("no `edge` in the dictionary"));
        let storage = b"(Nctorch\nLongStorage\nh\x00NK\x00tQ".repeat(500_000);
        let storages = [b"(".to_vec(), long, b"q\x00".to_vec(), storage, b"t".to_vec()].concat();
        let system = build::pickle(build::dict(&[("little_endian", vec![0x88])]));
        let old = [OLD_FORM, &system, &build::pickle(storages), b"]."].concat();
        assert_eq!(message(&old), "a name of 8388608 bytes");
        assert!(start.elapsed().as_secs() < 20);
    }

    #[test]
    fn a_zip_bomb_is_refused() {
        let bomb = message(&zipped(&[("data.pkl", &vec![b'N'; 100 << 20])]));
        assert!(bomb.starts_with("valid/data.pkl: 104857600 bytes or more from "), "{bomb}");
    }

    #[test]
    fn a_file_that_ends_early_is_an_error_wherever_it_ends() {
        for whole in [new_form(), old_form()] {
            for end in 0..whole.len() {
                assert!(written(&whole[..end]).is_err(), "cut at {end}");
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(1000))]

        #[test]
        fn no_change_of_a_file_makes_it_panic(
            sample in prop::sample::select(vec![new_form(), old_form()]),
            changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
        ) {
            let mut bytes = sample;
            changes.iter().for_each(|(at, byte)| { let at = at.index(bytes.len()); bytes[at] = *byte; });
            let _ = written(&bytes);
        }

        #[test]
        fn no_bytes_make_it_panic(
            form in prop::sample::select(vec![OLD_FORM, NEW_FORM]),
            bytes in prop::collection::vec(any::<u8>(), 0..200),
        ) {
            let _ = written(&[form, &bytes].concat());
        }
    }
}
