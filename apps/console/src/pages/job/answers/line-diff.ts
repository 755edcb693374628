/** A line of a difference; `gap`: lines that are left out, since both have them. */
export type DiffLine =
  | { readonly is: 'same' | 'gone' | 'new'; readonly text: string }
  | { readonly is: 'gap'; readonly lines: number };

/** Lines that are the same around a difference. */
const CONTEXT = 3;
/** More are not shown. */
const LINES_MAX = 2_000;

/** A part of a difference, as the library gives it. */
interface DiffPart {
  readonly added: boolean;
  readonly removed: boolean;
  readonly value: string;
}

/** A difference as lines: what is the same is there around the changes alone. */
export function diffLinesOf(parts: readonly DiffPart[]): readonly DiffLine[] {
  const lines = parts.flatMap(({ added, removed, value }, at) => {
    const texts = value.replace(/\n$/, '').split('\n');
    if (added || removed) return texts.map((text) => ({ is: kindOf(added), text }));
    return around(texts, at === 0, at === parts.length - 1);
  });
  const more = lines.length - LINES_MAX;
  return more > 0 ? [...lines.slice(0, LINES_MAX), { is: 'gap', lines: more }] : lines;
}

function kindOf(added: boolean): 'new' | 'gone' {
  return added ? 'new' : 'gone';
}

function around(texts: readonly string[], isFirst: boolean, isLast: boolean): DiffLine[] {
  const before = isFirst ? 0 : CONTEXT;
  const after = isLast ? 0 : CONTEXT;
  const same = (part: readonly string[]): DiffLine[] => part.map((text) => ({ is: 'same', text }));
  const left = texts.length - before - after;
  if (left <= 1) return same(texts);
  const gap: DiffLine = { is: 'gap', lines: left };
  return [...same(texts.slice(0, before)), gap, ...same(texts.slice(texts.length - after))];
}
