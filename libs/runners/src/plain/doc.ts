import { isMap, type SaltMap, type SaltValue } from '@brine/wire';
import { compareText, pyStr } from '@brine/wire/text';
import { masterOf, type RunnerFunction } from '../function.ts';

/** Functions by their name, with their documentation. */
type Documented = ReadonlyMap<string, { readonly doc: string }>;

/** Limit of minions that are asked in turn: all of a release have the same documentation. */
const ASKED_MAX = 5;

function docsOf(functions: Documented): SaltMap {
  const names = [...functions.keys()].sort(compareText);
  return new Map(names.map((name) => [name, functions.get(name)?.doc ?? '']));
}

const execution: RunnerFunction = {
  name: 'doc.execution',
  parameters: [],
  doc:
    `Shows the documentation of the execution modules of one minion, the first of ${ASKED_MAX} ` +
    'accepted ones that answers sys.doc; Salt asks all and shows the last.',
  async run(_given, context) {
    const { client } = context;
    const tgt = [...masterOf(context).keys.accepted()].slice(0, ASKED_MAX);
    const command = { tgt, tgtType: 'list', fun: 'sys.doc', arg: [], isOwn: true };
    const job = tgt.length === 0 ? undefined : await client.publish(command, { listen: true });
    if (job === undefined) return { value: [] };
    for await (const item of client.returns(job)) {
      if (item.kind === 'return' && isMap(item.ret)) return { value: item.ret };
    }
    throw new Error('no minion answered sys.doc');
  },
};

/** `doc.*` (salt/runners/doc.py) about these tables. */
export function docRunner(
  runners: () => Documented,
  wheels: () => Documented,
): readonly RunnerFunction[] {
  const showing = (
    kind: 'runner' | 'wheel',
    functions: () => Documented,
    what: string,
  ): RunnerFunction => ({
    name: `doc.${kind}`,
    parameters: [],
    doc: `Shows the documentation of all ${what}.`,
    async run(_given, { master }) {
      const ofSite = (await master?.site?.docs(kind)) ?? new Map<SaltValue, SaltValue>();
      // Functions of the table override those of the site.
      const all = new Map([...ofSite, ...docsOf(functions())]);
      const names = [...all].sort(([a], [b]) => compareText(pyStr(a), pyStr(b)));
      return { value: new Map(names) };
    },
  });
  return [
    showing('runner', runners, 'runners'),
    showing('wheel', wheels, 'wheel functions'),
    execution,
  ];
}
