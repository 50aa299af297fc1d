//! Arguments of `treeport fit` from the library's table of options.

use clap::builder::TypedValueParser;
use clap::builder::{BoolValueParser, PossibleValue, PossibleValuesParser, ValueParser};
use clap::{Arg, ArgMatches, Args, Command, FromArgMatches, value_parser};
use treeport::fit::{FitOption, Group, OptionType, OptionValue};
use treeport::io::format::{self, InputKind};
use treeport::names::Named;
use treeport::space::SpaceMethod;
use treeport::{Linkage, Method};

/// The given options of the table.
#[derive(Clone, Debug, Default)]
pub(crate) struct OptionArgs {
    pub(in crate::commands) given: Vec<(&'static FitOption, OptionValue)>,
}

impl OptionArgs {
    /// Returns the value of an option if it was given.
    pub(in crate::commands) fn get(&self, name: &str) -> Option<&OptionValue> {
        self.given.iter().find(|(option, _)| option.name == name).map(|(_, value)| value)
    }
}

impl Args for OptionArgs {
    fn augment_args(command: Command) -> Command {
        generated().fold(command, |command, option| command.arg(argument(option)))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for OptionArgs {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let value = |option: &'static FitOption| {
            let value = matches.get_one::<OptionValue>(option.name)?;
            Some((option, value.clone()))
        };
        Ok(Self { given: generated().filter_map(value).collect() })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

/// Options with generated arguments: all except those of labels, which other commands share or
/// which need more than a row. Those arguments are written out elsewhere, with the help of the
/// table.
fn generated() -> impl Iterator<Item = &'static FitOption> {
    FitOption::ALL.iter().filter(|option| option.group != Group::Labels)
}

/// Returns the help of an option, followed by `more` and its default.
pub(super) fn help(name: &str, more: &str) -> String {
    let option = FitOption::find(name).expect("an option of the table");
    format!("{}{more} [default: {}]", option.help, option.default().replace('`', ""))
}

fn argument(option: &'static FitOption) -> Arg {
    // Leaked because arguments need static names.
    let flag: &'static str = Box::leak(option.name.replace('_', "-").into_boxed_str());
    let heading = if option.group == Group::Method { "Method" } else { "Learning" };
    let arg = Arg::new(option.name).long(flag).help(help(option.name, "")).help_heading(heading);
    let arg = match option.alias {
        Some(alias) => arg.alias(alias),
        None => arg,
    };
    let arg = match option.value_type() {
        OptionType::Whole => {
            arg.value_name("N").value_parser(value_parser!(u64).map(OptionValue::Whole))
        }
        OptionType::Number | OptionType::Seconds => {
            let parser = ValueParser::new(number);
            arg.value_name("X").allow_negative_numbers(true).value_parser(parser)
        }
        OptionType::Truth => {
            arg.value_name("BOOL").value_parser(BoolValueParser::new().map(OptionValue::Truth))
        }
        OptionType::Word(words) => {
            let value =
                |(name, help): (&'static str, &'static str)| PossibleValue::new(name).help(help);
            let of_clouds = SpaceMethod::ALL.iter().map(|method| (method.name(), method.help()));
            let of_clouds = of_clouds.filter(|_| option.name == "method");
            let parser = PossibleValuesParser::new(words.into_iter().chain(of_clouds).map(value));
            arg.value_name("NAME").value_parser(parser.map(OptionValue::Word))
        }
        OptionType::Start(linkages) => {
            let linkages: Vec<&str> = linkages.into_iter().map(|(name, _)| name).collect();
            let files = format::endings(InputKind::Model, false);
            let kinds = format!(": {}, or a {files} file", linkages.join(", "));
            arg.value_name("START")
                .value_parser(ValueParser::new(start))
                .help(help("start", &kinds))
        }
    };
    if option.name == "method" {
        // The many methods get a table of their own.
        let table = Method::table();
        let line = |method: &SpaceMethod| format!("  {}: {}", method.name(), method.help());
        let of_clouds: Vec<String> = SpaceMethod::ALL.iter().map(line).collect();
        let long = format!(
            "{}:\n{}\nWith `--clouds`, and without a tree over their points [default: space]:\n{}",
            help("method", ""),
            table.trim_end(),
            of_clouds.join("\n")
        );
        let short = help("method", "; `--help` lists the methods");
        return arg.hide_possible_values(true).help(short).long_help(long);
    }
    arg
}

fn number(text: &str) -> Result<OptionValue, String> {
    text.parse()
        .map(OptionValue::Number)
        .map_err(|error: std::num::ParseFloatError| error.to_string())
}

/// Parses the name of a linkage or a file of a tree.
fn start(text: &str) -> Result<OptionValue, String> {
    if text.parse::<Linkage>().is_ok() || format::is_named_for(text, InputKind::Model) {
        return Ok(OptionValue::Word(text.into()));
    }
    let linkages: Vec<&str> = Linkage::ALL.iter().map(|linkage| linkage.name()).collect();
    let files = format::endings(InputKind::Model, false);
    Err(format!("it must be {}, or a file that ends in {files}", linkages.join(", ")))
}
