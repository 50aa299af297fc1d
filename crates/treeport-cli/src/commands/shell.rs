//! `treeport completions` and `treeport man`: shell completions and manual pages.

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::{Args, CommandFactory};
use clap_complete::Shell;

use crate::args::Cli;
use crate::output::{self, Output};

const COMPLETIONS: &str = "\
Examples:
  treeport completions bash > ~/.local/share/bash-completion/completions/treeport
  treeport completions zsh > ~/.zfunc/_treeport
  treeport completions fish > ~/.config/fish/completions/treeport.fish";

const MAN: &str = "\
Examples:
  treeport man | man -l -
  treeport man -o ~/.local/share/man/man1      # treeport.1, treeport-fit.1, …";

/// Options of `treeport completions`.
#[derive(Args, Debug)]
#[command(after_help = COMPLETIONS)]
pub(crate) struct CompletionsArgs {
    /// The shell.
    #[arg(value_enum)]
    shell: Shell,
}

/// Options of `treeport man`.
#[derive(Args, Debug)]
#[command(after_help = MAN)]
pub(crate) struct ManArgs {
    /// Folder for one page per command; made if it is not there [default: the main page on stdout].
    #[arg(short, long, value_name = "FOLDER")]
    output: Option<PathBuf>,
}

/// Runs `treeport completions`.
pub(crate) fn completions(args: &CompletionsArgs) -> Result<ExitCode> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "treeport", &mut script);
    print(&script)?;
    Ok(ExitCode::SUCCESS)
}

/// Runs `treeport man`.
pub(crate) fn man(args: &ManArgs, output: &Output) -> Result<ExitCode> {
    let mut root = Cli::command();
    root.build();
    let Some(folder) = &args.output else {
        print(&page(root)?)?;
        return Ok(ExitCode::SUCCESS);
    };
    std::fs::create_dir_all(folder)
        .with_context(|| format!("cannot make the folder `{}`", folder.display()))?;
    let mut commands = vec![("treeport".to_owned(), root.clone())];
    for command in root.get_subcommands().filter(|command| command.get_name() != "help") {
        commands.push((format!("treeport-{}", command.get_name()), command.clone()));
    }
    let count = commands.len();
    for (name, command) in commands {
        let text = page(command)?;
        output::save(&folder.join(format!("{name}.1")), |out| Ok(out.write_all(&text)?))?;
    }
    output.note(&format!("{count} pages written to {}", folder.display()));
    Ok(ExitCode::SUCCESS)
}

fn print(text: &[u8]) -> Result<()> {
    let mut out = output::stdout()?;
    out.write_all(text)?;
    Ok(out.flush()?)
}

fn page(command: clap::Command) -> Result<Vec<u8>> {
    let mut text = Vec::new();
    clap_mangen::Man::new(command).render(&mut text)?;
    Ok(text)
}
