import { JinjaError } from './errors.ts';
import type { CallArguments, Dict } from './python/values.ts';
import type { Whitespace } from './syntax/lexer.ts';
import type { Template } from './syntax/parser.ts';

/** The part of a render that its filters and tests can use. */
export interface FilterHost {
  /** Calls another filter. @throws JinjaError (Syntax) for an unknown name */
  filter(name: string, value: unknown, args: CallArguments): unknown;
  /** Calls another test. @throws JinjaError (Syntax) for an unknown name */
  test(name: string, value: unknown, args: CallArguments): boolean;
  /** Everything that does not depend on the arguments alone. */
  readonly outside: Outside;
  /** Counts work as this number of nodes of the template. @throws JinjaError (Limit) */
  step(count: number): void;
}

/** A filter: the value before the `|`, then the arguments. */
export type Filter = (value: unknown, args: CallArguments, host: FilterHost) => unknown;

/** A test: the value before the `is`, then the arguments. */
export type Test = (value: unknown, args: CallArguments, host: FilterHost) => boolean;

/** Clock, random numbers and files, passed in so that this library stays pure. */
export interface Outside {
  /** Milliseconds since 1970. */
  readonly now: () => number;
  /** 0 up to 1. */
  readonly random: () => number;
  /** The text of a template; undefined for an unknown name. */
  readonly load: (name: string) => string | undefined;
  /** Functions of the host that are filters in Salt (`which`, `file_hashsum`, …). */
  readonly filters?: ReadonlyMap<string, Filter>;
}

/** The limits of one render. */
export interface RenderLimits {
  /** Nodes of the template evaluated. */
  readonly steps: number;
  /** Characters of output, captured ones included. */
  readonly output: number;
  /** Depth of macros, includes and imports. */
  readonly depth: number;
}

/** Salt's own trees stay far below these; a runaway loop reaches them within seconds. */
export const DEFAULT_LIMITS: RenderLimits = { steps: 20_000_000, output: 67_108_864, depth: 100 };

/** The state that the templates of one render share. */
export class Environment {
  readonly globals: Map<string, unknown>;
  readonly whitespace: Whitespace;
  readonly allowUndefined: boolean;
  readonly outside: Outside;
  readonly modules = new Map<string, unknown>();
  readonly templates = new Map<string, Template>();
  readonly #limits: RenderLimits;
  #steps = 0;
  #output = 0;
  #depth = 0;

  constructor(
    globals: Map<string, unknown>,
    whitespace: Whitespace,
    outside: Outside,
    limits: RenderLimits,
    allowUndefined: boolean,
  ) {
    this.globals = globals;
    this.whitespace = whitespace;
    this.outside = outside;
    this.#limits = limits;
    this.allowUndefined = allowUndefined;
  }

  /** Counts steps. @throws JinjaError (Limit) */
  step(count = 1): void {
    this.#steps += count;
    if (this.#steps > this.#limits.steps)
      throw new JinjaError('Limit', 'the template runs too long');
  }

  /** Counts output. @throws JinjaError (Limit) */
  wrote(length: number): void {
    this.#output += length;
    if (this.#output > this.#limits.output) {
      throw new JinjaError('Limit', 'the template writes too much');
    }
  }

  /** Runs a function one level deeper. @throws JinjaError (Limit) */
  deeper<T>(run: () => T): T {
    if (this.#depth >= this.#limits.depth) {
      throw new JinjaError('Limit', 'maximum recursion depth exceeded');
    }
    this.#depth += 1;
    try {
      return run();
    } finally {
      this.#depth -= 1;
    }
  }
}

/** Names of one block and of the blocks around it. */
export class Scope {
  readonly names: Dict = new Map();
  readonly parent: Scope | undefined;

  constructor(parent?: Scope) {
    this.parent = parent;
  }

  /** The value of a name; undefined if no block has it. */
  find(name: string): unknown {
    if (this.names.has(name)) return this.names.get(name);
    return this.parent?.find(name);
  }

  /** All names that are visible here; the nearest of equal names counts. */
  all(): Map<string, unknown> {
    const seen = this.parent?.all() ?? new Map<string, unknown>();
    for (const [name, value] of this.names) seen.set(String(name), value);
    return seen;
  }
}

/** Collects what a template writes. */
export class Output {
  readonly #parts: string[] = [];
  readonly #environment: Environment;

  constructor(environment: Environment) {
    this.#environment = environment;
  }

  /** Adds text. @throws JinjaError (Limit) */
  write(text: string): void {
    this.#environment.wrote(text.length);
    this.#parts.push(text);
  }

  /** Everything written so far. */
  text(): string {
    return this.#parts.join('');
  }
}
