import { openPython as open, type PythonHost } from '@brine/python-host';
import type { ServiceContext } from '@brine/service';

/** Modules in Python, where `brine.python` names an interpreter. Nothing is started yet. */
export function openPython({
  options,
  log,
}: Pick<ServiceContext, 'options' | 'log'>): PythonHost | undefined {
  return open(options, (level, text) => log[level](text));
}
