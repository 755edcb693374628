import { anything, flag, map, maybeText, oneOf, text, texts } from '../kinds.ts';

/** Options that the state compiler of a minion requests from its master (`_master_opts`). */
export const stateOptions = {
  state_top: text({ default: 'top.sls', doc: 'Name of the top file.' }),
  state_top_saltenv: maybeText({ doc: 'Take the top file of this environment only.' }),
  top_file_merging_strategy: oneOf(['merge', 'same', 'merge_all'], {
    default: 'merge',
    doc: 'How the top files of several environments count.',
  }),
  env_order: texts({ default: [], doc: 'Order in which environments are merged.' }),
  default_top: text({ default: 'base', doc: 'Environment that stands in for one without top.' }),
  master_tops: map({ default: {}, doc: 'External tops; `ext_nodes` and `saltclass` are served.' }),
  renderer: text({ default: 'jinja|yaml', doc: 'How states and pillars are rendered.' }),
  failhard: flag({ default: false, doc: 'Stop a state run at the first failure.' }),
  state_auto_order: flag({ default: true, doc: 'States run in the order of their files.' }),
  state_aggregate: anything({ default: false, doc: 'Join states of these modules, or all.' }),
  jinja_env: map({ default: {}, doc: 'Options of Jinja for all but states.' }),
  jinja_sls_env: map({ default: {}, doc: 'Options of Jinja for states.' }),
  jinja_lstrip_blocks: flag({ default: false, doc: 'Older form of `jinja_env: lstrip_blocks`.' }),
  jinja_trim_blocks: flag({ default: false, doc: 'Older form of `jinja_env: trim_blocks`.' }),
} as const;
