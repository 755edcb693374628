import { expect, test } from 'vitest';
import { LoginLimits } from './index.ts';

let now = 0;
const made = (): LoginLimits => {
  now = 1_000_000;
  return new LoginLimits(() => now);
};
const of = (username: string, from: string) => ({ module: 'file', username, from });

/** How many of so many tries in a row were let through, all of them wrong. */
function failures(limits: LoginLimits, tries: number, one: () => ReturnType<typeof of>): number {
  let tried = 0;
  for (let n = 0; n < tries; n += 1) {
    const attempt = one();
    if (!limits.mayTry(attempt)) continue;
    tried += 1;
    limits.failed(attempt);
  }
  return tried;
}

test('one name from one address: five wrong passwords, then one in five seconds', () => {
  const limits = made();
  const anne = () => of('anne', '192.0.2.1');
  expect(failures(limits, 100, anne)).toBe(5);
  now += 4_000;
  expect(failures(limits, 100, anne)).toBe(0);
  now += 1_001;
  expect(failures(limits, 100, anne)).toBe(1);
  now += 3_600_000;
  expect(failures(limits, 100, anne)).toBe(5);
});

test('a success is not punished, and clears the name at its address', () => {
  const limits = made();
  const anne = of('anne', '192.0.2.1');
  for (let n = 0; n < 1000; n += 1) {
    expect(limits.mayTry(anne)).toBe(true);
    limits.succeeded(anne);
  }
  expect(failures(limits, 4, () => anne)).toBe(4);
  limits.succeeded(anne);
  expect(failures(limits, 9, () => anne)).toBe(5);
});

test('names from one address: fifty, and users who got in from there before', () => {
  const limits = made();
  let n = 0;
  const anne = of('anne', '192.0.2.1');
  limits.succeeded(anne);
  expect(failures(limits, 1000, () => of(`u${(n += 1)}`, '192.0.2.1'))).toBe(50);
  expect(limits.mayTry(of('bob', '192.0.2.1'))).toBe(false);
  expect(limits.mayTry(of('bob', '192.0.2.2'))).toBe(true);
  expect(limits.mayTry(anne)).toBe(true);
  // It fades: bob gets in behind the same address too.
  now += 1_001;
  expect(limits.mayTry(of('bob', '192.0.2.1'))).toBe(true);
});

test('a stranger locks out no user at another address, however long it tries', () => {
  const limits = made();
  let failed = 0;
  for (let second = 0; second < 3600; second += 1) {
    failed += failures(limits, 3, () => of('anne', '198.51.100.1'));
    expect(limits.mayTry(of('anne', '192.0.2.1'))).toBe(true);
    now += 1_000;
  }
  expect(failed).toBeLessThan(730);
});

test('many strangers slow down a name, but not where its owner has been', () => {
  const limits = made();
  const anne = of('anne', '192.0.2.1');
  limits.succeeded(anne);
  let n = 0;
  expect(failures(limits, 2000, () => of('anne', `10.0.${(n += 1) >> 8}.${n & 255}`))).toBe(250);
  expect(limits.mayTry(of('anne', '192.0.2.2'))).toBe(false);
  expect(limits.mayTry(anne)).toBe(true);
  now += 60_000;
  expect(limits.mayTry(of('anne', '192.0.2.2'))).toBe(true);
});

test('the addresses of one network of IPv6 are one, and names of modules are kept apart', () => {
  const limits = made();
  let n = 0;
  expect(failures(limits, 90, () => of('anne', `2001:db8::1:${(n += 1).toString(16)}`))).toBe(5);
  expect(limits.mayTry(of('anne', '2001:db8:0:0:9::1'))).toBe(false);
  expect(limits.mayTry(of('anne', '2001:db8:0:1::1'))).toBe(true);
  expect(limits.mayTry({ ...of('anne', '2001:db8::7'), module: 'pam' })).toBe(true);
  expect(failures(limits, 9, () => of('bob', '::ffff:192.0.2.1'))).toBe(5);
  expect(limits.mayTry(of('bob', '192.0.2.1'))).toBe(false);
});
