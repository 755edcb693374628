/** Rights of group and others to some files of a master. */
export interface ExpectedMode {
  /** Matches paths below a root, as `cache/brine/postgres`, `pki/minions/web1`. */
  readonly at: RegExp;
  /** Allowed bits for group and others. */
  readonly may: number;
  /** Applies only if options ask for it. */
  readonly where?: 'group reads pki' | 'users of the host';
  readonly why: string;
}

/** Files that are not in the table must have none of these bits. */
export const NOT_OWNER = 0o077;

/**
 * Files, directories and sockets of a master that are not for their owner alone. The doctor and the
 * test of all modes use this table. Files in a directory that only its owner may enter are closed,
 * whatever their own mode.
 */
export const EXPECTED_MODES: readonly ExpectedMode[] = [
  { at: /^pki\/[^/]+\.pub$/, may: 0o044, why: 'a public key' },
  { at: /^pki\/minions\w*\/[^/]+$/, may: 0o044, why: 'public keys of minions' },
  {
    at: /^pki(\/.*)?$/,
    may: 0o050,
    where: 'group reads pki',
    why: '`permissive_pki_access`',
  },
  { at: /^cache$/, may: 0o055, why: 'as a stock master makes it; the check `job-files` judges it' },
  {
    at: /^cache\/(jobs(\/.*)?|proc|syndics(\/.*)?|tokens|batch_active\.p)$/,
    may: 0o055,
    why: "as a stock master's; `cachedir` itself bars the way",
  },
  { at: /^cache\/traces(\/.*)?$/, may: 0o050, why: "the master's group reads traces, as logs" },
  { at: /^state$/, may: 0o011, why: 'the account of PostgreSQL passes through' },
  { at: /^state\/postgres$/, may: 0o011, why: 'the account of PostgreSQL passes through' },
  { at: /^sock$/, may: 0o055, why: "the operator's: sockets have modes of their own" },
  {
    at: /^sock\/(bare|prefixed|3007)$/,
    may: 0o011,
    why: 'tools of other releases pass it to their sockets',
  },
  {
    at: /^sock\/((bare|prefixed|3007)\/)?master_event_pub\.ipc$/,
    may: 0o060,
    where: 'users of the host',
    why: '`publisher_acl` and `external_auth`: users of the group read events',
  },
];

/** The wider access that options of a master ask for. */
export interface WideChoices {
  /** `permissive_pki_access`. */
  readonly groupReadsPki: boolean;
  /** `publisher_acl` or `external_auth` names users. */
  readonly hasUsers: boolean;
}

/** The bits that group and others may have at a path. */
export function mayHave(at: string, { groupReadsPki, hasUsers }: WideChoices): number {
  const isAsked = { 'group reads pki': groupReadsPki, 'users of the host': hasUsers };
  return EXPECTED_MODES.filter(
    (one) => one.at.test(at) && (one.where === undefined || isAsked[one.where]),
  ).reduce((bits, { may }) => bits | may, 0);
}
