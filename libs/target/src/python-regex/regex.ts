import { type Work, WorkError } from '../work.ts';
import type { Expression } from './ast.ts';
import type { Place } from './compile.ts';
import { expressionOf, machineOf, run } from './compile.ts';
import type { Machine } from './machine.ts';
import { parseTemplate } from './template.ts';

// The work of keeping a match and of starting the next search, and of keeping a piece of text.
const STEPS_PER_MATCH = 16;
const STEPS_PER_PIECE = 8;

/** Flags of `re.compile`; an expression may have more of its own. */
export interface RegexFlags {
  readonly ignoreCase?: boolean;
  readonly multiline?: boolean;
}

/** A match with its place and groups. */
export interface RegexMatch {
  readonly start: number;
  readonly end: number;
  /** The whole match, then each group; undefined for groups that took no part. */
  readonly groups: readonly (string | undefined)[];
}

/** A Python expression that returns its groups; every step is taken from a work. */
export class PythonRegex {
  readonly #expression: Expression;
  readonly #machine: Machine;

  /** @throws RegexError for an invalid or unsupported expression; WorkError. */
  constructor(pattern: string, flags: RegexFlags, work: Work) {
    this.#expression = expressionOf(pattern, flags, work);
    this.#machine = machineOf(this.#expression, false, work);
  }

  /** Python's `re.match`: from the start of the text. @throws WorkError. */
  match(text: string, work: Work): RegexMatch | undefined {
    return this.#find(text, { from: 0, anchored: true, advance: false }, work);
  }

  /** Python's `re.search`. @throws WorkError. */
  search(text: string, work: Work): RegexMatch | undefined {
    return this.#find(text, { from: 0, anchored: false, advance: false }, work);
  }

  /**
   * Python's `re.sub`: `template` may have `\1`, `\g<name>` and escapes.
   * @throws RegexError for a template that Python refuses; WorkError, also for a text of more
   * than `longest` characters.
   */
  replace(text: string, template: string, work: Work, longest: number): string {
    const parts = parseTemplate(template, this.#expression);
    const out: string[] = [];
    let length = 0;
    const put = (piece: string): void => {
      length += piece.length;
      if (length > longest) throw new WorkError('the text grew too long');
      out.push(piece);
    };
    let from = 0;
    let advance = false;
    for (;;) {
      if (!run(this.#machine, text, { from, anchored: false, advance }, work)) break;
      work.spend(STEPS_PER_MATCH + STEPS_PER_PIECE * parts.length);
      const [start, end] = this.#placeOf(0);
      put(text.slice(from, start));
      for (const part of parts) {
        put(typeof part === 'string' ? part : (this.#group(text, part) ?? ''));
      }
      from = end;
      advance = start === end;
    }
    put(text.slice(from));
    return out.join('');
  }

  #find(text: string, place: Place, work: Work): RegexMatch | undefined {
    if (!run(this.#machine, text, place, work)) return undefined;
    const count = this.#expression.groups + 1;
    work.spend(STEPS_PER_MATCH + STEPS_PER_PIECE * count);
    const groups = Array.from({ length: count }, (_, group) => this.#group(text, group));
    const [start, end] = this.#placeOf(0);
    return { start, end, groups };
  }

  #placeOf(group: number): readonly [start: number, end: number] {
    const { registers } = this.#machine;
    return [registers[2 * group] as number, registers[2 * group + 1] as number];
  }

  #group(text: string, group: number): string | undefined {
    const [start, end] = this.#placeOf(group);
    return start < 0 || end < start ? undefined : text.slice(start, end);
  }
}
