interface At {
  /** The line of the template, from 1. */
  readonly line: number;
}

/** A name. */
export interface NameNode extends At {
  readonly kind: 'Name';
  readonly value: string;
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
  /** Defaults of the last parameters. */
  readonly defaults: readonly Expression[];
}

/** The target of an assignment: a name, names, or an attribute of a namespace. */
export type Target =
  | NameNode
  | (At & { readonly kind: 'Tuple'; readonly children: readonly Target[] })
  | (At & { readonly kind: 'NamespaceRef'; readonly name: string; readonly attr: string });

/** A key and its value in a dict literal. */
export interface DictPair {
  readonly key: Expression;
  readonly value: Expression;
}

/** An expression. */
export type Expression =
  | NameNode
  | (At & { readonly kind: 'Constant'; readonly value: unknown })
  | (At & { readonly kind: 'Tuple' | 'List'; readonly children: readonly Expression[] })
  | (At & { readonly kind: 'DictLiteral'; readonly pairs: readonly DictPair[] })
  | (At & { readonly kind: 'Attribute'; readonly target: Expression; readonly name: string })
  | (At & { readonly kind: 'Item'; readonly target: Expression; readonly key: Expression })
  | (At & {
      readonly kind: 'Slice';
      readonly parts: readonly (Expression | undefined)[];
    })
  | (At & { readonly kind: 'Call'; readonly target: Expression; readonly args: Arguments })
  | (At & {
      readonly kind: 'FilterCall' | 'Test';
      readonly name: string;
      /** Undefined for the body of a filter block. */
      readonly target: Expression | undefined;
      readonly args: Arguments;
    })
  | (At & {
      readonly kind: 'Condition';
      readonly test: Expression;
      readonly yes: Expression;
      readonly no: Expression | undefined;
    })
  | (At & {
      readonly kind: 'Or' | 'And';
      readonly left: Expression;
      readonly right: Expression;
    })
  | (At & { readonly kind: 'Not'; readonly target: Expression })
  | (At & {
      readonly kind: 'Sign';
      readonly negative: boolean;
      readonly target: Expression;
    })
  | (At & {
      readonly kind: 'Math';
      readonly op: string;
      readonly left: Expression;
      readonly right: Expression;
    })
  | (At & { readonly kind: 'Join'; readonly parts: readonly Expression[] })
  | (At & {
      readonly kind: 'Comparison';
      readonly first: Expression;
      readonly rest: readonly { readonly op: string; readonly value: Expression }[];
    });

/** A block that templates below may override. */
export interface BlockNode extends At {
  readonly kind: 'Block';
  readonly name: string;
  /** True for a block that sees the names around it, such as those of a loop. */
  readonly scoped: boolean;
  readonly required: boolean;
  readonly body: Body;
}

/** Statements in order. */
export interface Body extends At {
  readonly kind: 'Body';
  readonly children: readonly Statement[];
}

/** A name of another template, and the name that it gets here. */
export interface ImportedName {
  readonly from: string;
  readonly to: string;
}

/** A statement. */
export type Statement =
  | Body
  | (At & { readonly kind: 'Data'; readonly text: string })
  | (At & { readonly kind: 'Print'; readonly value: Expression })
  | (At & {
      readonly kind: 'If';
      readonly test: Expression;
      readonly body: Body;
      /** An `If` for `elif`, the statements of `else`. */
      readonly otherwise: Statement | undefined;
    })
  | (At & {
      readonly kind: 'Loop';
      readonly target: Target;
      readonly items: Expression;
      readonly test: Expression | undefined;
      readonly recursive: boolean;
      readonly body: Body;
      readonly otherwise: Body | undefined;
    })
  | (At & {
      readonly kind: 'Macro';
      readonly name: string;
      readonly parameters: Parameters;
      readonly body: Body;
    })
  | (At & {
      readonly kind: 'CallBlock';
      readonly call: Expression & { readonly kind: 'Call' };
      readonly parameters: Parameters;
      readonly body: Body;
    })
  | (At & { readonly kind: 'FilterBlock'; readonly filter: Expression; readonly body: Body })
  | (At & { readonly kind: 'Assign'; readonly target: Target; readonly value: Expression })
  | (At & {
      readonly kind: 'AssignBlock';
      readonly target: Target;
      readonly filter: Expression | undefined;
      readonly body: Body;
    })
  | (At & {
      readonly kind: 'With';
      readonly pairs: readonly { readonly target: Target; readonly value: Expression }[];
      readonly body: Body;
    })
  | (At & {
      readonly kind: 'Load';
      readonly format: string;
      readonly target: Target;
      readonly body: Body;
    })
  | (At & {
      readonly kind: 'Import';
      readonly template: Expression;
      readonly name: string;
      readonly withContext: boolean;
    })
  | (At & {
      readonly kind: 'ImportData';
      readonly format: string;
      readonly from: Statement & { readonly kind: 'Import' };
    })
  | (At & {
      readonly kind: 'FromImport';
      readonly template: Expression;
      readonly names: readonly ImportedName[];
      readonly withContext: boolean;
    })
  | (At & {
      readonly kind: 'IncludeTemplate';
      readonly template: Expression;
      readonly ignoreMissing: boolean;
      readonly withContext: boolean;
    })
  | BlockNode
  | (At & { readonly kind: 'Extends'; readonly template: Expression })
  | (At & { readonly kind: 'Do'; readonly value: Expression })
  | (At & { readonly kind: 'Break' | 'Continue' });
