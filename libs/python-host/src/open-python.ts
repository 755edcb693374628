import type { LineLevel } from '@brine/tasks';
import { PythonHost } from './host.ts';

/** The options of the master for modules in Python. */
export interface PythonOptions {
  readonly confFile: string;
  readonly brine: {
    /** Empty: no modules run. */
    readonly python: string;
    /** In bytes. */
    readonly pythonMemory: number;
    /** In seconds. */
    readonly pythonTimeout: number;
  };
}

/** Opens modules in Python, if `brine.python` names an interpreter. Starts no process yet. */
export function openPython(
  { confFile, brine }: PythonOptions,
  log: (level: LineLevel, text: string) => void,
): PythonHost | undefined {
  const { python, pythonMemory, pythonTimeout } = brine;
  if (python === '') return undefined;
  const settings = {
    python,
    configFile: confFile,
    memoryBytes: pythonMemory,
    runnerMs: pythonTimeout * 1000,
  };
  return new PythonHost(settings, log);
}
