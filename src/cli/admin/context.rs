//! Contexts of `admin`: under a name a server, the roots that it is believed from, and the key for
//! it. All are in one file that its owner alone can read.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use toml::{Table, Value};

use super::session::AdminError;

/// The file's name, in a folder of ours below that of the user's settings.
const FILE: &str = "openoutcry/contexts.toml";
/// The member that names the context for commands that name none.
const CURRENT: &str = "current";
/// The table with a table for each context.
const ALL: &str = "context";

/// A server, and how to speak to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Server {
    /// Base URL.
    pub url: String,
    /// A file of root certificates; by default the system's.
    pub cacert: Option<PathBuf>,
    /// The key.
    pub key: String,
}

/// The file of contexts, read.
#[derive(Debug, Default)]
pub(crate) struct Contexts(Table);

impl Contexts {
    /// Reads the user's file; without one there are no contexts.
    ///
    /// # Errors
    /// It cannot be read, is no TOML, or others can read the keys in it.
    pub(crate) fn read() -> Result<Contexts, AdminError> {
        place().map_or_else(|| Ok(Contexts::default()), |path| Contexts::read_from(&path))
    }

    fn read_from(path: &Path) -> Result<Contexts, AdminError> {
        let failed = |error: &dyn std::fmt::Display| {
            AdminError::Usage(format!("{}: {error}", path.display()))
        };
        let text = match fs::read_to_string(path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Contexts::default()),
            Err(error) => return Err(failed(&error)),
        };
        if !os::exposed(path).map_err(|error| failed(&error))?.is_empty() {
            return Err(failed(&"others can read the keys in it: chmod 600"));
        }
        text.parse().map(Contexts).map_err(|error: toml::de::Error| failed(&error))
    }

    /// The names, each with its URL and whether it is the current one.
    pub(crate) fn list(&self) -> Vec<(&str, &str, bool)> {
        let current = self.current();
        let all = self.0.get(ALL).and_then(Value::as_table).into_iter().flatten();
        let shown = all.map(|(name, context)| {
            (name.as_str(), text(context, "url").unwrap_or("-"), current == Some(name))
        });
        shown.collect()
    }

    /// The name of the context for commands that name none.
    pub(crate) fn current(&self) -> Option<&str> {
        self.0.get(CURRENT).and_then(Value::as_str)
    }

    /// The server of a context.
    ///
    /// # Errors
    /// There is no context of that name, or it lacks its URL or key.
    pub(crate) fn find(&self, name: &str) -> Result<Server, AdminError> {
        let unknown = || AdminError::Usage(format!("there is no context `{name}`; `admin login`"));
        let context = self.0.get(ALL).and_then(|all| all.get(name)).ok_or_else(unknown)?;
        let has = |member: &str| text(context, member).map(str::to_owned).ok_or_else(unknown);
        let cacert = text(context, "cacert").map(PathBuf::from);
        Ok(Server { url: has("url")?, cacert, key: has("key")? })
    }

    /// Keeps a server under a name, which is the current one from now on.
    ///
    /// # Errors
    /// The file cannot be written.
    pub(crate) fn keep(&mut self, name: &str, server: &Server) -> Result<(), AdminError> {
        let mut context = Table::new();
        context.insert("url".to_owned(), server.url.clone().into());
        context.insert("key".to_owned(), server.key.clone().into());
        if let Some(cacert) = &server.cacert {
            // Later commands may run in another folder.
            let path = fs::canonicalize(cacert).unwrap_or_else(|_| cacert.clone());
            context.insert("cacert".to_owned(), path.display().to_string().into());
        }
        let all = self.0.entry(ALL).or_insert_with(|| Table::new().into());
        if let Value::Table(all) = all {
            all.insert(name.to_owned(), context.into());
        }
        self.choose(name)
    }

    /// Makes a context the current one.
    ///
    /// # Errors
    /// There is none of that name, or the file cannot be written.
    pub(crate) fn choose(&mut self, name: &str) -> Result<(), AdminError> {
        self.find(name)?;
        self.0.insert(CURRENT.to_owned(), name.into());
        self.write()
    }

    /// Forgets a context and its key.
    ///
    /// # Errors
    /// There is none of that name, or the file cannot be written.
    pub(crate) fn forget(&mut self, name: &str) -> Result<(), AdminError> {
        self.find(name)?;
        if let Some(Value::Table(all)) = self.0.get_mut(ALL) {
            all.remove(name);
        }
        if self.current() == Some(name) {
            self.0.remove(CURRENT);
        }
        self.write()
    }

    fn write(&self) -> Result<(), AdminError> {
        let path = place().ok_or_else(|| {
            AdminError::Local("neither XDG_CONFIG_HOME nor HOME names a folder".to_owned())
        })?;
        let failed = |error: io::Error| AdminError::Local(format!("{}: {error}", path.display()));
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder).map_err(failed)?;
        }
        // A crash leaves the old file or the new one.
        let new = path.with_extension("new");
        let mut options = OpenOptions::new();
        let file = options.write(true).create(true).truncate(true).mode(0o600).open(&new);
        let mut file = file.map_err(failed)?;
        file.write_all(self.0.to_string().as_bytes()).map_err(failed)?;
        file.sync_all().map_err(failed)?;
        fs::rename(&new, &path).map_err(failed)
    }
}

fn text<'a>(context: &'a Value, member: &str) -> Option<&'a str> {
    context.get(member).and_then(Value::as_str)
}

/// The file, below the folder of the user's settings; `None` where the environment names neither.
fn place() -> Option<PathBuf> {
    let folder = |name: &str| {
        let path = PathBuf::from(std::env::var_os(name)?);
        path.is_absolute().then_some(path)
    };
    let settings = folder("XDG_CONFIG_HOME").or_else(|| Some(folder("HOME")?.join(".config")))?;
    Some(settings.join(FILE))
}
