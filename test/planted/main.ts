import { markdownTable } from 'markdown-table';
import { plantedBugs } from './bugs.ts';
import { Soil } from './soil.ts';

// npm run planted -- [names of bugs]; BRINE_PLANTED_SEEDS: how many seeds at most for each.
const seeds = Number(process.env['BRINE_PLANTED_SEEDS'] ?? 500);
const wanted = process.argv.slice(2);
const bugs = plantedBugs().filter(({ name }) => wanted.length === 0 || wanted.includes(name));
const rows = [['bug', 'found by', 'after', 'how']];
let missed = 0;
using soil = new Soil();
for (const bug of bugs) {
  const { found, seed, how } = await soil.search(bug, seeds);
  if (!found) missed += 1;
  const after = seed === undefined ? '' : `${seed} ${seed === 1 ? 'seed' : 'seeds'}`;
  // A rule is enough: what broke it is for who replays the seed.
  const rule = seed === undefined ? how : (how.split(':', 1)[0] ?? '');
  const shown = found ? rule : '';
  rows.push([bug.name, found ? bug.finder : 'NOBODY', after, shown]);
  process.stdout.write(`${bug.name}: ${found ? 'found' : 'NOT FOUND'} ${after} ${how}\n`);
}
process.stdout.write(`\n${markdownTable(rows)}\n`);
process.exitCode = missed === 0 ? 0 : 1;
