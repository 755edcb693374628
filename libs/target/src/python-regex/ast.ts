/** A member of a character set. */
export type SetItem =
  | { readonly kind: 'range'; readonly from: number; readonly to: number }
  | { readonly kind: 'class'; readonly name: ClassName; readonly ascii: boolean };

/** The classes `\d \D \w \W \s \S`. */
export type ClassName = 'd' | 'D' | 'w' | 'W' | 's' | 'S';

/** The place of an assertion: `start` is `^` or `\A`, `end` is `$`, `text-end` is `\Z`. */
export type Place =
  | 'start'
  | 'line-start'
  | 'end'
  | 'line-end'
  | 'text-end'
  | 'word'
  | 'not-word'
  | 'ascii-word'
  | 'not-ascii-word';

/** A parsed regular expression of Python's. */
export type Node =
  | { readonly kind: 'char'; readonly code: number }
  | { readonly kind: 'dot'; readonly all: boolean }
  | { readonly kind: 'set'; readonly negated: boolean; readonly items: readonly SetItem[] }
  | { readonly kind: 'seq'; readonly parts: readonly Node[] }
  | { readonly kind: 'alt'; readonly options: readonly Node[] }
  | { readonly kind: 'group'; readonly number: number | undefined; readonly body: Node }
  | { readonly kind: 'case'; readonly ignore: boolean; readonly body: Node }
  | { readonly kind: 'at'; readonly place: Place }
  | {
      readonly kind: 'look';
      readonly ahead: boolean;
      readonly negated: boolean;
      readonly body: Node;
    }
  | {
      readonly kind: 'repeat';
      readonly body: Node;
      readonly min: number;
      readonly max: number;
      readonly lazy: boolean;
    }
  | { readonly kind: 'ref'; readonly group: number; readonly width: number | undefined };

/** A parsed expression with its groups. */
export interface Expression {
  readonly body: Node;
  readonly ignoreCase: boolean;
  /** Number of groups that capture. */
  readonly groups: number;
  /** Their names. */
  readonly names: ReadonlyMap<string, number>;
}

/** Thrown for text that is no regular expression, or one that is not supported here. */
export class RegexError extends Error {
  override readonly name = 'RegexError';
  readonly code = 'SALT_TARGET_REGEX';
}
