//! The configuration file: TOML, with a key for each setting, which is the name of its flag. clap
//! takes what it says in place of the defaults, so flags and variables come before it.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use clap::parser::ValueSource;
use clap::{Arg, ArgMatches, Args, Command, FromArgMatches, ValueHint};
use toml::{Table, Value};

use super::Failure;
use super::data_folder::of_another;
use super::environment::nearest;
use super::settings::ServeArgs;

/// The file's name in the data directory.
pub(crate) const NAME: &str = "openoutcry.toml";
/// Settings of one start: as keys they would be those of every start.
const NO_KEYS: [&str; 3] = ["config", "init", "accept-clock"];
/// Settings that a new venue begins with, other than their defaults: what is resolved by mistake
/// can be disputed for an hour.
const BEGUN: [(&str, &str); 1] = [("dispute-window", "3600")];
/// Bytes of a line of comment in the file that is written.
const LINE_BYTES_MAX: usize = 96;

/// What a file says.
#[derive(Debug, Default)]
pub(crate) struct ConfigFile {
    path: Option<PathBuf>,
    values: BTreeMap<String, String>,
}

/// Where a value is from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Origin {
    Flag,
    Variable,
    File,
    Default,
}

impl Origin {
    const fn name(self) -> &'static str {
        match self {
            Origin::Flag => "flag",
            Origin::Variable => "environment",
            Origin::File => "file",
            Origin::Default => "default",
        }
    }
}

/// A setting as it is in force; without a value if it is not set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Setting {
    pub(crate) key: String,
    pub(crate) value: Option<String>,
    pub(crate) origin: Origin,
}

/// All settings of a start, as arguments and as a list.
#[derive(Debug)]
pub(crate) struct Settings {
    pub(crate) args: ServeArgs,
    pub(crate) file: Option<PathBuf>,
    pub(crate) list: Vec<Setting>,
}

impl Settings {
    /// Reads the settings of the verb at `path` of this command line once more, now with the file
    /// that `given` leads to.
    ///
    /// # Errors
    /// The file cannot be read, or says what is no setting.
    pub(crate) fn load(
        whole: Command,
        path: &[&str],
        given: &ServeArgs,
    ) -> Result<Settings, Failure> {
        let file = ConfigFile::of(given)?;
        let whole = change(whole, path, |verb| file.below(verb));
        let matches = whole.try_get_matches().map_err(usage)?;
        let of_verb = path.iter().try_fold(&matches, |at, name| at.subcommand_matches(name));
        let of_verb = of_verb.ok_or_else(|| Failure::Failed("no such command".to_owned()))?;
        let args = ServeArgs::from_arg_matches(of_verb).map_err(usage)?;
        let list = keys(&all()).map(|(key, arg)| file.setting(key, arg, of_verb)).collect();
        Ok(Settings { args, file: file.path, list })
    }

    /// The settings as a file that says where each is from.
    pub(crate) fn shown(&self) -> String {
        let mut text = match &self.file {
            Some(path) => format!("# {}\n", path.display()),
            None => "# no configuration file\n".to_owned(),
        };
        for Setting { key, value, origin } in &self.list {
            let line = match value {
                Some(value) => format!("{key} = {}  # {}\n", printed(value), origin.name()),
                None => format!("# {key} is not set\n"),
            };
            text.push_str(&line);
        }
        text
    }
}

impl ConfigFile {
    /// The file that a start is to read: the one that is named, else the one in the data directory,
    /// if it is there.
    fn of(given: &ServeArgs) -> Result<ConfigFile, Failure> {
        let there = given.folder().join(NAME);
        let path = given.config.as_deref().unwrap_or(&there);
        let text = match fs::read_to_string(path) {
            Ok(text) => text,
            // What is wrong with the folder is said by whoever opens it.
            Err(error) if is_absent(&error) && given.config.is_none() => {
                return Ok(ConfigFile::default());
            }
            Err(error) => {
                let said = format!("{}: {error}", path.display());
                let denied = error.kind() == ErrorKind::PermissionDenied;
                return Err(match of_another(path.parent().unwrap_or(path)).filter(|_| denied) {
                    Some(whose) => Failure::Failed(format!("{said}; {whose}")),
                    None => Failure::Usage(said),
                });
            }
        };
        let file = ConfigFile::parse(path, &text)
            .map_err(|why| Failure::Usage(format!("{}: {why}", path.display())))?;
        if given.config.is_none() && file.values.contains_key("data") {
            let why = "data: this file is in the data directory already";
            return Err(Failure::Usage(format!("{}: {why}", path.display())));
        }
        Ok(file)
    }

    /// Reads the text of the file at `path`, from whose folder relative paths in it begin.
    fn parse(path: &Path, text: &str) -> Result<ConfigFile, String> {
        let table: Table = text.parse().map_err(|error: toml::de::Error| {
            let before = text.get(..error.span().map_or(0, |span| span.start)).unwrap_or_default();
            format!("line {}: {}", before.split('\n').count(), error.message())
        })?;
        let all = all();
        // Without the environment, which would be at fault for values of its own.
        let bare = all.clone().mut_args(|arg| arg.env(None::<&'static str>));
        let mut values = BTreeMap::new();
        for (key, value) in table {
            let Some((_, arg)) = keys(&all).find(|(known, _)| *known == key) else {
                if value.is_table() {
                    return Err(format!("[{key}]: there are no sections, only keys at the top"));
                }
                let hint = nearest(&key, keys(&all).map(|(key, _)| key));
                return Err(format!("{key} is no setting{hint}"));
            };
            let text = text_of(&value).ok_or_else(|| {
                format!("{key}: must be text in quotes, a whole number, true or false, or a list")
            })?;
            let flag = [all.get_name().to_owned(), format!("--{key}={text}")];
            bare.clone().try_get_matches_from(flag).map_err(|error| reason(&key, &error))?;
            let text = match (arg.get_value_hint(), path.parent()) {
                (ValueHint::AnyPath, Some(folder)) => folder.join(text).display().to_string(),
                _ => text,
            };
            values.insert(key, text);
        }
        Ok(ConfigFile { path: Some(path.to_owned()), values })
    }

    /// This command, with what the file says in place of defaults.
    fn below(&self, verb: Command) -> Command {
        verb.mut_args(|arg| match arg.get_long().and_then(|key| self.values.get(key)) {
            Some(value) => arg.default_value(value.clone()),
            None => arg,
        })
    }

    fn setting(&self, key: &str, arg: &Arg, matches: &ArgMatches) -> Setting {
        let id = arg.get_id().as_str();
        let values = matches.get_raw(id).into_iter().flatten();
        let values: Vec<_> = values.map(|value| value.to_string_lossy().into_owned()).collect();
        let origin = match matches.value_source(id) {
            Some(ValueSource::CommandLine) => Origin::Flag,
            Some(ValueSource::EnvVariable) => Origin::Variable,
            _ if self.values.contains_key(key) => Origin::File,
            _ => Origin::Default,
        };
        let value = Some(values.join(",")).filter(|_| !values.is_empty());
        Setting { key: key.to_owned(), value, origin }
    }
}

/// All settings, as a command.
fn all() -> Command {
    let mut all = ServeArgs::augment_args(Command::new("serve"));
    // What an argument takes is known once it is built.
    all.build();
    all
}

/// The settings that are keys of the file, with their keys.
fn keys(all: &Command) -> impl Iterator<Item = (&str, &Arg)> {
    let settings = all.get_arguments().filter(|arg| arg.get_env().is_some());
    let keys = settings.filter_map(|arg| Some((arg.get_long()?, arg)));
    keys.filter(|(key, _)| !NO_KEYS.contains(key))
}

/// A command line whose verb at `path` is changed.
fn change(whole: Command, path: &[&str], by: impl FnOnce(Command) -> Command) -> Command {
    match path {
        [] => by(whole),
        [name, rest @ ..] => {
            let mut by = Some(by);
            let verb = |verb| match by.take() {
                Some(by) => change(verb, rest, by),
                None => verb,
            };
            whole.mut_subcommand(*name, verb)
        }
    }
}

#[expect(clippy::needless_pass_by_value, reason = "for map_err")]
fn usage(error: clap::Error) -> Failure {
    Failure::Usage(error.to_string())
}

/// A value as text, as a flag takes it.
fn text_of(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Integer(number) => Some(number.to_string()),
        Value::Boolean(is) => Some(is.to_string()),
        Value::Array(values) => {
            let texts: Option<Vec<_>> = values.iter().map(text_of).collect();
            Some(texts?.join(","))
        }
        Value::Float(_) | Value::Datetime(_) | Value::Table(_) => None,
    }
}

/// What clap says of a value, in one line.
fn reason(key: &str, error: &clap::Error) -> String {
    let said = error.to_string();
    let line = said.lines().next().unwrap_or_default();
    format!("{key}: {}", line.trim_start_matches("error: "))
}

/// A value as the file has it.
fn printed(value: &str) -> String {
    let bare = value.parse::<i64>().is_ok_and(|number| number.to_string() == value);
    if bare { value.to_owned() } else { Value::from(value).to_string() }
}

/// A file with every setting, each as a comment with its default, and what a venue begins with; it
/// names the data directory, if that is not where the file is.
pub(crate) fn template(data: Option<&Path>) -> String {
    let mut text = String::from(
        "# Settings of openoutcry. A flag or a variable of `openoutcry serve` comes before what is \
         here;\n# `openoutcry config show` says what is in force. Take the `#` away to set one.\n",
    );
    if let Some(data) = data {
        text.extend(["\ndata = ", &printed(&data.display().to_string()), "\n"]);
    }
    let all = all();
    for (key, arg) in keys(&all).filter(|(key, _)| *key != "data") {
        text.push('\n');
        let help = arg.get_help().map(ToString::to_string).unwrap_or_default();
        let mut line = String::from("#");
        for word in help.split_whitespace() {
            if line.len().saturating_add(word.len()) >= LINE_BYTES_MAX {
                text.extend([&line, "\n"]);
                line = String::from("#");
            }
            line.extend([" ", word]);
        }
        let value = arg.get_default_values().first().map(|value| value.to_string_lossy());
        let value = value.map_or_else(|| "\"\"".to_owned(), |value| printed(&value));
        text.extend([line.as_str(), "\n#", key, " = ", &value, "\n"]);
        if let Some((_, value)) = BEGUN.iter().find(|(begun, _)| *begun == key) {
            text.extend([key, " = ", value, "\n"]);
        }
    }
    text
}

fn is_absent(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory)
}

#[cfg(test)]
#[path = "../../tests/unit/cli/config_file.rs"]
mod tests;
