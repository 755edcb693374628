import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { closureOf, type Lock } from './closure.ts';

const ROOT = new URL('../../', import.meta.url).pathname;

const lock: Lock = {
  'apps/a': { dependencies: { '@brine/lib': '1', one: '1' } },
  'libs/lib': { dependencies: { two: '1' }, optionalDependencies: { here: '1', away: '1' } },
  'node_modules/@brine/lib': { link: true, resolved: 'libs/lib' },
  'node_modules/one': { dependencies: { deep: '1' } },
  'node_modules/one/node_modules/deep': { dependencies: { two: '1' } },
  'node_modules/deep': {},
  'node_modules/two': {
    peerDependencies: { peer: '1', maybe: '1' },
    peerDependenciesMeta: { maybe: { optional: true } },
  },
  'node_modules/peer': {},
  'node_modules/here': {},
  'node_modules/away': {},
  'node_modules/only-tests': {},
};

test('what runs is found as Node finds it, and what is not there for this platform is left out', () => {
  const found = closureOf(lock, ['apps/a'], (path) => path === 'node_modules/here');
  expect(found).toEqual({
    workspaces: ['apps/a', 'libs/lib'],
    modules: [
      'node_modules/here',
      'node_modules/one',
      'node_modules/one/node_modules/deep',
      'node_modules/peer',
      'node_modules/two',
    ],
  });
});

test('a package that is missing is named, with what needs it', () => {
  const { 'node_modules/peer': _, ...without } = lock;
  expect(() => closureOf(without, ['apps/a'], () => true)).toThrow(
    'node_modules/two needs peer, which package-lock.json lacks',
  );
});

test('no tool of tests or builds is among what runs here', () => {
  const { packages } = JSON.parse(readFileSync(`${ROOT}package-lock.json`, 'utf8')) as {
    packages: Lock;
  };
  const apps = ['apps/cli', 'apps/worker-pool', 'apps/runner-pool', 'apps/http-api'];
  const { workspaces, modules } = closureOf(packages, apps, () => true);
  expect(workspaces).toContain('libs/service');
  expect(workspaces.filter((path) => path === 'libs/testing' || path.startsWith('tools/'))).toEqual(
    [],
  );
  expect(modules).toContain('node_modules/zeromq');
  const ofBuilds = ['typescript', 'vitest', 'nx', 'eslint', 'prettier', 'tsx'];
  expect(modules.filter((path) => ofBuilds.includes(path.slice('node_modules/'.length)))).toEqual(
    [],
  );
});
