/** A parameter of a function. */
export interface Parameter {
  readonly name: string;
  readonly required: boolean;
}

/** The words of a command by the parameters that they are for. */
export interface ArgumentsForm {
  /** Words by the names of parameters. */
  readonly values: ReadonlyMap<string, string>;
  /** Where the words are that are for none of them. */
  readonly more: readonly number[];
}

// As the command line (Salt: salt/utils/args.py KWARG_REGEX).
const KEYWORD = /^([\p{L}\p{Nl}_][\p{L}\p{N}\p{Mn}\p{Pc}.-]*)=(?!=)(.*)$/u;

/** The name and the text of a word `name=value`; undefined for others. */
export function keywordIn(word: string): readonly [name: string, text: string] | undefined {
  const [, name, text] = KEYWORD.exec(word) ?? [];
  return name === undefined || text === undefined ? undefined : [name, text];
}

/** Sorts words into a form. */
export function argumentsForm(
  words: readonly string[],
  parameters: readonly Parameter[],
): ArgumentsForm {
  const values = new Map<string, string>();
  const more: number[] = [];
  let place = 0;
  for (const [index, word] of words.entries()) {
    const [name, text] = keywordIn(word) ?? [parameters[place]?.name, word];
    const isKeyword = keywordIn(word) !== undefined;
    if (!isKeyword) place += 1;
    const isKnown = parameters.some((one) => one.name === name);
    if (name === undefined || !isKnown || values.has(name)) more.push(index);
    else values.set(name, text);
  }
  return { values, more };
}

/**
 * Words with another text for one parameter; an empty text takes it out. The first ones that have
 * no name keep having none.
 */
export function withArgument(
  words: readonly string[],
  parameters: readonly Parameter[],
  name: string,
  text: string,
): readonly string[] {
  const place = parameters.findIndex((one) => one.name === name);
  const isOrdered = (word: string): boolean => keywordIn(word) === undefined;
  const ordered = words.filter(isOrdered);
  const named = words.filter((word) => !isOrdered(word) && keywordIn(word)?.[0] !== name);
  const had = words.length - ordered.length > named.length;
  const isPlain = text !== '' && isOrdered(text);
  if (place >= 0 && place < ordered.length && !had) {
    if (isPlain) return [...ordered.with(place, text), ...named];
    // Those behind it need their names now.
    const behind = ordered.slice(place + 1).map((word, index) => {
      const at = parameters[place + 1 + index]?.name;
      return at === undefined ? word : `${at}=${word}`;
    });
    const own = text === '' ? [] : [`${name}=${text}`];
    return [...ordered.slice(0, place), ...own, ...behind, ...named];
  }
  if (text === '') return [...ordered, ...named];
  if (place === ordered.length && !had && isPlain) return [...ordered, text, ...named];
  const at = words.findIndex((word) => keywordIn(word)?.[0] === name);
  return at < 0 ? [...words, `${name}=${text}`] : words.with(at, `${name}=${text}`);
}

/** Whether a function takes `test=True`, and then shows what it would change. */
export function takesTest(fun: string): boolean {
  return /^state\.(apply|highstate|sls|sls_id|single|template|template_str|top|low|high)$/.test(
    fun,
  );
}

/** The words of a run that changes nothing. */
export function asTest(words: readonly string[]): readonly string[] {
  return [...withoutTest(words), 'test=True'];
}

/** The words of a run that does what `test=True` showed. */
export function withoutTest(words: readonly string[]): readonly string[] {
  return words.filter((word) => keywordIn(word)?.[0] !== 'test');
}

/** Whether the words ask for a run that changes nothing. */
export function isTest(words: readonly string[]): boolean {
  return words.some((word) => /^test=(True|true|TRUE|yes|on|1)$/.test(word));
}
