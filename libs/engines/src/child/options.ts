import { readFile } from 'node:fs/promises';
import type { Plain } from '../engine.ts';
import { isList, isObject } from '../engine-list.ts';

/** An invalid option of an engine; the engine is not started again. */
export class OptionError extends Error {
  override readonly name = 'OptionError';
}

const FILE_MAX_BYTES = 4 * 1024 * 1024;

/** Reads the options of an engine. Each method throws OptionError for a value of another type. */
export class Options {
  readonly #given: { readonly [key: string]: Plain };

  constructor(given: { readonly [key: string]: Plain }) {
    this.#given = given;
  }

  /** A text; without a `preset` it is required. */
  text(name: string, preset?: string): string {
    const value = this.#value(name);
    if (value === undefined && preset !== undefined) return preset;
    if (typeof value === 'number') return String(value);
    if (typeof value !== 'string' || value === '') throw wrong(name, 'a text');
    return value;
  }

  maybeText(name: string): string | undefined {
    return this.#value(name) === undefined ? undefined : this.text(name);
  }

  number(name: string, preset: number, bounds: { readonly min: number; readonly max: number }) {
    const value = this.#value(name);
    const number = value === undefined ? preset : Number(value);
    const fits = Number.isFinite(number) && number >= bounds.min && number <= bounds.max;
    if (!fits) throw wrong(name, `a number from ${bounds.min} to ${bounds.max}`);
    return number;
  }

  port(name: string, preset: number): number {
    return Math.trunc(this.number(name, preset, { min: 0, max: 65_535 }));
  }

  flag(name: string, preset: boolean): boolean {
    const value = this.#value(name);
    if (value === undefined) return preset;
    if (typeof value !== 'boolean') throw wrong(name, 'true or false');
    return value;
  }

  /** One of some texts. */
  oneOf<const T extends string>(name: string, words: readonly T[], preset: T): T {
    const value = this.text(name, preset).toLowerCase();
    const found = words.find((word) => word.toLowerCase() === value);
    if (found === undefined) throw wrong(name, `one of ${words.join(', ')}`);
    return found;
  }

  /** A list of texts; one text counts as a list. Undefined if it is absent or empty. */
  texts(name: string): readonly string[] | undefined {
    const value = this.#value(name);
    if (value === undefined) return undefined;
    const list = isList(value) ? value : [value];
    const texts = list.filter((one) => typeof one === 'string');
    if (texts.length !== list.length) throw wrong(name, 'a list of texts');
    return texts.length === 0 ? undefined : texts;
  }

  /** A map of texts. */
  textMap(name: string): ReadonlyMap<string, string> {
    const value = this.#value(name);
    if (value === undefined) return new Map();
    if (!isObject(value)) throw wrong(name, 'a map of texts');
    return new Map(
      Object.entries(value).map(([key, one]) => {
        if (typeof one !== 'string' && typeof one !== 'number') throw wrong(name, 'a map of texts');
        return [key, String(one)];
      }),
    );
  }

  map(name: string): Options | undefined {
    const value = this.#value(name);
    if (value === undefined) return undefined;
    if (!isObject(value)) throw wrong(name, 'a map');
    return new Options(value);
  }

  /** Reads the file that an option names. */
  async file(name: string): Promise<Buffer | undefined> {
    const path = this.maybeText(name);
    if (path === undefined) return undefined;
    try {
      const bytes = await readFile(path);
      if (bytes.length <= FILE_MAX_BYTES) return bytes;
    } catch (error) {
      throw new OptionError(`${name} can not be read: ${(error as Error).message}`);
    }
    throw wrong(name, `a file of up to ${FILE_MAX_BYTES} bytes`);
  }

  #value(name: string): Plain | undefined {
    const value = Object.hasOwn(this.#given, name) ? this.#given[name] : undefined;
    return value === null ? undefined : value;
  }
}

function wrong(name: string, expected: string): OptionError {
  return new OptionError(`option ${name} must be ${expected}`);
}
