import { afterEach, expect, test, vi } from 'vitest';

afterEach(() => {
  vi.unstubAllEnvs();
  vi.resetModules();
});

async function inCircle(circle: string | undefined, sample?: string) {
  vi.resetModules();
  vi.stubEnv('BRINE_CIRCLE', circle);
  vi.stubEnv('BRINE_SAMPLE', sample);
  return import('./index.ts');
}

const CASES = Array.from({ length: 100 }, (_, at) => `case ${at}`);

test('a change draws some cases by its commit, in their order; other commits draw others', async () => {
  const { drawn } = await inCircle('change', '0a1b2c3d');
  const some = drawn('cases', CASES, 10);
  expect(some).toHaveLength(10);
  expect(CASES.filter((one) => some.includes(one))).toEqual(some);
  expect(drawn('cases', CASES, 10)).toEqual(some);
  // A case more draws at most one case otherwise.
  const more = drawn('cases', ['new', ...CASES], 10);
  expect(more.filter((one) => !some.includes(one)).length).toBeLessThanOrEqual(1);
  const { drawn: other } = await inCircle('change', '11111111');
  expect(other('cases', CASES, 10)).not.toEqual(some);
});

test('many commits draw every case', async () => {
  const seen = new Set<string>();
  for (let at = 0; at < 100; at += 1) {
    const { drawn } = await inCircle('change', String(at));
    for (const one of drawn('cases', CASES, 10)) seen.add(one);
  }
  expect(seen.size).toBe(CASES.length);
});

test.each([undefined, 'release', 'nightly'])('in the circle %s all of them run', async (circle) => {
  const { drawn, drawnSeeds, sized } = await inCircle(circle, '0a1b2c3d');
  expect(drawn('cases', CASES, 10)).toEqual(CASES);
  expect(drawnSeeds('seeds', { first: 41, count: 460, some: 40 })).toEqual({
    first: 41,
    count: 460,
  });
  expect(sized({ change: 1, release: 5, nightly: 9 })).toBe(circle === 'nightly' ? 9 : 5);
  expect(sized({ change: 1, release: 5 })).toBe(5);
});

test('a change draws a range of seeds, within their bounds', async () => {
  for (const sample of ['a', 'b', 'c', 'd', 'e']) {
    const { drawnSeeds, sized } = await inCircle('change', sample);
    const { first, count } = drawnSeeds('seeds', { first: 41, count: 460, some: 40 });
    expect([count, (first - 41) % 40]).toEqual([40, 0]);
    expect(first + count).toBeLessThanOrEqual(501);
    expect(sized({ change: 1, release: 5 })).toBe(1);
  }
});
