import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { plantedBugs } from '../../../test/planted/bugs.ts';
import { layerOf } from '../layers.ts';
import { workingTree } from '../repository.ts';
import { chosenByReach } from '../selection.ts';
import { ChangedFiles } from './changed-files.ts';
import { NEEDS_NO_TEST, OTHER_READS } from './other-reads.ts';

/** Part of the planted bugs that *change* alone has to find. */
const SHARE_MIN = 0.95;
/** The simulation runs in the pure layer, with more seeds in the deep one. */
const SIMULATION = 'test/simulation/simulation.test.ts';

const tree = workingTree();
const tests = tree.paths.filter((path) => layerOf(path) !== undefined);
const files = new ChangedFiles(tree);

describe('the tables of reach', () => {
  test('every file is read by a test, declares types alone, or needs no test', () => {
    expect(files.reach(tree.paths, tests).unknown).toEqual([]);
  });

  test('every row has a reader, and every reason a file', () => {
    const idle = OTHER_READS.filter(({ by }) => !tree.paths.some((path) => by.test(path)));
    const empty = NEEDS_NO_TEST.filter(({ paths }) => !tree.paths.some((path) => paths.test(path)));
    expect([idle, empty]).toEqual([[], []]);
  });
});

describe('reach in this tree', () => {
  const deep = tests.filter((path) => layerOf(path) === 'deep');
  const reachedBy = (path: string): readonly string[] => [
    ...files.reach([path], deep).tests.keys(),
  ];

  test.each([
    ['libs/bus/src/rpc/request-sender.ts', 'test/interop/faults/kill.deep.test.ts'],
    ['libs/job-cache/sql', 'test/integration/faults/postgres-away.deep.test.ts'],
    ['infra/helm', 'tools/helm.deep.test.ts'],
    ['apps/syndic-relay/src/start.ts', 'test/interop/syndics/syndic-relay.deep.test.ts'],
    ['tools/chaos/src/modes/rolling/rolling.ts', 'test/integration/faults/rolling.deep.test.ts'],
    ['libs/netapi/src/rest-cherrypy/events.ts', 'test/interop/http/saltgui.deep.test.ts'],
    ['test/fixtures/saltgui/static', 'test/interop/http/saltgui.deep.test.ts'],
    ['libs/testing/src/salt/recipe.ts', 'test/interop/transcripts/commands.deep.test.ts'],
  ])('%s reaches %s', (start, expected) => {
    const path = tree.paths.find((one) => one.startsWith(start)) ?? start;
    expect(reachedBy(path)).toContain(expected);
  });

  test('a change of one app leaves tests out that it cannot reach', () => {
    expect(reachedBy('apps/syndic-relay/src/start.ts').length).toBeLessThan(20);
    expect(reachedBy('libs/backup/src/write-backup.ts').length).toBeLessThan(10);
  });

  test('a test file that is gone, as any other path, leaves the others chosen', () => {
    const change = { base: 'x', paths: ['test/gone.deep.test.ts'] };
    const asked = { layers: ['deep'], whole: [] } as const;
    const { files: chosen, words } = chosenByReach(tree, change, asked, files);
    expect(chosen.get('deep')?.length).toBeGreaterThan(4);
    expect(words.join('\n')).not.toContain('all run');
  });
});

describe('planted bugs', () => {
  test('a change runs the finders of the bugs that are planted in its files', () => {
    const bugs = plantedBugs();
    const missed = bugs.filter(({ path, finder }) => {
      const test = finder === 'simulation' ? SIMULATION : finder;
      expect(layerOf(test)).toBeDefined();
      if (layerOf(test) !== 'deep') return false;
      return files.reach(patched(path), [test]).tests.size === 0;
    });
    process.stdout.write(
      `${bugs.length - missed.length} of ${bugs.length} bugs: their finder runs in change\n` +
        missed.map(({ name, finder }) => `${name}: ${finder}, in release\n`).join(''),
    );
    expect(missed.length).toBeLessThanOrEqual((1 - SHARE_MIN) * bugs.length);
  });

  test('each bug is planted in files that reach its finder', () => {
    const unreached = plantedBugs().filter(({ path, finder }) => {
      const test = finder === 'simulation' ? SIMULATION : finder;
      return files.reach(patched(path), [test]).tests.size === 0;
    });
    expect(unreached.map(({ name, finder }) => `${name}: ${finder}`)).toEqual([]);
  });
});

function patched(path: string): readonly string[] {
  const names = [...readFileSync(path, 'utf8').matchAll(/^\+\+\+ b\/(\S+)$/gm)];
  expect(names.length, path).toBeGreaterThan(0);
  return names.map(([, name = '']) => name);
}
