import { EVENT_KINDS, type EventKind, INNER_KINDS } from '@brine/job';

/** A token of a pattern matches any text, text without a slash, or one character. */
type Token =
  | { readonly kind: 'star' }
  | { readonly kind: 'word' }
  | { readonly kind: 'any' }
  | { readonly kind: 'char'; readonly char: string };

/**
 * The forms of the tags of some kinds of events; `{}` is any text without a slash. Tags of the
 * other kinds are free.
 */
const FORMS: Readonly<Partial<Record<EventKind, readonly string[]>>> = {
  ret: ['salt/job/{}/ret/{}'],
};

/** The tags of a job's own events, which are in the stream of publications. */
const JOB_FORMS = ['salt/job/{}/new', 'salt/job/{}/publish'];

/**
 * The kinds of events that a list of globs can match. Other kinds need not be read: most events of
 * a master are returns.
 */
export function kindsFor(globs: readonly string[]): readonly EventKind[] {
  return EVENT_KINDS.filter((kind) => {
    if (INNER_KINDS.has(kind)) return false;
    const forms = FORMS[kind];
    return forms === undefined || canMatch(globs, forms);
  });
}

/** True if a list of globs can match the events of jobs: `new` and `publish`. */
export function wantsJobs(globs: readonly string[]): boolean {
  return canMatch(globs, JOB_FORMS);
}

function canMatch(globs: readonly string[], forms: readonly string[]): boolean {
  return forms.some((form) => globs.some((glob) => overlaps(globTokens(glob), formTokens(form))));
}

/**
 * Python's fnmatch. A set in brackets counts as any character, so the result may match too much.
 */
function globTokens(glob: string): Token[] {
  const tokens: Token[] = [];
  for (let at = 0; at < glob.length; at += 1) {
    const char = glob[at] ?? '';
    const end = char === '[' ? setEnd(glob, at + 1) : -1;
    if (char === '*') tokens.push({ kind: 'star' });
    else if (char === '?' || end >= 0) tokens.push({ kind: 'any' });
    else tokens.push({ kind: 'char', char });
    if (end >= 0) at = end;
  }
  return tokens;
}

/** Index of the bracket that ends a set; -1 if the first bracket is a literal. */
function setEnd(glob: string, start: number): number {
  let at = start;
  if (glob[at] === '!') at += 1;
  if (glob[at] === ']') at += 1;
  return glob.indexOf(']', at);
}

function formTokens(form: string): Token[] {
  return form.split('{}').flatMap((text, at): Token[] => {
    const chars = [...text].map((char): Token => ({ kind: 'char', char }));
    return at === 0 ? chars : [{ kind: 'word' }, ...chars];
  });
}

/** True if some text fits both patterns. */
function overlaps(glob: readonly Token[], form: readonly Token[]): boolean {
  const seen = new Set<number>();
  const todo: [number, number][] = [[0, 0]];
  for (let next = todo.pop(); next !== undefined; next = todo.pop()) {
    const [i, j] = next;
    const key = i * (form.length + 1) + j;
    if (seen.has(key)) continue;
    seen.add(key);
    const [one, other] = [glob[i], form[j]];
    if (one === undefined && other === undefined) return true;
    if (one?.kind === 'star') todo.push([i + 1, j]);
    if (one?.kind === 'star' && other !== undefined) todo.push([i, j + 1]);
    if (other?.kind === 'word') todo.push([i, j + 1]);
    if (one === undefined || other === undefined || one.kind === 'star') continue;
    if (other.kind === 'word' && isOfWord(one)) todo.push([i + 1, j]);
    if (other.kind === 'char' && fits(one, other.char)) todo.push([i + 1, j + 1]);
  }
  return false;
}

function isOfWord(token: Token): boolean {
  return token.kind !== 'char' || token.char !== '/';
}

function fits(token: Token, char: string): boolean {
  return token.kind !== 'char' || token.char === char;
}
