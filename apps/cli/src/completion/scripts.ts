/** Shells that have a script. */
export const SHELLS = ['bash', 'zsh', 'fish'] as const;

/** One of them. */
export type Shell = (typeof SHELLS)[number];

/** Commands that the scripts complete: this program, and Salt's names for links to it. */
const NAMES: readonly string[] = ['brine', 'salt', 'salt-key', 'salt-run', 'salt-cp', 'salt-call'];

/**
 * The script of a shell. It asks this program for matching words, so that it never has to be
 * updated. If nothing matches, the shell completes paths.
 * @param program the words that start this program, unquoted
 * @param names the commands to complete
 */
export function completionScript(
  shell: Shell,
  program: readonly string[],
  names: readonly string[] = NAMES,
): string {
  const ask = `${program.map(quoted).join(' ')} completion words`;
  return SCRIPTS[shell](ask, names.join(' '));
}

const SCRIPTS: Readonly<Record<Shell, (ask: string, names: string) => string>> = {
  bash: (ask, names) => `# Completion of Brine for bash: source <(brine completion bash)
_brine_complete() {
  local word
  COMPREPLY=()
  while IFS= read -r word; do
    # The shell reads what it completes: a sign of its own in a name must stay a letter.
    printf -v word %q "$word"
    COMPREPLY+=("$word")
  done < <(${ask} --line="\${COMP_LINE:0:COMP_POINT}" \\
    --part="\${COMP_WORDS[COMP_CWORD]}" 2>/dev/null)
}
complete -o default -F _brine_complete ${names}
`,
  zsh: (ask, names) => `#compdef ${names}
# Completion of Brine for zsh: source <(brine completion zsh), after compinit
_brine_complete() {
  local -a found
  found=("\${(@f)$(${ask} -- "\${(@Q)words[1,CURRENT]}" 2>/dev/null)}")
  if [[ -n "\${found[1]}" ]]; then
    compadd -- "\${found[@]}"
  else
    _files
  fi
}
# From a file in fpath this is the completion itself, and runs for the first time now.
if [[ "\${funcstack[1]}" = _brine ]]; then
  _brine_complete "$@"
else
  compdef _brine_complete ${names}
fi
`,
  fish: (ask, names) => `# Completion of Brine for fish: brine completion fish | source
function __brine_complete
  set -l current (commandline -ct)
  set -l found (${ask} -- (commandline -opc) "$current" 2>/dev/null)
  if test (count $found) -gt 0
    printf '%s\\n' $found
  else
    __fish_complete_path "$current"
  end
end
for name in ${names}
  complete -c $name -f -a '(__brine_complete)'
end
`,
};

/** Quotes a word for any of these shells. */
function quoted(word: string): string {
  return `'${word.replaceAll("'", `'\\''`)}'`;
}

/** The words of a line as a shell reads them; the last is the one that is being typed. */
export function wordsOf(line: string): string[] {
  const words: string[] = [];
  let word = '';
  let quote = '';
  for (let at = 0; at < line.length; at += 1) {
    const letter = line.charAt(at);
    if (letter === quote) quote = '';
    else if (quote === "'") word += letter;
    else if (letter === '\\') word += line.charAt((at += 1));
    else if (quote === '' && (letter === "'" || letter === '"')) quote = letter;
    else if (quote === '' && /\s/.test(letter)) {
      if (word !== '') words.push(word);
      word = '';
    } else word += letter;
  }
  return [...words, word];
}

/**
 * A candidate in the form for bash, which ends words at `:` and `=` and replaces only the rest.
 * @param typed the whole word that is being typed
 * @param part the part that bash treats as the word
 */
export function behindBreak(candidate: string, typed: string, part: string): string {
  // A separator alone is no word.
  const replaced = /^[:=]+$/.test(part) ? '' : part;
  // An open quote belongs to the part, not to the word.
  return typed.endsWith(replaced) ? candidate.slice(typed.length - replaced.length) : candidate;
}
