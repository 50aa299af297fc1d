//! Fit options: name, type, default, range, help, and the methods that read them.
//!
//! The table is in [`options`](super::options). The command line's arguments and help, Python's
//! docstring and arguments, errors and docs/FIT_OPTIONS.md are generated from it.

use std::fmt;

use super::method::{Method, Supports};
use super::options::{FitOptions, Start};
use crate::build::Linkage;
use crate::error::{Error, Result};
use crate::names::{self, Named};
use crate::tools::option_range::OptionRange;
use crate::tree::Tree;

/// Row of the table of options.
pub struct FitOption {
    /// Name; `seed` is `random_state` in Python.
    pub name: &'static str,
    /// Group under which the option is listed.
    pub group: Group,
    /// Older name on the command line.
    pub alias: Option<&'static str>,
    /// Description, without a final period.
    pub help: &'static str,
    pub(super) read_by: fn(Supports) -> bool,
    pub(super) field: &'static dyn Field,
}

/// Groups of options.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Group {
    /// Choice of the labels.
    Labels,
    /// Choice of the model and its construction.
    Method,
    /// Learning of trees.
    Learning,
}

/// Value of an option, as a front end passes it.
#[derive(Clone, Debug, PartialEq)]
pub enum OptionValue {
    /// An integer.
    Whole(u64),
    /// A number.
    Number(f64),
    /// A Boolean.
    Truth(bool),
    /// A name from a list.
    Word(String),
    /// A tree to start from.
    Tree(Tree),
    /// Any other value, as text for an error.
    Other(String),
}

/// Types of option values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OptionType {
    /// Integers of at least 0.
    Whole,
    /// Numbers.
    Number,
    /// Booleans.
    Truth,
    /// Names, each with a line of help.
    Word(Vec<(&'static str, &'static str)>),
    /// A tree, or the name of one of these linkages.
    Start(Vec<(&'static str, &'static str)>),
    /// A time in seconds.
    Seconds,
}

impl FitOption {
    /// Returns the type of the values.
    pub fn value_type(&self) -> OptionType {
        self.field.value_type()
    }

    /// Describes the default.
    pub fn default(&self) -> String {
        self.field.default()
    }

    /// Describes the range of a numeric option.
    pub fn range(&self) -> Option<&'static str> {
        self.field.range().map(|range| range.expected)
    }

    /// Returns whether a method reads the option.
    pub fn is_read_by(&self, method: Method) -> bool {
        (self.read_by)(method.supports())
    }

    /// Returns the methods that read the option.
    pub fn readers(&self) -> Vec<Method> {
        Method::ALL.iter().copied().filter(|method| self.is_read_by(*method)).collect()
    }

    /// Sets the option.
    pub fn set(&self, options: &mut FitOptions, value: OptionValue) -> Result<()> {
        self.field.set(self.name, options, value)
    }
}

impl fmt::Debug for FitOption {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("FitOption").field(&self.name).finish()
    }
}

/// An option that is set, but that the method does not read.
#[derive(Debug)]
pub struct UnreadOption {
    /// The option.
    pub option: &'static FitOption,
    /// The method.
    pub method: Method,
}

impl fmt::Display for UnreadOption {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let readers: Vec<&str> = self.option.readers().iter().map(|method| method.name()).collect();
        let (option, method) = (self.option.name, self.method);
        let readers = readers.join(", ");
        write!(f, "`{option}` is not read by method `{method}`; it is read by: {readers}")
    }
}

/// Access to the value of an option in [`FitOptions`], with its type, default and range.
pub(super) trait Field: Sync {
    fn value_type(&self) -> OptionType;
    fn default(&self) -> String;
    fn range(&self) -> Option<OptionRange> {
        None
    }
    /// Returns whether the value differs from the method's own choice.
    fn is_set(&self, _: &FitOptions) -> bool {
        false
    }
    fn clear(&self, _: &mut FitOptions) {}
    fn check(&self, _: &'static str, _: &FitOptions) -> Result<()> {
        Ok(())
    }
    fn set(&self, name: &'static str, options: &mut FitOptions, value: OptionValue) -> Result<()>;
}

/// Cases in which a default applies.
#[derive(Clone, Copy)]
pub(super) enum Case {
    /// All methods without an earlier case.
    Always,
    /// These methods.
    Of(&'static [Method]),
    /// These methods if there are labels.
    WithLabels(&'static [Method]),
    /// No labels.
    WithoutLabels,
}

impl Case {
    fn holds(self, method: Method, labels: bool) -> bool {
        match self {
            Self::Always => true,
            Self::Of(methods) => methods.contains(&method),
            Self::WithLabels(methods) => labels && methods.contains(&method),
            Self::WithoutLabels => !labels,
        }
    }

    fn words(self) -> String {
        let of = |methods: &[Method]| {
            let names: Vec<String> = methods.iter().map(|method| format!("`{method}`")).collect();
            names.join(", ")
        };
        match self {
            Self::Always => String::new(),
            Self::Of(methods) => format!(" for {}", of(methods)),
            Self::WithLabels(methods) => format!(" for {} with labels", of(methods)),
            Self::WithoutLabels => " without labels".into(),
        }
    }
}

/// A field of [`FitOptions`] whose default, for `None`, depends on the method.
pub(super) struct Chosen<T: 'static> {
    pub(super) get: fn(&FitOptions) -> &Option<T>,
    pub(super) get_mut: fn(&mut FitOptions) -> &mut Option<T>,
    /// Cases with their defaults; the first case that holds applies.
    pub(super) default: &'static [(Case, T)],
    /// Description of the default if it depends on the data.
    pub(super) rule: &'static str,
    pub(super) range: Option<OptionRange>,
}

impl<T: Value> Chosen<T> {
    /// Returns the value that a method uses: the one set, or its default.
    pub(super) fn of(&self, options: &FitOptions, method: Method, labels: bool) -> T {
        let usual = || self.default.iter().find(|(case, _)| case.holds(method, labels));
        let given = (self.get)(options).clone();
        given.unwrap_or_else(|| usual().expect("the last case holds always").1.clone())
    }
}

impl<T: Value> Field for Chosen<T> {
    fn value_type(&self) -> OptionType {
        T::value_type()
    }

    fn default(&self) -> String {
        let mut cases: Vec<_> = self.default.iter().collect();
        cases.sort_by_key(|(case, _)| !matches!(case, Case::Always));
        let words = cases.iter().map(|(case, value)| format!("{}{}", value.show(), case.words()));
        let rule = (!self.rule.is_empty()).then(|| self.rule.to_owned());
        words.chain(rule).collect::<Vec<_>>().join("; ")
    }

    fn range(&self) -> Option<OptionRange> {
        self.range
    }

    fn is_set(&self, options: &FitOptions) -> bool {
        (self.get)(options).is_some()
    }

    fn clear(&self, options: &mut FitOptions) {
        *(self.get_mut)(options) = None;
    }

    fn check(&self, name: &'static str, options: &FitOptions) -> Result<()> {
        let number = (self.get)(options).as_ref().and_then(Value::number);
        match (self.range, number) {
            (Some(range), Some(number)) => range.check(name, number),
            _ => Ok(()),
        }
    }

    fn set(&self, name: &'static str, options: &mut FitOptions, value: OptionValue) -> Result<()> {
        *(self.get_mut)(options) = Some(T::read(name, value)?);
        Ok(())
    }
}

pub(super) trait Value: Clone + PartialEq + Sync {
    fn value_type() -> OptionType;
    fn read(name: &'static str, value: OptionValue) -> Result<Self>;
    fn show(&self) -> String;
    fn number(&self) -> Option<f64> {
        None
    }
}

/// Returns the error for a value of another type.
fn wrong<T>(option: &'static str, value: OptionValue, expected: &'static str) -> Result<T> {
    let value = match value {
        OptionValue::Whole(number) => number.to_string(),
        OptionValue::Number(number) => number.to_string(),
        OptionValue::Truth(truth) => truth.to_string(),
        OptionValue::Word(word) => format!("`{word}`"),
        OptionValue::Tree(_) => "a tree".into(),
        OptionValue::Other(text) => text,
    };
    Err(Error::BadOption { option, value, expected })
}

impl Value for usize {
    fn value_type() -> OptionType {
        OptionType::Whole
    }

    fn read(name: &'static str, value: OptionValue) -> Result<Self> {
        match value {
            // Larger numbers have the same effect as the maximum.
            OptionValue::Whole(number) => Ok(Self::try_from(number).unwrap_or(Self::MAX)),
            other => wrong(name, other, "it must be a whole number of at least 0"),
        }
    }

    fn show(&self) -> String {
        let digits = self.to_string();
        let groups = digits.as_bytes().rchunks(3).rev().map(String::from_utf8_lossy);
        groups.collect::<Vec<_>>().join(",")
    }

    fn number(&self) -> Option<f64> {
        Some(*self as f64)
    }
}

impl Value for f64 {
    fn value_type() -> OptionType {
        OptionType::Number
    }

    fn read(name: &'static str, value: OptionValue) -> Result<Self> {
        match value {
            OptionValue::Number(number) => Ok(number),
            other => wrong(name, other, "it must be a number"),
        }
    }

    fn show(&self) -> String {
        self.to_string()
    }

    fn number(&self) -> Option<f64> {
        Some(*self)
    }
}

/// Returns the names of all variants with their help.
fn words<T: Named>() -> Vec<(&'static str, &'static str)> {
    T::ALL.iter().map(|choice| (choice.name(), choice.help())).collect()
}

impl<T: Named + Sync> Value for T {
    fn value_type() -> OptionType {
        OptionType::Word(words::<T>())
    }

    fn read(_: &'static str, value: OptionValue) -> Result<Self> {
        let unknown = |name| Error::UnknownName { what: T::WHAT, name, known: names::list::<T>() };
        match value {
            OptionValue::Word(name) => names::find(&name),
            OptionValue::Other(name) => Err(unknown(name)),
            _ => Err(unknown("no word".into())),
        }
    }

    fn show(&self) -> String {
        self.name().into()
    }
}

impl Value for Start {
    fn value_type() -> OptionType {
        OptionType::Start(words::<Linkage>())
    }

    fn read(name: &'static str, value: OptionValue) -> Result<Self> {
        match value {
            OptionValue::Word(linkage) => names::find::<Linkage>(&linkage).map(Self::Linkage),
            OptionValue::Tree(tree) => Ok(Self::Tree(tree)),
            other => wrong(name, other, "it must be the name of a linkage or a tree"),
        }
    }

    fn show(&self) -> String {
        match self {
            Self::Linkage(linkage) => linkage.name().into(),
            Self::Tree(_) => "a tree".into(),
        }
    }
}

/// [`FitOptions::scale`].
pub(super) struct Scale;

impl Field for Scale {
    fn value_type(&self) -> OptionType {
        OptionType::Truth
    }

    fn default(&self) -> String {
        "true".into()
    }

    fn is_set(&self, options: &FitOptions) -> bool {
        !options.scale
    }

    fn clear(&self, options: &mut FitOptions) {
        options.scale = true;
    }

    fn set(&self, name: &'static str, options: &mut FitOptions, value: OptionValue) -> Result<()> {
        match value {
            OptionValue::Truth(scale) => options.scale = scale,
            other => return wrong(name, other, "it must be true or false"),
        }
        Ok(())
    }
}

/// [`FitOptions::seed`].
pub(super) struct Seed;

impl Field for Seed {
    fn value_type(&self) -> OptionType {
        OptionType::Whole
    }

    fn default(&self) -> String {
        "0".into()
    }

    fn set(&self, name: &'static str, options: &mut FitOptions, value: OptionValue) -> Result<()> {
        match value {
            OptionValue::Whole(seed) => options.seed = seed,
            other => return wrong(name, other, "it must be a whole number of at least 0"),
        }
        Ok(())
    }
}

/// An option about labels, which a front end reads before there is anything to fit.
pub(super) struct OfLabels {
    pub(super) value_type: OptionType,
    pub(super) default: fn() -> String,
    pub(super) range: OptionRange,
}

impl Field for OfLabels {
    fn value_type(&self) -> OptionType {
        self.value_type.clone()
    }

    fn default(&self) -> String {
        (self.default)()
    }

    fn range(&self) -> Option<OptionRange> {
        Some(self.range)
    }

    fn set(&self, name: &'static str, _: &mut FitOptions, value: OptionValue) -> Result<()> {
        wrong(name, value, "it is an option of labels, which are made before a fit")
    }
}
