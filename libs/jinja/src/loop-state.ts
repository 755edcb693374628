import { typeError } from './errors.ts';
import { equal } from './python/equality.ts';
import { PyFunction, PyObject, Undefined } from './python/values.ts';

const NO_PREVIOUS = new Undefined('there is no previous item');
const NO_NEXT = new Undefined('there is no next item');

/** The `loop` of a `for` block. */
export class LoopState {
  readonly object: PyObject;
  readonly #list: readonly unknown[];
  #at = 0;
  #last: unknown;

  /** @param again renders the loop over other items, if it is recursive */
  constructor(
    list: readonly unknown[],
    depth: number,
    again: ((items: unknown) => string) | undefined,
  ) {
    this.#list = list;
    const attributes = new Map<string, unknown>([
      ['depth', depth + 1],
      ['depth0', depth],
      ['cycle', new PyFunction('cycle', ({ positional }) => this.#cycle(positional))],
      ['changed', new PyFunction('changed', ({ positional }) => this.#changed(positional))],
    ]);
    this.object = new PyObject(
      'LoopContext',
      attributes,
      () => `<LoopContext ${this.#at + 1}/${this.#list.length}>`,
      (args) => {
        if (again !== undefined) return again(args.positional[0]);
        throw typeError("The loop must have the 'recursive' marker to be called recursively.");
      },
    );
  }

  /** Moves to an item. */
  moveTo(at: number): void {
    this.#at = at;
    const { length } = this.#list;
    const { attributes } = this.object;
    attributes.set('index', at + 1).set('index0', at);
    attributes.set('revindex', length - at).set('revindex0', length - at - 1);
    attributes
      .set('first', at === 0)
      .set('last', at === length - 1)
      .set('length', length);
    const [before, after] = [at > 0, at < length - 1];
    attributes.set('previtem', before ? this.#list[at - 1] : NO_PREVIOUS);
    attributes.set('nextitem', after ? this.#list[at + 1] : NO_NEXT);
  }

  #cycle(values: readonly unknown[]): unknown {
    if (values.length === 0) throw typeError('no items for cycling given');
    return values[this.#at % values.length];
  }

  #changed(values: readonly unknown[]): boolean {
    if (this.#last !== undefined && equal(this.#last, values)) return false;
    this.#last = values;
    return true;
  }
}
