import { type Environment, type Output, Scope } from './environment.ts';
import { JinjaError } from './errors.ts';
import type { Evaluator } from './evaluate.ts';
import { repr, str } from './python/text.ts';
import { isList, PyObject, typeName, Undefined } from './python/values.ts';
import { parseTemplate, type Template } from './syntax/parser.ts';
import type { Expression, Statement } from './syntax/tree.ts';

/** Renders a template in a scope; the name is for the errors. */
export type RunTemplate = (template: Template, scope: Scope, name: string) => string;

/** The other templates of a render: included, imported, extended. */
export class TemplateStore {
  readonly #evaluator: Evaluator;
  readonly #environment: Environment;
  readonly #run: RunTemplate;

  constructor(evaluator: Evaluator, run: RunTemplate) {
    this.#evaluator = evaluator;
    this.#environment = evaluator.environment;
    this.#run = run;
  }

  /** A name that an imported template exports; otherwise Jinja's undefined. */
  imported(module: PyObject, name: string, template: Expression, scope: Scope): unknown {
    const value = module.attributes.get(name);
    if (value !== undefined) return value;
    const file = repr(this.#evaluator.value(template, scope));
    return new Undefined(
      `the template ${file} (imported on line ${template.line}) does not ` +
        `export the requested name ${repr(name)}`,
      this.#environment.allowUndefined,
    );
  }

  /** Writes another template. @throws JinjaError */
  include(node: Statement & { kind: 'IncludeTemplate' }, scope: Scope, out: Output): void {
    const wanted = this.#evaluator.value(node.template, scope);
    const names = isList(wanted) ? wanted.map(str) : [str(wanted)];
    for (const name of names) {
      const template = this.load(name, true);
      if (template === undefined) continue;
      const inner = new Scope(node.withContext ? scope : undefined);
      out.write(this.#environment.deeper(() => this.#run(template, inner, name)));
      return;
    }
    if (node.ignoreMissing) return;
    const list = names.join(', ');
    if (!isList(wanted)) throw notFound(list);
    if (list === '') throw notFound('Tried to select from an empty list of templates.');
    throw notFound(`none of the templates given were found: ${list}`);
  }

  /** A template as a value with the names that it exports. @throws JinjaError */
  module(template: Expression, withContext: boolean, scope: Scope): PyObject {
    const name = this.#evaluator.value(template, scope);
    if (typeof name !== 'string') {
      throw new JinjaError('AttributeError', `'${typeName(name)}' object has no attribute 'split'`);
    }
    const known = withContext ? undefined : this.#environment.modules.get(name);
    if (known instanceof PyObject) return known;
    const parsed = this.load(name);
    const root = new Scope(withContext ? scope : undefined);
    const text = this.#environment.deeper(() => this.#run(parsed, root, name));
    const exported = new Map<string, unknown>();
    for (const [key, value] of root.names) {
      if (!str(key).startsWith('_')) exported.set(str(key), value);
    }
    const module = new PyObject('TemplateModule', exported, () => text);
    if (!withContext) this.#environment.modules.set(name, module);
    return module;
  }

  /** A template by its name. @throws JinjaError (TemplateNotFound, Syntax) */
  load(name: string): Template;
  load(name: string, missing: true): Template | undefined;
  load(name: string, missing = false): Template | undefined {
    const known = this.#environment.templates.get(name);
    if (known !== undefined) return known;
    const source = this.#environment.outside.load(name);
    if (source === undefined) {
      if (missing) return undefined;
      throw notFound(name);
    }
    try {
      const template = parseTemplate(source, this.#environment.whitespace);
      this.#environment.templates.set(name, template);
      return template;
    } catch (error) {
      if (error instanceof JinjaError) error.template ??= name;
      throw error;
    }
  }
}

function notFound(name: string): JinjaError {
  return new JinjaError('TemplateNotFound', name);
}
