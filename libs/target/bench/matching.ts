/*
 * What finding the minions of a target costs on a master of 10,000:
 * `npx tsx --conditions=source libs/target/bench/matching.ts`.
 * Each line: microseconds per target, the best of five rounds.
 */
import { checkMinions, matchMinion, type Target, type TargetView } from '@brine/target';
import { measure } from '../../wire/bench/measure.ts';

const MINIONS = 10_000;

const ids = Array.from({ length: MINIONS }, (_, n) => `web${String(n).padStart(5, '0')}.example`);
const grains = new Map(
  ids.map((id, n) => [
    id,
    {
      id,
      os: n % 3 === 0 ? 'Debian' : 'Rocky',
      osmajorrelease: n % 4,
      ipv4: ['127.0.0.1', `10.0.${n >> 8}.${n & 255}`],
      roles: n % 5 === 0 ? ['web', 'cache'] : ['db'],
    },
  ]),
);
const view: TargetView = {
  accepted: new Set(ids),
  grains: (id) => grains.get(id),
  pillar: () => undefined,
  nodegroups: { webs: 'G@roles:web' },
  cacheless: 'drop',
};
const targets: readonly Target[] = [
  { tgt: '*' },
  { tgt: 'web0*.example' },
  { tgt: ids.slice(0, 1_000), tgtType: 'list' },
  { tgt: 'web0[0-4]\\d+\\.example', tgtType: 'pcre' },
  { tgt: 'os:Debian', tgtType: 'grain' },
  { tgt: 'os:(Deb|Roc)', tgtType: 'grain_pcre' },
  { tgt: '10.0.3.0/24', tgtType: 'ipcidr' },
  { tgt: 'G@os:Debian and not E@web0[0-4].* or S@10.0.3.0/24', tgtType: 'compound' },
  { tgt: 'webs', tgtType: 'nodegroup' },
];
for (const target of targets) {
  const { minions } = checkMinions(target, view);
  const shown = String(target.tgt).slice(0, 50);
  const name = `${(target.tgtType ?? 'glob').padEnd(10)} ${shown} (${minions.length} minions)`;
  measure(name, () => checkMinions(target, view));
}
const me = { id: ids[0] ?? '', grains: grains.get(ids[0] ?? ''), pillar: {} };
measure('one minion: compound', () =>
  matchMinion({ tgt: 'G@os:Debian and not E@web0[1-4].*', tgtType: 'compound' }, me),
);
