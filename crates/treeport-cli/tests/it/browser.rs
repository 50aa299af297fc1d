//! The report page in a real browser: it loads without an error, answers to hover, click and keys, and
//! shows something.
//!
//! The browser is the one `TREEPORT_CHROME` names, or a Chromium or Chrome on the PATH; without one
//! these tests say so and do nothing.

use std::io::Read;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use serde_json::Value;
use treeport::Tree;

use crate::baselines::with_forest;
use crate::folder::Folder;
use crate::skipped::skipped;

const NAMES: [&str; 4] = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];

fn browser() -> Option<PathBuf> {
    let named = std::env::var_os("TREEPORT_CHROME").filter(|path| !path.is_empty());
    let on_path = || {
        let folders = std::env::var_os("PATH").unwrap_or_default();
        std::env::split_paths(&folders)
            .flat_map(|folder| NAMES.map(|name| folder.join(name)))
            .find(|path| path.is_file())
    };
    let found = named.map(PathBuf::from).or_else(on_path);
    if found.is_none() {
        skipped("the report page in a browser (no Chromium on the PATH: set TREEPORT_CHROME)");
    }
    found
}

/// Runs the browser on a file of the folder, with its profile in the folder too.
fn browse(browser: &PathBuf, folder: &Folder, page: &str, dark: bool, what: &str) -> Vec<u8> {
    let scheme = u8::from(!dark);
    let output = Command::new(browser)
        // Tests often run as root in a container, where Chromium's own sandbox cannot start.
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"])
        .args(["--hide-scrollbars", "--window-size=1280,1000", "--virtual-time-budget=5000"])
        .arg(format!("--user-data-dir={}", folder.path("profile").display()))
        .arg(format!("--blink-settings=preferredColorScheme={scheme}"))
        .arg(what)
        .arg(format!("file://{}", folder.path(page).display()))
        .current_dir(folder.path("."))
        .stdin(Stdio::null())
        .output()
        .expect("the browser runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    output.stdout
}

/// Puts a script into a page and returns what it reports; the page has to have no errors.
fn ask(browser: &PathBuf, folder: &Folder, page: &str, dark: bool, script: &str) -> Value {
    let result = ask_text(browser, folder, &folder.text(page), dark, script);
    assert_eq!(result["wrong"], Value::Array(vec![]), "{result}");
    result
}

/// The same with the text of a page; its errors are in `wrong`.
///
/// The script stands before the page's content policy, which would not let it run.
fn ask_text(browser: &PathBuf, folder: &Folder, page: &str, dark: bool, script: &str) -> Value {
    let asking = format!(
        "<head><script>window.wrong = [];\
         addEventListener('error', (e) => wrong.push(e.message));\
         addEventListener('unhandledrejection', (e) => wrong.push(String(e.reason)));\
         addEventListener('securitypolicyviolation', (e) => wrong.push(e.violatedDirective));\
         for (const level of ['error', 'warn']) console[level] = (...all) => wrong.push(all.join(' '));\n\
         addEventListener('load', () => {{ {SCRIPT}\nconst result = {{}};\n\
         try {{ {script} }} catch (e) {{ wrong.push(String(e)); }}\n\
         const said = document.createElement('pre'); said.id = 'said';\n\
         said.textContent = btoa(unescape(encodeURIComponent(JSON.stringify({{...result, wrong}}))));\n\
         document.body.append(said); }});</script>"
    );
    folder.write("asked.html", page.replacen("<head>", &asking, 1));
    let dom = browse(browser, folder, "asked.html", dark, "--dump-dom");
    let dom = String::from_utf8_lossy(&dom);
    let said = dom.split("<pre id=\"said\">").nth(1).and_then(|rest| rest.split('<').next());
    let said = said.unwrap_or_else(|| panic!("the script said nothing: {}", dom.len()));
    serde_json::from_slice(&decode(said)).expect("JSON")
}

/// Helpers of the scripts below.
const SCRIPT: &str = "
const one = (s) => document.querySelector(s), all = (s) => [...document.querySelectorAll(s)];
const tip = () => (one('#tip').hidden ? null : one('#tip').textContent);
const hover = (e) => { const b = e.getBoundingClientRect();
  e.dispatchEvent(new PointerEvent('pointermove', {bubbles: true, clientX: b.left + 2, clientY: b.top + 2}));
  e.dispatchEvent(new PointerEvent('pointerover', {bubbles: true})); return tip(); };
const click = (e) => e.dispatchEvent(new MouseEvent('click', {bubbles: true}));
const press = (e, key) => e.dispatchEvent(new KeyboardEvent('keydown', {bubbles: true, key}));
const rows = () => all('#tree-view .row text').map((t) => t.textContent);
const type = (e, text) => { e.value = text; e.dispatchEvent(new Event('input', {bubbles: true})); };
";

/// Base 64, which keeps quotes and brackets out of the page's own markup.
fn decode(text: &str) -> Vec<u8> {
    let value = |c: u8| match c {
        b'A'..=b'Z' => c - b'A',
        b'a'..=b'z' => c - b'a' + 26,
        b'0'..=b'9' => c - b'0' + 52,
        b'+' => 62,
        _ => 63,
    };
    let digits: Vec<u8> = text.bytes().filter(|&c| c != b'=' && !c.is_ascii_whitespace()).collect();
    let mut bytes = Vec::new();
    for group in digits.chunks(4) {
        let number = group.iter().fold(0u32, |n, &c| n << 6 | u32::from(value(c)));
        let number = number << (6 * (4 - group.len()));
        bytes.extend(&number.to_be_bytes()[1..group.len()]);
    }
    bytes
}

#[test]
fn the_page_of_the_demo_answers_to_pointer_and_keys() {
    let Some(browser) = browser() else { return };
    let folder = Folder::new();
    folder.json("demo --json -o demo");
    let script = "
        result.rows = rows(); result.svgs = all('.charts svg').length;
        result.overRow = hover(one('.row.more')); hover(document.body); result.away = tip();
        result.overDot = hover(one('circle[data-plan]')); result.overBar = hover(one('.charts rect[data-tip]'));
        click(one('.row.more')); result.zoomed = rows(); result.path = all('#path button').length;
        press(one('.row'), 'ArrowLeft'); result.back = rows();
        one('.row.more').focus(); press(one('.row.more'), 'Enter'); result.byKey = rows();
        press(one('.row'), 'Escape'); result.escaped = rows();
        type(one('#find'), 'honol'); result.found = one('.row.found text').textContent;
        click(all('circle[data-plan]')[3]);
        result.plan = one('#plan-note').textContent; result.flows = all('.flow').length;
        result.overFlow = hover(one('.flow')); hover(one('.end')); result.lit = all('.flow.lit').length;
        click(one('#by-exact')); result.exact = one('#by-exact').getAttribute('aria-pressed');
        click(one('#next')); result.next = one('#plan-note').textContent;
        result.back_color = getComputedStyle(document.body).backgroundColor;
        result.width = document.documentElement.scrollWidth;";
    let result = ask(&browser, &folder, "demo/report.html", false, script);
    assert!(result["rows"].as_array().expect("rows").len() > 20, "{result}");
    assert_eq!(result["svgs"], 8, "four of each model");
    for tip in ["overRow", "overDot", "overBar", "overFlow"] {
        assert!(result[tip].as_str().is_some_and(|tip| tip.len() > 5), "{tip}: {result}");
    }
    assert_eq!(result["away"], Value::Null);
    assert_ne!(result["zoomed"], result["rows"]);
    assert_eq!((&result["path"], &result["back"]), (&1.into(), &result["rows"]));
    assert_eq!((&result["byKey"], &result["escaped"]), (&result["zoomed"], &result["rows"]));
    assert_eq!(result["found"], "Honolulu");
    assert!(result["plan"].as_str().expect("a plan").contains("the tree says"), "{result}");
    assert_ne!(result["plan"], result["next"]);
    assert!(result["flows"].as_u64() > Some(0) && result["lit"].as_u64() > Some(0), "{result}");
    assert_eq!(result["exact"], "true");
    assert_eq!(result["width"], 1280, "nothing sticks out to the right");
    let script = "result.back_color = getComputedStyle(document.body).backgroundColor;";
    let dark = ask(&browser, &folder, "demo/report.html", true, script);
    assert_ne!(dark["back_color"], result["back_color"]);

    for dark in [false, true] {
        let picture = format!("--screenshot={}", folder.path("page.png").display());
        browse(&browser, &folder, "demo/report.html", dark, &picture);
        let ink = ink(&folder.read("page.png"));
        assert!((0.01..0.9).contains(&ink), "dark: {dark}, {ink} of the picture is not blank");
    }
}

/// The share of a PNG's bytes that differ from what stands before or above them: 0 for a blank page.
fn ink(png: &[u8]) -> f64 {
    let mut rest = png.strip_prefix(b"\x89PNG\r\n\x1a\n").expect("a PNG");
    let mut packed = Vec::new();
    while let Some((size, after)) = rest.split_first_chunk::<4>() {
        let size = u32::from_be_bytes(*size) as usize;
        if after.starts_with(b"IDAT") {
            packed.extend(&after[4..4 + size]);
        }
        rest = &after[8 + size..];
    }
    let mut filtered = Vec::new();
    flate2::read::ZlibDecoder::new(&packed[..]).read_to_end(&mut filtered).expect("zlib");
    // Chromium filters every line against its neighbors, so that equal pixels are zeros.
    filtered.iter().filter(|&&byte| byte != 0).count() as f64 / filtered.len() as f64
}

#[test]
fn a_tree_of_thirteen_thousand_leaves_stays_readable() {
    let Some(browser) = browser() else { return };
    let folder = Folder::new();
    // Half a chain, the worst shape there is, and half a balanced tree.
    let mut chain = String::from("w0:1");
    for k in 1..6500 {
        chain = format!("({chain},w{k}:1):0.001");
    }
    let mut level: Vec<String> = (0..6500).map(|k| format!("v{k}:1")).collect();
    while level.len() > 1 {
        level = level.chunks(2).map(|pair| format!("({}):1", pair.join(","))).collect();
    }
    folder.write("big.nwk", format!("({chain},{});", level[0]));
    folder.json("report big.nwk --json -o big.html");
    let script = "
        result.first = rows(); click(one('.row.more')); result.second = rows();
        type(one('#find'), 'w3210'); result.chain = one('.row.found text').textContent; result.context = rows();
        type(one('#find'), 'v4711'); result.tree = one('.row.found text').textContent;
        one('#rows').value = '320'; one('#rows').dispatchEvent(new Event('change', {bubbles: true}));
        result.many = rows().length; result.elements = all('*').length;";
    let result = ask(&browser, &folder, "big.html", false, script);
    for view in ["first", "second", "context"] {
        let rows = result[view].as_array().expect("rows").len();
        assert!((2..=40).contains(&rows), "{view}: {rows}");
    }
    assert_eq!((&result["chain"], &result["tree"]), (&"w3210".into(), &"v4711".into()));
    assert!(result["elements"].as_u64() < Some(4000), "{result}");
}

#[test]
fn a_tree_of_many_leaves_is_a_summary_to_walk_around_in() {
    let Some(browser) = browser() else { return };
    let folder = Folder::new();
    let (leaves, nodes) = (100_000, 199_999);
    let parent = (0..nodes).map(|v: usize| (leaves + v / 2).min(nodes - 1) as u32).collect();
    let length = (0..nodes).map(|v| if v == nodes - 1 { 0.0 } else { 1.0 }).collect();
    let tree = Tree::new(leaves, parent, length).expect("children come first");
    tree.save(folder.path("big.tree")).expect("a writable folder");
    let said = folder.json("report big.tree --json -o big.html");
    assert!(said[0]["bytes"].as_u64() < Some(2_000_000), "{}", said[0]);
    let script = "
        result.note = one('#tree-note').textContent; result.first = rows();
        click(one('.row.more')); result.second = rows();
        type(one('#find'), '0'); press(one('#find'), 'Enter');
        result.found = all('.row.found').length; result.closed = one('.row.found .wedge') !== null;
        const before = rows(); click(one('.row.found')); result.same = String(rows()) === String(before);
        type(one('#find'), '99999999'); result.missing = one('#tree-note').textContent;
        one('#rows').value = '320'; one('#rows').dispatchEvent(new Event('change', {bubbles: true}));
        result.elements = all('*').length;";
    let result = ask(&browser, &folder, "big.html", false, script);
    let note = result["note"].as_str().expect("a note");
    assert!(note.starts_with("A summary: 100,000 leaves, shown as 1,"), "{note}");
    assert_ne!(result["first"], result["second"]);
    assert_eq!((&result["found"], &result["closed"]), (&1.into(), &true.into()), "{result}");
    assert_eq!(result["same"], true, "a group of the summary does not open");
    assert!(result["missing"].to_string().contains("No point that is named in this summary"));
    assert!(result["elements"].as_u64() < Some(4000), "{result}");
}

#[test]
fn names_with_markup_and_many_models_are_only_text() {
    let Some(browser) = browser() else { return };
    let folder = Folder::with_model();
    folder.write("names.txt", "</script><script>wrong.push('x')</script>\n<img src=x onerror=wrong.push('y')>\n<!--\n%DATA%&amp;\n");
    folder.write("measure-names.txt", "</select><b>\n\"'\n<!-- -->\n");
    folder.write("measures.csv", "0.5,0.5,0,0\n0,0,0.5,0.5\n1,0,0,0\n");
    folder.json(
        "report model.tree model.tree --names names.txt --points line.csv --measures measures.csv \
         --measure-names measure-names.txt --json -o page.html",
    );
    let script = "
        result.rows = rows().sort(); result.bold = all('b, img').length;
        const model = one('#model'); model.value = '1'; model.dispatchEvent(new Event('change', {bubbles: true}));
        result.shown = all('.charts:not([hidden])').map((e) => e.dataset.model);
        result.pairs = all('#pair option').length; result.plan = one('#plan-note').textContent;
        result.near = one('[data-near]').textContent; result.asked = one('#asked').textContent;
        result.bold += all('b, img').length;";
    let result = ask(&browser, &folder, "page.html", false, script);
    assert_eq!(result["bold"], 0);
    assert!(result["near"].as_str().expect("a name").starts_with("<!-- -->"), "{result}");
    assert_eq!(result["asked"], "</select><b>\"'<!-- -->");
    assert!(result["rows"].to_string().contains("onerror"), "{result}");
    assert_eq!(result["shown"], serde_json::json!(["1"]));
}

#[test]
fn neighbors_and_their_plans_can_be_chosen() {
    let Some(browser) = browser() else { return };
    let folder = Folder::new();
    folder.json("demo --json -o demo");
    let script = "
        const near = () => all('[data-near]').map((b) => b.textContent);
        const flows = () => all('#near-view .flow').length, moves = () => all('#near-moves tbody tr').length;
        result.asked = all('#asked option').length; result.first = near(); result.note = one('#near-note').textContent;
        result.pressed = all('[data-near][aria-pressed=true]').length;
        result.flows = flows(); result.moves = moves(); result.plan = one('#near-plan-note').textContent;
        result.overFlow = hover(one('#near-view .flow'));
        hover(one('#near-view .end')); result.lit = all('#near-view .flow.lit').length;
        result.others = all('#plan-view .flow.lit').length;
        click(all('[data-near]')[2]); result.third = one('#near-plan-note').textContent;
        const choice = one('#asked'); choice.value = '4'; choice.dispatchEvent(new Event('change', {bubbles: true}));
        result.second = near(); result.title = one('#near-note').textContent;
        result.chosen = choice.options[4].textContent;
        click(one('#asked-before')); result.before = choice.value; result.width = document.documentElement.scrollWidth;";
    let result = ask(&browser, &folder, "demo/report.html", false, script);
    assert_eq!((&result["asked"], &result["pressed"]), (&30.into(), &1.into()), "{result}");
    assert_eq!(result["first"].as_array().expect("neighbors").len(), 8);
    let note = result["note"].as_str().expect("a note");
    assert!(
        note.contains("by exact transport distance. Proved: none of the other 91 is"),
        "{note}"
    );
    assert!(result["flows"].as_u64() > Some(0) && result["moves"].as_u64() > Some(0), "{result}");
    assert!(result["lit"].as_u64() > Some(0) && result["others"] == 0, "{result}");
    assert!(result["overFlow"].as_str().expect("a tip").contains("of the cost"), "{result}");
    assert_ne!(result["plan"], result["third"]);
    assert_ne!(result["first"], result["second"]);
    let (title, chosen) = (result["title"].as_str(), result["chosen"].as_str());
    assert!(title.expect("a note").contains(chosen.expect("a name")), "{result}");
    assert_eq!((&result["before"], &result["width"]), (&"3".into(), &1280.into()), "{result}");
}

#[test]
fn every_tree_of_a_forest_can_be_chosen() {
    let Some(browser) = browser() else { return };
    let folder = with_forest();
    folder.json("report model.forest --json -o page.html");
    let script = "
        const trees = one('.trees select'), drawn = () => all('#tree-view .edge').map((e) => e.getAttribute('d'));
        const choose = (k) => { trees.value = k; trees.dispatchEvent(new Event('change', {bubbles: true}));
          return drawn(); };
        result.entries = [...trees.options].map((o) => o.textContent);
        result.chosen = trees.value; result.first = drawn(); result.leaves = rows().sort();
        result.second = choose('1'); result.leavesOfSecond = rows().sort();
        result.again = choose('0');";
    let result = ask(&browser, &folder, "page.html", false, script);
    assert_eq!(
        result["entries"],
        serde_json::json!(["1 of 2, weight 75.0 %", "2 of 2, weight 25.0 %"]),
        "{result}"
    );
    assert_eq!((&result["chosen"], &result["again"]), (&"0".into(), &result["first"]));
    assert_ne!(result["second"], result["first"]);
    assert_eq!(result["leaves"], serde_json::json!(["a", "b", "c", "d"]));
    assert_eq!(result["leavesOfSecond"], result["leaves"]);
}

#[test]
fn plans_are_drawn_on_a_map() {
    let Some(browser) = browser() else { return };
    let folder = Folder::new();
    let towns = "town,lat,lon\nOslo,59.9,10.8\nBergen,60.4,5.3\nTromso,69.6,19.0\nRome,41.9,12.5\n";
    folder.write("towns.csv", towns);
    folder.write("shares.csv", "Oslo,Bergen,Tromso,Rome\n1,0,0,0\n0,0.5,0.5,0\n0,0,0.2,0.8\n");
    let metric = "--points towns.csv --metric haversine --measures shares.csv";
    folder.json(&format!("fit {metric} --method quadtree --json -o towns.tree"));
    folder.json(&format!("report towns.tree {metric} --unit km --json -o towns.html"));
    let script = "
        const dots = () => all('#map-view circle'), at = (name) => { const dot = dots().find((d) => d.dataset.tip.startsWith(name));
          return [Number(dot.getAttribute('cx')), Number(dot.getAttribute('cy'))]; };
        result.note = one('#map-note').textContent; result.places = all('#map-view .place').length;
        [result.oslo, result.bergen, result.tromso, result.rome] = ['Oslo', 'Bergen', 'Tromso', 'Rome'].map(at);
        result.lines = all('#map-view .flow').length; result.flows = all('#plan-view .flow').length;
        result.overLine = hover(one('#map-view .flow'));
        click(one('#next')); result.next = all('#map-view .flow').map((f) => f.dataset.tip);
        result.labels = all('#map-view text').map((t) => t.textContent);";
    let result = ask(&browser, &folder, "towns.html", false, script);
    let place = |town: &str| {
        let at = |k: usize| result[town][k].as_f64().expect("a place");
        (at(0), at(1))
    };
    let (oslo, bergen, tromso, rome) =
        (place("oslo"), place("bergen"), place("tromso"), place("rome"));
    assert!(bergen.0 < oslo.0 && oslo.0 < tromso.0, "east is to the right: {result}");
    assert!(tromso.1 < bergen.1 && bergen.1 < oslo.1 && oslo.1 < rome.1, "north is up: {result}");
    // One scale for both, with degrees of longitude as wide as at the middle latitude.
    let middle: f64 = (59.9 + 60.4 + 69.6 + 41.9) / 4.0;
    let scale = (rome.1 - tromso.1) / (69.6 - 41.9);
    let expected = scale * (19.0 - 5.3) * middle.to_radians().cos();
    assert!(((tromso.0 - bergen.0) / expected - 1.0).abs() < 0.01, "{result}");
    assert_eq!((&result["places"], &result["lines"]), (&4.into(), &result["flows"]));
    assert!(result["overLine"].as_str().is_some_and(|tip| tip.contains(" km")), "{result}");
    assert!(result["note"].as_str().is_some_and(|note| note.starts_with("All moves")), "{result}");
    assert_ne!(result["next"], Value::Array(vec![]));
    assert_ne!(result["labels"], Value::Array(vec![]));
}

#[test]
fn points_without_places_have_no_map() {
    let Some(browser) = browser() else { return };
    let folder = Folder::with_model();
    folder.json("report model.tree --points line.csv --measures measures.csv --json -o page.html");
    let script =
        "result.hidden = one('#map').hidden; result.flows = all('#plan-view .flow').length;";
    let result = ask(&browser, &folder, "page.html", false, script);
    assert_eq!(result["hidden"], true);
    assert!(result["flows"].as_u64() > Some(0), "{result}");
}

/// Even where a name were not escaped.
#[test]
fn the_page_runs_no_other_script_and_loads_nothing() {
    let Some(browser) = browser() else { return };
    let folder = Folder::with_model();
    folder.json("report model.tree --points line.csv --measures measures.csv --json -o page.html");
    let hostile = [
        "<script>window.ran = 'script'</script>",
        "<img src=x onerror=\"window.ran = 'handler'\">",
        "<script src=line.csv></script>",
        "<a id=link href=\"javascript:void(window.ran = 'link')\">x</a>",
        "<iframe srcdoc=\"<script>parent.ran = 'frame'</script>\"></iframe>",
    ];
    for markup in hostile {
        let page = folder.text("page.html").replacen("<main>", &format!("<main>{markup}"), 1);
        let script =
            "one('#link')?.click(); result.ran = window.ran ?? null; result.rows = rows().length;";
        let result = ask_text(&browser, &folder, &page, false, script);
        assert_eq!(result["ran"], Value::Null, "{markup}");
        assert_eq!(result["rows"], 4, "the page works: {markup}");
    }
    let page = folder.text("page.html").replacen("<main>", &format!("<main>{}", hostile[0]), 1);
    let result = ask_text(&browser, &folder, &page, false, "");
    assert_eq!(result["wrong"], serde_json::json!(["script-src-elem"]));
}
