import { describe, expect, it } from 'vitest';
import { stepsOf, stepsOfResult } from './run-steps.ts';

const WEB = 'salt_|-web is up_|-web is up_|-state';
const KEYS = 'salt_|-keys_|-key.list_all_|-wheel';

describe('stepsOf', () => {
  it('names each step by its id, and what it leads to', () => {
    const steps = stepsOf([
      { step: WEB, state: 'running', jid: '20261130132703536139' },
      { step: KEYS, state: 'ended', result: true },
    ]);
    expect(steps.map(({ name, fun, leadsTo }) => [name, fun, leadsTo])).toEqual([
      ['web is up', 'salt.state', 'job'],
      ['keys', 'salt.wheel', 'run'],
    ]);
  });

  it('shows a tag of another form as it is', () => {
    expect(stepsOf([{ step: 'odd', state: 'running' }])).toMatchObject([{ name: 'odd', fun: '' }]);
  });
});

describe('stepsOfResult', () => {
  it('has the steps in the order in which they ran', () => {
    const states = {
      [KEYS]: { result: false, comment: 'no', __run_num__: 1 },
      [WEB]: { result: null, __run_num__: 0, __jid__: '20261130132703536139' },
    };
    expect(stepsOfResult({ data: { m_master: states }, retcode: 1 })).toEqual([
      {
        step: WEB,
        name: 'web is up',
        fun: 'salt.state',
        leadsTo: 'job',
        state: 'ended',
        result: null,
        jid: '20261130132703536139',
      },
      {
        step: KEYS,
        name: 'keys',
        fun: 'salt.wheel',
        leadsTo: 'run',
        state: 'ended',
        result: false,
        comment: 'no',
      },
    ]);
  });

  it.each([
    undefined,
    null,
    'text',
    [],
    {},
    { data: {} },
    { data: { m: [] } },
    { data: { m: { a: 1 } } },
  ])('has none in %j', (result) => {
    expect(stepsOfResult(result)).toBeUndefined();
  });
});
