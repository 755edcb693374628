import { anything, flag, integer, list, map, oneOf, texts } from '../kinds.ts';

/** Files and pillar that the master serves. */
export const fileOptions = {
  file_roots: map({ default: { base: ['/srv/salt'] }, doc: 'Directories by environment.' }),
  fileserver_backend: texts({ default: ['roots'], doc: 'File servers, in order.' }),
  fileserver_followsymlinks: flag({ default: true, doc: 'Follow symbolic links.' }),
  fileserver_ignoresymlinks: flag({ default: false, doc: 'Leave out symbolic links.' }),
  file_ignore_regex: texts({ default: [], doc: 'Files that are not served.' }),
  file_ignore_glob: texts({ default: [], doc: 'Files that are not served.' }),
  fileserver_list_cache_time: integer({
    default: 20,
    min: 0,
    unit: 's',
    doc: 'Age at which a listed directory is read anew, changed or not.',
  }),
  file_buffer_size: integer({
    default: 1_048_576,
    min: 1,
    unit: 'bytes',
    doc: 'Largest piece of a file. Above 248 KiB pieces have 248 KiB: they travel in one message.',
  }),
  file_recv: flag({ default: false, doc: 'Minions may send files.' }),
  file_recv_max_size: integer({ default: 100, unit: 'MB', doc: 'Largest file a minion sends.' }),
  pillar_roots: map({ default: { base: ['/srv/pillar'] }, doc: 'Directories by environment.' }),
  ext_pillar: list({ default: [], reserved: true, doc: 'External pillars.' }),
  on_demand_ext_pillar: texts({
    default: ['libvirt', 'virtkey'],
    reserved: true,
    doc: 'External pillars that minions may ask for.',
  }),
  pillar_opts: flag({ default: false, doc: "Put the master's options into the pillar." }),
  pillar_version: integer({ default: 2, doc: 'Version of the pillar protocol.' }),
  pillarenv: anything({ default: null, doc: 'Environment of the pillar.' }),
  saltenv: anything({ default: null, doc: 'Environment of states.' }),
  pillar_source_merging_strategy: oneOf(
    ['smart', 'recurse', 'aggregate', 'overwrite', 'none', 'list'],
    { default: 'smart', reserved: true, doc: 'How pillars are merged.' },
  ),
} as const;
