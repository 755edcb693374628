// What this library uses of nunjucks 3.2.4, which has no types for its parser (src/parser.js).
declare module 'nunjucks/src/parser.js' {
  interface RawToken {
    readonly type: string;
    readonly value: string;
    readonly lineno: number;
    readonly colno: number;
  }
  interface Extension {
    readonly tags: readonly string[];
    parse(parser: Parser): unknown;
  }
  class Parser {
    constructor(tokens: { nextToken(): RawToken | null });
    extensions: readonly Extension[];
    breakOnBlocks: readonly string[] | null;
    nextToken(withWhitespace?: boolean): RawToken | null;
    peekToken(): RawToken | null;
    pushToken(token: RawToken | null): void;
    skip(type: string): boolean;
    skipValue(type: string, value: string): boolean;
    skipSymbol(name: string): boolean;
    expect(type: string): RawToken;
    fail(text: string, lineno?: number, colno?: number): never;
    advanceAfterBlockEnd(name?: string): unknown;
    parseStatement(): unknown;
    parseUntilBlocks(...names: string[]): unknown;
    parseWithContext(): boolean | null;
    parseImport(): unknown;
    parseExpression(): unknown;
    parseInlineIf(): unknown;
    parseOr(): unknown;
    parseNodes(): unknown[];
    parsePrimary(noPostfix?: boolean): unknown;
    parseSignature(tolerant?: boolean, noParens?: boolean): unknown;
    parseAsRoot(): unknown;
  }
  const parser: { readonly Parser: typeof Parser };
  // eslint-disable-next-line no-restricted-syntax -- CommonJS has only this door
  export default parser;
}

declare module 'nunjucks/src/nodes.js' {
  type Make = new (lineno: number, colno: number, ...fields: unknown[]) => unknown;
  const nodes: { readonly Symbol: Make; readonly NodeList: Make };
  // eslint-disable-next-line no-restricted-syntax -- CommonJS has only this door
  export default nodes;
}
