//! Enums with names: the same word in the library, on the command line and in Python.

/// A choice among a few, each with a name and a line of help.
pub trait Named: Copy + PartialEq + std::str::FromStr<Err = crate::Error> + 'static {
    /// The name of the choice in error texts.
    const WHAT: &'static str;
    /// All choices.
    const ALL: &'static [Self];
    /// Other words that are read as one of the names.
    const ALIASES: &'static [(&'static str, &'static str)] = &[];

    /// Its name.
    fn name(self) -> &'static str;

    /// One line about it.
    fn help(self) -> &'static str;
}

/// The names of all choices: `a, b or c`.
pub fn list<T: Named>() -> String {
    let names: Vec<&str> = T::ALL.iter().map(|choice| choice.name()).collect();
    match names.split_last() {
        Some((last, rest)) if !rest.is_empty() => format!("{} or {last}", rest.join(", ")),
        _ => names.concat(),
    }
}

/// The choice of that name.
pub(crate) fn find<T: Named>(name: &str) -> crate::Result<T> {
    let meant = T::ALIASES.iter().find(|(alias, _)| *alias == name).map_or(name, |found| found.1);
    T::ALL.iter().copied().find(|choice| choice.name() == meant).ok_or_else(|| {
        crate::Error::UnknownName { what: T::WHAT, name: name.into(), known: list::<T>() }
    })
}

/// Reading and printing for a type that is [`Named`].
macro_rules! reads_and_prints {
    ($type:ty) => {
        impl std::fmt::Display for $type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad($crate::names::Named::name(*self))
            }
        }

        impl std::str::FromStr for $type {
            type Err = $crate::Error;

            fn from_str(name: &str) -> $crate::Result<Self> {
                $crate::names::find(name)
            }
        }
    };
}

/// An enum whose choices have names: `named! { Type, "what", { Variant: "name", "help"; … } }`.
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
