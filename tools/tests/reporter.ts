import { appendFileSync } from 'node:fs';
import { relative } from 'node:path';
import type { Reporter, SerializedError, TestCase, TestModule } from 'vitest/node';
import type { Failure, FileOutcome, StrayError } from './outcome.ts';

/** File to append a line to for each ended test file: an aborted run keeps its results. */
const PATH = 'BRINE_TEST_OUTCOME';

/** A reporter of vitest that writes what `outcome.ts` reads. */
export default class OutcomeReporter implements Reporter {
  readonly #begun = new Map<string, number>();

  onTestModuleStart(module: TestModule): void {
    this.#begun.set(module.id, Date.now());
  }

  onTestModuleEnd(module: TestModule): void {
    const tests = [...module.children.allTests()];
    const count = (state: string): number =>
      tests.filter((test) => test.result().state === state).length;
    const end = Date.now();
    append({
      file: pathOf(module.moduleId),
      layer: module.project.name,
      begin: this.#begun.get(module.id) ?? end,
      end,
      cpuMs: (module.meta() as { readonly cpuMs?: number }).cpuMs ?? 0,
      passed: count('passed'),
      skipped: count('skipped'),
      failures: failuresOf(module, tests),
    });
  }

  onTestRunEnd(_: readonly TestModule[], strays: readonly SerializedError[]): void {
    for (const error of strays) {
      const path: unknown = error['VITEST_TEST_PATH'];
      append({
        stray: error.stack ?? error.message,
        file: typeof path === 'string' ? pathOf(path) : undefined,
      });
    }
  }
}

function append(line: FileOutcome | StrayError): void {
  const path = process.env[PATH];
  if (path === undefined) throw new Error(`${PATH} is not set`);
  appendFileSync(path, `${JSON.stringify(line)}\n`);
}

function failuresOf(module: TestModule, tests: readonly TestCase[]): readonly Failure[] {
  const failed = tests.flatMap((test) => {
    const { state, errors } = test.result();
    return state === 'failed' ? [failureOf(test.fullName, errors ?? [])] : [];
  });
  if (module.state() !== 'failed' || failed.length > 0) return failed;
  // Errors of hooks, or of files that do not load.
  const suites = [...module.children.allSuites()].flatMap((suite) => suite.errors());
  return [failureOf('', [...module.errors(), ...suites])];
}

function failureOf(test: string, errors: readonly SerializedError[]): Failure {
  const [error] = errors;
  if (error === undefined) return { test, message: 'failed without an error', at: '' };
  const diff: unknown = error['diff'];
  const message = typeof diff === 'string' ? `${error.message}\n${diff}` : error.message;
  const frames = error.stacks?.filter(({ file }) => !file.includes('node_modules')) ?? [];
  const [frame] = frames;
  const at = frame === undefined ? '' : `${pathOf(frame.file)}:${frame.line}`;
  return { test, message, at };
}

function pathOf(path: string): string {
  return relative(process.cwd(), path);
}
