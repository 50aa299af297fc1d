//! Options of the attack.

use super::KINDS;

/// Time limit, seed, and selection of rounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct AttackOptions {
    pub(crate) seconds: u64,
    pub(crate) seed: u64,
    /// Run only this round, and keep its folder.
    pub(crate) round: Option<u64>,
    /// Run only rounds of this kind.
    pub(crate) only: Option<&'static str>,
}

/// Parses `--minutes 5 --seed 1 --round 3 --only files`.
pub(crate) fn parse(args: &[String]) -> Result<AttackOptions, String> {
    let mut options = AttackOptions { seconds: 60, seed: 0, round: None, only: None };
    for pair in args.chunks(2) {
        let [name, value] = pair else { return Err(format!("`{}` has no value", pair[0])) };
        let whole = || value.parse().map_err(|_| format!("`{name} {value}` is not an integer"));
        match name.as_str() {
            "--minutes" => options.seconds = seconds(value)?,
            "--seed" => options.seed = whole()?,
            "--round" => options.round = Some(whole()?),
            "--only" => options.only = Some(kind(value)?),
            _ => {
                let known = "--minutes, --seed, --round and --only";
                return Err(format!("unexpected argument `{name}`; attack takes {known}"));
            }
        }
    }
    Ok(options)
}

fn seconds(minutes: &str) -> Result<u64, String> {
    let good = |minutes: &f64| (0.0..1e6).contains(minutes);
    let minutes = minutes.parse().ok().filter(good);
    let minutes = minutes.ok_or("`--minutes` takes a number of minutes, such as 0.5")?;
    Ok((minutes * 60.0) as u64)
}

fn kind(name: &str) -> Result<&'static str, String> {
    let known = KINDS.iter().map(|kind| kind.0).find(|known| *known == name);
    let names = || KINDS.map(|kind| kind.0).join(", ");
    known.ok_or_else(|| format!("no kind of round is called `{name}`; there are {}", names()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(args: &str) -> Result<AttackOptions, String> {
        parse(&args.split_whitespace().map(ToString::to_string).collect::<Vec<_>>())
    }

    #[test]
    fn options_are_read() {
        let none = AttackOptions { seconds: 60, seed: 0, round: None, only: None };
        assert_eq!(parsed(""), Ok(none));
        let all = AttackOptions { seconds: 30, seed: 7, round: Some(3), only: Some("files") };
        assert_eq!(parsed("--minutes 0.5 --seed 7 --round 3 --only files"), Ok(all));
    }

    #[test]
    fn wrong_options_are_named() {
        for (args, named) in [
            ("--minutes", "`--minutes` has no value"),
            ("--minutes -1", "`--minutes` takes a number"),
            ("--minutes nan", "`--minutes` takes a number"),
            ("--seed x", "`--seed x` is not an integer"),
            ("--fast 1", "unexpected argument `--fast`"),
            ("--only fire", "no kind of round is called `fire`; there are kills, "),
        ] {
            let said = parsed(args).unwrap_err();
            assert!(said.starts_with(named), "{said}");
        }
    }
}
