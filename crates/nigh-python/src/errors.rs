//! Errors of the library as exceptions of Python, which are in `python/nigh/_errors.py`.

use nigh::Error;
use nigh::formats::brief;
use nigh::formats::interrupt::catch;
use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;

/// `nigh.InputError`, a `ValueError`: data, names or settings that can't be used.
pub fn input_error(py: Python<'_>, problem: impl Into<String>) -> PyErr {
    raised(py, "InputError", problem.into())
}

/// The exception for an error of the library.
pub fn exception(py: Python<'_>, error: Error) -> PyErr {
    let message = in_python(&error);
    match error {
        Error::Interrupted => PyKeyboardInterrupt::new_err(()),
        Error::Format(nigh::formats::Error::Io { .. }) => raised(py, "FileError", message),
        Error::NotDownloaded { .. } | Error::NoDataFolder { .. } => raised(py, "FileError", message),
        Error::Diverged { .. } | Error::NonFinite { .. } | Error::TooManyClasses { .. } => {
            raised(py, "NighError", message)
        }
        _ => raised(py, "InputError", message),
    }
}

/// What is read of a graph, whose file may be gone or changed by now.
pub fn reading<T>(py: Python<'_>, read: impl FnOnce() -> T) -> PyResult<T> {
    catch(read).map_err(|stopped| exception(py, stopped.into()))
}

/// The message, with the names of settings as Python writes them.
fn in_python(error: &Error) -> String {
    match error {
        Error::Setting { name, value, problem } => format!("`{}` is {value}, but {problem}", name.replace('-', "_")),
        Error::Weight { problem } => format!("{problem}; `weight=False` reads edges without weights"),
        other => other.to_string(),
    }
}

/// Characters of a message. A value that it quotes may have any length.
const LONGEST_MESSAGE: usize = 1600;

fn raised(py: Python<'_>, name: &str, message: String) -> PyErr {
    let message = brief(&message, LONGEST_MESSAGE);
    match py.import("nigh._errors").and_then(|module| module.getattr(name)).and_then(|class| class.call1((message,))) {
        Ok(exception) => PyErr::from_value(exception),
        Err(error) => error,
    }
}

/// A mistake of ours, which Python sees as `nigh.NighError`.
pub fn panicked(py: Python<'_>, payload: &(dyn std::any::Any + Send)) -> PyErr {
    let text = payload.downcast_ref::<&str>().copied().or(payload.downcast_ref::<String>().map(String::as_str));
    let text = text.unwrap_or("no message");
    raised(py, "NighError", format!("a mistake in nigh, please report it: {text}"))
}
