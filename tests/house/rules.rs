//! The house rules: each is a function from a file to its faults, as `path:line: why`.

use crate::rooms;
use crate::source::{Source, closing_brace, is_word, words};

/// Longest file, in lines of code.
const FILE_CODE_LINES_MAX: usize = 400;
/// Longest function, in lines of code.
const FUNCTION_CODE_LINES_MAX: usize = 70;
/// Longest line, in columns.
const LINE_COLUMNS_MAX: usize = 100;

/// The names that a path imports: of `crate::a::B` and `crate::{a::B, c}` the `a`, and the `c`.
fn heads(code: &str, after: usize) -> Vec<(usize, String)> {
    let head = |from: usize| {
        let word: String = code[from..].chars().take_while(|c| is_word(*c)).collect();
        (from, word)
    };
    if !code[after..].starts_with('{') {
        return vec![head(after)];
    }
    let end = closing_brace(code, after);
    let (mut depth, mut fresh, mut found) = (0, true, Vec::new());
    for (index, c) in code[after + 1..end].char_indices() {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 0 => fresh = true,
            c if fresh && is_word(c) => {
                found.push(head(after + 1 + index));
                fresh = false;
            }
            _ => {}
        }
    }
    found
}

/// The names after every `root::` in the code.
fn paths(code: &str, root: &str) -> Vec<(usize, String)> {
    let begins = words(code, root).filter(|index| !code[..*index].ends_with("::"));
    let after = begins.map(|index| index + root.len());
    after
        .filter(|after| code[*after..].starts_with("::"))
        .flat_map(|after| heads(code, after + 2))
        .collect()
}

/// Restricted crates are used in their listed files only.
pub fn crates_with_one_door(source: &Source) -> Vec<String> {
    let code = source.product_code();
    let mut found = Vec::new();
    for (name, doors, why) in rooms::DOORS {
        if doors.iter().any(|door| source.path.starts_with(door)) {
            continue;
        }
        for index in words(&code, name).filter(|index| code[index + name.len()..].starts_with("::"))
        {
            if !code[..index].ends_with("::") {
                found.push(format!("{}: {name} only in {doors:?}: {why}", source.at(&code, index)));
            }
        }
    }
    found
}

/// Whether a line with a float is listed as an exception.
fn excused(source: &Source, code: &str, index: usize) -> bool {
    let line = code[..index].matches('\n').count();
    let line = code.lines().nth(line).unwrap_or_default();
    rooms::FLOAT_LINES.iter().any(|(path, part, _)| source.path == *path && line.contains(part))
}

/// No float, as a type or as a literal.
pub fn floats(source: &Source) -> Vec<String> {
    let code = source.product_code();
    let mut found = Vec::new();
    for float in ["f32", "f64"] {
        for index in words(&code, float).filter(|index| !excused(source, &code, *index)) {
            found.push(source.at(&code, index) + ": a float type");
        }
    }
    let bytes = code.as_bytes();
    let digit = |index: usize| bytes.get(index).is_some_and(u8::is_ascii_digit);
    let mut index = 0;
    while index < bytes.len() {
        let before = code.get(..index).and_then(|before| before.chars().next_back());
        if !digit(index) || before.is_some_and(|c| is_word(c) || c == '.') {
            index += 1;
            continue;
        }
        let start = index;
        let radix = matches!(bytes.get(index + 1), Some(b'x' | b'o' | b'b'));
        while digit(index) || bytes.get(index) == Some(&b'_') {
            index += 1;
        }
        let fraction = bytes.get(index) == Some(&b'.')
            && bytes.get(index + 1).is_none_or(|b| !is_word(char::from(*b)) && *b != b'.');
        let fraction = fraction || bytes.get(index) == Some(&b'.') && digit(index + 1);
        let exponent = !radix && matches!(bytes.get(index), Some(b'e' | b'E'));
        if fraction || exponent {
            found.push(source.at(&code, start) + ": a float literal");
        }
        index += 1;
    }
    found
}

/// Names banned from a room's code: clocks, randomness, disks, threads, waiting.
pub fn banned_words(source: &Source, bans: &[(&str, &str)]) -> Vec<String> {
    let code = source.product_code();
    let mut found = Vec::new();
    for (ban, why) in bans {
        for index in code.match_indices(ban).map(|(index, _)| index) {
            let inside = code[..index].ends_with(is_word)
                || ban.ends_with(is_word) && code[index + ban.len()..].starts_with(is_word);
            if !inside {
                found.push(format!("{}: `{ban}`: {why}", source.at(&code, index)));
            }
        }
        // `use std::{fs, io}` names the modules in a group.
        if let Some(module) = ban.strip_prefix("std::") {
            for (index, _) in paths(&code, "std").into_iter().filter(|(_, name)| name == module) {
                if !code[..index].ends_with("std::") {
                    found.push(format!("{}: `{ban}`: {why}", source.at(&code, index)));
                }
            }
        }
    }
    found
}

/// Hash tables are looked up, never iterated. Only tables declared in the same file are found, by
/// name; one that is passed to another file escapes this rule.
pub fn hash_walks(source: &Source) -> Vec<String> {
    const WALKS: [&str; 9] = [
        ".iter()",
        ".iter_mut()",
        ".keys()",
        ".values()",
        ".values_mut()",
        ".into_iter()",
        ".drain(",
        ".retain(",
        ".into_values()",
    ];
    let code = source.product_code();
    let mut names = Vec::new();
    for table in ["FxHashMap<", "FxHashSet<", "HashMap<", "HashSet<"] {
        for index in code.match_indices(table).map(|(index, _)| index) {
            let before = code[..index].trim_end_matches(|c: char| is_word(c) || c == ':');
            let before = before.trim_end_matches(['&', ' ']).trim_end_matches("&mut");
            let before = code[..before.len()].trim_end().trim_end_matches(':');
            let name: String = before.chars().rev().take_while(|c| is_word(*c)).collect();
            names.push(name.chars().rev().collect::<String>());
        }
    }
    names.sort();
    names.dedup();
    let mut found = Vec::new();
    for name in names.iter().filter(|name| !name.is_empty()) {
        let sorted =
            rooms::SORTED_WALKS.iter().any(|(path, one, _)| (*path, *one) == (&source.path, name));
        for index in words(&code, name).filter(|_| !sorted) {
            let after = code[index + name.len()..].trim_start();
            let line = code[..index].rsplit('\n').next().unwrap_or_default();
            let looped = words(line, "for").next().is_some()
                && line.contains(" in ")
                && after.starts_with('{');
            if looped || WALKS.iter().any(|walk| after.starts_with(walk)) {
                found.push(format!("{}: walks the hash table {name}", source.at(&code, index)));
            }
        }
    }
    found
}

/// Domain types derive no serialization.
pub fn derives(source: &Source) -> Vec<String> {
    let code = source.product_code();
    let mut found = Vec::new();
    for (index, _) in code.match_indices("derive(") {
        let list = code[index..].split(')').next().unwrap_or_default();
        for written in ["Serialize", "Deserialize", "Encode", "Decode"] {
            if words(list, written).next().is_some() {
                found.push(format!("{}: derives {written}", source.at(&code, index)));
            }
        }
    }
    found
}

/// A file begins with a module comment; a room's root file also says what the room must not know.
pub fn openings(source: &Source) -> Vec<String> {
    let mut found = Vec::new();
    let first = source.lines.first().map(|line| line.raw.as_str()).unwrap_or_default();
    if !first.starts_with("//! ") {
        found.push(format!("{}:1: the first line is not `//!`", source.path));
    }
    let room = source.path.starts_with("src/")
        && source.path.ends_with("/mod.rs")
        && source.path.matches('/').count() == 2;
    if room && !source.lines.iter().any(|line| line.raw.starts_with("//! Must not know: ")) {
        found.push(format!("{}:1: no line `Must not know:`", source.path));
    }
    found
}

/// Files, functions and lines have a maximum length.
pub fn sizes(source: &Source) -> Vec<String> {
    let mut found = Vec::new();
    let code_lines =
        source.product_lines().filter(|(_, line)| !line.code.trim().is_empty()).count();
    if code_lines > FILE_CODE_LINES_MAX {
        found.push(format!("{}:1: {code_lines} lines of code", source.path));
    }
    for function in source.functions() {
        if function.code_lines > FUNCTION_CODE_LINES_MAX {
            let at = format!("{}:{}", source.path, function.line + 1);
            found.push(format!("{at}: {} has {} lines", function.name, function.code_lines));
        }
    }
    for (number, line) in (1..).zip(&source.lines) {
        let columns = line.raw.chars().count();
        // A recorded line of external data, quoted in a test, may be longer.
        let quotation = line.test && line.raw.contains('"');
        if columns > LINE_COLUMNS_MAX && !quotation {
            found.push(format!("{}:{number}: {columns} columns", source.path));
        }
    }
    found
}

/// The words of a name, in lower case.
fn name_words(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    for c in name.chars() {
        if c == '_' || c.is_uppercase() {
            words.push(String::new());
        }
        if let Some(last) = words.last_mut().filter(|_| c != '_') {
            last.extend(c.to_lowercase());
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

/// No names made of words that say nothing.
pub fn names(source: &Source) -> Vec<String> {
    const EMPTY_WORDS: [&str; 12] = [
        "manager",
        "managers",
        "helper",
        "helpers",
        "util",
        "utils",
        "common",
        "handler",
        "handlers",
        "service",
        "services",
        "processor",
    ];
    // Empty words alone, but meaningful with another word: `data_dir`, `process_id`.
    const EMPTY_ALONE: [&str; 4] = ["data", "info", "do", "process"];
    let code = source.product_code();
    let mut declared = Vec::new();
    let stem = source.path.rsplit('/').next().unwrap_or_default().trim_end_matches(".rs");
    declared.push((format!("{}:1", source.path), stem.to_owned()));
    for keyword in ["fn", "struct", "enum", "trait", "type", "mod"] {
        for index in words(&code, keyword) {
            let after = code[index + keyword.len()..].trim_start();
            let name: String = after.chars().take_while(|c| is_word(*c)).collect();
            // The trait of an HTTP body requires this associated type.
            if keyword == "type" && name == "Data" {
                continue;
            }
            declared.push((source.at(&code, index), name));
        }
    }
    let empty = |name: &str| {
        let words = name_words(name);
        let api = source.room() == "http";
        let says_nothing =
            |word: &str| EMPTY_WORDS.contains(&word) && !(api && word.starts_with("handler"));
        words.iter().any(|word| says_nothing(word))
            || words.len() == 1 && EMPTY_ALONE.contains(&words[0].as_str())
    };
    let bad = declared.into_iter().filter(|(_, name)| empty(name));
    bad.map(|(at, name)| format!("{at}: `{name}` says nothing")).collect()
}

/// Nothing panics outside tests.
pub fn panics(source: &Source) -> Vec<String> {
    const PANICS: [&str; 8] = [
        ".unwrap()",
        ".expect(",
        "panic!",
        "todo!",
        "unimplemented!",
        "unreachable!",
        "dbg!",
        ".unwrap_unchecked(",
    ];
    let mut found = Vec::new();
    for (number, line) in source.product_lines() {
        for panic in PANICS.iter().filter(|panic| line.code.contains(**panic)) {
            found.push(format!("{}:{number}: {panic}", source.path));
        }
    }
    found
}

/// No `let _ =` outside tests. An explicit `drop` shows that the result was considered.
pub fn ignored(source: &Source) -> Vec<String> {
    let mut found = Vec::new();
    for (number, line) in source.product_lines() {
        let mut bound = words(&line.code, "let").map(|at| line.code[at + 3..].trim_start());
        let nothing =
            |rest: &str| rest.strip_prefix('_').is_some_and(|rest| !rest.starts_with(is_word));
        if bound.any(nothing) {
            found.push(format!("{}:{number}: bound to nothing", source.path));
        }
    }
    found
}

/// No comment marks unfinished work.
pub fn promises(source: &Source) -> Vec<String> {
    let mut found = Vec::new();
    for (number, line) in (1..).zip(&source.lines) {
        for promise in ["TODO", "FIXME", "XXX", "HACK"] {
            if words(&line.comment, promise).next().is_some() {
                found.push(format!("{}:{number}: {promise}", source.path));
            }
        }
    }
    found
}

/// Bounds that affect outcomes are journaled, so they belong where the journaled rules are.
pub fn bounds(source: &Source) -> Vec<String> {
    let code = source.product_code();
    let mut found = Vec::new();
    for index in words(&code, "const") {
        let name: String = code[index + "const".len()..]
            .trim_start()
            .chars()
            .take_while(|c| is_word(*c))
            .collect();
        if name.ends_with("_MAX") {
            found.push(format!("{}: {name} outside rules.rs", source.at(&code, index)));
        }
    }
    found
}
