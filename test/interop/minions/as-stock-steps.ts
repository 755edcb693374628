/* What is asked of minions in test/interop/minions/as-stock.deep.test.ts, in this order. */

/** A command: words of `salt`; `{out}` is the directory of each minion. */
export interface Step {
  readonly name: string;
  readonly words: readonly string[];
}

/** Never within these bounds: a beacon of each second. */
const LOAD = JSON.stringify([
  { averages: { '1m': [1e3, 2e3], '5m': [1e3, 2e3], '15m': [1e3, 2e3] } },
  { emitatstartup: true },
  { interval: 1 },
]);

/** Grains name the directory, so the words are the same for all minions. */
const OUT = "{{ grains['brine_out'] }}";

const step = (name: string, ...words: string[]): Step => ({ name, words });

/** Before the schedule and the beacon are looked for. */
export const STEPS: readonly Step[] = [
  step('refresh', 'saltutil.refresh_pillar', 'wait=True'),
  step('pillar', 'pillar.items', 'unmask=True'),
  step('pillar of the command line', 'pillar.items', 'unmask=True', 'pillar={"app": {"cli": [1]}}'),
  step('broken pillar', 'pillar.items', 'pillarenv=broken'),
  step('mine', 'mine.send', 'said', 'mine_function=test.echo', 'text=hello'),
  step('mine of all', 'mine.get', 'as-stock-*', 'said'),
  step('top', 'state.show_top'),
  step('test', 'state.apply', 'test=True'),
  step('applied', 'state.apply'),
  step('applied again', 'state.apply'),
  step('refused', 'state.apply', 'app', 'pillarenv=broken'),
  step('probe', 'brine_probe.answer'),
  step(
    'files',
    'cp.get_file,cp.get_dir,cp.hash_file,cp.list_states,cp.push',
    ...['salt://app/init.sls', `${OUT}/got`, 'template=jinja', ','],
    ...['salt://app/tree', `${OUT}/dir`, 'template=jinja', ','],
    ...['salt://only.txt', ',', ',', '/etc/hostname'],
  ),
  step('published', 'publish.publish', 'as-stock-*', 'test.echo', 'hello', 'timeout=20'),
  step('not published', 'publish.publish', 'as-stock-*', 'cmd.run', 'id'),
  step('runner', 'publish.runner', 'pillar.show_pillar', 'as-stock-3006.26'),
  step('runner with arguments', 'publish.runner', 'test.arg', "['web', '007', 'a=[1, x]']"),
  step('no such runner', 'publish.runner', 'test.nothing_of_this_name'),
  step('refused runner', 'publish.runner', 'jobs.active'),
  step('synced', 'saltutil.sync_all'),
  step('schedule', 'schedule.add', 'said', 'function=test.echo', 'seconds=2', "job_args=['tick']"),
  step('beacon', 'beacons.add', 'load', LOAD),
];

/** After they were seen. */
export const LAST_STEPS: readonly Step[] = [
  step('scheduled', 'schedule.list', 'return_yaml=False'),
  step('no schedule', 'schedule.delete', 'said'),
  step('beacons', 'beacons.list', 'return_yaml=False'),
  step('no beacon', 'beacons.delete', 'load'),
];
