import {
  anything,
  decimal,
  flag,
  integer,
  literalFlag,
  map,
  oneOf,
  text,
  texts,
} from '../kinds.ts';

/** Jobs, their records, and timeouts of clients. */
export const jobOptions = {
  timeout: decimal({ default: 5, min: 0, unit: 's', doc: 'How long a client waits for returns.' }),
  gather_job_timeout: decimal({
    default: 10,
    min: 0,
    unit: 's',
    doc: 'How long a client waits for answers to find_job.',
  }),
  publish_timeout: decimal({
    default: 30,
    min: 0,
    unit: 's',
    doc: 'How long a client waits for the reply to a publish.',
  }),
  keep_jobs: integer({ default: 24, min: 0, unit: 'h', doc: 'Older form of keep_jobs_seconds.' }),
  keep_jobs_seconds: integer({
    default: 86_400,
    min: 0,
    unit: 's',
    doc: 'How long jobs are kept. 0: for ever.',
  }),
  archive_jobs: flag({
    default: false,
    doc: 'Move jobs older than that to the schema brine_archive instead of dropping them.',
  }),
  job_cache: flag({
    default: true,
    doc: 'Keep the returns of minions. Without it they are only counted.',
  }),
  master_job_cache: text({
    default: 'local_cache',
    doc: 'Job cache that local tools read.',
  }),
  ext_job_cache: text({
    default: '',
    doc: 'Returner to which minions write themselves. The master then only counts their returns.',
  }),
  job_cache_store_endtime: flag({
    default: false,
    doc: 'Keep the end time of a job in its files.',
  }),
  runner_returns: flag({
    default: true,
    doc: 'Keep what runners return in the job cache.',
  }),
  hash_type: oneOf(['sha256', 'sha512', 'sha384', 'sha224', 'sha1', 'md5'], {
    default: 'sha256',
    doc: 'Hash of file names in the job cache, and of files.',
  }),
  unique_jid: flag({ default: false, doc: 'Append the process id to job ids.' }),
  cache: text({ default: 'localfs', doc: 'Where minion data is kept for local tools.' }),
  minion_data_cache: flag({ default: true, doc: 'Keep grains, pillar and mine of minions.' }),
  minion_data_cache_events: literalFlag(true, {
    default: true,
    doc: 'Fire minion/refresh events.',
  }),
  preserve_minion_cache: flag({ default: false, doc: 'Keep minion data of deleted keys.' }),
  nodegroups: map({ default: {}, doc: 'Named groups of minions.' }),
  range_server: text({ default: 'range:80', doc: 'Server of range targets.' }),
  show_timeout: flag({
    default: true,
    doc: 'Without effect, as in Salt 3008: minions that did not return are always shown.',
  }),
  show_jid: flag({ default: false, doc: 'Show the job id.' }),
  cli_summary: flag({ default: false, doc: 'Show a summary after the returns.' }),
  output: text({ default: '', doc: 'Outputter that is used when no other is named.' }),
  color: flag({ default: true, doc: 'Colours on a terminal.' }),
  state_output: text({ default: 'full', doc: 'How much the highstate outputter shows.' }),
  state_verbose: flag({ default: true, doc: 'Show states that changed nothing.' }),
  state_output_diff: flag({ default: false, doc: 'Show changes only.' }),
  state_output_profile: flag({ default: true, doc: 'Show start and duration of states.' }),
  state_output_pct: flag({ default: false, doc: 'Show the percentage of good and bad states.' }),
  state_compress_ids: flag({
    default: false,
    doc: 'Show states with one id and one result as one.',
  }),
  state_output_exclude: anything({
    default: [],
    doc:
      'With state_output: filter, results that are not shown: a list of True, False, None, or a ' +
      'text of them with commas.',
  }),
  state_output_terse: anything({
    default: [],
    doc: 'With state_output: filter, results that are shown in one line; in the same form.',
  }),
  state_tabular: flag({ default: false, doc: 'Show states of one line in columns.' }),
  salt_cp_chunk_size: integer({
    default: 98_304,
    min: 1,
    max: 67_108_864,
    unit: 'bytes',
    doc: 'Largest piece of a file that `salt-cp -C` sends at once.',
  }),
  batch_safe_limit: integer({ default: 0, min: 0, doc: 'Targets above which a batch is used.' }),
  batch_safe_size: integer({ default: 8, min: 1, doc: 'Size of that batch.' }),
  default_include: text({
    default: 'master.d/*.conf',
    doc: 'Files read after the main one, in the order of their names.',
  }),
  include: texts({ default: [], doc: 'Further files, read after those of default_include.' }),
} as const;
