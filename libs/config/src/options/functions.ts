import { decimal, flag, integer, literalFlag, map, maybeText, texts } from '../kinds.ts';

/** Options of runners, wheels and orchestrations. */
export const functionOptions = {
  test: flag({ default: false, doc: 'Orchestrations change nothing and show what they would do.' }),
  disabled_requisites: texts({
    default: [],
    doc: 'Requisites without effect in orchestrations.',
  }),
  state_max_parallel: integer({
    default: 0,
    min: 0,
    doc: 'States of one orchestration that run at the same time. 0: no limit but that of 100.',
  }),
  extmod_whitelist: map({
    default: {},
    doc: 'Modules that `saltutil.sync_*` copies, by kind. Without an entry: all.',
  }),
  extmod_blacklist: map({
    default: {},
    doc: 'Modules that `saltutil.sync_*` does not copy, by kind.',
  }),
  clean_dynamic_modules: literalFlag(true, {
    default: true,
    doc: '`saltutil.sync_*` removes copies of modules that are no longer in the file roots.',
  }),
  runner_queue: map({ default: {}, doc: 'Queue of `queue.insert_runner`: `queue`, `backend`.' }),
  http_connect_timeout: decimal({
    default: 20,
    min: 0,
    unit: 's',
    doc: 'How long `http.query` waits for a connection.',
  }),
  http_request_timeout: decimal({
    default: 3600,
    min: 0,
    unit: 's',
    doc: 'How long `http.query` takes at most.',
  }),
  http_max_body: integer({
    default: 107_374_182_400,
    min: 0,
    unit: 'bytes',
    doc: 'Largest answer of `http.query`.',
  }),
  ca_bundle: maybeText({ doc: 'File of the certificates that `http.query` trusts.' }),
  ca_bundle_url: maybeText({ doc: 'Address from which `http.update_ca_bundle` fetches it.' }),
  verify_ssl: flag({ default: true, doc: '`http.query` checks the certificate of the server.' }),
} as const;
