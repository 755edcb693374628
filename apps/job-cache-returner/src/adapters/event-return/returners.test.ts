import { ReturnerError, type WebPost } from '@brine/event-return';
import { PythonCallError, type PythonCalls } from '@brine/python-host';
import { mapOf, pack, type SaltMap } from '@brine/wire';
import { describe, expect, test } from 'vitest';
import { PythonReturner } from './python-returner.ts';
import { loggerArguments } from './syslog-returner.ts';
import { ElasticsearchReturner } from './web-returners.ts';

const event = (n: number) => {
  return { tag: `t/${n}`, timeMs: n, data: pack(mapOf({ n })), position: `p${n}` };
};
const batch = { events: [event(1), event(2)], from: 'p0', to: 'p2' };

describe('syslog', () => {
  test('gets the level, facility and tag of the options', () => {
    expect(loggerArguments({ written: {} }).slice(0, 4)).toEqual([
      ...['--priority', 'user.info', '--tag', 'salt'],
    ]);
    const syslog = { level: 'LOG_ERR', facility: 'LOG_LOCAL3', tag: 'x', options: ['LOG_PERROR'] };
    const args = loggerArguments({ written: { syslog } });
    expect(args.slice(0, 4)).toEqual(['--priority', 'local3.err', '--tag', 'x']);
    expect(args).toContain('--stderr');
  });

  test.each([
    [{ level: 'LOG_LOUD' }, 'syslog.level: syslog has no LOG_LOUD'],
    [{ facility: 'user' }, 'syslog.facility: syslog has no user'],
    [{ tag: 'x'.repeat(33) }, 'syslog.tag has more than 32 characters'],
    [{ options: ['LOG_X'] }, 'syslog.options: no LOG_X'],
  ])('refuses %j', (syslog, text) => {
    expect(() => loggerArguments({ written: { syslog } })).toThrow(text);
  });
});

describe('elasticsearch', () => {
  test('asks the hosts of the options, with their user', async () => {
    const posts: WebPost[] = [];
    const returner = new ElasticsearchReturner(
      {
        written: {
          elasticsearch: { hosts: ['a:9200', 'https://b/'], use_ssl: true, username: 'u' },
          'elasticsearch.password': 'p',
          'elasticsearch.master_event_index': 'events',
        },
      },
      async (post) => {
        posts.push(post);
        return { status: 200, reason: 'OK', body: Buffer.from('{"errors":false}') };
      },
    );
    await returner.write(batch);
    expect(posts.map(({ method, url }) => `${method} ${url}`)).toEqual([
      'HEAD https://a:9200/events',
      'POST https://a:9200/_bulk',
    ]);
    expect(posts[1]?.headers.get('Authorization')).toBe('Basic dTpw');
    expect(posts[1]?.headers.get('Content-Type')).toBe('application/x-ndjson');
  });
});

describe('a returner in Python', () => {
  const failing = (code: PythonCallError['code']): PythonCalls => ({
    call: () => Promise.reject(new PythonCallError(code, 'why')),
  });

  test('gets tags and data, all of a batch in one call', async () => {
    const calls: unknown[] = [];
    const python: PythonCalls = {
      call: async (use, op, given: SaltMap) => {
        calls.push([use, op, given]);
        return true;
      },
    };
    await new PythonReturner('mine', python).write(batch);
    await new PythonReturner('mine', python).write({ ...batch, events: [] });
    const events = [1, 2].map((n) => mapOf({ tag: `t/${n}`, data: mapOf({ n }) }));
    expect(calls).toEqual([['return', 'deliver', mapOf({ returner: 'mine', events })]]);
  });

  test.each([
    ['unknown', 'missing'],
    ['raised', 'unclear'],
    ['late', 'unclear'],
    ['ended', 'unclear'],
    ['start', 'away'],
    ['busy', 'away'],
    ['size', 'refused'],
  ] as const)('that fails with %s is %s', async (code, failure) => {
    const writing = new PythonReturner('mine', failing(code)).write(batch);
    await expect(writing).rejects.toBeInstanceOf(ReturnerError);
    await expect(writing).rejects.toMatchObject({ failure });
  });
});
