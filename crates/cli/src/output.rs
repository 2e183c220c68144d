//! Where results go: standard output or a file; and how an error ends the program.

mod fail;
mod heard;
mod keep;

use anyhow::{Context, Result, bail};
use bandscope_recording::text::shown;
use bandscope_view::{Options, Rights};
pub use fail::{exit, fail, spelled};
pub use heard::takes;
pub use keep::{Keep, Lines};
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use rustix::io::Errno;
use std::fs::{File, OpenOptions, Permissions};
use std::io::{self, BufWriter, IsTerminal, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// Writes a result to `path`, or to standard output where there is none.
///
/// A regular file appears whole or not at all: it is written beside its place and renamed. Whatever else `path` names,
/// such as a device or a pipe, is written to and left in its place.
///
/// # Errors
/// If it cannot be written, or lies in a recording. A reader that closed the pipe is no error: it has what it wanted. Nor is a
/// terminal that was closed.
pub fn write(path: Option<&Path>, render: impl FnOnce(&mut dyn Write) -> Result<()>) -> Result<()> {
    path.map_or(Ok(()), outside_recordings)?;
    match path.filter(|path| is_special(path)) {
        Some(path) => {
            let file = open_special(path);
            let file = file.with_context(|| format!("{}: cannot write", shown(path)))?;
            put_special(path, file, render)
        }
        None => put(path, render),
    }
}

/// Whether a device or a pipe is there.
fn is_special(path: &Path) -> bool {
    standard(path).is_some() || std::fs::metadata(path).is_ok_and(|there| !there.is_file())
}

/// As [`write()`], also into a recording. A pipe waits for its reader.
pub fn put(path: Option<&Path>, render: impl FnOnce(&mut dyn Write) -> Result<()>) -> Result<()> {
    let result = match path {
        None => render_into(io::stdout().lock(), render).context("standard output: cannot write"),
        Some(path) if is_special(path) => {
            let opened = || OpenOptions::new().write(true).open(path);
            let file = standard(path).map_or_else(opened, Ok);
            let file = file.with_context(|| format!("{}: cannot write", shown(path)))?;
            return put_special(path, file, render);
        }
        Some(path) => write_file(path, render),
    };
    unless_closed(result, path.is_none())
}

/// Writes a result to a device or a pipe that is open.
fn put_special(
    path: &Path,
    file: std::fs::File,
    render: impl FnOnce(&mut dyn Write) -> Result<()>,
) -> Result<()> {
    let result = render_into(file, render);
    unless_closed(
        result.with_context(|| format!("{}: cannot write", shown(path))),
        false,
    )
}

/// A reader that went away, and a terminal that was closed, are no errors.
fn unless_closed(result: Result<()>, is_terminal: bool) -> Result<()> {
    result.or_else(|error| {
        if closed_pipe(&error) || is_terminal && closed_terminal(&error) {
            Ok(())
        } else {
            Err(error)
        }
    })
}

/// Opens a device or a pipe. To open a pipe that nobody reads would wait for a reader, and a signal would not end that.
fn open_special(path: &Path) -> io::Result<std::fs::File> {
    if let Some(file) = standard(path) {
        return Ok(file);
    }
    let is_pipe = std::fs::metadata(path)?.file_type().is_fifo();
    let mut options = OpenOptions::new();
    options.write(true);
    if !is_pipe {
        return options.open(path);
    }
    let wait = OFlags::NONBLOCK;
    options.custom_flags(wait.bits() as i32);
    let file = options.open(path).map_err(|error| {
        match error.raw_os_error() == Some(Errno::NXIO.raw_os_error()) {
            true => io::Error::other("nobody reads this pipe: start its reader first"),
            false => error,
        }
    })?;
    // Full, it waits for its reader.
    fcntl_setfl(&file, fcntl_getfl(&file)? - wait)?;
    Ok(file)
}

fn render_into(out: impl Write, render: impl FnOnce(&mut dyn Write) -> Result<()>) -> Result<()> {
    let mut out = BufWriter::new(out);
    render(&mut out)?;
    Ok(out.flush()?)
}

fn write_file(path: &Path, render: impl FnOnce(&mut dyn Write) -> Result<()>) -> Result<()> {
    let (target, directory) = replaced(path);
    target
        .file_name()
        .context("--output: expected the name of a file")?;
    // Of a name that no killed run left, and that is no longer than any.
    let file = tempfile::Builder::new()
        .prefix(".bandscope-")
        .suffix(".tmp")
        .permissions(Permissions::from_mode(0o666))
        .tempfile_in(directory);
    let file = file.with_context(|| format!("{}: cannot create", shown(path)))?;
    render_into(file.as_file(), render)
        .and_then(|()| file.persist(&target).map_err(|error| error.error.into()))
        .map(|_| ())
        .with_context(|| format!("{}: cannot write", shown(path)))
}

/// The file that is replaced by what is written to `path`, and its directory: the one that a link leads to, not the link.
fn replaced(path: &Path) -> (PathBuf, PathBuf) {
    let target = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let directory = target.parent().filter(|it| !it.as_os_str().is_empty());
    let directory = directory.unwrap_or(Path::new(".")).to_owned();
    (target, directory)
}

/// Standard output or standard error, where `path` is a name of it: opened anew, a file that it goes to would be written from its beginning.
fn standard(path: &Path) -> Option<File> {
    let of = |number: u8, name: &str| {
        let names = [
            format!("/dev/{name}"),
            format!("/dev/fd/{number}"),
            format!("/proc/self/fd/{number}"),
        ];
        names.iter().any(|one| path == Path::new(one))
    };
    let again = match () {
        () if of(1, "stdout") => io::stdout().as_fd().try_clone_to_owned(),
        () if of(2, "stderr") => io::stderr().as_fd().try_clone_to_owned(),
        () => return None,
    };
    again.ok().map(File::from)
}

/// Refuses a place that is taken, before time is spent on what is to go there; `option` is what named it.
///
/// # Errors
/// If something is there, even a link that leads nowhere; and as [`writable`].
pub fn free(path: &Path, option: &str) -> Result<()> {
    if path.symlink_metadata().is_ok() {
        bail!("{}: exists already; name another {option}", shown(path));
    }
    writable(path)
}

/// Refuses a place for a file that nothing can be written to, before time is spent on what is to go there.
///
/// # Errors
/// If it is a directory, its directory is not there, or it lies in a recording.
pub fn writable(path: &Path) -> Result<()> {
    if path.is_dir() {
        bail!(
            "{}: found a directory, expected the name of a file",
            shown(path)
        );
    }
    if let Some(directory) = directory_of(path).filter(|directory| !directory.is_dir()) {
        bail!(
            "{}: cannot create: {} is not a directory",
            shown(path),
            shown(directory)
        );
    }
    outside_recordings(path)
}

/// The directory that a path lies in, by its name.
fn directory_of(path: &Path) -> Option<&Path> {
    match path.parent()? {
        parent if parent.as_os_str().is_empty() => Some(Path::new(".")),
        parent => Some(parent),
    }
}

/// Refuses a place in a recording: it might be that of one of its own files.
///
/// # Errors
/// If it lies in one.
pub fn outside_recordings(path: &Path) -> Result<()> {
    // A link leads to another place; what is not there will be told when it is opened, or made.
    let real = |above: &Path| match above.as_os_str().is_empty() {
        true => Path::new(".").canonicalize().ok(),
        false => above.canonicalize().ok(),
    };
    let place = path.ancestors().find_map(real).unwrap_or_default();
    match place.ancestors().find(|above| is_recording(above)) {
        Some(recording) => bail!(
            "{}: lies in the recording {}; name another place",
            shown(path),
            shown(recording)
        ),
        None => Ok(()),
    }
}

/// Whether the directory holds a manifest.
fn is_recording(directory: &Path) -> bool {
    is_of_schema(&directory.join("recording.json"), "bandscope.recording/")
}

/// Whether a file is a document of a schema, which it begins with. Of a pipe nothing is read.
pub fn is_of_schema(path: &Path, schema: &str) -> bool {
    let mut begin = Vec::new();
    path.is_file()
        && File::open(path)
            .and_then(|file| file.take(256).read_to_end(&mut begin))
            .is_ok()
        && String::from_utf8_lossy(&begin).contains(&format!("\"{schema}"))
}

/// Refuses to write over what is read, and where nothing can be written.
///
/// # Errors
/// If `path` is one of `inputs`, by whatever name; and as [`writable`].
pub fn apart<'a>(path: Option<&Path>, inputs: impl IntoIterator<Item = &'a PathBuf>) -> Result<()> {
    let Some(path) = path else {
        return Ok(());
    };
    match is_one(path, inputs) {
        Some(input) => bail!("{}: is read as well; name another --output", shown(input)),
        None => writable(path),
    }
}

/// Which of `files` is at `path`, by whatever name: a link of either kind is another name of the same file.
pub fn is_one<'a>(path: &Path, files: impl IntoIterator<Item = &'a PathBuf>) -> Option<&'a Path> {
    let file = |path: &Path| {
        let there = std::fs::metadata(path).ok().filter(|there| there.is_file());
        there.map(|there| (there.dev(), there.ino()))
    };
    let place = file(path)?;
    let mut files = files.into_iter().map(PathBuf::as_path);
    files.find(|other| file(other) == Some(place))
}

/// Says something beside the result, on standard error. Nobody may be listening, which is no error, and keeps nobody after a signal.
pub fn note(text: std::fmt::Arguments<'_>) {
    let text = format!("{text}\n");
    let mut terminal = io::stderr();
    let mut pieces = text.as_bytes().chunks(heard::PIECE);
    let _ = pieces.all(|piece| takes(&terminal) && terminal.write_all(piece).is_ok());
}

/// Whether colour suits standard output: a terminal, and no `NO_COLOR` (<https://no-color.org>).
pub fn colour() -> bool {
    io::stdout().is_terminal()
        && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
        && std::env::var_os("TERM").is_none_or(|value| value != "dumb")
}

/// Prints where something was written: the very bytes of the path, for whoever reads it from a pipe.
///
/// # Errors
/// If it cannot be printed.
pub fn path(out: &mut dyn Write, path: &Path) -> Result<()> {
    out.write_all(path.as_os_str().as_bytes())?;
    Ok(out.write_all(b"\n")?)
}

fn closed_pipe(error: &anyhow::Error) -> bool {
    causes(error).any(|error| error.kind() == io::ErrorKind::BrokenPipe)
}

/// A terminal that nobody has any more refuses what is written, as a broken disk does.
fn closed_terminal(error: &anyhow::Error) -> bool {
    let refused = rustix::io::Errno::IO.raw_os_error();
    let out = io::stdout().as_fd().try_clone_to_owned().map(File::from);
    let is_device = |out: File| Ok(out.metadata()?.file_type().is_char_device());
    causes(error).any(|error| error.raw_os_error() == Some(refused))
        && out.and_then(is_device).unwrap_or(false)
}

fn causes(error: &anyhow::Error) -> impl Iterator<Item = &io::Error> {
    error.chain().filter_map(|cause| cause.downcast_ref())
}

/// How this user becomes root. Whom `sudo` made root for this command alone needs it for the next one.
pub fn rights() -> Rights {
    let is_root = rustix::process::geteuid().is_root() && std::env::var_os("SUDO_UID").is_none();
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut directories = std::env::split_paths(&path);
    match is_root {
        true => Rights::Root,
        false if directories.any(|one| one.join("sudo").is_file()) => Rights::Sudo,
        false => Rights::NoSudo,
    }
}

/// What suits a terminal, or a pipe, and who reads there.
pub fn terminal_options(to_terminal: bool) -> Options {
    let mut options = Options {
        colour: to_terminal && colour(),
        rights: rights(),
        ..Options::default()
    };
    if let Some((terminal_size::Width(columns), _)) =
        terminal_size::terminal_size().filter(|_| to_terminal)
    {
        options.width = columns.into();
    }
    options
}
