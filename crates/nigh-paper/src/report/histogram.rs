//! A histogram as text, with bins that double in width: degrees spread over orders of magnitude.

/// One line per bin: its range, a bar, the count.
///
/// ```
/// let text = nigh_paper::report::histogram::histogram([0, 1, 1, 2, 3, 3, 3, 9].into_iter());
/// assert!(text.contains("2-3"));
/// ```
pub fn histogram(values: impl Iterator<Item = usize>) -> String {
    const WIDTH: usize = 40;
    let mut bins: Vec<usize> = Vec::new();
    for value in values {
        // 0, 1, 2-3, 4-7, ...
        let bin = (usize::BITS - value.leading_zeros()) as usize;
        if bins.len() <= bin {
            bins.resize(bin + 1, 0);
        }
        bins[bin] += 1;
    }
    let range = |bin: usize| match bin {
        0 | 1 => bin.to_string(),
        _ => format!("{}-{}", 1usize << (bin - 1), (1usize << (bin - 1)) * 2 - 1),
    };
    let label_width = (0..bins.len()).map(|bin| range(bin).len()).max().unwrap_or(0);
    let largest = bins.iter().copied().max().unwrap_or(0);
    let line = |(bin, &count): (usize, &usize)| {
        // A bin that is not empty has at least one character.
        let length = (count * WIDTH).div_ceil(largest.max(1));
        format!("{:>label_width$}  {:<WIDTH$}  {count}\n", range(bin), "#".repeat(length))
    };
    bins.iter().enumerate().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bins_double_and_the_longest_bar_is_full() {
        let text = histogram([0, 1, 1, 2, 3, 3, 3, 9].into_iter());
        let counts: Vec<&str> = text.lines().map(|line| line.rsplit(' ').next().unwrap()).collect();
        assert_eq!(counts, ["1", "2", "4", "0", "1"]);
        let labels: Vec<&str> = text.lines().map(|line| line.trim_start().split(' ').next().unwrap()).collect();
        assert_eq!(labels, ["0", "1", "2-3", "4-7", "8-15"]);
        assert_eq!(text.lines().nth(2).unwrap().matches('#').count(), 40);
        assert_eq!(text.lines().nth(3).unwrap().matches('#').count(), 0);
        assert_eq!(histogram(std::iter::empty()), "");
    }
}
