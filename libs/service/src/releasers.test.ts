import { expect, test } from 'vitest';
import { Releasers } from './releasers.ts';

test('the last release runs first, each after the one before has ended', async () => {
  const seen: string[] = [];
  const releasers = new Releasers();
  releasers.add(() => void seen.push('bus'));
  releasers.add(async () => {
    seen.push('server');
    await Promise.resolve();
    seen.push('server closed');
  });
  await releasers.run();
  expect(seen).toEqual(['server', 'server closed', 'bus']);
});

test('a release that fails stops no other, and all failures are thrown together', async () => {
  const seen: string[] = [];
  const releasers = new Releasers();
  releasers.add(() => void seen.push('bus'));
  releasers.add(() => Promise.reject(new Error('cache')));
  releasers.add(() => {
    throw new Error('server');
  });
  const errors = [new Error('server'), new Error('cache')];
  await expect(releasers.run()).rejects.toMatchObject({ errors });
  expect(seen).toEqual(['bus']);
});

test('a release runs once, however often all are released', async () => {
  let runs = 0;
  const releasers = new Releasers();
  releasers.add(() => void (runs += 1));
  await Promise.all([releasers.run(), releasers.run()]);
  await releasers.run();
  expect(runs).toBe(1);
});

test('the end of a block releases', async () => {
  const seen: string[] = [];
  const work = async (): Promise<void> => {
    await using releasers = new Releasers();
    releasers.add(() => void seen.push('released'));
    seen.push('worked');
    throw new Error('the work failed');
  };
  await expect(work()).rejects.toThrow('the work failed');
  expect(seen).toEqual(['worked', 'released']);
});
