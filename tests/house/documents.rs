//! The rule for documents: one idea a paragraph, so a paragraph or list item has 60 words at most.
//! Tables, headings and code are not counted.

use std::fs;
use std::path::Path;

/// Most words of a paragraph or list item.
const PARAGRAPH_WORDS_MAX: usize = 60;

/// `document:line` and the words of each paragraph or list item that is too long.
pub fn long_paragraphs(document: &str, text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let (mut words, mut first, mut code) = (0, 0, false);
    for (index, line) in text.lines().chain([""]).enumerate() {
        let start = line.trim_start();
        let fence = start.starts_with("```");
        let item = start.starts_with("- ")
            || start.split_once(". ").is_some_and(|(number, _)| number.parse::<u8>().is_ok());
        let apart = start.is_empty() || start.starts_with(['#', '|']);
        if fence || item || apart || code {
            if words > PARAGRAPH_WORDS_MAX {
                found.push(format!("{document}:{first}: a paragraph of {words} words"));
            }
            words = 0;
        }
        code ^= fence;
        if !(code || fence || apart) {
            if words == 0 {
                first = index + 1;
            }
            words += line.split_whitespace().skip(usize::from(item)).count();
        }
    }
    found
}

/// Every document of the project: name and text.
fn documents() -> Vec<(String, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folders = ["", "benches", "examples/clients"];
    let files = folders.iter().flat_map(|folder| fs::read_dir(root.join(folder)).unwrap());
    let mut documents = Vec::new();
    for file in files.map(|entry| entry.unwrap().path()) {
        if file.extension().is_some_and(|extension| extension == "md") {
            let name = file.strip_prefix(root).unwrap().to_string_lossy().into_owned();
            documents.push((name, fs::read_to_string(&file).unwrap()));
        }
    }
    assert!(documents.len() > 8, "{documents:?}");
    documents
}

#[test]
fn paragraphs_have_one_idea() {
    let long = |(name, text): &(String, String)| long_paragraphs(name, text);
    let found: Vec<String> = documents().iter().flat_map(long).collect();
    assert!(found.is_empty(), "\n{}\n", found.join("\n"));
}

#[test]
fn paragraphs_have_one_idea_can_fail() {
    let (short, long) = ("word ".repeat(60), "word ".repeat(61));
    let page =
        format!("# {long}\n\n{short}\n\n- {short}\n- {short}\n\n| {long} |\n\n```\n{long}\n```\n");
    assert!(long_paragraphs("page", &page).is_empty());
    assert_eq!(long_paragraphs("page", &format!("{page}\n{long}")).len(), 1);
    assert_eq!(long_paragraphs("page", &format!("{page}\n1. {long}")).len(), 1);
}
