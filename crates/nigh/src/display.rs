//! Numbers and names as people read them.

use std::time::Duration;

/// A fraction of one as a percentage with one decimal.
pub fn percent(fraction: f64) -> String {
    format!("{:.1}", 100.0 * fraction)
}

/// `no nodes`, `1 node`, `2 nodes`.
pub fn pluralize(count: usize, what: &str) -> String {
    match count {
        0 => format!("no {what}s"),
        1 => format!("1 {what}"),
        _ => format!("{count} {what}s"),
    }
}

/// `999 B`, `1.5 kB`, `199 kB`, `12.8 MB`.
pub fn byte_size(bytes: u64) -> String {
    if bytes < 1000 {
        return format!("{bytes} B");
    }
    // 999.9 would be shown as 1000.
    let step = (1..4).find(|&step| (bytes as f64) < 999.5 * 1e3f64.powi(step)).unwrap_or(4);
    let (value, unit) = (bytes as f64 / 1e3f64.powi(step), ["", "kB", "MB", "GB", "TB"][step as usize]);
    if value < 99.95 { format!("{value:.1} {unit}") } else { format!("{value:.0} {unit}") }
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
pub fn abbreviate<S: AsRef<str>>(names: impl IntoIterator<Item = S>) -> String {
    let mut names = names.into_iter();
    let shown: Vec<String> = names.by_ref().take(5).map(|name| name.as_ref().to_string()).collect();
    format!("{}{}", shown.join(", "), if names.next().is_some() { ", ..." } else { "" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_two_units() {
        let times = [(0.4, "0 s"), (59.4, "59 s"), (59.6, "1 min 0 s"), (200.0, "3 min 20 s"), (4335.0, "1 h 12 min")];
        times.iter().for_each(|&(seconds, text)| assert_eq!(duration(Duration::from_secs_f64(seconds)), text));
    }

    #[test]
    fn sizes_have_three_digits() {
        let sizes = [(0, "0 B"), (999, "999 B"), (1_500, "1.5 kB"), (199_235, "199 kB"), (12_835_626, "12.8 MB")];
        sizes.iter().for_each(|&(bytes, text)| assert_eq!(byte_size(bytes), text));
        let edges = [(99_960, "100 kB"), (999_700, "1.0 MB"), (8 << 30, "8.6 GB"), (3 << 40, "3.3 TB")];
        edges.iter().for_each(|&(bytes, text)| assert_eq!(byte_size(bytes), text));
    }
}
