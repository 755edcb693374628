// The layer of masters over files that fail on purpose: see scenes-of-failures.masters.test.ts.
import { defineConfig, type UserWorkspaceConfig } from 'vitest/config';
import all from '../../../vitest.config.ts';

const projects = (all.test?.projects ?? []) as readonly UserWorkspaceConfig[];
const masters = projects.find(({ test }) => test?.name === 'masters');
if (masters === undefined) throw new Error('no layer of masters');

export default defineConfig({
  ...masters,
  test: { ...masters.test, name: 'failing', include: ['test/layers/failing/*.failing.ts'] },
});
