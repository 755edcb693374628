import { expect, it } from 'vitest';
import { chooseDialect, keptFiles } from './start.ts';

it.each([
  ['local_cache', '', true, [true, true], 0],
  ['local_cache', '', false, [true, false], 0],
  ['local_cache', 'pgjsonb', true, [true, false], 0],
  ['pgjsonb', '', true, [false, false], 0],
  ['redis', '', true, [false, false], 1],
  ['local_cache', 'redis', true, [true, false], 1],
] as const)(
  'master_job_cache %s, ext_job_cache %j, job_cache %j',
  (masterJobCache, extJobCache, jobCache, expected, warnings) => {
    let warned = 0;
    const kept = keptFiles(
      { masterJobCache, extJobCache, jobCache, jobCacheStoreEndtime: false, brine: BRINE },
      true,
      { warn: () => (warned += 1) },
    );
    expect([kept.jobFiles, kept.returnFiles]).toEqual(expected);
    expect(warned).toBe(warnings);
  },
);

const BRINE = { eventFraming: 'auto' } as Parameters<typeof keptFiles>[0]['brine'];

it('the dialect is of the release that the operator names, whatever is installed', () => {
  const salt = { version: '3006.26', path: '/usr/bin/salt' };
  const sleepy = { version: '3007.13', path: '/usr/bin/salt' };
  const awake = { zone: false, wakes: false };
  expect(chooseDialect('auto', salt)).toEqual({ framing: 'prefixed', ...awake });
  expect(chooseDialect('bare', salt)).toEqual({ framing: 'bare', ...awake });
  expect(chooseDialect('prefixed', undefined)).toEqual({ framing: 'prefixed', ...awake });
  expect(chooseDialect('prefixed', sleepy)).toEqual({ framing: 'prefixed', ...awake });
  expect(chooseDialect('bare', sleepy)).toEqual({ framing: 'bare', zone: false, wakes: true });
});
