//! Packs what the program carries compressed: the dashboard's files as one, and each file of which
//! the description of the interface is made.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::{env, fs};

use flate2::Compression;
use flate2::write::GzEncoder;

fn main() -> io::Result<()> {
    let out = env::var_os("OUT_DIR").ok_or_else(|| io::Error::other("OUT_DIR is not set"))?;
    let packed = |name: &str| {
        let file = fs::File::create(Path::new(&out).join(format!("{name}.gz")))?;
        io::Result::Ok(GzEncoder::new(file, Compression::best()))
    };
    let folder = Path::new("../../dashboard");
    let mut dashboard = packed("dashboard")?;
    for path in files(folder)? {
        let name = path.strip_prefix(folder).ok().and_then(Path::to_str);
        // What is for authors stays with them.
        let served = |name: &&str| !name.starts_with("tests/") && !name.ends_with(".d.ts");
        if let Some(name) = name.filter(served) {
            let contents = fs::read(&path)?;
            writeln!(dashboard, "{} {name}", contents.len())?;
            dashboard.write_all(&contents)?;
        }
    }
    dashboard.finish()?;
    for path in files(Path::new("openapi"))? {
        if let Some(name) = path.file_name().and_then(|name| name.to_str())
            && path.extension().is_some_and(|kind| kind == "json")
        {
            let mut part = packed(name)?;
            part.write_all(&fs::read(&path)?)?;
            part.finish()?;
        }
    }
    Ok(())
}

/// The files below a folder, in the same order wherever it is built.
fn files(folder: &Path) -> io::Result<Vec<PathBuf>> {
    println!("cargo::rerun-if-changed={}", folder.display());
    let (mut files, mut folders) = (Vec::new(), vec![folder.to_owned()]);
    while let Some(inner) = folders.pop() {
        for entry in fs::read_dir(inner)? {
            let path = entry?.path();
            if path.is_dir() { folders.push(path) } else { files.push(path) }
        }
    }
    files.sort();
    Ok(files)
}
