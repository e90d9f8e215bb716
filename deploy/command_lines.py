#!/usr/bin/env python3
"""Manual pages and shell completion out of the programs' own descriptions of their command lines.

command_lines.py PROGRAM... --output DIR writes
    DIR/man/man1/NAME.1                                 (groff)
    DIR/bash-completion/completions/NAME
    DIR/zsh/site-functions/_NAME
    DIR/fish/vendor_completions.d/NAME.fish
for each program, which is asked with --describe-command-line (core/commandline/describe.h).
"""

import argparse
import json
import re
import subprocess
from pathlib import Path


def walk(command, path=()):
    """(words after the program's name, command) of the program and of every verb."""
    yield path, command
    for verb in command["verbs"]:
        yield from walk(verb, (*path, verb["name"]))


def switches(command):
    return [option for option in command["options"] if not option["positional"]]


def arguments(command):
    return [option for option in command["options"] if option["positional"]]


def metavar(option):
    if option["value"] == "CHOICE":
        return "|".join(option["choices"])
    return {"INT": "N", "PATH": "PATH", "TEXT": "TEXT"}[option["value"]]


# --- manual pages ---


def roff(text):
    text = text.replace("\\", "\\e").replace("-", "\\-")
    return re.sub(r"(?m)^([.'])", r"\\&\1", text)


def man_option(option):
    names = ", ".join(f"\\fB{roff(name)}\\fR" for name in option["names"])
    if option["value"] is not None and any(name.startswith("-") for name in option["names"]):
        names += f" \\fI{roff(metavar(option))}\\fR"
    text = roff(option["help"])
    if option["default"]:
        text += f" (default: {roff(option['default'])})"
    if option["environment"]:
        text += f" (environment: \\fB{roff(option['environment'])}\\fR)"
    return f".TP\n{names}\n{text}\n"


def synopsis(name, path, command):
    line = f".B {roff(' '.join((name, *path)))}\n"
    if switches(command):
        line += "[\\fIOPTIONS\\fR]\n"
    for option in arguments(command):
        word = f"\\fI{roff(option['names'][-1].lstrip('-'))}\\fR" + (" ..." if option["repeatable"] else "")
        line += (word if option["required"] else f"[{word}]") + "\n"
    if command["verbs"]:
        line += "\\fIVERB\\fR ...\n"
    return line


def man_page(command, version):
    name = command["name"]
    page = (f'.TH {name.upper()} 1 "" "HELX {roff(version)}" "HELX manual"\n.SH NAME\n{roff(name)} \\- '
            f"{roff(command['summary'])}\n.SH SYNOPSIS\n{synopsis(name, (), command)}.SH OPTIONS\n")
    page += "".join(map(man_option, command["options"]))
    verbs = [(path, verb) for path, verb in walk(command) if path and not verb["verbs"]]
    if verbs:
        page += ".SH VERBS\n"
    for path, verb in verbs:
        page += f".SS {roff(' '.join(path))}\n{synopsis(name, path, verb)}.PP\n{roff(verb['summary'])}\n"
        page += "".join(man_option(option) for option in verb["options"] if "--help" not in option["names"])
    return page + ".SH SEE ALSO\nThe documentation of HELX, in /usr/share/doc/helx or docs/ of its sources.\n"


# --- completion ---


def option_words(command, inherited):
    return [name for option in (*command["options"], *inherited) for name in option["names"] if name.startswith("-")]


def bash(command):
    """One function: the longest chain of verbs among the words decides what is offered."""
    name = command["name"]
    root = switches(command)
    cases, paths, choices, texts = "", [], "", set()
    for path, verb in walk(command):
        words = [v["name"] for v in verb["verbs"]] + option_words(verb, root if path else ())
        cases += f"    '{' '.join(path)}') words='{' '.join(dict.fromkeys(words))}' ;;\n"
        for option in verb["options"]:
            for option_name in option["names"]:
                if not option_name.startswith("-"):
                    continue
                if option["value"] == "PATH":
                    paths.append(option_name)
                elif option["value"] == "CHOICE":
                    choices += (f"    {option_name}) COMPREPLY=($(compgen -W '{' '.join(option['choices'])}' "
                                '-- "$current")); return ;;\n')
                elif option["value"] is not None:
                    texts.add(option_name)
    function = "_" + name.replace("-", "_")
    known = "|".join(f"'{' '.join(path)}'" for path, _ in walk(command))
    choices = "".join(dict.fromkeys(choices.splitlines(keepends=True)))
    value_options = "|".join(sorted(texts | set(paths))) or "--"
    return f"""# Completion of {name} for bash; made by deploy/command_lines.py.
{function}() {{
  local current=${{COMP_WORDS[COMP_CWORD]}} previous=${{COMP_WORDS[COMP_CWORD-1]}} verb='' words='' i word
  COMPREPLY=()
  case $previous in
{choices}    {'|'.join(sorted(set(paths))) or '--'}) compopt -o default; return ;;
    {'|'.join(sorted(texts)) or '--'}) return ;;
  esac
  for ((i = 1; i < COMP_CWORD; i++)); do
    word=${{COMP_WORDS[i]}}
    case $word in
      {value_options}) ((i++)); continue ;;
      -*) continue ;;
    esac
    case "$verb${{verb:+ }}$word" in
      {known}) verb="$verb${{verb:+ }}$word" ;;
    esac
  done
  case $verb in
{cases}  esac
  COMPREPLY=($(compgen -W "$words" -- "$current"))
  # A word that is no option may be a file.
  [[ ${{#COMPREPLY[@]}} -gt 0 || $current == -* ]] || compopt -o default
}}
complete -F {function} {name}
"""


def zsh(command):
    """The same function under zsh's emulation of bash's completion."""
    return (f"#compdef {command['name']}\n# Completion of {command['name']} for zsh; made by "
            "deploy/command_lines.py.\nautoload -U +X bashcompinit && bashcompinit\n" + bash(command).split("\n", 1)[1])


def quoted(text):
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def fish(command):
    name = command["name"]
    function = "__" + name.replace("-", "_") + "_verb"
    known = " ".join(quoted(" ".join(path)) for path, _ in walk(command))
    takes_value = dict.fromkeys(n for _, verb in walk(command) for option in switches(verb) if option["value"]
                                for n in option["names"])
    lines = [f"# Completion of {name} for fish; made by deploy/command_lines.py.",
             f"function {function}",
             "  set -l verb ''",
             "  set -l value 0",
             "  for word in (commandline -opc)[2..-1]",
             "    if test $value = 1",
             "      set value 0",
             "      continue",
             "    end",
             f"    if contains -- $word {' '.join(takes_value)}",
             "      set value 1",
             "      continue",
             "    end",
             "    set -l longer (string trim -- \"$verb $word\")",
             f"    if contains -- $longer {known}",
             "      set verb $longer",
             "    end",
             "  end",
             "  test \"$verb\" = \"$argv\"",
             "end",
             f"complete -c {name} -f"]
    for path, verb in walk(command):
        condition = f"-n {quoted(function + ' ' + ' '.join(path))}" if path else f"-n {quoted(function)}"
        everywhere = not path and command["verbs"]  # the program's own options stand after verbs too
        for sub in verb["verbs"]:
            lines.append(f"complete -c {name} {condition} -a {quoted(sub['name'])} -d {quoted(sub['summary'])}")
        for option in verb["options"]:
            where = "" if everywhere else condition
            names = " ".join(f"-l {n[2:]}" if n.startswith("--") else f"-s {n[1:]}" for n in option["names"] if n.startswith("-"))
            value = {"PATH": "-r -F", "CHOICE": f"-x -a {quoted(' '.join(option['choices']))}", "INT": "-x",
                     "TEXT": "-x"}.get(option["value"], "")
            if names:
                lines.append(" ".join(f"complete -c {name} {where} {names} {value} -d {quoted(option['help'])}".split(" ")))
            if option["positional"] and option["value"] == "PATH":
                lines.append(f"complete -c {name} {condition} -F")
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("programs", nargs="+")
    parser.add_argument("--output", required=True)
    parser.add_argument("--version", default="")
    options = parser.parse_args()
    for program in options.programs:
        done = subprocess.run([program, "--describe-command-line"], stdout=subprocess.PIPE, check=True, text=True)
        command = json.loads(done.stdout)
        name = command["name"]
        for place, text in ((f"man/man1/{name}.1", man_page(command, options.version)),
                            (f"bash-completion/completions/{name}", bash(command)),
                            (f"zsh/site-functions/_{name}", zsh(command)),
                            (f"fish/vendor_completions.d/{name}.fish", fish(command))):
            path = Path(options.output) / place
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
