//! Plain-text tables: aligned columns, without trailing spaces.

use serde_json::Value;

/// Separator between columns.
const GAP: &str = "  ";

/// Rows under headings.
pub(crate) fn rows(headings: &[&str], rows: &[Vec<String>]) -> String {
    let headings = headings.iter().map(|heading| (*heading).to_owned()).collect();
    let all: Vec<&Vec<String>> = std::iter::once(&headings).chain(rows).collect();
    aligned(&all)
}

/// One object: a line with name and value for each part.
pub(crate) fn parts(parts: &[(&str, String)]) -> String {
    let lines: Vec<Vec<String>> =
        parts.iter().map(|(name, value)| vec![(*name).to_owned(), value.clone()]).collect();
    aligned(&lines.iter().collect::<Vec<_>>())
}

fn aligned(lines: &[&Vec<String>]) -> String {
    let columns = lines.iter().map(|line| line.len()).max().unwrap_or(0);
    let width = |column: usize| {
        let cells = lines.iter().filter_map(|line| line.get(column));
        cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let mut text = String::new();
    for line in lines {
        let mut row = String::new();
        for (cell, width) in line.iter().zip(&widths) {
            row.extend([format!("{cell:<width$}{GAP}")]);
        }
        text.push_str(row.trim_end());
        text.push('\n');
    }
    text
}

/// A member of an answer by its dotted path; `-` if absent. What is not printable is escaped, so
/// that a name can neither send escape sequences to the terminal nor look like another name: line
/// breaks, and invisible and direction characters too.
pub(crate) fn cell(json: &Value, path: &str) -> String {
    let found = path.split('.').try_fold(json, |at, name| match name.parse::<usize>() {
        Ok(index) => at.get(index),
        Err(_) => at.get(name),
    });
    let text = match found {
        None | Some(Value::Null) => "-".to_owned(),
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
    };
    // Quotes are printable.
    text.escape_debug().to_string().replace("\\'", "'").replace("\\\"", "\"")
}

/// A table of a list in an answer: one column per given member.
pub(crate) fn list(json: &Value, name: &str, columns: &[(&str, &str)]) -> String {
    let elements = json.get(name).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let lines: Vec<Vec<String>> = elements
        .iter()
        .map(|element| columns.iter().map(|(_, path)| cell(element, path)).collect())
        .collect();
    let headings: Vec<&str> = columns.iter().map(|(heading, _)| *heading).collect();
    rows(&headings, &lines)
}

/// One object of an answer: the given members.
pub(crate) fn thing(json: &Value, members: &[(&str, &str)]) -> String {
    let lines: Vec<(&str, String)> =
        members.iter().map(|(name, path)| (*name, cell(json, path))).collect();
    parts(&lines)
}

/// Cells that say how something is, and the codes of their colours: green, yellow, red.
const COLOURS: [(&str, &[&str]); 3] = [
    ("32", &["ACTIVE", "OPEN", "ready", "normal", "confirmed"]),
    ("33", &["SUSPENDED", "CLOSED", "DISPUTED", "STARTING", "cancel-only", "requested"]),
    ("31", &["VOIDED", "HALTED", "read-only", "refused", "rejected"]),
];

/// A table with colours: headings are bold, and what has a state shows it.
pub(crate) fn coloured(text: &str) -> String {
    let lines = text.lines().enumerate().map(|(number, line)| {
        if number == 0 && !line.contains(char::is_lowercase) {
            return format!("\x1b[1m{line}\x1b[0m\n");
        }
        let cells = line.split(GAP).map(|cell| {
            let word = cell.trim_start();
            let found = COLOURS.iter().find(|(_, words)| words.contains(&word));
            let lead = cell.strip_suffix(word).unwrap_or_default();
            found.map_or_else(
                || cell.to_owned(),
                |(code, _)| format!("{lead}\x1b[{code}m{word}\x1b[0m"),
            )
        });
        cells.collect::<Vec<_>>().join(GAP) + "\n"
    });
    lines.collect()
}

#[cfg(test)]
#[path = "../../../tests/unit/cli/admin/table.rs"]
mod tests;
