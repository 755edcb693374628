import { ReturnerError } from './returner.ts';

/** The options in the master's files, by name. */
interface WrittenOptions {
  readonly written: Readonly<Record<string, unknown>>;
}

/** Options of one of Salt's returners, as the master's file has them. */
export class ReturnerOptions {
  readonly #written: WrittenOptions['written'];
  readonly #name: string;

  /**
   * @param name `returner.pgjsonb`: its options are below this key, or have it as a prefix with a
   * dot
   */
  constructor({ written }: WrittenOptions, name: string) {
    this.#written = written;
    this.#name = name;
  }

  /** Undefined if the option is not set (Salt: salt/returners/__init__.py `_fetch_option`). */
  value(option: string): unknown {
    const map = valueAt(this.#written, this.#name);
    const inMap = isRecord(map) ? valueAt(map, option) : undefined;
    const found = inMap ?? valueAt(this.#written, `${this.#name}.${option}`);
    return found === null || found === '' ? undefined : found;
  }

  /** A text, or a number as its text. @throws ReturnerError `missing` for anything else */
  text(option: string): string | undefined {
    const value = this.value(option);
    if (value === undefined || typeof value === 'string') return value;
    if (typeof value === 'number') return String(value);
    throw this.#misfit(option, 'a text');
  }

  /** @throws ReturnerError `missing` for a value that is no integer */
  integer(option: string, preset: number): number {
    const text = this.text(option);
    if (text === undefined) return preset;
    if (/^\d{1,9}$/.test(text)) return Number(text);
    throw this.#misfit(option, 'a whole number');
  }

  /** @throws ReturnerError `missing` for a value that is no boolean */
  flag(option: string, preset: boolean): boolean {
    const value = this.value(option);
    if (value === undefined || typeof value === 'boolean') return value ?? preset;
    throw this.#misfit(option, 'true or false');
  }

  /** A list of texts; a single text is a list of one. @throws ReturnerError `missing` */
  texts(option: string): readonly string[] {
    const value = this.value(option);
    if (value === undefined) return [];
    const items: readonly unknown[] = Array.isArray(value) ? value : [value];
    return items.map((item) => {
      if (typeof item !== 'string') throw this.#misfit(option, 'a list of texts');
      return item;
    });
  }

  #misfit(option: string, expected: string): ReturnerError {
    return new ReturnerError('missing', `option '${this.#name}.${option}' must be ${expected}`);
  }
}

function valueAt(values: Readonly<Record<string, unknown>>, name: string): unknown {
  return Object.hasOwn(values, name) ? values[name] : undefined;
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
