//! An option for every setting of `nigh::Config`: name, type, default and help text are declared in the library.

use crate::suggestions;
use clap::builder::{PossibleValue, StyledStr, TypedValueParser};
use clap::{Arg, ArgMatches, Args, Command, FromArgMatches};
use nigh::train::{Setting, SettingGroup};
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
        command.args(Setting::all().iter().map(option))
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
        Ok(Settings(Setting::all().iter().filter_map(given).collect()))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        self.0.extend(Settings::from_arg_matches(matches)?.0);
        Ok(())
    }
}

/// Whether an option is that of a setting.
pub fn is_setting(option: &Arg) -> bool {
    Setting::all().iter().any(|setting| setting.name == option.get_id().as_str())
}

fn described(setting: &Setting) -> String {
    format!("{} [default: {}]", setting.help, setting.default)
}

/// Every group that has settings, in the order of help texts.
pub fn groups() -> impl Iterator<Item = SettingGroup> {
    Setting::all().chunk_by(|one, next| one.group == next.group).map(|settings| settings[0].group)
}

/// The settings of a group as a list in Markdown.
pub fn list(group: SettingGroup) -> String {
    let settings = Setting::all().iter().filter(|setting| setting.group == group);
    let item = |setting: &Setting| {
        let text = format!("- `--{} {}`: {}", setting.name, setting.value_name, described(setting));
        wrapped(&text, "  ", PAGE_WIDTH) + "\n"
    };
    settings.map(item).collect()
}

/// Characters of a line on the pages of models.
const PAGE_WIDTH: usize = 100;

/// Words in lines of at most `width` characters, all but the first with an indent.
fn wrapped(text: &str, indent: &str, width: usize) -> String {
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        let line = lines.last_mut().expect("at least one line");
        if line.is_empty() {
            *line += word;
        } else if line.chars().count() + 1 + word.chars().count() <= width {
            *line += &format!(" {word}");
        } else {
            lines.push(format!("{indent}{word}"));
        }
    }
    lines.join("\n")
}

fn option(setting: &'static Setting) -> Arg {
    Arg::new(setting.name.as_str())
        .long(setting.name.as_str())
        .value_name(setting.value_name)
        .help(StyledStr::from(described(setting)))
        .help_heading(setting.group.heading())
        .hide_short_help(setting.group != SettingGroup::Common)
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
    use super::*;
    use crate::cli::CommandLine;
    use clap::{CommandFactory, Parser};
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

    fn help(command: &str, option: &str) -> String {
        CommandLine::try_parse_from(["nigh", command, option]).unwrap_err().render().to_string()
    }

    #[test]
    fn help_fits_on_a_screen_and_says_how_to_see_the_rest() {
        let all = help("train", "--help-all");
        assert!(all.contains("--walk-length") && all.contains("--label-separator"), "{all}");
        for command in ["train", "compare", "diagnose", "tune"] {
            for option in ["-h", "--help"] {
                let help = help(command, option);
                assert!(help.lines().count() <= 50, "{} lines:\n{help}", help.lines().count());
                assert!(help.contains("--help-all") && help.contains("--epochs"), "{help}");
                assert!(!help.contains("--walk-length"), "{help}");
            }
        }
    }

    #[test]
    fn the_full_help_lists_every_setting_once_under_the_heading_of_its_group() {
        for command in ["train", "compare", "tune"] {
            let help = help(command, "--help-all");
            let mut places: Vec<usize> = Vec::new();
            let mut heading = "";
            for setting in Setting::all().iter().filter(|setting| setting.name != "model" || command != "compare") {
                if setting.group.heading() != heading {
                    heading = setting.group.heading();
                    places.push(help.find(&format!("\n{heading}:\n")).unwrap_or_else(|| panic!("{heading}: {help}")));
                }
                let option = format!("\n      --{} <{}>\n", setting.name, setting.value_name);
                assert_eq!(help.matches(&option).count(), 1, "{option}{help}");
                places.push(help.find(&option).unwrap());
            }
            assert!(places.is_sorted(), "{places:?}\n{help}");
        }
    }

    const REFERENCE: &str = "\
# Settings

Every setting of a training, by group. The names are those of the options of `nigh train`, `compare`,
`diagnose` and `tune`, and of the keys in a TOML file (`--config FILE`). In Python they are keyword
arguments of `nigh.train`, with `_` in place of `-`; `nigh.settings()` returns them as a table.

A setting whose default is `auto` follows from the data, the model and the task; \"in the paper\" is the
value for the models of the SMP paper. The last groups have the name of the model that they belong to.

`NIGH_BLESS=1 cargo test -p nigh-cli settings` writes this page from the declaration in
`crates/nigh/src/train/config.rs`.
";

    #[test]
    fn the_reference_lists_the_settings_as_they_are_declared() {
        let section = |group: SettingGroup| {
            let page = match group {
                SettingGroup::Model(name) => {
                    format!("Page of the model: [{name}](../crates/nigh-cli/models/{name}.md).\n\n")
                }
                _ => String::new(),
            };
            format!("\n## {}\n\n{page}{}", group.heading(), list(group))
        };
        let text = REFERENCE.to_string() + &groups().map(section).collect::<String>();
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/settings.md");
        if std::env::var_os("NIGH_BLESS").is_some_and(|bless| bless == "1") {
            std::fs::write(&path, &text).expect("the page can be written");
        }
        let page = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(page == text, "docs/settings.md does not match; NIGH_BLESS=1 writes it:\n{text}");
    }

    #[test]
    fn definitions_are_consistent() {
        CommandLine::command().debug_assert();
    }
}
