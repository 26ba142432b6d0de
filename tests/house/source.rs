//! A Rust source file as the house rules see it: code without comments and string contents, test
//! code, functions. Works on text, not on syntax trees: enough for rules about names, paths and
//! sizes.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// One line.
#[derive(Debug, Clone, Default)]
pub struct Line {
    /// As it stands in the file.
    pub raw: String,
    /// Without comments and string contents; columns stay the same.
    pub code: String,
    /// Only the comments.
    pub comment: String,
    /// Whether it belongs to an item under `#[cfg(test)]`.
    pub test: bool,
}

/// One file.
#[derive(Debug, Clone)]
pub struct Source {
    /// Path from the repository's root, with `/`.
    pub path: String,
    /// Its lines.
    pub lines: Vec<Line>,
}

/// A function: its name, the index of its first line, and its number of lines of code.
#[derive(Debug, PartialEq, Eq)]
pub struct Function {
    /// Name.
    pub name: String,
    /// Index of its first line.
    pub line: usize,
    /// Lines of code, from its name to its last brace.
    pub code_lines: usize,
}

/// State of the lexer.
#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Code,
    LineComment,
    BlockComment(usize),
    Text,
    RawText(usize),
}

impl Source {
    /// Reads a file's text.
    pub fn new(path: &str, text: &str) -> Source {
        let (code, comment) = separate(text);
        let mut lines: Vec<Line> = text
            .lines()
            .zip(code.lines().zip(comment.lines()))
            .map(|(raw, (code, comment))| Line {
                raw: raw.to_owned(),
                code: code.to_owned(),
                comment: comment.to_owned(),
                test: false,
            })
            .collect();
        let whole_file =
            ["tests/", "replay/tests/", "benches/"].iter().any(|tests| path.starts_with(tests));
        for (first, last) in test_regions(&lines) {
            for line in &mut lines[first..=last] {
                line.test = true;
            }
        }
        for line in &mut lines {
            line.test |= whole_file;
        }
        Source { path: path.to_owned(), lines }
    }

    /// Lines that are not test code, numbered from 1.
    pub fn product_lines(&self) -> impl Iterator<Item = (usize, &Line)> {
        (1..).zip(&self.lines).filter(|(_, line)| !line.test)
    }

    /// The code outside tests as one text, with the file's line breaks.
    pub fn product_code(&self) -> String {
        let code = |line: &Line| if line.test { String::new() } else { line.code.clone() };
        self.lines.iter().map(code).collect::<Vec<_>>().join("\n")
    }

    /// `path:line` of a byte index in [`Source::product_code`].
    pub fn at(&self, code: &str, index: usize) -> String {
        format!("{}:{}", self.path, code[..index].matches('\n').count() + 1)
    }

    /// The room: first folder under `src`, or `replay`, or the name of a root file.
    pub fn room(&self) -> &str {
        if self.path.starts_with("replay/") {
            return "replay";
        }
        let inside = self.path.strip_prefix("src/").unwrap_or(&self.path);
        let first = inside.split('/').next().unwrap_or_default();
        first.strip_suffix(".rs").unwrap_or(first)
    }

    /// The file's functions outside tests.
    pub fn functions(&self) -> Vec<Function> {
        let code = self.product_code();
        let mut functions = Vec::new();
        for index in words(&code, "fn") {
            let name: String =
                code[index + 2..].trim_start().chars().take_while(|c| is_word(*c)).collect();
            let Some(open) = code[index..].find(['{', ';']).map(|found| index + found) else {
                continue;
            };
            if name.is_empty() || code[open..].starts_with(';') {
                continue;
            }
            let body = &code[index..=closing_brace(&code, open)];
            let code_lines = body.lines().filter(|line| !line.trim().is_empty()).count();
            let line = code[..index].matches('\n').count();
            functions.push(Function { name, line, code_lines });
        }
        functions
    }
}

/// Every Rust file under these folders; a missing folder has none.
pub fn tree(folders: &[&str]) -> Vec<Source> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut files = Vec::new();
    for folder in folders {
        collect(&root.join(folder), &mut files);
    }
    files.sort();
    let mut sources: Vec<Source> = files
        .iter()
        .map(|file| {
            let path = file.strip_prefix(root).unwrap().to_string_lossy().replace('\\', "/");
            Source::new(&path, &fs::read_to_string(file).unwrap())
        })
        .collect();
    let test_files = test_files(&sources);
    for source in &mut sources {
        if test_files.iter().any(|stem| source.path.starts_with(stem)) {
            for line in &mut source.lines {
                line.test = true;
            }
        }
    }
    sources
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect(&path, files);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
}

/// Files that are modules of tests only (`#[cfg(test)] mod fixture;`), as path prefixes.
fn test_files(sources: &[Source]) -> BTreeSet<String> {
    let mut stems = BTreeSet::new();
    for source in sources.iter().filter(|source| source.path.contains("src/")) {
        let (folder, file) = source.path.rsplit_once('/').unwrap_or(("", &source.path));
        let folder = match file {
            "mod.rs" | "lib.rs" | "main.rs" => folder.to_owned(),
            file => format!("{folder}/{}", file.trim_end_matches(".rs")),
        };
        for line in source.lines.iter().filter(|line| line.test) {
            let declared = line.code.trim().strip_suffix(';');
            if let Some((_, name)) = declared.and_then(|code| code.split_once("mod ")) {
                stems.extend([format!("{folder}/{name}.rs"), format!("{folder}/{name}/")]);
            }
        }
    }
    stems
}

/// Whether a character can be part of a name.
pub fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// Positions of a name in code as a whole word.
pub fn words<'a>(code: &'a str, word: &'a str) -> impl Iterator<Item = usize> + 'a {
    code.match_indices(word).map(|(index, _)| index).filter(move |index| {
        !code[..*index].ends_with(is_word) && !code[index + word.len()..].starts_with(is_word)
    })
}

/// The end of the block that opens at `open`; the end of the code if it never closes.
pub fn closing_brace(code: &str, open: usize) -> usize {
    let mut depth = 0_usize;
    for (index, c) in code[open..].char_indices() {
        match c {
            '{' => depth += 1,
            '}' => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    return open + index;
                }
            }
            _ => {}
        }
    }
    code.len().saturating_sub(1)
}

/// First and last line of every item under `#[cfg(test)]`.
fn test_regions(lines: &[Line]) -> Vec<(usize, usize)> {
    let mut regions = Vec::new();
    for (first, line) in lines.iter().enumerate() {
        if !line.code.trim_start().starts_with("#[cfg(test)]") {
            continue;
        }
        let code: Vec<&str> = lines[first..].iter().map(|line| line.code.as_str()).collect();
        let code = code.join("\n");
        let end = match code.find(['{', ';']) {
            Some(open) if code[open..].starts_with('{') => closing_brace(&code, open),
            Some(semicolon) => semicolon,
            None => code.len(),
        };
        regions.push((first, first + code[..end].matches('\n').count()));
    }
    regions
}

/// Splits a file into code and comments, both with the file's lines and columns. String contents
/// are in neither.
fn separate(text: &str) -> (String, String) {
    let (mut code, mut comment) = (String::new(), String::new());
    let chars: Vec<char> = text.chars().collect();
    let mut state = State::Code;
    let mut index = 0;
    while index < chars.len() {
        let rest = &chars[index..];
        let (next, length) = step(state, rest, index.checked_sub(1).map(|before| chars[before]));
        for c in &rest[..length] {
            let blank = if *c == '\n' { '\n' } else { ' ' };
            let in_comment = [state, next]
                .iter()
                .any(|state| matches!(state, State::LineComment | State::BlockComment(_)));
            let in_text = matches!(state, State::Text | State::RawText(_)) && next == state;
            code.push(if in_comment || in_text { blank } else { *c });
            comment.push(if in_comment { *c } else { blank });
        }
        state = next;
        index += length;
    }
    (code, comment)
}

/// The lexer's state after the next token, and that token's length in characters.
fn step(state: State, rest: &[char], before: Option<char>) -> (State, usize) {
    let starts = |text: &str| text.chars().zip(rest).filter(|(a, b)| a == *b).count() == text.len();
    match state {
        State::Code if starts("//") => (State::LineComment, 2),
        State::Code if starts("/*") => (State::BlockComment(1), 2),
        State::Code if rest[0] == '"' => (State::Text, 1),
        State::Code if rest[0] == 'r' && !before.is_some_and(|c| is_word(c) && c != 'b') => {
            let hashes = rest[1..].iter().take_while(|c| **c == '#').count();
            match rest.get(hashes + 1) {
                Some('"') => (State::RawText(hashes), hashes + 2),
                _ => (State::Code, 1),
            }
        }
        State::Code if rest[0] == '\'' => (State::Code, char_length(rest)),
        State::LineComment if rest[0] == '\n' => (State::Code, 1),
        State::BlockComment(depth) if starts("/*") => (State::BlockComment(depth + 1), 2),
        State::BlockComment(1) if starts("*/") => (State::Code, 2),
        State::BlockComment(depth) if starts("*/") => (State::BlockComment(depth - 1), 2),
        State::Text if rest[0] == '\\' => (State::Text, rest.len().min(2)),
        State::Text if rest[0] == '"' => (State::Code, 1),
        State::RawText(hashes)
            if rest[0] == '"' && rest[1..].iter().take(hashes).all(|c| *c == '#') =>
        {
            (State::Code, hashes + 1)
        }
        state => (state, 1),
    }
}

/// Length of a character literal with its quotes, or 1 for the quote of a lifetime.
fn char_length(rest: &[char]) -> usize {
    match rest {
        ['\'', '\\', _, tail @ ..] => tail.iter().position(|c| *c == '\'').map_or(1, |end| end + 4),
        ['\'', _, '\'', ..] => 3,
        _ => 1,
    }
}

#[test]
fn comments_and_strings_are_not_code() {
    let text = "let a = \"f64 // \\\" {\"; // f64\nlet b: u8 /* f64 /* x */ \n */ = b'\"';\n\
                let c = r#\"\"f64\"#; let d: &'a str = '\\'';\n";
    let source = Source::new("src/x.rs", text);
    let code = source.product_code();
    assert!(!code.contains("f64"), "{code}");
    assert_eq!(code.matches('{').count(), 0, "{code}");
    assert!(code.contains("let d: &'a str ="), "{code}");
    assert_eq!(source.lines[0].comment.trim(), "// f64");
    assert!(source.lines.iter().all(|line| line.raw.chars().count() == line.code.chars().count()));
}

#[test]
fn test_code_is_not_product_code() {
    let text = "fn a() {}\n#[cfg(test)]\nmod tests {\n    fn b() {}\n}\nfn c() {\n    1\n}\n";
    let source = Source::new("src/x.rs", text);
    let names: Vec<_> = source.functions().into_iter().map(|f| (f.name, f.code_lines)).collect();
    assert_eq!(names, [("a".to_owned(), 1), ("c".to_owned(), 3)]);
    assert_eq!(source.product_lines().map(|(number, _)| number).collect::<Vec<_>>(), [1, 6, 7, 8]);
}

#[test]
fn a_test_module_in_its_own_file_is_not_product_code() {
    let declaring = Source::new("src/room/mod.rs", "#[cfg(test)]\nmod fixture;\n");
    let stems = test_files(&[declaring]);
    assert!(stems.contains("src/room/fixture.rs") && stems.contains("src/room/fixture/"));
}
