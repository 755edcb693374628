/** What one place of a glob takes: a star, any character, or some of them. */
type Token = '*' | '?' | ((code: number) => boolean);

/**
 * True where a text as a whole matches a shell glob, with the rules of the master (libs/target
 * glob.ts): `*`, `?`, `[set]`, `[!set]`; case counts, there are no escapes, any text is a glob.
 * Takes (length of glob) × (length of text) steps at worst.
 */
export function globTest(glob: string): (text: string) => boolean {
  const tokens = tokensOf([...glob]);
  return (text) => matches(tokens, [...text]);
}

function tokensOf(glob: readonly string[]): readonly Token[] {
  const tokens: Token[] = [];
  for (let at = 0; at < glob.length; at += 1) {
    const char = glob[at] ?? '';
    const end = char === '[' ? endOfSet(glob, at + 1) : -1;
    if (end >= 0) {
      tokens.push(setOf(glob.slice(at + 1, end)));
      at = end;
    } else if (char === '*' || char === '?') {
      if (char !== '*' || tokens.at(-1) !== '*') tokens.push(char);
    } else {
      const code = char.codePointAt(0);
      tokens.push((other) => other === code);
    }
  }
  return tokens;
}

/** Where a set ends; -1 for a bracket that begins none. A `]` at the begin is of the set. */
function endOfSet(glob: readonly string[], begin: number): number {
  let at = begin;
  if (glob[at] === '!') at += 1;
  if (glob[at] === ']') at += 1;
  return glob.indexOf(']', at);
}

function setOf(set: readonly string[]): (code: number) => boolean {
  const isOther = set[0] === '!';
  const codes = set.slice(isOther ? 1 : 0).map((char) => char.codePointAt(0) ?? 0);
  const ranges: (readonly [number, number])[] = [];
  for (let at = 0; at < codes.length; at += 1) {
    const from = codes[at] ?? 0;
    const to = codes[at + 2];
    const isRange = codes[at + 1] === 0x2d && to !== undefined;
    ranges.push([from, isRange ? to : from]);
    if (isRange) at += 2;
  }
  return (code) => ranges.some(([from, to]) => from <= code && code <= to) !== isOther;
}

/** Goes back to the last star alone: all before it is settled. */
function matches(tokens: readonly Token[], text: readonly string[]): boolean {
  let [at, token, star, starAt] = [0, 0, -1, 0];
  while (at < text.length) {
    const current = tokens[token];
    if (current === '*') {
      [star, starAt] = [token, at];
      token += 1;
    } else if (current !== undefined && takes(current, text[at] ?? '')) {
      token += 1;
      at += 1;
    } else if (star >= 0) {
      starAt += 1;
      [at, token] = [starAt, star + 1];
    } else return false;
  }
  return tokens.slice(token).every((rest) => rest === '*');
}

function takes(token: Exclude<Token, '*'>, char: string): boolean {
  return token === '?' || token(char.codePointAt(0) ?? 0);
}
