//! Scatter plots as SVG or PNG: nodes on a plane, coloured by group, one panel per model.
//!
//! `Scatter::scene` computes the layout in units of one SVG pixel. The two renderers draw dots, frames and words; they know
//! nothing of panels or legends.

use std::fmt::Write as _;
use std::io;
use std::path::Path;

use super::markup::escaped;
use font8x8::{BASIC_FONTS, GREEK_FONTS, LATIN_FONTS, UnicodeFonts};

/// Panels side by side below one title, above one legend.
///
/// ```
/// use nigh_paper::report::plot::{Panel, Scatter};
/// let points = vec![[0.0, 0.0], [1.0, 0.5]];
/// let panel = Panel { title: "smp-linear".into(), subtitle: "AUC 0.98".into(), points, groups: vec![0, 1] };
/// let plot = Scatter { title: "Cora".into(), panels: vec![panel], legend: vec!["theory".into(), "neural".into()] };
/// assert!(plot.to_svg().starts_with("<svg"));
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Scatter {
    /// Title of the whole picture. An empty title, legend or row of subtitles takes no space.
    pub title: String,
    /// From left to right.
    pub panels: Vec<Panel>,
    /// The name of each group. Groups beyond its end are drawn, but not explained.
    pub legend: Vec<String>,
}

/// Points fitted into a square with one scale for both axes, which are not drawn: those of an embedding mean nothing.
#[derive(Clone, Debug, PartialEq)]
pub struct Panel {
    /// Title of the panel, such as the model.
    pub title: String,
    /// A line below the title, such as a score.
    pub subtitle: String,
    /// In drawing order. Points that are not finite are skipped.
    pub points: Vec<[f32; 2]>,
    /// The group of each point, which gives its colour. Colours repeat after twenty groups.
    pub groups: Vec<usize>,
}

/// `0xRRGGBB`
type Colour = u32;

/// Everything to draw, in drawing order.
struct Scene {
    width: f32,
    height: f32,
    shapes: Vec<Shape>,
}

enum Shape {
    Dot { centre: [f32; 2], radius: f32, colour: Colour },
    Frame { corner: [f32; 2], side: f32 },
    Words { baseline: [f32; 2], font: &'static Font, anchor: Anchor, words: String },
}

enum Anchor {
    Start,
    Middle,
}

/// How words look in either format.
struct Font {
    /// Font size in the SVG.
    size: u32,
    weight: u32,
    /// Pixels of the PNG across and down for each pixel of a glyph, whose squares of 8×8 read better when stretched.
    glyph_scale: [usize; 2],
    colour: Colour,
}

const TITLE: Font = Font { size: 20, weight: 600, glyph_scale: [3, 4], colour: 0x222222 };
const HEADING: Font = Font { size: 15, weight: 600, glyph_scale: [2, 3], colour: 0x222222 };
const NOTE: Font = Font { size: 13, weight: 400, glyph_scale: [2, 3], colour: 0x555555 };

const PANEL_SIDE: f32 = 420.0;
const MARGIN: f32 = 24.0;
/// Between the frame of a panel and the nearest dot.
const PADDING: f32 = 18.0;
const LEGEND_ROW: f32 = 22.0;
const LEGEND_RADIUS: f32 = 5.5;
const FRAME_COLOUR: Colour = 0xdddddd;
const WHITE: Colour = 0xffffff;
/// Tableau 20: ten strong tones, then their lighter ones.
const COLOURS: [Colour; 20] = [
    0x4e79a7, 0xf28e2b, 0x59a14f, 0xe15759, 0xb07aa1, 0x499894, 0xb6992d, 0xd37295, 0x9d7660, 0x79706e, 0xa0cbe8,
    0xffbe7d, 0x8cd17d, 0xff9d9a, 0xd4a6c8, 0x86bcb6, 0xf1ce63, 0xfabfd2, 0xd7b5a6, 0xbab0ac,
];

/// Pixels of the PNG per unit, so that it stays sharp on dense screens and in print.
const RESOLUTION: f32 = 2.0;
/// Width of the white line around a dot, half of it inside: the width that an SVG stroke has by default.
const OUTLINE: f32 = 1.0;

impl Scatter {
    /// A well-formed SVG document that can also be placed inside HTML.
    pub fn to_svg(&self) -> String {
        let titles = || self.panels.iter().map(|panel| panel.title.as_str()).collect::<Vec<_>>().join(", ");
        // Screen readers read it, so it should not be empty.
        let title = if self.title.is_empty() { titles() } else { self.title.clone() };
        self.scene().to_svg(&title)
    }

    /// A PNG file with two pixels per unit of the SVG.
    pub fn to_png(&self) -> Vec<u8> {
        self.scene().to_png()
    }

    /// Writes an `.svg` or a `.png` file atomically.
    pub fn write(&self, path: &Path) -> io::Result<()> {
        let extension = path.extension().unwrap_or_default().to_ascii_lowercase();
        let bytes = match extension.to_str() {
            Some("svg") => self.to_svg().into_bytes(),
            Some("png") => self.to_png(),
            _ => {
                let message = format!("cannot draw to {}: its name must end in .svg or .png", path.display());
                return Err(io::Error::new(io::ErrorKind::InvalidInput, message));
            }
        };
        nigh_formats::atomic::write(path, &bytes)
    }

    fn scene(&self) -> Scene {
        let width = MARGIN + self.panels.len().max(1) as f32 * (PANEL_SIDE + MARGIN);
        let mut shapes = Vec::new();
        let mut y = MARGIN;
        if !self.title.is_empty() {
            draw_centred(&self.title, &TITLE, [width / 2.0, y + 14.0], width - 2.0 * MARGIN, &mut shapes);
            y += 40.0;
        }
        let heading = if self.panels.iter().any(|panel| !panel.subtitle.is_empty()) { 42.0 } else { 22.0 };
        for (k, panel) in self.panels.iter().enumerate() {
            panel.draw([MARGIN + k as f32 * (PANEL_SIDE + MARGIN), y], heading, &mut shapes);
        }
        if !self.panels.is_empty() {
            y += heading + PANEL_SIDE + MARGIN;
        }
        y += draw_legend(&self.legend, width, y, &mut shapes);
        Scene { width, height: y, shapes }
    }
}

impl Panel {
    fn draw(&self, [x, y]: [f32; 2], heading: f32, shapes: &mut Vec<Shape>) {
        assert_eq!(self.points.len(), self.groups.len(), "panel {:?} needs a group for each point", self.title);
        let middle = x + PANEL_SIDE / 2.0;
        draw_centred(&self.title, &HEADING, [middle, y + 11.0], PANEL_SIDE, shapes);
        draw_centred(&self.subtitle, &NOTE, [middle, y + 32.0], PANEL_SIDE, shapes);
        let corner = [x, y + heading];
        shapes.push(Shape::Frame { corner, side: PANEL_SIDE });

        let dots = self.points.iter().zip(&self.groups).filter(|(point, _)| point.iter().all(|v| v.is_finite()));
        let dots: Vec<([f64; 2], usize)> = dots.map(|(point, &group)| (point.map(f64::from), group)).collect();
        let bounds = [0, 1].map(|axis| {
            let (first, last) = (f64::INFINITY, f64::NEG_INFINITY);
            dots.iter().fold((first, last), |(low, high), (point, _)| (low.min(point[axis]), high.max(point[axis])))
        });
        let span = bounds.iter().fold(0.0, |span: f64, (low, high)| span.max(high - low));
        // Points that all coincide are drawn in the middle.
        let scale = if span > 0.0 { f64::from(PANEL_SIDE - 2.0 * PADDING) / span } else { 0.0 };
        // Many points are drawn smaller, but large enough to show their colour.
        let radius = (70.0 / (dots.len() as f32).sqrt()).clamp(2.5, 5.0);
        for (point, group) in dots {
            let offset = |axis: usize| (scale * (point[axis] - (bounds[axis].0 + bounds[axis].1) / 2.0)) as f32;
            let centre = [middle + offset(0), corner[1] + PANEL_SIDE / 2.0 - offset(1)];
            shapes.push(Shape::Dot { centre, radius, colour: colour(group) });
        }
    }
}

/// Entries aligned in as few rows as fit. Returns the height used.
fn draw_legend(legend: &[String], width: f32, top: f32, shapes: &mut Vec<Shape>) -> f32 {
    if legend.is_empty() {
        return 0.0;
    }
    let available = width - 2.0 * MARGIN;
    let (before, after) = (18.0, 24.0);
    let names: Vec<String> = legend.iter().map(|name| fitted(name, &NOTE, available - before)).collect();
    let widths = |num_columns: usize| -> Vec<f32> {
        let column = |first| names.iter().skip(first).step_by(num_columns).map(|name| NOTE.width(name));
        (0..num_columns).map(|first| before + column(first).fold(0.0, f32::max) + after).collect()
    };
    // One entry per row always fits, so that some number of rows does.
    let (num_rows, widths) = (1..=legend.len())
        .map(|num_rows| (num_rows, widths(legend.len().div_ceil(num_rows))))
        .find(|(_, widths)| widths.iter().sum::<f32>() - after <= available)
        .unwrap_or((legend.len(), widths(1)));
    let mut left = (width - widths.iter().sum::<f32>() + after) / 2.0;
    for (column, column_width) in widths.iter().enumerate() {
        for (row, group) in (column..legend.len()).step_by(widths.len()).enumerate() {
            let centre = [left + LEGEND_RADIUS, top + row as f32 * LEGEND_ROW + LEGEND_RADIUS];
            shapes.push(Shape::Dot { centre, radius: LEGEND_RADIUS, colour: colour(group) });
            let (baseline, words) = ([left + before, centre[1] + 5.0], names[group].clone());
            shapes.push(Shape::Words { baseline, font: &NOTE, anchor: Anchor::Start, words });
        }
        left += column_width;
    }
    num_rows as f32 * LEGEND_ROW + MARGIN / 2.0
}

fn draw_centred(words: &str, font: &'static Font, baseline: [f32; 2], width: f32, shapes: &mut Vec<Shape>) {
    if !words.is_empty() {
        shapes.push(Shape::Words { baseline, font, anchor: Anchor::Middle, words: fitted(words, font, width) });
    }
}

/// The words, cut with an ellipsis where they would be wider than `width`.
fn fitted(words: &str, font: &Font, width: f32) -> String {
    if font.width(words) <= width {
        return words.to_owned();
    }
    let room = (width / font.width("x")) as usize;
    words.chars().take(room.saturating_sub(3)).chain("...".chars()).collect()
}

fn colour(group: usize) -> Colour {
    COLOURS[group % COLOURS.len()]
}

impl Font {
    /// Width in the PNG, which is about the width in a browser or more.
    fn width(&self, words: &str) -> f32 {
        (words.chars().count() * 8 * self.glyph_scale[0]) as f32 / RESOLUTION
    }
}

impl Scene {
    fn to_svg(&self, title: &str) -> String {
        let (width, height) = (number(self.width), number(self.height));
        let mut svg = format!(
            r##"<svg xmlns="http://www.w3.org/2000/svg" role="img" width="{width}" height="{height}"
viewBox="0 0 {width} {height}" font-family="Helvetica, Arial, sans-serif">
<title>{}</title>
<rect width="{width}" height="{height}" fill="#fff"/>
"##,
            escaped(title)
        );
        for shape in &self.shapes {
            match shape {
                Shape::Dot { centre, radius, colour } => {
                    let ([x, y], radius, fill) = (centre.map(number), number(*radius), hex(*colour));
                    writeln!(svg, r##"<circle cx="{x}" cy="{y}" r="{radius}" fill="{fill}" stroke="#fff"/>"##)
                }
                Shape::Frame { corner, side } => {
                    let ([x, y], side, stroke) = (corner.map(number), number(*side), hex(FRAME_COLOUR));
                    let place = format!(r#"x="{x}" y="{y}" width="{side}" height="{side}""#);
                    writeln!(svg, r#"<rect {place} fill="none" stroke="{stroke}"/>"#)
                }
                Shape::Words { baseline, font, anchor, words } => {
                    let ([x, y], fill, words) = (baseline.map(number), hex(font.colour), escaped(words));
                    let anchor = match anchor {
                        Anchor::Start => "start",
                        Anchor::Middle => "middle",
                    };
                    let Font { size, weight, .. } = font;
                    let look = format!(r#"font-size="{size}" font-weight="{weight}" fill="{fill}""#);
                    writeln!(svg, r#"<text x="{x}" y="{y}" text-anchor="{anchor}" {look}>{words}</text>"#)
                }
            }
            .expect("writing to a string succeeds");
        }
        svg + "</svg>\n"
    }

    fn to_png(&self) -> Vec<u8> {
        let mut canvas = Canvas::white((self.width * RESOLUTION) as usize, (self.height * RESOLUTION) as usize);
        for shape in &self.shapes {
            match shape {
                Shape::Dot { centre, radius, colour } => {
                    canvas.disc(*centre, radius + OUTLINE / 2.0, WHITE);
                    canvas.disc(*centre, radius - OUTLINE / 2.0, *colour);
                }
                Shape::Frame { corner, side } => canvas.frame(*corner, *side),
                Shape::Words { baseline, font, anchor, words } => {
                    let shift = match anchor {
                        Anchor::Start => 0.0,
                        Anchor::Middle => font.width(words) / 2.0,
                    };
                    canvas.words([baseline[0] - shift, baseline[1]], font, words);
                }
            }
        }
        canvas.encode()
    }
}

/// One decimal, and none where it would be zero.
fn number(value: f32) -> String {
    let text = format!("{value:.1}");
    text.strip_suffix(".0").map(str::to_owned).unwrap_or(text)
}

fn hex(colour: Colour) -> String {
    format!("#{colour:06x}")
}

/// Pixels row by row. Takes positions and lengths in units; what is outside is not drawn.
struct Canvas {
    width: usize,
    height: usize,
    pixels: Vec<[u8; 3]>,
}

impl Canvas {
    fn white(width: usize, height: usize) -> Self {
        Self { width, height, pixels: vec![[0xff; 3]; width * height] }
    }

    fn blend(&mut self, x: usize, y: usize, colour: Colour, coverage: f32) {
        if x < self.width && y < self.height {
            let pixel = &mut self.pixels[y * self.width + x];
            for (old, new) in pixel.iter_mut().zip(channels(colour)) {
                *old = (f32::from(*old) * (1.0 - coverage) + f32::from(new) * coverage).round() as u8;
            }
        }
    }

    fn disc(&mut self, centre: [f32; 2], radius: f32, colour: Colour) {
        let ([x, y], radius) = (centre.map(|value| value * RESOLUTION), radius * RESOLUTION);
        let span = |middle: f32| (middle - radius).floor() as usize..=(middle + radius).ceil() as usize;
        for row in span(y) {
            for column in span(x) {
                let distance = (column as f32 + 0.5 - x).hypot(row as f32 + 0.5 - y);
                self.blend(column, row, colour, (radius + 0.5 - distance).clamp(0.0, 1.0));
            }
        }
    }

    fn frame(&mut self, corner: [f32; 2], side: f32) {
        let [left, top] = corner.map(|value| (value * RESOLUTION) as usize);
        let side = (side * RESOLUTION) as usize;
        // Two pixels wide, half of it inside, as the SVG's stroke of one unit.
        for along in 0..side + 2 {
            for across in [0, 1, side, side + 1] {
                self.blend(left + along - 1, top + across - 1, FRAME_COLOUR, 1.0);
                self.blend(left + across - 1, top + along - 1, FRAME_COLOUR, 1.0);
            }
        }
    }

    fn words(&mut self, baseline: [f32; 2], font: &Font, words: &str) {
        let [across, down] = font.glyph_scale;
        let [left, bottom] = baseline.map(|value| (value * RESOLUTION).round() as usize);
        // The last of a glyph's eight rows hangs below the line.
        let top = bottom.saturating_sub(7 * down);
        for (k, character) in words.chars().enumerate() {
            for (row, bits) in glyph(character).into_iter().enumerate() {
                for column in (0..8).filter(|column| bits >> column & 1 == 1) {
                    for (dx, dy) in (0..across).flat_map(|dx| (0..down).map(move |dy| (dx, dy))) {
                        let x = left + (k * 8 + column) * across + dx;
                        self.blend(x, top + row * down + dy, font.colour, 1.0);
                    }
                }
            }
        }
    }

    fn encode(self) -> Vec<u8> {
        let mut bytes = Vec::new();
        let mut encoder = png::Encoder::new(&mut bytes, self.width as u32, self.height as u32);
        encoder.set_color(png::ColorType::Rgb);
        encoder.set_depth(png::BitDepth::Eight);
        encoder
            .write_header()
            .and_then(|mut writer| writer.write_image_data(self.pixels.as_flattened()))
            .expect("writing to memory succeeds, and the pixels fill the picture");
        bytes
    }
}

fn channels(colour: Colour) -> [u8; 3] {
    let [_, red, green, blue] = colour.to_be_bytes();
    [red, green, blue]
}

/// Rows from the top, in each the leftmost pixel in the lowest bit. A question mark for what the font lacks.
fn glyph(character: char) -> [u8; 8] {
    let character = match character {
        '\u{2010}'..='\u{2015}' | '−' => '-',
        '‘' | '’' => '\'',
        '“' | '”' => '"',
        other => other,
    };
    BASIC_FONTS
        .get(character)
        .or_else(|| LATIN_FONTS.get(character))
        .or_else(|| GREEK_FONTS.get(character))
        .or_else(|| BASIC_FONTS.get('?'))
        .expect("the basic font has a question mark")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn panel(points: Vec<[f32; 2]>) -> Panel {
        let groups = (0..points.len()).map(|i| i % 3).collect();
        Panel { title: "model".into(), subtitle: "AUC 0.9".into(), points, groups }
    }

    fn scatter(panels: Vec<Panel>) -> Scatter {
        Scatter { title: "Cora".into(), panels, legend: ["one", "two", "three"].map(String::from).into() }
    }

    fn square() -> Vec<[f32; 2]> {
        vec![[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]
    }

    fn num_circles(svg: &str) -> usize {
        svg.matches("<circle ").count()
    }

    /// Every tag is closed in turn, every attribute quoted, every ampersand an entity.
    fn assert_well_formed(svg: &str) {
        let mut open = Vec::new();
        for piece in svg.split('<').skip(1) {
            let (tag, text) = piece.split_once('>').expect("a tag ends");
            assert!(text.trim().is_empty() || !open.is_empty() || tag == "/svg", "text outside: {text}");
            for entity in piece.split('&').skip(1) {
                assert!(["amp;", "lt;", "gt;", "quot;"].iter().any(|known| entity.starts_with(known)), "{entity}");
            }
            if let Some(name) = tag.strip_prefix('/') {
                assert_eq!(open.pop(), Some(name));
                continue;
            }
            assert_eq!(tag.matches('"').count(), 2 * tag.matches('=').count(), "{tag}");
            if !tag.ends_with('/') {
                open.push(tag.split(' ').next().expect("a name"));
            }
        }
        assert!(open.is_empty(), "left open: {open:?}");
    }

    fn decoded(png: &[u8]) -> (u32, u32, Vec<u8>) {
        let mut reader = png::Decoder::new(io::Cursor::new(png)).read_info().expect("a header");
        let mut pixels = vec![0; reader.output_buffer_size().expect("a size")];
        let info = reader.next_frame(&mut pixels).expect("a picture");
        (info.width, info.height, pixels)
    }

    fn names(folder: &tempfile::TempDir) -> Vec<String> {
        let entries = fs::read_dir(folder.path()).expect("the folder");
        let mut names: Vec<_> =
            entries.map(|e| e.expect("an entry").file_name().into_string().expect("text")).collect();
        names.sort();
        names
    }

    #[test]
    fn svg_has_a_circle_per_point_and_legend_entry() {
        let svg = scatter(vec![panel(square()), panel(square())]).to_svg();
        assert_well_formed(&svg);
        assert_eq!(num_circles(&svg), 4 + 4 + 3);
        assert!(svg.contains("role=\"img\"") && svg.contains("<title>Cora</title>"));
    }

    #[test]
    fn text_is_escaped() {
        let mut plot = scatter(vec![panel(square())]);
        plot.title = "A & B".into();
        plot.panels[0].title = "a < b > \"c\"".into();
        plot.legend[0] = "</svg>\u{1}".into();
        let svg = plot.to_svg();
        assert_well_formed(&svg);
        assert!(svg.contains("<title>A &amp; B</title>") && svg.contains(">a &lt; b &gt; &quot;c&quot;<"));
        assert!(svg.contains(">&lt;/svg&gt;\u{fffd}<"));
    }

    #[test]
    fn png_is_twice_as_large_and_has_the_colours_of_the_groups() {
        let plot = scatter(vec![panel(square()), panel(square())]);
        let (width, height, pixels) = decoded(&plot.to_png());
        let scene = plot.scene();
        assert_eq!((width, height), (2 * scene.width as u32, 2 * scene.height as u32));
        let count = |colour: Colour| pixels.as_chunks().0.iter().filter(|&&pixel| pixel == channels(colour)).count();
        for group in 0..3 {
            assert!(count(colour(group)) > 100, "group {group}");
        }
        assert_eq!(count(colour(3)), 0);
        assert_eq!(pixels[..3], [0xff; 3]);
    }

    #[test]
    fn one_scale_serves_both_axes_and_up_is_up() {
        let shapes = scatter(vec![panel(vec![[0.0, 0.0], [4.0, 0.0], [4.0, 1.0]])]).scene().shapes;
        let dots: Vec<[f32; 2]> = shapes
            .iter()
            .filter_map(|shape| match shape {
                Shape::Dot { centre, .. } => Some(*centre),
                _ => None,
            })
            .collect();
        assert_eq!(dots[1][0] - dots[0][0], PANEL_SIDE - 2.0 * PADDING);
        assert_eq!(dots[1][1] - dots[2][1], (PANEL_SIDE - 2.0 * PADDING) / 4.0);
    }

    #[test]
    fn degenerate_data_can_be_drawn() {
        let draw = |points: Vec<[f32; 2]>, expected: usize| {
            let plot = scatter(vec![panel(points)]);
            let svg = plot.to_svg();
            assert_well_formed(&svg);
            assert!(!svg.contains("NaN") && !svg.contains("inf\""), "{svg}");
            assert_eq!(num_circles(&svg), expected + 3);
            decoded(&plot.to_png());
        };
        draw(vec![], 0);
        draw(vec![[2.0, 3.0]; 5], 5);
        draw(vec![[f32::NAN, 0.0], [1.0, f32::INFINITY], [1.0, 1.0]], 1);
        draw(vec![[f32::MIN, f32::MAX], [f32::MAX, f32::MIN], [1e-45, 0.0]], 3);
        draw(vec![[0.0, 0.0], [1e-45, 0.0]], 2);
        let empty = Scatter { title: String::new(), panels: vec![], legend: vec![] };
        assert_well_formed(&empty.to_svg());
        decoded(&empty.to_png());
    }

    #[test]
    fn long_words_stay_inside_and_long_legends_wrap() {
        let mut plot = scatter(vec![panel(square())]);
        plot.panels[0].title = "Ã³E ".repeat(50);
        plot.legend = (0..25).map(|group| format!("group {group}")).chain(["long ".repeat(50)]).collect();
        let scene = plot.scene();
        for shape in &scene.shapes {
            if let Shape::Words { baseline: [x, y], font, words, .. } = shape {
                assert!(font.width(words) <= scene.width && *x < scene.width && *y < scene.height, "{words}");
            }
        }
        assert_eq!(num_circles(&plot.to_svg()), 4 + 26);
        decoded(&plot.to_png());
    }

    #[test]
    fn the_extension_chooses_the_format() {
        let folder = tempfile::tempdir().unwrap();
        let plot = scatter(vec![panel(square())]);
        plot.write(&folder.path().join("plot.svg")).expect("an SVG");
        plot.write(&folder.path().join("plot.PNG")).expect("a PNG");
        assert_eq!(names(&folder), ["plot.PNG", "plot.svg"]);
        assert_eq!(fs::read_to_string(folder.path().join("plot.svg")).expect("text"), plot.to_svg());
        assert_eq!(fs::read(folder.path().join("plot.PNG")).expect("bytes"), plot.to_png());
    }

    #[test]
    fn other_extensions_are_refused_and_nothing_is_written() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["plot.pdf", "plot", ".svg"] {
            let error = scatter(vec![]).write(&folder.path().join(name)).expect_err(name);
            assert_eq!(error.kind(), io::ErrorKind::InvalidInput);
            assert!(error.to_string().contains(".svg or .png"), "{error}");
        }
        // A folder in the way makes the last step fail; the partial file is gone all the same.
        fs::create_dir_all(folder.path().join("taken.svg/inside")).expect("a folder");
        scatter(vec![]).write(&folder.path().join("taken.svg")).expect_err("a folder is in the way");
        assert_eq!(names(&folder), ["taken.svg"]);
    }
}
