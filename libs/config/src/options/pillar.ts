import { anything, flag, integer, list, map, oneOf, openingFlag, text, texts } from '../kinds.ts';

/** The pillar: data of the master for one minion each. */
export const pillarOptions = {
  pillar_roots: map({ default: { base: ['/srv/pillar'] }, doc: 'Directories by environment.' }),
  ext_pillar: list({ default: [], doc: 'External pillars, in order.' }),
  ext_pillar_first: flag({ default: false, doc: 'Ask external pillars before pillar_roots.' }),
  pillar_merge_lists: flag({ default: false, doc: 'Join lists instead of replacing them.' }),
  pillar_includes_override_sls: flag({
    default: false,
    doc: 'Values of included files replace those of the including file.',
  }),
  pillar_safe_render_error: flag({ default: true, doc: 'Keep render errors from minions.' }),
  pillarenv_from_saltenv: flag({ default: false, doc: 'Use saltenv where pillarenv is unset.' }),
  allow_undefined: flag({ default: false, doc: 'Jinja: missing names print nothing.' }),
  renderer_blacklist: texts({
    default: [],
    doc: 'Renderers that no file of pillars, reactions and orchestrations goes through.',
  }),
  renderer_whitelist: texts({
    default: [],
    doc: 'Renderers that alone such files go through; empty: all.',
  }),
  on_demand_ext_pillar: texts({
    default: ['libvirt', 'virtkey'],
    doc: 'External pillars that minions may ask for.',
  }),
  pillar_opts: openingFlag({ default: false, doc: "Put the master's options into the pillar." }),
  pillar_version: integer({ default: 2, doc: 'Version of the pillar protocol.' }),
  pillarenv: anything({ default: null, doc: 'Environment of the pillar.' }),
  saltenv: anything({ default: null, doc: 'Environment of states.' }),
  pillar_source_merging_strategy: oneOf(
    ['smart', 'recurse', 'aggregate', 'overwrite', 'none', 'list'],
    { default: 'smart', doc: 'How pillars are merged.' },
  ),
  exclude_ext_pillar: texts({ default: [], doc: 'External pillars that are not asked.' }),
  decrypt_pillar: anything({
    default: [],
    doc: 'Keys of the pillar that are decrypted: a list, or renderers by key.',
  }),
  decrypt_pillar_delimiter: text({ default: ':', doc: 'Separates the names of nested keys.' }),
  decrypt_pillar_default: text({ default: 'gpg', doc: 'Renderer for keys that name none.' }),
  decrypt_pillar_renderers: texts({
    default: ['gpg'],
    doc: 'Renderers that may decrypt pillar keys.',
  }),
  gpg_keydir: text({ default: '', doc: 'Home of gpg; empty: gpgkeys beside the configuration.' }),
  gpg_decrypt_must_succeed: flag({
    default: true,
    doc: 'A message that gpg cannot open is an error of the pillar.',
  }),
  pillar_cache: flag({
    default: false,
    doc: 'Give minions their last pillar instead of rendering it for each request.',
  }),
  pillar_cache_ttl: integer({
    default: 3600,
    unit: 's',
    doc: 'Age at which a cached pillar is rendered again.',
  }),
  pillar_cache_backend: text({ default: 'disk', doc: 'Without effect: NATS keeps it.' }),
} as const;
