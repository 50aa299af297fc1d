//! Enums with names, which are the same in the library, on the command line and in Python.

use crate::error::{Error, Result};

/// An enum whose variants have names and a line of help.
pub trait Named: Copy + PartialEq + std::str::FromStr<Err = Error> + 'static {
    /// Name of the choice in error messages.
    const WHAT: &'static str;
    /// All variants.
    const ALL: &'static [Self];
    /// Aliases: (alternative spelling, name).
    const ALIASES: &'static [(&'static str, &'static str)] = &[];

    /// Returns the name of the variant.
    fn name(self) -> &'static str;

    /// Returns one line of help.
    fn help(self) -> &'static str;
}

/// Lists the names of all variants: `a, b or c`.
pub fn list<T: Named>() -> String {
    let names: Vec<&str> = T::ALL.iter().map(|choice| choice.name()).collect();
    match names.split_last() {
        Some((last, rest)) if !rest.is_empty() => format!("{} or {last}", rest.join(", ")),
        _ => names.concat(),
    }
}

/// Returns the variant with the given name or alias.
pub(crate) fn find<T: Named>(name: &str) -> Result<T> {
    let meant = T::ALIASES.iter().find(|(alias, _)| *alias == name).map_or(name, |found| found.1);
    T::ALL.iter().copied().find(|choice| choice.name() == meant).ok_or_else(|| Error::UnknownName {
        what: T::WHAT,
        name: name.into(),
        known: list::<T>(),
    })
}

/// Implements `Display` and `FromStr` for a [`Named`] type.
macro_rules! reads_and_prints {
    ($type:ty) => {
        impl std::fmt::Display for $type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad($crate::names::Named::name(*self))
            }
        }

        impl std::str::FromStr for $type {
            type Err = $crate::error::Error;

            fn from_str(name: &str) -> $crate::error::Result<Self> {
                $crate::names::find(name)
            }
        }
    };
}

/// Implements [`Named`] for an enum: `named! { Type, "what", { Variant: "name", "help"; … } }`.
macro_rules! named {
    ($type:ident, $what:literal, { $($variant:ident: $name:literal, $help:literal;)+ }
     $(, aliases: $aliases:expr)?) => {
        impl $crate::names::Named for $type {
            const WHAT: &'static str = $what;
            const ALL: &'static [Self] = &[$(Self::$variant),+];
            $(const ALIASES: &'static [(&'static str, &'static str)] = $aliases;)?

            fn name(self) -> &'static str {
                match self { $(Self::$variant => $name),+ }
            }

            fn help(self) -> &'static str {
                match self { $(Self::$variant => $help),+ }
            }
        }
        $crate::names::reads_and_prints!($type);
    };
}

pub(crate) use {named, reads_and_prints};
