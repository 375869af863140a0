//! Small graphs as text files.

/// Four groups of eight people in a ring. Within a group most know each other; a neighbour is known by the first.
pub fn edges() -> String {
    let mut text = String::new();
    for group in ["ada", "bob", "cho", "dee"] {
        for a in 0..8 {
            let known = (a + 1..8).filter(|b| (a + b) % 5 != 0);
            known.for_each(|b| text += &format!("{group}{a} {group}{b}\n"));
        }
    }
    text + "ada0 bob1\nbob0 cho1\ncho0 dee1\ndee0 ada1\n"
}

/// The group of each person.
pub fn labels() -> String {
    people().iter().map(|id| format!("{id},team-{}\n", &id[..3])).collect()
}

/// Three numbers about each person.
pub fn features() -> String {
    let row = |(at, id): (usize, &String)| format!("{id},{},{},{}\n", at % 8, at / 8, 0.25 * at as f32);
    people().iter().enumerate().map(row).collect()
}

/// All people, sorted by name.
pub fn people() -> Vec<String> {
    ["ada", "bob", "cho", "dee"].iter().flat_map(|group| (0..8).map(move |at| format!("{group}{at}"))).collect()
}

/// The same lines in another order.
pub fn shuffled(text: &str) -> String {
    let mut lines: Vec<&str> = text.lines().collect();
    lines.sort_by_key(|line| line.bytes().rev().collect::<Vec<u8>>());
    lines.iter().map(|line| format!("{line}\n")).collect()
}

/// The same graph with the ends of every edge swapped.
pub fn turned(edges: &str) -> String {
    edges.lines().filter_map(|line| line.split_once(' ')).map(|(a, b)| format!("{b} {a}\n")).collect()
}
