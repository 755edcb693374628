import { PyObject } from '../python/values.ts';

/** An expression that a function gets, to evaluate it for each value. */
export class Expression extends PyObject {
  /** What it gives for a value. */
  readonly of: (value: unknown) => unknown;

  constructor(of: (value: unknown) => unknown) {
    super('_Expression', new Map(), () => '<jmespath.visitor._Expression object>');
    this.of = of;
  }
}

/** Counts work in steps of the render. @throws JinjaError (Limit) */
export type Step = (count: number) => void;
