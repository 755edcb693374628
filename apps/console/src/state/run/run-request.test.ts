import { describe, expect, it } from 'vitest';
import { NO_COMMAND, type RunCommand } from './run-command.ts';
import { requestOf } from './run-request.ts';

const JOB: RunCommand = { ...NO_COMMAND, tgt: '*', fun: 'test.ping' };

describe('requestOf', () => {
  it('reads arguments as the command line does', () => {
    expect(requestOf({ ...JOB, arg: ['nginx', '3', 'test=True', 'pillar={a: [1, b]}'] })).toEqual({
      kind: 'request',
      path: '/jobs',
      body: {
        tgt: '*',
        tgtType: 'glob',
        fun: 'test.ping',
        arg: ['nginx', 3],
        kwarg: { test: true, pillar: { a: [1, 'b'] } },
      },
    });
  });

  it('sends a list as its ids', () => {
    expect(requestOf({ ...JOB, tgt: 'a, b c,', tgtType: 'list' })).toMatchObject({
      body: { tgt: ['a', 'b', 'c'], tgtType: 'list' },
    });
  });

  it('sends a batch without what is not for batches', () => {
    const batch = { size: '10%', canary: '5', durable: '60', deadline: '90', wait: '1.5' };
    expect(requestOf({ ...JOB, ...batch })).toMatchObject({
      body: { deadline: 90, batch: { size: '10%', canary: '5', failhard: false, wait: 1.5 } },
    });
    expect(requestOf({ ...JOB, ...batch })).not.toHaveProperty('body.durable');
  });

  it('sends runners and wheels to the master', () => {
    expect(requestOf({ ...JOB, of: 'wheel', fun: 'key.list_all' })).toEqual({
      kind: 'request',
      path: '/runs',
      body: { client: 'wheel', fun: 'key.list_all', arg: [], kwarg: {} },
    });
  });

  it.each<[Partial<RunCommand>, string]>([
    [{ fun: '' }, 'Choose a function'],
    [{ tgt: ' ' }, 'Choose minions'],
    [{ tgt: ',', tgtType: 'list' }, 'Choose minions'],
    [{ of: 'runner', fun: 'ping' }, 'A function is a module, a point and a name'],
    [{ arg: ['a', '[b'] }, 'Argument 2: These brackets are no list and no map of YAML'],
    [{ size: 'some' }, 'Size: a number or a share, as 10 or 25%'],
    [{ size: '1', halt: '-1' }, 'Halt: a number or a share, as 10 or 25%'],
    [{ deadline: 'soon' }, 'The deadline is a number of seconds'],
    [{ durable: '2d' }, 'Durable is a number of seconds'],
  ])('names what is wrong with %j', (part, text) => {
    expect(requestOf({ ...JOB, ...part })).toEqual({ kind: 'problem', text });
  });
});
