//! Shared parts of drawings: escaping, ticks, and a style sheet for light and dark pages.
//!
//! Colors are classes for both schemes instead of CSS variables, which many SVG renderers other
//! than browsers do not support. All classes begin with `tp-`, because a drawing inside an HTML
//! page shares its class names.

use std::fmt::Write;

/// Style sheet of all drawings, for light and dark pages. Every color of a group is readable as small
/// text on white; the dark ones have the same hues, lighter.
pub(crate) const STYLE: &str = include_str!("style.css");

/// Number of colors of groups in [`STYLE`].
const COLORS: usize = 8;

/// Returns the class of a group; colors repeat after eight.
pub(crate) fn group_class(group: usize) -> String {
    format!("tp-g{}", group % COLORS)
}

/// Destination of a drawing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// A file, with style sheet, background and title.
    File,
    /// A page, which has all of these.
    Page,
}

/// Height of the title, which is omitted in a page.
const TITLE: f64 = 32.0;

/// Starts a drawing: opening tag, style sheet, background and title.
pub(crate) fn open(width: f64, height: f64, title: &str, place: Place) -> String {
    let (w, h, title) = (num(width), num(height), escape(title));
    if place == Place::Page {
        let height = num(height - TITLE);
        return format!(
            "<svg class=\"tp-svg\" role=\"img\" aria-label=\"{title}\" \
             viewBox=\"0 {TITLE} {w} {height}\">\n"
        );
    }
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"tp-svg\" role=\"img\" \
         width=\"{w}\" height=\"{h}\" viewBox=\"0 0 {w} {h}\">\n<title>{title}</title>\n"
    );
    let _ = writeln!(out, "<style>\n{STYLE}</style>");
    let _ = writeln!(out, "<rect class=\"tp-page\" width=\"{w}\" height=\"{h}\"/>");
    let _ = writeln!(out, "<text class=\"tp-ink tp-title\" x=\"16\" y=\"25\">{title}</text>");
    out
}

/// Escapes text for use between tags and inside quotes, without characters that XML forbids.
pub(crate) fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out += "&amp;",
            '<' => out += "&lt;",
            '>' => out += "&gt;",
            '"' => out += "&quot;",
            '\'' => out += "&#39;",
            '\u{0}'..='\u{1f}' | '\u{fffe}' | '\u{ffff}' => out.push(' '),
            _ => out.push(c),
        }
    }
    out
}

/// Draws a small text at a place; `anchor` is `start`, `middle`, `end`, or empty.
pub(crate) fn label(out: &mut String, (x, y): (f64, f64), anchor: &str, text: &str) {
    let (x, y, text) = (num(x), num(y), escape(text));
    let _ = write!(out, "<text class=\"tp-faint tp-small\" x=\"{x}\" y=\"{y}\"");
    if !anchor.is_empty() {
        let _ = write!(out, " text-anchor=\"{anchor}\"");
    }
    let _ = write!(out, ">{text}</text>");
}

/// Formats a coordinate with at most two decimals.
pub(crate) fn num(x: f64) -> String {
    let text = format!("{x:.2}");
    let short = text.trim_end_matches('0').trim_end_matches('.');
    if short == "-0" { "0".into() } else { short.into() }
}

/// Returns multiples of 1, 2 or 5 times a power of ten from `low` to `high`, at most `most` + 1.
pub(crate) fn ticks(low: f64, high: f64, most: usize) -> Vec<f64> {
    let span = high - low;
    if !(span > 0.0 && span.is_finite()) {
        return vec![low];
    }
    let least = span / most as f64;
    let decade = 10f64.powf(least.log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0].map(|m| m * decade).into_iter().find(|s| *s >= least * 0.999);
    let step = step.unwrap_or(10.0 * decade);
    let first = (low / step - 1e-9).ceil();
    // k·step instead of repeated addition, which would print 0.30000000000000004.
    (0..=most + 1)
        .map(|k| (first + k as f64) * step)
        .take_while(|t| t.is_finite() && *t <= high + step * 1e-9)
        .collect()
}

/// Returns 1, 2 and 5 times the powers of ten in a range; if `sparse`, the powers alone. `stride`
/// is the step between them by their number.
pub(crate) fn log_ticks(
    (low, high): (f64, f64),
    sparse: bool,
    stride: fn(u32) -> usize,
) -> Vec<f64> {
    let parts: &[f64] = if sparse { &[1.0] } else { &[1.0, 2.0, 5.0] };
    let (first, last) = (low.log10().floor() as i32, high.log10().ceil() as i32);
    let shown = (first..=last).step_by(stride(first.abs_diff(last)));
    let all = shown.flat_map(|e| parts.iter().map(move |p| p * 10f64.powi(e)));
    all.filter(|t| (low..=high).contains(t)).collect()
}

/// Formats a number with at most four digits, like a tick.
pub(crate) fn figure(value: f64) -> String {
    tick_text(format!("{value:.3e}").parse().unwrap_or(value))
}

/// Draws a dashed line along a path.
pub(crate) fn dashed(out: &mut String, path: std::fmt::Arguments<'_>) {
    let _ = writeln!(out, "<path class=\"tp-line tp-mixed tp-dashed\" d=\"{path}\"/>");
}

/// Formats a tick: `12,000`, `0.25`, `3e-7`.
pub(crate) fn tick_text(value: f64) -> String {
    let size = value.abs();
    if value == 0.0 {
        return "0".into();
    }
    if !(1e-4..1e7).contains(&size) {
        return format!("{value:e}").replace("e0", "");
    }
    if size < 1000.0 {
        // Limited digits drop the rounding of k·step.
        let text = format!("{value:.7}");
        return text.trim_end_matches('0').trim_end_matches('.').into();
    }
    let whole = format!("{size:.0}");
    let mut out = if value < 0.0 { String::from("−") } else { String::new() };
    for (k, digit) in whole.chars().enumerate() {
        if k > 0 && (whole.len() - k).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Checks that tags are balanced and attributes quoted, and returns the number of elements.
    ///
    /// A minimal parser for our own output: no comments, no CDATA, no `>` inside attributes.
    pub(crate) fn parse(svg: &str) -> usize {
        let mut open = Vec::new();
        let mut elements = 0;
        for piece in svg.split('<').skip(1) {
            let (tag, text) = piece.split_once('>').expect("every < has a >");
            assert!(!text.contains('>'), "a bare > in {text}");
            for entity in text.split('&').skip(1).chain(tag.split('&').skip(1)) {
                let known = ["amp;", "lt;", "gt;", "quot;", "#39;"];
                assert!(known.iter().any(|k| entity.starts_with(k)), "bare & in {piece}");
            }
            if let Some(name) = tag.strip_prefix('/') {
                assert_eq!(open.pop(), Some(name), "closed in order");
                continue;
            }
            assert!(tag.matches('"').count().is_multiple_of(2), "unbalanced quotes in {tag}");
            elements += 1;
            if !tag.ends_with('/') {
                open.push(tag.split_whitespace().next().expect("a tag has a name"));
            }
        }
        assert!(open.is_empty(), "left open: {open:?}");
        elements
    }

    #[test]
    fn text_is_escaped() {
        assert_eq!(escape("a<b & \"c\"\u{1}'"), "a&lt;b &amp; &quot;c&quot; &#39;");
        assert_eq!(escape("São Paulo"), "São Paulo");
        assert_eq!(parse(&(open(10.0, 10.0, "<&>", Place::File) + "</svg>")), 5);
    }

    #[test]
    fn ticks_are_round_and_inside() {
        assert_eq!(ticks(0.0, 10.0, 5), [0.0, 2.0, 4.0, 6.0, 8.0, 10.0]);
        assert_eq!(ticks(0.0, 19_873.0, 6), [0.0, 5000.0, 10_000.0, 15_000.0]);
        assert_eq!(ticks(0.0, 0.0, 5), [0.0]);
        for high in [1e-9, 0.37, 1.0, 7.3, 99.9, 1e12] {
            let found = ticks(0.0, high, 6);
            assert!((3..=7).contains(&found.len()), "{high}: {found:?}");
            assert!(found.iter().all(|t| (0.0..=high * 1.001).contains(t)));
        }
    }

    #[test]
    fn ticks_read_well() {
        let texts = [0.0, 0.1 + 0.2, 5.0, 12_000.0, 1_250_000.0, 3e-7, 2e9].map(tick_text);
        assert_eq!(texts, ["0", "0.3", "5", "12,000", "1,250,000", "3e-7", "2e9"]);
        assert_eq!([num(1.0), num(-0.001), num(2.345_6)], ["1", "0", "2.35"]);
    }
}
