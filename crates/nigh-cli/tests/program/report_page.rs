//! The HTML page of `nigh report` in a browser, at the widths of a phone and of a desktop, without network.

use crate::test_folder::TestFolder;
use serde_json::Value;
use std::process::Command;

/// Shows the page in a frame of some width, and writes what it finds there.
const FRAME: &str = r#"<!doctype html><meta charset="utf-8"><pre id="seen"></pre>
<iframe src="page.html" width="WIDTH" height="800" style="border:0"></iframe>
<script>
document.querySelector("iframe").onload = function () {
    const page = this.contentDocument;
    page.querySelectorAll("details").forEach(details => details.open = true);
    const shown = element => { const box = element.getBoundingClientRect(); return box.width > 5 && box.height > 1; };
    const all = selector => Array.from(page.querySelectorAll(selector));
    const seen = {
        width: page.documentElement.scrollWidth,
        tables: all("table").filter(shown).length,
        charts: all("figure svg").filter(shown).length,
        hidden_charts: all("figure svg").filter(svg => !shown(svg)).length,
        lines: all("polyline").length,
        tiles: all(".tile").map(tile => tile.innerText.replace(/\s+/g, " ").trim()),
        fetched: performance.getEntriesByType("resource").map(entry => entry.name).filter(name => !name.startsWith("file:")),
        colour: getComputedStyle(all("td .reproduced, td .better, td .short")[0]).color,
    };
    document.getElementById("seen").textContent = "SEEN" + JSON.stringify(seen) + "SEEN";
};
</script>"#;

fn look(browser: &str, folder: &TestFolder, width: usize) -> Value {
    folder.write("frame.html", FRAME.replace("WIDTH", &width.to_string()));
    let output = Command::new(browser)
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--allow-file-access-from-files"])
        .args(["--host-resolver-rules=MAP * ~NOTFOUND", "--virtual-time-budget=10000", "--dump-dom"])
        .arg(format!("--user-data-dir={}", folder.path("profile").display()))
        .arg(format!("file://{}", folder.path("frame.html").display()))
        .output()
        .expect("the browser starts");
    let dom = String::from_utf8_lossy(&output.stdout);
    let seen = dom.split("SEEN").nth(1).unwrap_or_else(|| panic!("{dom}\n{}", String::from_utf8_lossy(&output.stderr)));
    serde_json::from_str(&seen.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")).expect("what was seen")
}

#[test]
#[ignore = "needs a browser"]
fn the_page_works_in_a_browser_on_a_phone_and_without_a_network() {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/program/find-chromium");
    let found = Command::new(script).output().expect("the script starts");
    assert!(found.status.success(), "{}", String::from_utf8_lossy(&found.stderr));
    let browser = String::from_utf8_lossy(&found.stdout).lines().last().expect("a path").to_string();
    let folder = TestFolder::new();
    folder.nigh("reproduce poc --epochs 20 --repeats 1 --results results -q").ok();
    folder.nigh("reproduce runtime --only grid --epochs 2 --repeats 1 --results results -q").ok();
    folder.nigh("report poc --epochs 20 --repeats 1 --results results --out page.html -q").ok();
    let summary = folder.nigh("report poc --epochs 20 --repeats 1 --results results --json").json();
    for width in [390, 1400] {
        let seen = look(&browser, &folder, width);
        assert!(seen["width"].as_u64().unwrap() <= width as u64, "wider than the screen of {width}: {seen}");
        // A chart per labelling, with a line for every trained model.
        assert_eq!((seen["tables"].as_u64(), seen["charts"].as_u64()), (Some(1), Some(3)), "{seen}");
        assert_eq!((seen["hidden_charts"].as_u64(), seen["lines"].as_u64()), (Some(0), Some(15)), "{seen}");
        assert_eq!(seen["fetched"].as_array().map(Vec::len), Some(0), "{seen}");
        let better = format!("{} better", summary["summary"]["better"]);
        assert!(seen["tiles"].as_array().unwrap().iter().any(|tile| *tile == better.as_str()), "{seen}, {better}");
    }
    // Times are bars, without curves.
    folder.nigh("report runtime --epochs 2 --repeats 1 --results results --out page.html -q").ok();
    let seen = look(&browser, &folder, 390);
    assert!(seen["width"].as_u64().unwrap() <= 390, "{seen}");
    assert_eq!((seen["charts"].as_u64(), seen["lines"].as_u64()), (Some(6), Some(0)), "{seen}");
}
