/** The words of a command line, or why it is none. */
export type Words =
  | { readonly kind: 'words'; readonly words: readonly string[] }
  | { readonly kind: 'problem'; readonly text: string };

/** What a shell would act on. */
const SHELL = /[;|&<>()`$]/;

/** Splits a command line as a shell does; what is for a shell alone is refused. */
export function splitWords(line: string): Words {
  const words: string[] = [];
  let word: string | undefined;
  for (let at = 0; at < line.length; at += 1) {
    const one = line[at] ?? '';
    if (/\s/.test(one)) {
      if (word !== undefined) words.push(word);
      word = undefined;
    } else if (one === "'" || one === '"') {
      const quoted = readQuoted(line, at);
      if (quoted === undefined) return { kind: 'problem', text: `A quote (${one}) has no end` };
      word = (word ?? '') + quoted.text;
      at = quoted.end;
    } else if (one === '\\') {
      at += 1;
      word = (word ?? '') + (line[at] ?? '');
    } else if (SHELL.test(one)) {
      return { kind: 'problem', text: `There is no shell here: put ${one} into quotes` };
    } else word = (word ?? '') + one;
  }
  if (word !== undefined) words.push(word);
  return { kind: 'words', words };
}

function readQuoted(line: string, from: number) {
  const quote = line[from];
  let text = '';
  for (let at = from + 1; at < line.length; at += 1) {
    const one = line[at] ?? '';
    if (one === quote) return { text, end: at };
    const next = line[at + 1] ?? '';
    if (one === '\\' && quote === '"' && /["\\$`]/.test(next)) {
      text += next;
      at += 1;
    } else text += one;
  }
  return undefined;
}
