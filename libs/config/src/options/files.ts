import { flag, integer, map, openingFlag, texts } from '../kinds.ts';

/** Files that the master serves. */
export const fileOptions = {
  file_roots: map({ default: { base: ['/srv/salt'] }, doc: 'Directories by environment.' }),
  fileserver_backend: texts({
    default: ['roots'],
    doc: 'File servers, in the order in which they are asked.',
  }),
  fileserver_followsymlinks: openingFlag({ default: true, doc: 'Follow symbolic links.' }),
  fileserver_ignoresymlinks: flag({ default: false, doc: 'Leave out symbolic links.' }),
  file_ignore_regex: texts({ default: [], doc: 'Files that are not served.' }),
  file_ignore_glob: texts({ default: [], doc: 'Files that are not served.' }),
  fileserver_list_cache_time: integer({
    default: 20,
    min: 0,
    unit: 's',
    doc: 'Age at which a directory is listed again, even if it looks unchanged.',
  }),
  file_buffer_size: integer({
    default: 1_048_576,
    min: 1,
    unit: 'bytes',
    doc: 'Largest piece of a file in one message. Values above 248 KiB mean 248 KiB.',
  }),
  fileserver_events: flag({
    default: false,
    doc: 'Fire salt/fileserver/…/update events where files of roots or gitfs have changed.',
  }),
  roots_update_interval: integer({
    default: 60,
    min: 1,
    unit: 's',
    doc: 'How often fileserver_events looks for changes in the roots.',
  }),
  file_recv: openingFlag({ default: false, doc: 'Minions may send files.' }),
  file_recv_max_size: integer({ default: 100, unit: 'MB', doc: 'Largest file a minion sends.' }),
} as const;
