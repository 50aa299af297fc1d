//! Every choice that goes by one word, on the command line and in Python.

use std::fmt::{Debug, Display};

use treeport::accuracy::Level;
use treeport::fit::Stage;
use treeport::learn::{Kind, Loss, Schedule};
use treeport::names::{Named, list};
use treeport::{Linkage, Method, PointMetric};

fn check<T: Named + Debug + Display>() {
    let names: Vec<&str> = T::ALL.iter().map(|choice| choice.name()).collect();
    for &choice in T::ALL {
        let name = choice.name();
        assert_eq!(name.parse::<T>().unwrap(), choice);
        assert_eq!((choice.to_string().as_str(), format!("{choice:>20}").trim()), (name, name));
        assert!(name.chars().all(|c| c.is_ascii_lowercase() || c == '-'), "{name}");
        assert!(!choice.help().is_empty() && !choice.help().contains('\n'), "{name}");
        assert_eq!(names.iter().filter(|other| **other == name).count(), 1, "{name}");
        for wrong in [name.to_uppercase(), format!(" {name}"), format!("{name}s")] {
            assert!(wrong.parse::<T>().is_err(), "{wrong}");
        }
    }
    for (alias, name) in T::ALIASES {
        assert_eq!(alias.parse::<T>().unwrap().name(), *name);
        assert!(!names.contains(alias), "{alias}");
    }
    let (last, rest) = names.split_last().unwrap();
    let known = format!("{} or {last}", rest.join(", "));
    assert_eq!(list::<T>(), known);
    let message = "nothing".parse::<T>().unwrap_err().to_string();
    assert_eq!(message, format!("{} is `nothing`; it must be {known}", T::WHAT));
}

#[test]
fn names_parse_back_and_errors_list_them_all() {
    check::<PointMetric>();
    check::<Linkage>();
    check::<Kind>();
    check::<Schedule>();
    check::<Loss>();
    check::<Level>();
    check::<Method>();
    check::<Stage>();
}
