//! Unit tests of `src/http/docs.rs`.

use super::*;

#[test]
fn the_files_of_the_pages_are_in_the_binary() {
    let script = unpacked("swagger-ui-bundle.js").unwrap();
    assert!(script.contains("SwaggerUIBundle") && script.len() > 1_000_000);
    assert!(unpacked("swagger-ui.css").unwrap().contains(".swagger-ui"));
    assert_eq!(unpacked("nothing.js"), None);
    assert!(PAGE.contains("swagger-ui-bundle.js") && PAGE.contains("start.js"));
}

#[test]
fn the_pages_load_nothing_from_elsewhere() {
    for page in [PAGE, START] {
        assert!(!page.contains("http:") && !page.contains("https:"));
    }
}
