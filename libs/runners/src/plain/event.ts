import { firedTag } from '@brine/job';
import { isJudged } from '@brine/master/functions';
import { isMap, isName, mapOf } from '@brine/wire';
import { isTruthy, pyStr } from '@brine/wire/text';
import { masterOf, type RunnerFunction } from '../function.ts';

const send: RunnerFunction = {
  name: 'event.send',
  parameters: [['tag'], ['data', null]],
  doc:
    'Fires an event on the bus of the whole cluster. tag: its tag, used as it is. data: a map of ' +
    'what it carries (default: nothing). A caller with limited rights may not use tags of Salt ' +
    'itself, as readers take their events for those of the master.',
  async run({ named }, context) {
    const tag = pyStr(named.get('tag') ?? '');
    const given = named.get('data') ?? null;
    const data = isTruthy(given) ? given : mapOf({});
    if (!isMap(data)) throw new Error(`Dict object expected, not '${pyStr(data)}'.`);
    if (tag === '') throw new Error('Empty tag.');
    if (!isName('tag', tag)) throw new Error('a tag is one line of at most 8192 bytes');
    const master = masterOf(context);
    if (isJudged(master, master.call) && firedTag(tag).kind !== 'custom') {
      throw new Error(`a caller with limited rights may not fire ${tag}: Salt has this tag`);
    }
    await master.fire(tag, new Map(data));
    return { value: true };
  },
};

/** `event.*` (salt/runners/event.py). */
export const EVENT_RUNNER: readonly RunnerFunction[] = [send];
