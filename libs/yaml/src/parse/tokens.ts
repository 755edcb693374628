/** How a scalar is written. */
export type ScalarStyle = 'plain' | 'single' | 'double' | 'literal' | 'folded';

/** A token of the scanner. Offsets are positions in the text. */
export type Token = { readonly start: number; readonly end: number } & (
  | { readonly kind: Sign }
  | { readonly kind: 'alias' | 'anchor'; readonly name: string }
  | { readonly kind: 'tag'; readonly handle: string; readonly suffix: string }
  | { readonly kind: 'version'; readonly major: number; readonly minor: number }
  | { readonly kind: 'tag directive'; readonly handle: string; readonly prefix: string }
  | { readonly kind: 'scalar'; readonly value: string; readonly style: ScalarStyle }
);

/** Tokens without content; the names are those of libyaml. */
export type Sign =
  | 'stream end'
  | 'document start'
  | 'document end'
  | 'block sequence start'
  | 'block mapping start'
  | 'block end'
  | 'flow sequence start'
  | 'flow sequence end'
  | 'flow mapping start'
  | 'flow mapping end'
  | 'block entry'
  | 'flow entry'
  | 'key'
  | 'value';

/** The kind of a token. */
export type TokenKind = Token['kind'];
