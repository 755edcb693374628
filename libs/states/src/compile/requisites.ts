/** A kind of requisite; the order of this list is Salt's order of precedence. */
export const REQUISITES = [
  'onfail',
  'onfail_any',
  'onfail_all',
  'require',
  'require_any',
  'onchanges',
  'onchanges_any',
  'watch',
  'watch_any',
  'prereq',
  'prerequired',
  'listen',
] as const;

/** A name in {@link REQUISITES}. */
export type Requisite = (typeof REQUISITES)[number];

/** Requisites of a chunk that become edges, in the order in which Salt adds them. */
export const EDGE_REQUISITES: readonly Requisite[] = [
  'require',
  'require_any',
  'watch',
  'watch_any',
  'prereq',
  'onfail',
  'onfail_any',
  'onfail_all',
  'onchanges',
  'onchanges_any',
];

/** The weight of a requisite when two ask for different orders. */
export function weightOf(requisite: Requisite): number {
  return REQUISITES.indexOf(requisite);
}

/** Keywords that must be lists of single maps (Salt: STATE_REQUISITE_KEYWORDS). */
export const REQUISITE_KEYWORDS: ReadonlySet<string> = new Set([...REQUISITES, 'onfail_stop']);

/** Keywords that put a requisite into another state. */
export const REQUISITE_IN: ReadonlySet<string> = new Set([
  'require_in',
  'watch_in',
  'onfail_in',
  'onchanges_in',
  'use',
  'use_in',
  'prereq_in',
]);

/** Arguments that `use` does not copy (Salt: req_in_all). */
export const NOT_USED: ReadonlySet<string> = new Set([
  ...REQUISITE_IN,
  'require',
  'watch',
  'prereq',
  'onfail',
  'onfail_stop',
  'onchanges',
]);

/** Keywords for the compiler, never for a state function (Salt: STATE_INTERNAL_KEYWORDS). */
export const INTERNAL_KEYWORDS: ReadonlySet<string> = new Set([
  ...REQUISITE_KEYWORDS,
  ...['onchanges_in', 'onfail_in', 'prereq_in', 'watch_in', 'require_in', 'listen_in'],
  ...['fun', 'state', 'check_cmd', 'cmd_opts_exclude', 'failhard', 'onlyif', 'unless', 'creates'],
  ...['retry', 'order', 'parallel', 'reload_modules', 'reload_grains', 'reload_pillar', 'runas'],
  ...['runas_password', 'no_log', 'fire_event', 'saltenv', 'umask', 'use', 'use_in', '__env__'],
  ...['__sls__', '__id__', '__sls_included_from__', '__orchestration_jid__', '__pub_user'],
  ...['__pub_arg', '__pub_jid', '__pub_fun', '__pub_tgt', '__pub_ret', '__pub_pid'],
  ...['__pub_tgt_type', '__prereq__', '__prerequiring__', '__umask__'],
]);
