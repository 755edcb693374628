import { mapOf, type SaltValue } from '@brine/wire';
import { loadYaml, YamlWork } from '@brine/yaml';
import { describe, expect, test } from 'vitest';
import { MemoryPlans } from '../test/memory-plans.ts';
import { type CallToMake, type FailedReaction, OutageError, type ReactPorts } from './ports.ts';
import { DELIVERIES_MAX, react, RETRY_MS } from './react.ts';

const EVENT = {
  id: 'event/EVENTS/7.0',
  tag: 'my/event',
  data: mapOf({ id: 'web1' }),
  deliveries: 1,
};

/** A reactor in memory: files by path, and everything that it did. */
function scene(files: Readonly<Record<string, string | Error>>, more: Partial<ReactPorts> = {}) {
  const calls: CallToMake[] = [];
  const failures: (FailedReaction & { readonly kind: string })[] = [];
  const pauses: number[] = [];
  const rendered: SaltValue[] = [];
  const plans = new MemoryPlans();
  let jid = 0;
  const ports: ReactPorts = {
    filesFor: () => Object.keys(files),
    find: async (item) => (files[item] === undefined ? [] : [{ path: item }]),
    render: async ({ path }, names) => {
      rendered.push(names);
      const file = files[path];
      if (file instanceof Error) throw file;
      return loadYaml(file ?? '', YamlWork.ofFile());
    },
    signatureOf: async () => ({ parameters: [] }),
    plans,
    newJid: async () => `2026112612000000000${(jid += 1)}`,
    call: async (made) => void calls.push(made),
    failed: async (failed, kind) => void failures.push({ ...failed, kind }),
    note: () => undefined,
    pause: async (ms) => {
      pauses.push(ms);
      return true;
    },
    ...more,
  };
  const funs = (): string[] => calls.map(({ call }) => call.fun);
  return { calls, failures, pauses, rendered, plans, ports, funs };
}

const ping = (id: string, more = ''): string => `${id}:\n  local.test.ping:\n    - tgt: a\n${more}`;

test('calls are made in order, each with a key and a job id of its own', async () => {
  const made = scene({ '/a.sls': ping('b') + ping('a') });
  expect(await react(EVENT, made.ports)).toBe('over');
  expect(made.rendered).toEqual([mapOf({ tag: 'my/event', data: EVENT.data })]);
  expect(made.calls.map(({ call, key, jid, again }) => [call.id, key, jid, again])).toEqual([
    ['a', 'event/EVENTS/7.0/0', '20261126120000000001', false],
    ['b', 'event/EVENTS/7.0/1', '20261126120000000002', false],
  ]);
  expect(made.failures).toEqual([]);
});

test('the same event delivered again does nothing', async () => {
  const made = scene({ '/a.sls': ping('a') });
  await react(EVENT, made.ports);
  expect(await react({ ...EVENT, deliveries: 2 }, made.ports)).toBe('over');
  expect(made.calls).toHaveLength(1);
  expect(made.rendered).toHaveLength(1);
});

test('an event that is in the queue twice makes its calls once', async () => {
  const made = scene({ '/a.sls': ping('a') });
  await react(EVENT, made.ports);
  // The other message of the queue comes again later, and finds the end.
  expect(await react(EVENT, made.ports)).toBe('elsewhere');
  expect(await react({ ...EVENT, deliveries: 2 }, made.ports)).toBe('over');
  expect(made.calls).toHaveLength(1);
});

test('a worker that takes over makes what had not ended, under the same job ids', async () => {
  const made = scene({ '/a.sls': `${ping('a')}b:\n  runner.manage.up: []\n` });
  const died = new Promise<never>(() => undefined);
  const call = (one: CallToMake): Promise<void> =>
    one.call.id === 'b' ? died : made.ports.call(one, EVENT);
  void react(EVENT, { ...made.ports, call });
  await expect.poll(() => made.plans.plans.get(EVENT.id)?.plan.calls[0]?.done).toBe(true);
  expect(await react({ ...EVENT, deliveries: 2 }, made.ports)).toBe('over');
  expect(made.calls.map(({ call, jid, again }) => [call.id, jid, again])).toEqual([
    ['a', '20261126120000000001', false],
    ['b', '20261126120000000002', true],
  ]);
});

test('a runner that takes long does not hold up the jobs after it', async () => {
  let ended = false;
  const made = scene({
    '/a.sls': `y:\n  runner.slow.one: []\n${ping('x', '    - order: last\n')}`,
  });
  let end: () => void = () => undefined;
  const slow = new Promise<void>((resolve) => (end = resolve));
  const ports: ReactPorts = {
    ...made.ports,
    call: async (one, event) => {
      await made.ports.call(one, event);
      if (one.call.kind === 'runner') await slow.then(() => (ended = true));
    },
  };
  const reacting = react(EVENT, ports);
  await expect.poll(made.funs).toEqual(['slow.one', 'test.ping']);
  expect(ended).toBe(false);
  end();
  expect(await reacting).toBe('over');
  expect(ended).toBe(true);
});

describe('what is wrong harms its own reaction only', () => {
  test('a file that does not render', async () => {
    const made = scene({ '/bad.sls': new Error('Jinja: line 1'), '/good.sls': ping('a') });
    expect(await react(EVENT, made.ports)).toBe('over');
    expect(made.funs()).toEqual(['test.ping']);
    expect(made.failures).toEqual([
      { id: EVENT.id, tag: 'my/event', what: '/bad.sls', why: 'Jinja: line 1', kind: 'render' },
    ]);
    expect(made.pauses).toEqual([]);
  });

  test('a file that is not there, and one that is no dictionary', async () => {
    const made = scene(
      { '/gone.sls': '', '/list.sls': '- a\n', '/good.sls': ping('a') },
      { find: async (item) => (item === '/gone.sls' ? [] : [{ path: item }]) },
    );
    await react(EVENT, made.ports);
    expect(made.funs()).toEqual(['test.ping']);
    expect(made.failures.map(({ kind, what }) => [kind, what])).toEqual([
      ['missing', '/gone.sls'],
      ['render', '/list.sls'],
    ]);
  });

  test('data that do not compile stop all files of the event, as in Salt', async () => {
    const made = scene({ '/a.sls': 'x:\n  local: []\n', '/b.sls': ping('b') });
    await react(EVENT, made.ports);
    expect(made.calls).toEqual([]);
    expect(made.failures).toMatchObject([{ kind: 'compile', what: '' }]);
  });

  test('a call that can not be made', async () => {
    const made = scene({ '/a.sls': `x:\n  local.test.ping: []\n${ping('y')}` });
    await react(EVENT, made.ports);
    expect(made.funs()).toEqual(['test.ping']);
    expect(made.failures).toMatchObject([{ kind: 'refused', what: 'x' }]);
  });

  test('a call that fails is not tried again', async () => {
    const made = scene(
      { '/a.sls': ping('a') + ping('b') },
      {
        call: async ({ call }) => {
          if (call.id === 'a') throw new Error('Authorization error occurred.');
        },
      },
    );
    expect(await react(EVENT, made.ports)).toBe('over');
    expect(made.failures).toMatchObject([
      { kind: 'call', what: 'a', why: 'local test.ping: Authorization error occurred.' },
    ]);
    expect(made.pauses).toEqual([]);
    expect(made.plans.plans.get(EVENT.id)?.plan.ended).toBe(true);
  });

  test('an event that takes its workers with it is given up', async () => {
    const made = scene({ '/a.sls': ping('a') });
    expect(await react({ ...EVENT, deliveries: DELIVERIES_MAX }, made.ports)).toBe('over');
    const other = scene({ '/a.sls': ping('a') });
    expect(await react({ ...EVENT, deliveries: DELIVERIES_MAX + 1 }, other.ports)).toBe('over');
    expect(made.calls).toHaveLength(1);
    expect(other.calls).toEqual([]);
    expect(other.failures).toMatchObject([{ kind: 'poison' }]);
  });

  test('a text without an end is cut', async () => {
    const made = scene({ '/a.sls': new Error('x'.repeat(100_000)) });
    await react(EVENT, made.ports);
    expect(made.failures[0]?.why).toHaveLength(2_000);
  });
});

describe('while something is away', () => {
  test('a call is tried again for a bounded time, then it has failed', async () => {
    let tries = 0;
    const made = scene(
      { '/a.sls': ping('a') + ping('b') },
      {
        call: async ({ call }) => {
          if (call.id === 'b') return;
          tries += 1;
          throw new OutageError('the stream of publications is away');
        },
      },
    );
    expect(await react(EVENT, made.ports)).toBe('over');
    expect(tries).toBe(RETRY_MS.length + 1);
    expect(made.pauses).toEqual(RETRY_MS);
    expect(made.failures).toMatchObject([{ kind: 'call', what: 'a' }]);
  });

  test('a call goes through when it is back', async () => {
    let tries = 0;
    const made = scene(
      { '/a.sls': ping('a') },
      {
        call: async () => {
          tries += 1;
          if (tries < 3) throw new OutageError('away');
        },
      },
    );
    expect(await react(EVENT, made.ports)).toBe('over');
    expect(made.failures).toEqual([]);
    expect(tries).toBe(3);
  });

  test('a worker that stops gives the reaction to another one', async () => {
    const made = scene(
      { '/a.sls': ping('a') },
      {
        call: async () => {
          throw new OutageError('away');
        },
        pause: async () => false,
      },
    );
    expect(await react(EVENT, made.ports)).toBe('again');
    expect(made.failures).toEqual([]);
    expect(made.plans.plans.get(EVENT.id)?.plan.ended).toBe(false);
  });
});

test('a worker that was taken for dead makes no more calls', async () => {
  const made = scene({ '/a.sls': ping('a') + ping('b') + ping('c') });
  const ports: ReactPorts = {
    ...made.ports,
    call: async (one, event) => {
      await made.ports.call(one, event);
      // Meanwhile another process has begun.
      const known = made.plans.plans.get(EVENT.id);
      if (known !== undefined && one.call.id === 'a') {
        await made.plans.save(EVENT.id, { ...known.plan, begun: 2 }, known.revision);
      }
    },
  };
  expect(await react(EVENT, ports)).toBe('elsewhere');
  expect(made.calls.map(({ call }) => call.id)).toEqual(['a']);
});

test('a file that renders to nothing leaves no trace', async () => {
  const made = scene({ '/a.sls': '{}' });
  expect(await react(EVENT, made.ports)).toBe('over');
  expect(made.plans.saves).toBe(0);
  expect(made.failures).toEqual([]);
});

test('of two declarations of one id the later file counts, as in Salt', async () => {
  const made = scene({ '/a.sls': ping('x'), '/b.sls': 'x:\n  runner.manage.up: []\n' });
  await react(EVENT, made.ports);
  expect(made.funs()).toEqual(['manage.up']);
});

test('a call keeps the job id that its file chose', async () => {
  const made = scene({ '/a.sls': ping('x', '    - jid: "20261126130000123456"\n') });
  await react(EVENT, made.ports);
  expect(made.calls[0]?.jid).toBe('20261126130000123456');
});
