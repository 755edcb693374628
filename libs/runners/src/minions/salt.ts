import { type SaltValue, textOf } from '@brine/wire';
import { pyStr } from '@brine/wire/text';
import type { RunnerFunction } from '../function.ts';
import { runOnMinions } from './run-on-minions.ts';

const execute: RunnerFunction = {
  name: 'salt.execute',
  parameters: [],
  open: 'any',
  doc: 'Runs a function on minions: salt.execute <target> <function> [arguments].',
  async run({ args, kwargs }, { client }) {
    const [tgt, fun, ...rest] = args;
    const words = rest.length === 1 && Array.isArray(rest[0]) ? rest[0] : rest;
    const returns = await runOnMinions(client, {
      tgt: pyStr(tgt ?? ''),
      tgtType: textOf(kwargs, 'tgt_type') ?? 'glob',
      fun: pyStr(fun ?? ''),
      arg: words,
    });
    const shown = new Map<SaltValue, SaltValue>();
    for (const item of returns ?? []) if (item.kind === 'return') shown.set(item.id, item.ret);
    return { value: shown };
  },
};

/** The functions of the salt runner. */
export const SALT_RUNNER: readonly RunnerFunction[] = [execute];
