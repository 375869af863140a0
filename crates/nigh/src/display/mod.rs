//! Numbers and names as people read them.

mod aligned_table;

pub use aligned_table::AlignedTable;
pub use nigh_formats::memory::byte_size;
use std::borrow::Cow;
use std::time::Duration;

/// Text as it is shown to people. The ids, headers and name of a file come from its author; characters of them that would command a
/// terminal or change the order of what is read become visible: ESC is shown as `\u{1b}`. Line breaks and tabs stay.
///
/// ```
/// use nigh::display::visible;
/// assert_eq!(visible("Zürich\tnode 7\n"), "Zürich\tnode 7\n");
/// assert_eq!(visible("\u{1b}]0;title\u{7} \u{202e}txt"), "\\u{1b}]0;title\\u{7} \\u{202e}txt");
/// ```
pub fn visible(text: &str) -> Cow<'_, str> {
    replaced(text, |c| is_command(c) && c != '\n' && c != '\t')
}

/// A name as it is shown to people, within one line: as [`visible`], and line breaks and tabs become visible, too.
pub fn visible_name(name: &str) -> Cow<'_, str> {
    replaced(name, is_command)
}

fn replaced(text: &str, hidden: impl Fn(char) -> bool) -> Cow<'_, str> {
    if !text.contains(&hidden) {
        return text.into();
    }
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        if hidden(c) { shown.extend(c.escape_default()) } else { shown.push(c) }
    }
    shown.into()
}

/// Control characters of both sets (CSI, OSC and all others begin with one), those that embed, override or isolate a
/// direction, and others that take no place but pretend that two names are one.
fn is_command(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{61c}' | '\u{180e}' | '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{feff}')
        || matches!(c, '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{fff9}'..='\u{fffb}')
        || matches!(c, '\u{e0000}'..='\u{e007f}')
}

/// A name within a line of Markdown, which may not become a link, a tag or a cell of its own.
pub fn markdown(name: &str) -> String {
    let special = |c: char| if "\\`*_<>[]|&~".contains(c) { format!("\\{c}") } else { c.to_string() };
    visible_name(name).chars().map(special).collect()
}

/// A fraction of one as a percentage with one decimal.
pub fn percent(fraction: f64) -> String {
    format!("{:.1}", 100.0 * fraction)
}

/// `97.7 ± 0.5`: a mean over some repeats and its deviation as percentages. One repeat has no deviation.
pub fn mean_and_deviation((mean, std): (f64, f64), repeats: usize) -> String {
    match repeats {
        0 | 1 => percent(mean),
        _ => format!("{} ± {}", percent(mean), percent(std)),
    }
}

/// `no nodes`, `1 node`, `2 nodes`.
pub fn pluralize(count: usize, what: &str) -> String {
    match count {
        0 => format!("no {what}s"),
        1 => format!("1 {what}"),
        _ => format!("{count} {what}s"),
    }
}

/// `48 s`, `3 min 20 s`, `1 h 12 min`.
pub fn duration(time: Duration) -> String {
    let seconds = time.as_secs_f64().round() as u64;
    match seconds {
        ..60 => format!("{seconds} s"),
        60..3600 => format!("{} min {} s", seconds / 60, seconds % 60),
        _ => format!("{} h {} min", seconds / 3600, seconds % 3600 / 60),
    }
}

/// The first five of many names.
pub(crate) fn abbreviate<S: AsRef<str>>(names: impl IntoIterator<Item = S>) -> String {
    let mut names = names.into_iter();
    let shown: Vec<String> = names.by_ref().take(5).map(|name| name.as_ref().to_string()).collect();
    format!("{}{}", shown.join(", "), if names.next().is_some() { ", ..." } else { "" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_repeat_has_no_deviation() {
        assert_eq!(
            (mean_and_deviation((0.977, 0.0), 1), mean_and_deviation((0.977, 0.0), 2)),
            ("97.7".into(), "97.7 ± 0.0".into())
        );
    }

    #[test]
    fn times_have_two_units() {
        let times = [(0.4, "0 s"), (59.4, "59 s"), (59.6, "1 min 0 s"), (200.0, "3 min 20 s"), (4335.0, "1 h 12 min")];
        times.iter().for_each(|&(seconds, text)| assert_eq!(duration(Duration::from_secs_f64(seconds)), text));
    }

    #[test]
    fn nothing_that_commands_a_terminal_is_left() {
        let hostile = [
            ("\u{1b}[2J", "\\u{1b}[2J"),
            ("\u{9b}31m", "\\u{9b}31m"),
            ("\u{1b}]8;;http://x\u{1b}\\", "\\u{1b}]8;;http://x\\u{1b}\\"),
            ("\u{9d}0;t\u{9c}", "\\u{9d}0;t\\u{9c}"),
            ("a\rb\u{8}\u{7f}", "a\\rb\\u{8}\\u{7f}"),
            ("\u{202e}gpj\u{2066}", "\\u{202e}gpj\\u{2066}"),
        ];
        for (text, shown) in hostile {
            assert_eq!((visible(text).as_ref(), visible_name(text).as_ref()), (shown, shown));
            assert_eq!(visible(shown), shown, "shown twice is shown once");
        }
        let harmless = "naïve 東京 👩\u{200d}👧 می\u{200c}خواهم C:\\data";
        assert_eq!(visible(harmless), harmless);
        assert_eq!((visible("a\nb\tc"), visible_name("a\nb\tc")), ("a\nb\tc".into(), "a\\nb\\tc".into()));
    }

    #[test]
    fn a_name_is_no_markdown() {
        let name = "<img src=x> [a](b) `c` **d** | e_f\n# g";
        assert_eq!(markdown(name), "\\<img src=x\\> \\[a\\](b) \\`c\\` \\*\\*d\\*\\* \\| e\\_f\\\\n# g");
        assert_eq!(markdown("edges.txt"), "edges.txt");
    }
}
