/** The kinds of token that the parser of nunjucks knows. */
export type TokenType =
  | 'string'
  | 'data'
  | 'block-start'
  | 'block-end'
  | 'variable-start'
  | 'variable-end'
  | 'left-paren'
  | 'right-paren'
  | 'left-bracket'
  | 'right-bracket'
  | 'left-curly'
  | 'right-curly'
  | 'operator'
  | 'comma'
  | 'colon'
  | 'tilde'
  | 'pipe'
  | 'int'
  | 'float'
  | 'symbol';

/** A token; `lineno` counts from 0, columns are not told. */
export interface Token {
  readonly type: TokenType;
  readonly value: string;
  readonly lineno: number;
  readonly colno: number;
}

/** Where the parser takes its tokens from. */
export interface TokenSource {
  nextToken(): Token | null;
}

interface At {
  /** From 0. */
  readonly lineno: number;
}

/** A list of statements, arguments or names. */
export interface NodeList<Child> extends At {
  readonly typename: 'NodeList' | 'Root';
  readonly children: readonly Child[];
}

/** A name. */
export interface NameNode extends At {
  readonly typename: 'Symbol';
  readonly value: string;
}

/** Key and value of a dict, a keyword argument, or a name and its alias. */
export interface PairNode<Key = Expression, Value = Expression> extends At {
  readonly typename: 'Pair';
  readonly key: Key;
  readonly value: Value;
}

/** Arguments: positional ones, then splats, then keywords. */
export interface Arguments {
  readonly positional: readonly Expression[];
  readonly named: readonly (readonly [string, Expression])[];
  readonly splat?: Expression | undefined;
  readonly keywordSplat?: Expression | undefined;
}

/** Parameters of a macro. */
export interface Parameters {
  readonly names: readonly string[];
  /** For the last ones of the names. */
  readonly defaults: readonly Expression[];
}

/** Where a value goes: a name, names, or an attribute of a namespace. */
export type Target =
  | NameNode
  | (At & { readonly typename: 'Tuple'; readonly children: readonly Target[] })
  | (At & { readonly typename: 'NamespaceRef'; readonly name: string; readonly attr: string });

/** An expression. */
export type Expression =
  | NameNode
  | (At & { readonly typename: 'Constant'; readonly value: unknown })
  | (At & { readonly typename: 'Tuple' | 'List'; readonly children: readonly Expression[] })
  | (At & { readonly typename: 'DictLiteral'; readonly pairs: readonly PairNode[] })
  | (At & { readonly typename: 'Attribute'; readonly target: Expression; readonly name: string })
  | (At & { readonly typename: 'Item'; readonly target: Expression; readonly key: Expression })
  | (At & {
      readonly typename: 'Slice';
      readonly parts: readonly (Expression | undefined)[];
    })
  | (At & { readonly typename: 'Call'; readonly target: Expression; readonly args: Arguments })
  | (At & {
      readonly typename: 'FilterCall' | 'Test';
      readonly name: string;
      /** Undefined for the body of a filter block. */
      readonly target: Expression | undefined;
      readonly args: Arguments;
    })
  | (At & {
      readonly typename: 'Condition';
      readonly test: Expression;
      readonly yes: Expression;
      readonly no: Expression | undefined;
    })
  | (At & {
      readonly typename: 'Or' | 'And';
      readonly left: Expression;
      readonly right: Expression;
    })
  | (At & { readonly typename: 'Not'; readonly target: Expression })
  | (At & {
      readonly typename: 'Sign';
      readonly negative: boolean;
      readonly target: Expression;
    })
  | (At & {
      readonly typename: 'Math';
      readonly op: string;
      readonly left: Expression;
      readonly right: Expression;
    })
  | (At & { readonly typename: 'Join'; readonly parts: readonly Expression[] })
  | (At & {
      readonly typename: 'Comparison';
      readonly first: Expression;
      readonly rest: readonly { readonly op: string; readonly value: Expression }[];
    });

/** A block that templates below may write over. */
export interface BlockNode extends At {
  readonly typename: 'Block';
  readonly name: string;
  /** It sees the names around it, as those of a loop. */
  readonly scoped: boolean;
  readonly required: boolean;
  readonly body: Body;
}

/** Statements of a block. */
export type Body = NodeList<Statement>;

/** A statement. */
export type Statement =
  | Body
  | (At & { readonly typename: 'Data'; readonly text: string })
  | (At & { readonly typename: 'Print'; readonly value: Expression })
  | (At & {
      readonly typename: 'If';
      readonly cond: Expression;
      readonly body: Body;
      readonly else_: Statement | null;
    })
  | (At & {
      readonly typename: 'Loop';
      readonly target: Target;
      readonly items: Expression;
      readonly test: Expression | undefined;
      readonly recursive: boolean;
      readonly body: Body;
      readonly otherwise: Body | undefined;
    })
  | (At & {
      readonly typename: 'Macro';
      readonly name: NameNode;
      readonly args: Parameters;
      readonly body: Body;
    })
  | (At & {
      readonly typename: 'CallBlock';
      readonly call: Expression & { readonly typename: 'Call' };
      readonly args: Parameters;
      readonly body: Body;
    })
  | (At & { readonly typename: 'FilterBlock'; readonly filter: Expression; readonly body: Body })
  | (At & { readonly typename: 'Assign'; readonly target: Target; readonly value: Expression })
  | (At & {
      readonly typename: 'AssignBlock';
      readonly target: Target;
      readonly filter: Expression | undefined;
      readonly body: Body;
    })
  | (At & {
      readonly typename: 'With';
      readonly pairs: readonly { readonly target: Target; readonly value: Expression }[];
      readonly body: Body;
    })
  | (At & {
      readonly typename: 'Load';
      readonly format: string;
      readonly target: Target;
      readonly body: Body;
    })
  | (At & {
      readonly typename: 'Import';
      readonly template: Expression;
      readonly target: NameNode;
      readonly withContext: boolean | null;
    })
  | (At & {
      readonly typename: 'ImportData';
      readonly format: string;
      readonly from: Statement & { readonly typename: 'Import' };
    })
  | (At & {
      readonly typename: 'FromImport';
      readonly template: Expression;
      readonly names: NodeList<NameNode | PairNode<NameNode, NameNode>>;
      readonly withContext: boolean | null;
    })
  | (At & {
      readonly typename: 'IncludeTemplate';
      readonly template: Expression;
      readonly ignoreMissing: boolean;
      readonly withContext: boolean;
    })
  | BlockNode
  | (At & { readonly typename: 'Extends'; readonly template: Expression })
  | (At & { readonly typename: 'Do'; readonly value: Expression })
  | (At & { readonly typename: 'Break' | 'Continue' });
