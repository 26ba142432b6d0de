//! Packs the dashboard's files into one, which the program carries compressed.

use std::io::{self, Write};
use std::path::Path;
use std::{env, fs};

use flate2::Compression;
use flate2::write::GzEncoder;

fn main() -> io::Result<()> {
    let folder = Path::new("../../dashboard");
    println!("cargo::rerun-if-changed={}", folder.display());
    let out = env::var_os("OUT_DIR").ok_or_else(|| io::Error::other("OUT_DIR is not set"))?;
    let out = fs::File::create(Path::new(&out).join("dashboard.gz"))?;
    let (mut files, mut folders) = (Vec::new(), vec![folder.to_owned()]);
    while let Some(inner) = folders.pop() {
        for entry in fs::read_dir(inner)? {
            let path = entry?.path();
            if path.is_dir() { folders.push(path) } else { files.push(path) }
        }
    }
    // The same bytes wherever it is built.
    files.sort();
    let mut packed = GzEncoder::new(out, Compression::best());
    for path in files {
        let name = path.strip_prefix(folder).ok().and_then(Path::to_str);
        // What is for authors stays with them.
        let served = |name: &&str| !name.starts_with("tests/") && !name.ends_with(".d.ts");
        if let Some(name) = name.filter(served) {
            let contents = fs::read(&path)?;
            writeln!(packed, "{} {name}", contents.len())?;
            packed.write_all(&contents)?;
        }
    }
    packed.finish().map(drop)
}
