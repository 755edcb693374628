import { markdownTable } from 'markdown-table';
import { plantedBugs } from './bugs.ts';
import type { Layer } from './soil.ts';
import { Soil } from './soil.ts';

// npm run planted -- [names of bugs]; BRINE_PLANTED_SEEDS: how many seeds at most for each.
const seeds = Number(process.env['BRINE_PLANTED_SEEDS'] ?? 500);
const wanted = process.argv.slice(2);
const bugs = plantedBugs().filter(({ name }) => wanted.length === 0 || wanted.includes(name));
const say = (text: string): void => void process.stdout.write(`${text}\n`);
const rows = [['bug', 'found by', 'layer', 'after', 'how']];
const foundBy: Record<Layer, number> = { pure: 0, served: 0, masters: 0, deep: 0 };
let most = 1;
let failed = 0;
using soil = new Soil();
for (const bug of bugs) {
  const { found, seed, layer, how } = await soil.search(bug, seeds);
  if (found) foundBy[layer] += 1;
  else failed += 1;
  if (bug.finder === 'simulation') most = Math.max(most, seed ?? 0);
  const after = seed === undefined ? '' : `${seed} ${seed === 1 ? 'seed' : 'seeds'}`;
  // A rule is enough: what broke it is for who replays the seed.
  const rule = bug.finder === 'simulation' ? (how.split(':', 1)[0] ?? '') : how;
  rows.push([
    bug.name,
    found ? bug.finder : 'NOBODY',
    found ? layer : '',
    after,
    found ? rule : '',
  ]);
  say(`${bug.name}: ${found ? 'found' : 'NOT FOUND'} ${after} ${how}`);
}
// What finds a bug where there is none has found nothing above either.
for (const { found, how } of await soil.searchClean(most)) {
  if (found) failed += 1;
  say(`nothing planted: ${found ? 'FOUND ' : ''}${how}`);
}
say(`\n${markdownTable(rows)}`);
const { deep, ...usual } = foundBy;
const byTest = Object.values(usual).reduce((sum, count) => sum + count, 0);
say(
  `\n${Object.entries(usual)
    .map(([layer, count]) => `${layer} ${count}`)
    .join(', ')}, deep ${deep}`,
);
say(`${byTest} of ${bugs.length} found by npm test, ${deep} by the deep layer alone`);
process.exitCode = failed === 0 ? 0 : 1;
