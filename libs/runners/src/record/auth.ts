import { RefusedError } from '@brine/client';
import { mapOf } from '@brine/wire';
import { pyStr } from '@brine/wire/text';
import type { RunnerFunction } from '../function.ts';

const makeToken: RunnerFunction = {
  name: 'auth.mk_token',
  parameters: [],
  open: 'kwargs',
  doc: 'Makes an eauth token: auth.mk_token username=… password=… eauth=… [token_expire=…].',
  async run({ kwargs }, { client }) {
    try {
      return { value: await client.command(new Map([...kwargs, ['cmd', 'mk_token']])) };
    } catch (error) {
      // The master then answers an empty text.
      if (error instanceof RefusedError && error.message === '') return { value: '' };
      throw error;
    }
  },
};

const deleteToken: RunnerFunction = {
  name: 'auth.del_token',
  parameters: [['token']],
  doc: 'Revokes an eauth token.',
  async run({ named }, { client }) {
    const args = mapOf({ token: pyStr(named.get('token') ?? '') });
    const reply = await client.command(mapOf({ cmd: 'brine_query', query: 'del_token', args }));
    return { value: reply.get('value') ?? null };
  },
};

/** The functions of the auth runner (salt/runners/auth.py). */
export const AUTH_RUNNER: readonly RunnerFunction[] = [deleteToken, makeToken];
