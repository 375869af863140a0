//! An option for every setting of `nigh::Config`: name, type, default and help text are declared in the library.

use crate::suggestions;
use clap::builder::{PossibleValue, StyledStr, TypedValueParser};
use clap::{Arg, ArgMatches, Args, Command, FromArgMatches};
use nigh::train::{SETTINGS, Setting};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// The settings that were given on the command line.
#[derive(Debug, Clone, Default)]
pub struct Settings(toml::Table);

impl Settings {
    pub fn table(&self) -> &toml::Table {
        &self.0
    }
}

impl Args for Settings {
    fn augment_args(command: Command) -> Command {
        command.args(SETTINGS.iter().map(option))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Settings::augment_args(command)
    }
}

impl FromArgMatches for Settings {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Settings, clap::Error> {
        let given = |setting: &Setting| {
            let value = matches.get_one::<toml::Value>(&setting.name)?;
            Some((setting.name.clone(), value.clone()))
        };
        Ok(Settings(SETTINGS.iter().filter_map(given).collect()))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        self.0.extend(Settings::from_arg_matches(matches)?.0);
        Ok(())
    }
}

fn option(setting: &'static Setting) -> Arg {
    Arg::new(setting.name.as_str())
        .long(setting.name.as_str())
        .value_name(setting.value_name)
        .help(StyledStr::from(format!("{} [default: {}]", setting.help, setting.default)))
        .help_heading("Settings")
        .value_parser(SettingParser(setting))
        // The help text names them.
        .hide_possible_values(true)
        .allow_negative_numbers(true)
}

/// Whether this value of `split` is a folder in the place of `given` or `random`: it exists, or looks like a path.
fn is_folder(text: &str) -> bool {
    text.contains(['/', '\\', '.']) || Path::new(text).is_dir()
}

/// The folder of a split, if `split` is one.
pub fn split_folder(table: &toml::Table) -> Option<PathBuf> {
    table.get("split").and_then(toml::Value::as_str).filter(|text| is_folder(text)).map(PathBuf::from)
}

#[derive(Clone)]
struct SettingParser(&'static Setting);

impl TypedValueParser for SettingParser {
    type Value = toml::Value;

    fn parse_ref(&self, command: &Command, arg: Option<&Arg>, value: &OsStr) -> Result<toml::Value, clap::Error> {
        let setting = self.0;
        let parse = move |text: &str| match setting.name == "split" && is_folder(text) {
            true => Ok(toml::Value::String(text.to_string())),
            false => setting.parse(text),
        };
        parse.parse_ref(command, arg, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        let choices = if self.0.name == "model" { suggestions::models() } else { self.0.choices.clone() };
        if choices.is_empty() { None } else { Some(Box::new(choices.into_iter().map(PossibleValue::new))) }
    }
}

#[cfg(test)]
mod tests {
    use crate::cli::CommandLine;
    use clap::CommandFactory;
    use nigh::Config;

    #[test]
    fn every_setting_is_an_option_of_the_commands_that_train() {
        let program = CommandLine::command();
        let config = toml::Table::try_from(Config::default()).unwrap();
        assert!(config.len() > 30, "{config:?}");
        for command in ["train", "compare", "diagnose"] {
            let command = program.find_subcommand(command).unwrap();
            for name in config.keys() {
                let option = command.get_arguments().find(|arg| arg.get_long() == Some(name));
                let option = option.unwrap_or_else(|| panic!("--{name} is not an option of {}", command.get_name()));
                assert!(option.get_help().unwrap().to_string().contains("[default: "), "--{name}");
            }
        }
    }

    #[test]
    fn definitions_are_consistent() {
        CommandLine::command().debug_assert();
    }
}
