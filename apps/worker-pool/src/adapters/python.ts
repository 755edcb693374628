import { PythonHost } from '@brine/python-host';
import type { ServiceContext } from '@brine/service';

/** Modules in Python, where `brine.python` names an interpreter. Nothing is started yet. */
export function openPython({
  options,
  log,
}: Pick<ServiceContext, 'options' | 'log'>): PythonHost | undefined {
  const { python, pythonMemory, pythonTimeout } = options.brine;
  if (python === '') return undefined;
  const settings = {
    python,
    configFile: options.confFile,
    memoryBytes: pythonMemory,
    runnerMs: pythonTimeout * 1000,
  };
  return new PythonHost(settings, (level, text) => log[level](text));
}
