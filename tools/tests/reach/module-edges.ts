import ts from 'typescript';

/** An import or path in a source file, as written there. */
export interface Edge {
  /** The target: `./x.ts`, `@brine/bus/rpc`, `../sql/`. */
  readonly to: string;
  /** An import, or a path beside the file (`new URL(…, import.meta.url)`). */
  readonly kind: 'import' | 'path';
  /** The imported names in the other file; undefined: all. */
  readonly names: readonly string[] | undefined;
  /**
   * import('x') }]` of a table: its name. => Name of a table entry `['name', { load: () =>
   * import('x') }]`. => import('x') }]` of a table: its name.
   */
  readonly entry?: string | undefined;
}

/** The edges of one source file. */
export interface Module {
  readonly edges: readonly Edge[];
  /** Re-exported names and their sources: `export { a as b } from 'x'`. */
  readonly passes: ReadonlyMap<string, { readonly from: string; readonly name: string }>;
  /** The texts of strings and the keys of objects: programs, commands, options, files. */
  readonly strings: readonly string[];
  /** True for a file with only types, which can not affect a test. */
  readonly isTypes: boolean;
}

/**
 * Reads the imports of a TypeScript or JavaScript source. Imports of types are left out: they can
 * not affect a test, and the compiler reads all files each time.
 */
export function moduleOf(path: string, text: string): Module {
  const source = ts.createSourceFile(path, text, ts.ScriptTarget.Latest, false);
  const edges: Edge[] = [];
  const passes = new Map<string, { from: string; name: string }>();
  const strings: string[] = [];
  const visit = (node: ts.Node, entry: string | undefined): void => {
    if (ts.isImportDeclaration(node)) return take(edges, importEdge(node));
    if (ts.isExportDeclaration(node)) return takeExport(node, edges, passes);
    if (ts.isCallExpression(node)) take(edges, dynamicEdge(node, entry));
    if (ts.isNewExpression(node)) edges.push(...pathEdges(node));
    const text = textOf(node);
    if (text !== undefined) strings.push(text);
    const inside = entryName(node) ?? entry;
    ts.forEachChild(node, (child) => visit(child, inside));
  };
  ts.forEachChild(source, (node) => visit(node, undefined));
  const isTypes = source.statements.every(isTypeStatement);
  return { edges, passes, strings, isTypes };
}

function isTypeStatement(node: ts.Statement): boolean {
  if (ts.isInterfaceDeclaration(node) || ts.isTypeAliasDeclaration(node)) return true;
  if (ts.isImportDeclaration(node)) return importEdge(node) === undefined;
  if (ts.isExportDeclaration(node)) return node.isTypeOnly;
  return ts.canHaveModifiers(node) && isDeclared(node);
}

function isDeclared(node: ts.HasModifiers): boolean {
  return ts.getModifiers(node)?.some(({ kind }) => kind === ts.SyntaxKind.DeclareKeyword) ?? false;
}

function take(edges: Edge[], edge: Edge | undefined): void {
  if (edge !== undefined) edges.push(edge);
}

function importEdge(node: ts.ImportDeclaration): Edge | undefined {
  if (!ts.isStringLiteral(node.moduleSpecifier)) return undefined;
  const to = node.moduleSpecifier.text;
  const clause = node.importClause;
  if (clause === undefined) return { to, kind: 'import', names: undefined };
  if (clause.phaseModifier === ts.SyntaxKind.TypeKeyword) return undefined;
  const bindings = clause.namedBindings;
  if (bindings !== undefined && ts.isNamespaceImport(bindings))
    return { to, kind: 'import', names: undefined };
  const named = (bindings?.elements ?? []).filter(({ isTypeOnly }) => !isTypeOnly);
  const names = named.map(({ name, propertyName }) => (propertyName ?? name).text);
  if (clause.name !== undefined) names.push('default');
  return { to, kind: 'import', names };
}

function takeExport(
  node: ts.ExportDeclaration,
  edges: Edge[],
  passes: Map<string, { from: string; name: string }>,
): void {
  const { moduleSpecifier, exportClause } = node;
  if (node.isTypeOnly || moduleSpecifier === undefined) return;
  if (!ts.isStringLiteral(moduleSpecifier)) return;
  const to = moduleSpecifier.text;
  if (exportClause === undefined || !ts.isNamedExports(exportClause)) {
    edges.push({ to, kind: 'import', names: undefined });
    return;
  }
  const elements = exportClause.elements.filter(({ isTypeOnly }) => !isTypeOnly);
  const names: string[] = [];
  for (const { name, propertyName } of elements) {
    const original = (propertyName ?? name).text;
    passes.set(name.text, { from: to, name: original });
    names.push(original);
  }
  edges.push({ to, kind: 'import', names });
}

function textOf(node: ts.Node): string | undefined {
  if (ts.isStringLiteralLike(node)) return node.text;
  if (ts.isTemplateHead(node) || ts.isTemplateMiddleOrTemplateTail(node)) return node.text;
  if (ts.isPropertyAssignment(node) && ts.isIdentifier(node.name)) return node.name.text;
  return undefined;
}

function entryName(node: ts.Node): string | undefined {
  if (!ts.isArrayLiteralExpression(node)) return undefined;
  const [name] = node.elements;
  return name !== undefined && ts.isStringLiteralLike(name) ? name.text : undefined;
}

function dynamicEdge(node: ts.CallExpression, entry: string | undefined): Edge | undefined {
  const [first] = node.arguments;
  const isImport = node.expression.kind === ts.SyntaxKind.ImportKeyword;
  if (!isImport || first === undefined || !ts.isStringLiteralLike(first)) return undefined;
  return { to: first.text, kind: 'import', names: undefined, entry };
}

/** Paths in `new URL('x', import.meta.url)`; for a template the folder before its first hole. */
function pathEdges(node: ts.NewExpression): readonly Edge[] {
  const [path, base] = node.arguments ?? [];
  if (!ts.isIdentifier(node.expression) || node.expression.text !== 'URL') return [];
  if (path === undefined || base === undefined || !isOwnAddress(base)) return [];
  return literalsOf(path).map((to) => ({ to, kind: 'path', names: undefined }));
}

function isOwnAddress(node: ts.Node): boolean {
  return (
    ts.isPropertyAccessExpression(node) &&
    node.name.text === 'url' &&
    node.expression.kind === ts.SyntaxKind.MetaProperty
  );
}

function literalsOf(node: ts.Expression): readonly string[] {
  if (ts.isStringLiteralLike(node)) return [node.text];
  if (ts.isTemplateExpression(node)) return [node.head.text.replace(/[^/]*$/, '')];
  if (ts.isConditionalExpression(node))
    return [...literalsOf(node.whenTrue), ...literalsOf(node.whenFalse)];
  return [];
}
