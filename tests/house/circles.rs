//! Which files of a crate import each other in a circle: by `use`, and by paths that begin with
//! `crate` or `super`.

use std::collections::{BTreeMap, BTreeSet};

use super::source::{Source, is_word, words};

/// A file as a module: the names of the path to it; none for `lib.rs`.
type Module = Vec<String>;

/// The circles of several files in one crate, whose files are below `folder`; each sorted.
pub fn circles(folder: &str, sources: &[Source]) -> Vec<Vec<String>> {
    let of_crate = |source: &&Source| source.path.starts_with(folder);
    let files: BTreeMap<Module, &Source> = sources
        .iter()
        .filter(of_crate)
        .map(|source| (module(&source.path[folder.len()..]), source))
        .collect();
    let known: BTreeSet<&Module> = files.keys().collect();
    let reached: BTreeMap<&Module, BTreeSet<&Module>> =
        files.iter().map(|(from, source)| (from, imports(from, source, &known))).collect();
    let reached = closure(reached);
    let mut found: BTreeSet<Vec<String>> = BTreeSet::new();
    for (from, all) in &reached {
        let circle = all.iter().filter(|other| reached[**other].contains(*from));
        let paths: Vec<String> = circle.map(|module| files[*module].path.clone()).collect();
        if paths.len() > 1 {
            found.insert(paths);
        }
    }
    found.into_iter().collect()
}

/// The module of a file.
fn module(path: &str) -> Module {
    let mut names: Module = path.trim_end_matches(".rs").split('/').map(str::to_owned).collect();
    if matches!(names.last().map(String::as_str), Some("mod" | "lib" | "main")) {
        names.pop();
    }
    names
}

/// The files that each file reaches in any number of steps.
fn closure<'a>(
    mut reached: BTreeMap<&'a Module, BTreeSet<&'a Module>>,
) -> BTreeMap<&'a Module, BTreeSet<&'a Module>> {
    loop {
        let before: usize = reached.values().map(BTreeSet::len).sum();
        let step = reached.clone();
        for all in reached.values_mut() {
            let further: Vec<&Module> = all.iter().flat_map(|next| step[next].clone()).collect();
            all.extend(further);
        }
        if reached.values().map(BTreeSet::len).sum::<usize>() == before {
            return reached;
        }
    }
}

/// The files that a file imports from.
fn imports<'a>(
    from: &Module,
    source: &Source,
    known: &BTreeSet<&'a Module>,
) -> BTreeSet<&'a Module> {
    let code = source.product_code();
    let mut paths = Vec::new();
    for index in words(&code, "use") {
        let end = code[index..].find(';').map_or(code.len(), |end| index + end);
        expand(&code[index + "use".len()..end], "", &mut paths);
    }
    for root in ["crate", "super"] {
        for index in words(&code, root).filter(|index| !code[..*index].ends_with(':')) {
            let path = code[index..].chars().take_while(|c| is_word(*c) || *c == ':');
            let path: String = path.collect();
            // What ends in `::` is a tree of imports, and a word alone is a visibility.
            paths.extend(Some(path).filter(|path| path.contains(':') && !path.ends_with(':')));
        }
    }
    let target = |path: &String| known.get(&place(from, path, known)?).copied();
    paths.iter().filter_map(target).filter(|to| *to != from).collect()
}

/// The paths of a tree of imports.
fn expand(tree: &str, before: &str, paths: &mut Vec<String>) {
    let tree = tree.trim();
    let Some(open) = tree.find('{') else {
        let name = tree.split_whitespace().next().unwrap_or_default();
        paths.push(format!("{before}{name}"));
        return;
    };
    let before = format!("{before}{}", &tree[..open]);
    let inside = &tree[open + 1..tree.rfind('}').unwrap_or(tree.len())];
    let (mut depth, mut begin) = (0_usize, 0);
    for (index, c) in inside.char_indices() {
        match c {
            '{' => depth += 1,
            '}' => depth = depth.saturating_sub(1),
            ',' if depth == 0 => {
                expand(&inside[begin..index], &before, paths);
                begin = index + 1;
            }
            _ => {}
        }
    }
    if !inside[begin..].trim().is_empty() {
        expand(&inside[begin..], &before, paths);
    }
}

/// The innermost file that a path leads to; `None` if it leads out of the crate.
fn place(from: &Module, path: &str, known: &BTreeSet<&Module>) -> Option<Module> {
    let mut names = path.split("::").map(str::trim).filter(|name| !name.is_empty()).peekable();
    let mut at = match names.peek() {
        Some(&"crate") => Module::new(),
        Some(&("super" | "self")) => from.clone(),
        Some(name) => {
            let child = [from.as_slice(), &[(*name).to_owned()]].concat();
            return known.contains(&child).then_some(child);
        }
        None => return None,
    };
    for name in names {
        match name {
            "crate" | "self" => {}
            "super" => {
                at.pop();
            }
            name => {
                let inner = [at.as_slice(), &[name.to_owned()]].concat();
                if !known.contains(&inner) {
                    break;
                }
                at = inner;
            }
        }
    }
    Some(at)
}
