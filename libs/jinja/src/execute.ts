import { type Environment, Output, Scope } from './environment.ts';
import { JinjaError, typeError, valueError } from './errors.ts';
import { Evaluator } from './evaluate.ts';
import { loadData } from './filters/data-filters.ts';
import { LoopState } from './loop-state.ts';
import { makeMacro } from './macro.ts';
import { printed, repr, str } from './python/text.ts';
import { iterate, PyFunction, PyObject, truth, typeName } from './python/values.ts';
import type { Template } from './syntax/parser.ts';
import type { BlockNode, Body, Expression, Statement, Target } from './syntax/tree.ts';
import { TemplateStore } from './template-store.ts';

const REFERENCE = 'jinja2.runtime.TemplateReference';

type Signal = 'break' | 'continue' | undefined;

/** Runs the statements of one template, and of those it includes. */
export class Executor {
  readonly evaluator: Evaluator;
  readonly #environment: Environment;
  readonly #store: TemplateStore;
  readonly #blocks = new Map<string, BlockNode[]>();
  #root = new Scope();
  #parent: Template | undefined;
  #parentName = '';
  /** The blocks by name, as functions of templates. */
  readonly #self = new Map<string, unknown>();

  constructor(environment: Environment) {
    this.#environment = environment;
    this.evaluator = new Evaluator(environment);
    this.#store = new TemplateStore(this.evaluator, (template, scope, name) =>
      new Executor(environment).template(template, scope, name),
    );
  }

  /** Renders a whole template; `name` is for errors, undefined for the template given as text. */
  template(template: Template, scope: Scope, name: string | undefined): string {
    const out = new Output(this.#environment);
    try {
      this.#root = scope;
      const shown = `<TemplateReference ${repr(name ?? null)}>`;
      this.evaluator.self = new PyObject(REFERENCE, this.#self, () => shown);
      for (const [block, node] of template.blocks) {
        this.#blocks.set(block, [...(this.#blocks.get(block) ?? []), node]);
        this.#self.set(block, new PyFunction(block, () => this.#ofSelf(block)));
      }
      this.#parent = undefined;
      this.body(template.body, scope, out);
      if (this.#parent !== undefined) return this.template(this.#parent, scope, this.#parentName);
    } catch (error) {
      if (error instanceof JinjaError) error.template ??= name;
      throw error;
    }
    return out.text();
  }

  /** Runs statements in a scope. */
  body(body: Body, scope: Scope, out: Output): Signal {
    for (const statement of body.children) {
      const signal = this.#statement(statement, scope, out);
      if (signal !== undefined) return signal;
    }
    return undefined;
  }

  /** The output of statements. */
  captured(body: Body, scope: Scope): string {
    const out = new Output(this.#environment);
    this.body(body, scope, out);
    return out.text();
  }

  #statement(node: Statement, scope: Scope, out: Output): Signal {
    this.#environment.step();
    try {
      return this.#run(node, scope, out);
    } catch (error) {
      if (error instanceof JinjaError) error.line ??= node.line;
      throw error;
    }
  }

  #run(node: Statement, scope: Scope, out: Output): Signal {
    switch (node.kind) {
      case 'Data':
        out.write(node.text);
        return undefined;
      case 'Print':
        out.write(this.#shown(node.value, scope));
        return undefined;
      case 'If':
        if (truth(this.evaluator.value(node.test, scope))) return this.body(node.body, scope, out);
        return node.otherwise === undefined
          ? undefined
          : this.#statement(node.otherwise, scope, out);
      case 'Body':
        return this.body(node, scope, out);
      case 'Loop':
        this.#loop(node, scope, out, this.evaluator.value(node.items, scope), 0);
        return undefined;
      case 'Break':
        return 'break';
      case 'Continue':
        return 'continue';
      case 'Do':
        this.evaluator.value(node.value, scope);
        return undefined;
      default:
        this.#define(node, scope, out);
        return undefined;
    }
  }

  #shown(node: Expression, scope: Scope): string {
    return printed(this.evaluator.value(node, scope));
  }

  #define(node: Statement, scope: Scope, out: Output): void {
    switch (node.kind) {
      case 'Assign':
        this.#assign(node.target, this.evaluator.value(node.value, scope), scope);
        break;
      case 'AssignBlock': {
        const text = this.captured(node.body, new Scope(scope));
        const { filter } = node;
        const value = filter === undefined ? text : this.evaluator.filtered(filter, scope, text);
        this.#assign(node.target, value, scope);
        break;
      }
      case 'Load': {
        const text = this.captured(node.body, new Scope(scope));
        this.#assign(node.target, loadData(node.format, text), scope);
        break;
      }
      case 'With': {
        const inner = new Scope(scope);
        const values = node.pairs.map(({ value }) => this.evaluator.value(value, scope));
        node.pairs.forEach(({ target }, at) => this.#assign(target, values[at], inner));
        this.body(node.body, inner, out);
        break;
      }
      case 'Macro':
        scope.names.set(node.name, this.#macro(node.name, node, scope));
        break;
      case 'CallBlock': {
        const { positional, named } = this.evaluator.args(node.call.args, scope);
        const caller = this.#macro(undefined, node, scope);
        const args = { positional, named: new Map(named).set('caller', caller) };
        const target = this.evaluator.value(node.call.target, scope);
        out.write(printed(this.evaluator.call(target, args)));
        break;
      }
      case 'FilterBlock': {
        const text = this.captured(node.body, new Scope(scope));
        out.write(printed(this.evaluator.filtered(node.filter, scope, text)));
        break;
      }
      default:
        this.#other(node, scope, out);
    }
  }

  #macro(
    name: string | undefined,
    node: Statement & { kind: 'Macro' | 'CallBlock' },
    scope: Scope,
  ): PyObject {
    const { parameters, body } = node;
    return makeMacro({ name, parameters, body, scope, executor: this });
  }

  #assign(target: Target, value: unknown, scope: Scope): void {
    if (target.kind === 'Name') scope.names.set(target.value, value);
    else if (target.kind === 'NamespaceRef') {
      const owner = this.evaluator.name(target.name, scope);
      if (!(owner instanceof PyObject) || owner.typeName !== 'Namespace') {
        throw new JinjaError('Runtime', 'cannot assign attribute on non-namespace object');
      }
      owner.attributes.set(target.attr, value);
    } else {
      const values = unpacked(value);
      const wanted = target.children.length;
      if (values.length > wanted) {
        throw valueError(`too many values to unpack (expected ${wanted})`);
      }
      if (values.length < wanted) {
        throw valueError(`not enough values to unpack (expected ${wanted}, got ${values.length})`);
      }
      target.children.forEach((child, at) => this.#assign(child, values[at], scope));
    }
  }

  #loop(
    node: Statement & { kind: 'Loop' },
    scope: Scope,
    out: Output,
    items: unknown,
    depth: number,
  ): void {
    let list = iterate(items);
    const { test } = node;
    if (test !== undefined) {
      list = list.filter((item) => {
        const inner = new Scope(scope);
        this.#assign(node.target, item, inner);
        return truth(this.evaluator.value(test, inner));
      });
    }
    const again = (more: unknown): string =>
      this.#environment.deeper(() => {
        const inner = new Output(this.#environment);
        this.#loop(node, scope, inner, more, depth + 1);
        return inner.text();
      });
    let completed = false;
    const state = new LoopState(list, depth, node.recursive ? again : undefined);
    // Jinja iterates over the list itself, so items that the body appends are visited too.
    for (let at = 0; at < list.length; at += 1) {
      const inner = new Scope(scope);
      state.moveTo(at);
      inner.names.set('loop', state.object);
      this.#assign(node.target, list[at], inner);
      const signal = this.body(node.body, inner, out);
      if (signal === 'break') break;
      if (signal === undefined) completed = true;
    }
    // Jinja runs `else` if no round of the loop was completed, even after a `break`.
    if (!completed && node.otherwise !== undefined) {
      this.body(node.otherwise, new Scope(scope), out);
    }
  }

  #other(node: Statement, scope: Scope, out: Output): void {
    switch (node.kind) {
      case 'IncludeTemplate':
        this.#store.include(node, scope, out);
        break;
      case 'Import':
        scope.names.set(node.name, this.#store.module(node.template, node.withContext, scope));
        break;
      case 'ImportData': {
        const { template, name, withContext } = node.from;
        const module = this.#store.module(template, withContext, scope);
        scope.names.set(name, loadData(node.format, module.text()));
        break;
      }
      case 'FromImport': {
        const module = this.#store.module(node.template, node.withContext, scope);
        for (const { from, to } of node.names) {
          scope.names.set(to, this.#store.imported(module, from, node.template, scope));
        }
        break;
      }
      case 'Extends': {
        const name = str(this.evaluator.value(node.template, scope));
        this.#parent = this.#store.load(name);
        this.#parentName = name;
        break;
      }
      case 'Block':
        this.#block(node.name, 0, node.scoped ? scope : this.#root, out);
        break;
      default:
        throw new JinjaError('Syntax', `unknown statement ${node.kind}`);
    }
  }

  /** The output of a block that a template calls by `self`. */
  #ofSelf(name: string): string {
    const out = new Output(this.#environment);
    this.#environment.deeper(() => this.#block(name, 0, this.#root, out));
    return out.text();
  }

  #block(name: string, level: number, scope: Scope, out: Output): void {
    if (this.#parent !== undefined) return;
    const node = this.#blocks.get(name)?.[level];
    if (node === undefined) {
      throw new JinjaError('Undefined', `there is no parent block called ${repr(name)}.`);
    }
    if (node.required) throw new JinjaError('Runtime', `Required block ${repr(name)} not found`);
    const inner = new Scope(scope);
    const above = (): string => {
      const outer = new Output(this.#environment);
      this.#block(name, level + 1, scope, outer);
      return outer.text();
    };
    inner.names.set('super', new PyFunction('super', above));
    this.body(node.body, inner, out);
  }
}

function unpacked(value: unknown): readonly unknown[] {
  if (typeof value === 'object' || typeof value === 'string') return iterate(value);
  throw typeError(`cannot unpack non-iterable ${typeName(value)} object`);
}
