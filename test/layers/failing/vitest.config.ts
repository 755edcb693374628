// Layers over files that fail on purpose: see the tests beside this directory.
import { defineConfig, type UserWorkspaceConfig } from 'vitest/config';
import all from '../../../vitest.config.ts';

const layers = (all.test?.projects ?? []) as readonly UserWorkspaceConfig[];

/** A layer of vitest.config.ts with other files. */
function failing(name: string, files: string): UserWorkspaceConfig {
  const layer = layers.find(({ test }) => test?.name === name);
  if (layer === undefined) throw new Error(`no layer ${name}`);
  const test = {
    ...layer.test,
    name: `failing ${name}`,
    include: [`test/layers/failing/${files}`],
  };
  return { ...layer, test };
}

export default defineConfig({
  test: {
    projects: [
      failing('masters', '{hook,master}.failing.ts'),
      failing('served', 'left.failing.ts'),
      // Of no layer: the run is killed, and what a layer sets up would stay.
      { test: { name: 'unended', include: ['test/layers/failing/unended.failing.ts'] } },
    ],
  },
});
