/**
 * Why a call of a module in Python failed.
 * - `raised`: the module raised.
 * - `unknown`: Salt has no such module.
 * - `late`: it ran too long, and was killed.
 * - `ended`: its process ended.
 * - `start`: the interpreter or its Salt does not start.
 * - `busy`: too many calls wait.
 * - `size`: the request or the answer is too large, or is no message.
 */
export type PythonFailure = 'raised' | 'unknown' | 'late' | 'ended' | 'start' | 'busy' | 'size';

/** A call of a module in Python that failed. */
export class PythonCallError extends Error {
  override readonly name = 'PythonCallError';
  readonly code: PythonFailure;
  /** The class of the Python exception, if a module raised one. */
  readonly python: string | undefined;

  constructor(code: PythonFailure, text: string, python?: string) {
    super(text);
    this.code = code;
    this.python = python;
  }
}
