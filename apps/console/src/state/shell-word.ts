/** A command line that one may paste into a shell: whatever is in its words, they stay words. */
export type ShellLine = string & { readonly [line]: true };
declare const line: unique symbol;

/** A text as one word of a shell, whatever is in it. */
export function shellWord(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`;
}

/** The command line of some words. */
export function shellLine(...words: readonly string[]): ShellLine {
  return words.map(shellWord).join(' ') as ShellLine;
}
