import { type compilePillar, type PillarPorts, type pillarTop, saltclassTops } from '@brine/pillar';
import { mapOf, type SaltMap, type SaltValue } from '@brine/wire';
import { Externals } from '../pillar-externals.ts';
import { ClassTree } from '../sources/class-tree.ts';
import type { GitPlace } from '../sources/git-checkouts.ts';
import { decryptAll } from '../sources/gpg.ts';
import { RootFiles } from '../sources/root-files.ts';
import { hostFunctions } from './host-functions.ts';
import { CHECKOUT } from './questions.ts';
import type { Render } from './render-task.ts';

/** The pillar of a minion, or its top file. */
export async function pillarOf(
  render: Render,
  make: typeof compilePillar | typeof pillarTop,
): Promise<SaltValue> {
  const { data, options, minion, calls, outside, python, log } = render;
  const env = minion.pillarenv ?? options.pillarenv ?? minion.saltenv ?? 'base';
  const files = RootFiles.of(data.roots, env, Object.values(data.fileRoots).flat());
  const checkout = ({ url, refs, ownRefs }: GitPlace): string =>
    calls.call(
      'pillar',
      CHECKOUT,
      mapOf({ url, refs: [...refs], ownRefs: [...ownRefs] }),
    ) as string;
  const settings = { pillarRoots: files.roots, nodegroups: options.nodegroups, checkout, log };
  const externals = new Externals(data.externals, settings, options);
  await externals.askEarly(minion);
  const ports: PillarPorts = {
    files,
    outside,
    functions: () => hostFunctions(),
    decrypt: (value, mayOpen) => decryptAll(value, data.gpg, mayOpen),
    external: (name, who, pillar, args) => {
      const own = externals.ask(name, who, args, { ports, pillar });
      return own === undefined ? python?.external(name, args, pillar) : own;
    },
    python,
    log,
  };
  return make(ports, options, minion);
}

/** States by environment from the saltclass tree in a directory, for a minion. */
export function classTopsOf({ outside, log, minion }: Render, tree: string): SaltMap {
  const files = new ClassTree(tree);
  return saltclassTops({ files, outside, log, functions: new Map() }, minion);
}
