import { writeSync } from 'node:fs';
import { relative } from 'node:path';

/**
 * A reporter of vitest for a run that is ended from outside: on SIGTERM it prints what had failed
 * and which files and tests had begun and not ended. Vitest's own reports come after the last test
 * only, so that a run which hangs would leave no word of where.
 */
export default class UnendedTests {
  /** File → its tests that have begun and not ended. */
  #running = new Map();
  #failed = [];

  onInit() {
    let told = false;
    // A second one, passed on by who started this, does not cut the list short.
    process.on('SIGTERM', () => {
      if (told) return;
      told = true;
      const lines = [...this.#failed.map((name) => `FAILED ${name}`)];
      for (const [file, tests] of this.#running) {
        lines.push(`NOT ENDED ${file}${tests.size === 0 ? ' (no test of it runs)' : ''}`);
        for (const name of tests) lines.push(`NOT ENDED ${file} > ${name}`);
      }
      // Stdout is a pipe in CI: an asynchronous write would be lost with the process.
      writeSync(1, `${lines.join('\n')}\n`);
      process.exit(143);
    });
  }

  onTestModuleStart(module) {
    this.#running.set(fileOf(module), new Set());
  }

  onTestCaseReady(test) {
    this.#running.get(fileOf(test.module))?.add(test.fullName);
  }

  onTestCaseResult(test) {
    this.#running.get(fileOf(test.module))?.delete(test.fullName);
    if (test.result().state !== 'failed') return;
    this.#failed.push(`${fileOf(test.module)} > ${test.fullName}`);
  }

  onTestModuleEnd(module) {
    this.#running.delete(fileOf(module));
  }
}

function fileOf(module) {
  return relative(process.cwd(), module.moduleId);
}
