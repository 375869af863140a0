//! Settings as keyword arguments: the program's names, with `_` for `-`.

use crate::errors::{exception, input_error};
use nigh::train::Setting;
use nigh::{Config, nearest};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyList, PyTuple};

/// The settings of a dictionary. `None` leaves one open.
pub fn config(settings: &Bound<'_, PyDict>) -> PyResult<Config> {
    let py = settings.py();
    Config::from_table(table(settings)?).map_err(|error| exception(py, error))
}

/// Settings as in a TOML file.
pub fn table(settings: &Bound<'_, PyDict>) -> PyResult<toml::Table> {
    let py = settings.py();
    let mut table = toml::Table::new();
    for (name, value) in settings {
        let name: String = name.extract()?;
        if value.is_none() {
            continue;
        }
        let typed = name.replace('_', "-");
        let Some(setting) = Setting::all().iter().find(|setting| setting.name == typed) else {
            let known: Vec<String> = Config::names().iter().map(|name| name.replace('-', "_")).collect();
            let close = nearest(&name, &known).map_or(String::new(), |near| format!("; did you mean `{near}`?"));
            return Err(input_error(py, format!("unknown setting `{name}`{close}")));
        };
        let text = text(&value)?;
        let wrong = |problem| {
            input_error(
                py,
                format!("`{name}` is {}, but {problem}", value.repr().map_or(text.clone(), |shown| shown.to_string())),
            )
        };
        table.insert(typed, setting.parse(&text).map_err(wrong)?);
    }
    Ok(table)
}

/// A value as the program's user would type it.
fn text(value: &Bound<'_, PyAny>) -> PyResult<String> {
    if let Ok(flag) = value.cast::<PyBool>() {
        return Ok(flag.to_string());
    }
    if value.is_instance_of::<PyList>() || value.is_instance_of::<PyTuple>() {
        let parts = value.try_iter()?.map(|part| text(&part?)).collect::<PyResult<Vec<_>>>()?;
        return Ok(parts.join(","));
    }
    Ok(value.str()?.to_string())
}
