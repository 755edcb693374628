// Finds each place that starts a program, and the source of its environment.
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import ts from 'typescript';

const STARTERS = new Set(['spawn', 'spawnSync', 'fork', 'exec', 'execSync', 'execFile']).add(
  'execFileSync',
);
const DOOR = '@brine/environment';
const DOORS = new Set(['childEnvironment', 'operatorEnvironment']);
const PROCESSES = /^(?:node:)?(?:child_process|cluster)$/;
const ENVIRONMENT = 'process.env';

/** A place in a source that starts a program or a thread, or reads any environment variable. */
export interface Place {
  /** As `libs/x/src/y.ts:12`. */
  readonly at: string;
  readonly what: string;
}

/** The findings in one source. */
export interface Found {
  /** Programs that get their environment from `@brine/environment`. */
  readonly good: readonly Place[];
  /** May pass on more: programs without `@brine/environment`, computed variable names. */
  readonly bad: readonly Place[];
}

/**
 * Checks a source. A program is good if an argument of its call is an object whose `env` comes from
 * a function of `@brine/environment`, directly or through a function that returns nothing else. A
 * thread is good without `env`: it gets the reduced environment of its process.
 * @param path below `root`
 */
export function startsIn(root: string, path: string, text?: string): Found {
  const file = new SourceFile(root, path, text);
  const good: Place[] = [];
  const bad: Place[] = [];
  const visit = (node: ts.Node): void => {
    const found = judge(node, file);
    if (found !== undefined) {
      const line = file.source.getLineAndCharacterOfPosition(node.getStart(file.source)).line + 1;
      (found.isGood ? good : bad).push({ at: `${path}:${line}`, what: found.what });
    }
    ts.forEachChild(node, visit);
  };
  visit(file.source);
  return { good, bad };
}

interface Judged {
  readonly what: string;
  readonly isGood: boolean;
}

function judge(node: ts.Node, file: SourceFile): Judged | undefined {
  if (ts.isImportDeclaration(node)) return oddImport(node);
  if (ts.isElementAccessExpression(node) && node.expression.getText() === ENVIRONMENT) {
    if (ts.isStringLiteral(node.argumentExpression) || file.isName(node.argumentExpression)) {
      return undefined;
    }
    return { what: 'a variable by a name from elsewhere', isGood: false };
  }
  if (ts.isSpreadAssignment(node) && node.expression.getText() === ENVIRONMENT) {
    return { what: 'the whole environment', isGood: false };
  }
  if (ts.isNewExpression(node)) return thread(node);
  if (!ts.isCallExpression(node)) return undefined;
  const { expression } = node;
  if (expression.kind === ts.SyntaxKind.ImportKeyword) {
    const [to] = node.arguments;
    const isOdd = to !== undefined && ts.isStringLiteral(to) && PROCESSES.test(to.text);
    return isOdd ? { what: 'node:child_process without names', isGood: false } : undefined;
  }
  const name = file.starterOf(expression);
  if (name === undefined) return undefined;
  return { what: name, isGood: node.arguments.some((one) => file.hasDoor(one)) };
}

/** Only names can be followed. */
function oddImport({ moduleSpecifier, importClause }: ts.ImportDeclaration): Judged | undefined {
  if (!ts.isStringLiteral(moduleSpecifier) || !PROCESSES.test(moduleSpecifier.text))
    return undefined;
  const bindings = importClause?.namedBindings;
  if (bindings !== undefined && ts.isNamedImports(bindings) && importClause?.name === undefined) {
    return undefined;
  }
  return { what: 'node:child_process without names', isGood: false };
}

function thread(node: ts.NewExpression): Judged | undefined {
  const name = node.expression.getText();
  if (name !== 'Worker' && name !== 'Piscina') return undefined;
  const literals = [...(node.arguments ?? [])].filter(ts.isObjectLiteralExpression);
  return { what: name, isGood: literals.every((one) => valueOf(one, 'env') === undefined) };
}

/** One source, in which names can be resolved. */
class SourceFile {
  readonly source: ts.SourceFile;
  readonly #root: string;
  readonly #path: string;
  /** Module and original name by local name. */
  readonly #imports = new Map<string, { readonly from: string; readonly name: string }>();
  /** Constants, and the functions that are declared. */
  readonly #values = new Map<string, ts.Expression>();
  readonly #functions = new Map<string, ts.FunctionDeclaration>();

  constructor(root: string, path: string, text = readFileSync(join(root, path), 'utf8')) {
    this.#root = root;
    this.#path = path;
    this.source = ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true);
    const visit = (node: ts.Node): void => {
      if (ts.isImportDeclaration(node)) this.#import(node);
      if (ts.isVariableDeclaration(node) && ts.isIdentifier(node.name) && node.initializer) {
        this.#values.set(node.name.text, node.initializer);
      }
      if (ts.isFunctionDeclaration(node) && node.name) this.#functions.set(node.name.text, node);
      ts.forEachChild(node, visit);
    };
    visit(this.source);
  }

  #import({ moduleSpecifier, importClause }: ts.ImportDeclaration): void {
    const bindings = importClause?.namedBindings;
    if (!ts.isStringLiteral(moduleSpecifier) || bindings === undefined) return;
    if (!ts.isNamedImports(bindings)) return;
    for (const { name, propertyName } of bindings.elements) {
      const imported = { from: moduleSpecifier.text, name: (propertyName ?? name).text };
      this.#imports.set(name.text, imported);
    }
  }

  /** The function of node:child_process that a callee is, also by promisify. */
  starterOf(callee: ts.Expression): string | undefined {
    if (ts.isIdentifier(callee)) {
      const { from = '', name = '' } = this.#imports.get(callee.text) ?? {};
      if (PROCESSES.test(from)) return STARTERS.has(name) ? name : undefined;
      const value = this.#values.get(callee.text);
      return value === undefined || value === callee ? undefined : this.starterOf(value);
    }
    return this.#promisified(callee);
  }

  #promisified(value: ts.Expression): string | undefined {
    if (!ts.isCallExpression(value) || value.expression.getText() !== 'promisify') return undefined;
    const [of] = value.arguments;
    return of !== undefined && ts.isIdentifier(of) ? this.starterOf(of) : undefined;
  }

  /** A constant text. */
  isName(expression: ts.Expression): boolean {
    const value = ts.isIdentifier(expression) ? this.#values.get(expression.text) : undefined;
    return value !== undefined && ts.isStringLiteral(value);
  }

  /** True for an object argument whose `env` comes from `@brine/environment`. */
  hasDoor(argument: ts.Expression): boolean {
    const object = this.#followed(argument);
    if (!ts.isObjectLiteralExpression(object)) return false;
    const env = valueOf(object, 'env');
    return env !== undefined && this.#isOfDoor(this.#followed(env));
  }

  #followed(value: ts.Expression): ts.Expression {
    return ts.isIdentifier(value) ? (this.#values.get(value.text) ?? value) : value;
  }

  #isOfDoor(value: ts.Expression): boolean {
    if (!ts.isCallExpression(value) || !ts.isIdentifier(value.expression)) return false;
    return this.#opensDoor(value.expression.text);
  }

  #opensDoor(called: string): boolean {
    const imported = this.#imports.get(called);
    if (imported === undefined) {
      const own = this.#functions.get(called);
      return own !== undefined && this.#returnsDoor(own);
    }
    const { from, name } = imported;
    if (from === DOOR) return DOORS.has(name);
    if (!from.startsWith('.')) return false;
    return new SourceFile(this.#root, join(dirname(this.#path), from)).#opensDoor(name);
  }

  #returnsDoor({ body }: ts.FunctionDeclaration): boolean {
    const returned: (ts.Expression | undefined)[] = [];
    const visit = (node: ts.Node): void => {
      if (ts.isReturnStatement(node)) returned.push(node.expression);
      ts.forEachChild(node, visit);
    };
    if (body !== undefined) visit(body);
    return returned.length > 0 && returned.every((one) => one && this.#isOfDoor(one));
  }
}

function valueOf(object: ts.ObjectLiteralExpression, name: string): ts.Expression | undefined {
  // The last property wins.
  for (const one of object.properties.toReversed()) {
    if (one.name?.getText() !== name) continue;
    if (ts.isShorthandPropertyAssignment(one)) return one.name;
    if (ts.isPropertyAssignment(one)) return one.initializer;
  }
  return undefined;
}
