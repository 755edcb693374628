import { PyObject } from '../python/values.ts';

/** An expression as an argument of a function, to evaluate for each value. */
export class Expression extends PyObject {
  /** Evaluates it on a value. */
  readonly of: (value: unknown) => unknown;

  constructor(of: (value: unknown) => unknown) {
    super('_Expression', new Map(), () => '<jmespath.visitor._Expression object>');
    this.of = of;
  }
}

/** Counts work in steps of the render. @throws JinjaError (Limit) */
export type Step = (count: number) => void;
