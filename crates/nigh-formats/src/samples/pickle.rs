//! Pickles as Python 2 writes them, for tests.

pub fn pickle(body: Vec<u8>) -> Vec<u8> {
    [b"\x80\x02".to_vec(), body, b".".to_vec()].concat()
}

pub fn integer(value: i32) -> Vec<u8> {
    [&b"J"[..], &value.to_le_bytes()].concat()
}

pub fn bytes(content: &[u8]) -> Vec<u8> {
    [b"T", &(content.len() as u32).to_le_bytes()[..], content].concat()
}

pub fn tuple(items: &[Vec<u8>]) -> Vec<u8> {
    [b"(".to_vec(), items.concat(), b"t".to_vec()].concat()
}

pub fn integers(values: &[i32]) -> Vec<u8> {
    tuple(&values.iter().map(|&value| integer(value)).collect::<Vec<_>>())
}

pub fn list(values: &[i32]) -> Vec<u8> {
    let items = values.iter().flat_map(|&value| integer(value));
    b"](".iter().copied().chain(items).chain(*b"e").collect()
}

pub fn entries(pairs: &[(Vec<u8>, Vec<u8>)]) -> Vec<u8> {
    let items = pairs.iter().flat_map(|(key, value)| key.iter().chain(value)).copied();
    b"(".iter().copied().chain(items).chain(*b"u").collect()
}

pub fn dict(pairs: &[(&str, Vec<u8>)]) -> Vec<u8> {
    let pairs: Vec<_> = pairs.iter().map(|(key, value)| (bytes(key.as_bytes()), value.clone())).collect();
    [b"}".to_vec(), entries(&pairs)].concat()
}

pub fn name(module: &str, name: &str) -> Vec<u8> {
    format!("c{module}\n{name}\n").into_bytes()
}

pub fn call(callee: Vec<u8>, args: &[Vec<u8>]) -> Vec<u8> {
    [callee, tuple(args), b"R".to_vec()].concat()
}

/// `kind` as numpy writes it, such as `<i4`.
pub fn array(kind: &str, shape: &[i32], by_columns: bool, data: &[u8]) -> Vec<u8> {
    let (order, kind) = kind.split_at(1);
    let made = [name("numpy", "ndarray"), integers(&[0]), bytes(b"b")];
    let dtype = call(name("numpy", "dtype"), &[bytes(kind.as_bytes()), integer(0), integer(1)]);
    let order = tuple(&[integer(3), bytes(order.as_bytes()), b"NNN".to_vec(), integer(-1), integer(-1), integer(0)]);
    let by_columns = vec![if by_columns { 0x88 } else { 0x89 }];
    let dtype = [dtype, order, b"b".to_vec()].concat();
    let state = tuple(&[integer(1), integers(shape), dtype, by_columns, bytes(data)]);
    [call(name("numpy.core.multiarray", "_reconstruct"), &made), state, b"b".to_vec()].concat()
}

pub fn i4(values: &[i32]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_le_bytes()).collect()
}

/// A `csr_matrix` of numbers.
pub fn sparse(shape: [i32; 2], ends: &[i32], columns: &[i32], values: &[f32]) -> Vec<u8> {
    let data: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
    let vector = |values: &[i32]| array("<i4", &[values.len() as i32], false, &i4(values));
    let state = dict(&[
        ("format", bytes(b"csr")),
        ("_shape", integers(&shape)),
        ("indptr", vector(ends)),
        ("indices", vector(columns)),
        ("data", array("<f4", &[values.len() as i32], false, &data)),
    ]);
    [name("scipy.sparse.csr", "csr_matrix"), b")\x81".to_vec(), state, b"b".to_vec()].concat()
}

/// A `defaultdict(list)` from `0..` to neighbours.
pub fn graph(lists: &[&[i32]]) -> Vec<u8> {
    let pairs: Vec<_> = lists.iter().enumerate().map(|(at, nodes)| (integer(at as i32), list(nodes))).collect();
    [call(name("collections", "defaultdict"), &[name("__builtin__", "list")]), entries(&pairs)].concat()
}
