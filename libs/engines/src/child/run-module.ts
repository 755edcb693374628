import { pathToFileURL } from 'node:url';
import { errorText } from '@brine/tasks';
import type { EngineStart } from '../engine.ts';
import type { BuiltinName } from '../engine-list.ts';
import type { FromEngine, ToEngine } from '../protocol.ts';
import type { EngineLink } from './engine-link.ts';
import { OptionError } from './options.ts';

type Ending = Extract<FromEngine, { type: 'failed' | 'refused' }>;

/** Loaded only in the process that runs it. */
const BUILTINS: Readonly<Record<BuiltinName, () => Promise<{ readonly start: EngineStart }>>> = {
  webhook: () => import('../builtin/webhook.ts'),
  http_logstash: () => import('../builtin/http-logstash.ts'),
  logstash: () => import('../builtin/logstash.ts'),
  fluent: () => import('../builtin/fluent.ts'),
  stalekey: () => import('../builtin/stalekey.ts'),
  script: () => import('../builtin/script.ts'),
  test: () => import('../builtin/log-events.ts'),
  http: () => import('../builtin/http.ts'),
  nats: () => import('../builtin/nats.ts'),
  kafka: () => import('../builtin/kafka.ts'),
};

/** Runs the module of an engine; resolves with the reason of its end, undefined if it returned. */
export async function runModule(
  { module, options }: Extract<ToEngine, { type: 'start' }>,
  link: EngineLink,
): Promise<Ending | undefined> {
  let start: EngineStart;
  try {
    if (module.kind === 'builtin') ({ start } = await BUILTINS[module.name]());
    else if (module.kind === 'file') start = await ofFile(module.path);
    else return { type: 'refused', text: 'an engine in Python has a process of its own' };
  } catch (error) {
    const text = `its module could not be loaded: ${errorText(error)}`;
    return { type: isMissing(error) ? 'refused' : 'failed', text };
  }
  link.running();
  try {
    await start(link, options);
    return undefined;
  } catch (error) {
    return { type: error instanceof OptionError ? 'refused' : 'failed', text: errorText(error) };
  }
}

async function ofFile(path: string): Promise<EngineStart> {
  const module = (await import(pathToFileURL(path).href)) as Readonly<Record<string, unknown>>;
  const { start } = module;
  if (typeof start !== 'function') throw new OptionError(`${path} exports no function start`);
  return start as EngineStart;
}

/** The file is missing or no engine, which a restart does not change. */
function isMissing(error: unknown): boolean {
  if (error instanceof OptionError) return true;
  return error instanceof Error && 'code' in error && error.code === 'ERR_MODULE_NOT_FOUND';
}
