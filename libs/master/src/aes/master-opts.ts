import { boolOf, mapOf, type SaltMap, type SaltValue } from '@brine/wire';
import type { MasterOptsReply, MasterPorts } from '../ports/ports.ts';

/**
 * Answer of `_master_opts` (salt/fileserver `_master_opts`, salt/master.py). Sends all options,
 * because the state compiler of a minion indexes them without defaults. `envs` are those of all
 * file servers.
 */
export function masterOpts(opts: MasterOptsReply, envs: readonly string[], load: SaltMap): SaltMap {
  const environment = mapOf({
    file_roots: new Map(envs.map((env): [SaltValue, SaltValue] => [env, []])),
    top_file_merging_strategy: opts.topFileMergingStrategy,
    env_order: [...opts.envOrder],
    default_top: opts.defaultTop,
  });
  if (boolOf(load, 'env_only') === true) return environment;
  const nodegroups = Object.entries(opts.nodegroups);
  const compiler = mapOf({
    renderer: opts.renderer,
    failhard: opts.failhard,
    state_top: opts.stateTop,
    state_top_saltenv: opts.stateTopSaltenv,
    nodegroups: new Map(
      nodegroups.map(([name, words]): [SaltValue, SaltValue] => [
        name,
        typeof words === 'string' ? words : [...words],
      ]),
    ),
    state_auto_order: opts.stateAutoOrder,
    state_events: opts.stateEvents,
    state_aggregate: opts.stateAggregate,
    jinja_env: opts.jinjaEnv,
    jinja_sls_env: opts.jinjaSlsEnv,
    jinja_lstrip_blocks: opts.jinjaLstripBlocks,
    jinja_trim_blocks: opts.jinjaTrimBlocks,
  });
  return new Map([...environment, ...compiler]);
}

/**
 * `_master_tops`: states by environment, in addition to the top file. The minion's own options in
 * the load are ignored: they could name another minion.
 */
export async function masterTops(ports: MasterPorts, minion: string): Promise<SaltMap> {
  const states = await ports.tops.of(minion);
  return new Map([...states].map(([env, sls]): [SaltValue, SaltValue] => [env, [...sls]]));
}
