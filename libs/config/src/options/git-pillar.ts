import { flag, integer, map, text } from '../kinds.ts';

/** Options of external pillars. */
export const gitPillarOptions = {
  git_pillar_base: text({ default: 'master', doc: 'Branch or tag of the environment base.' }),
  git_pillar_branch: text({ default: 'master', doc: 'Branch of remotes that name none.' }),
  git_pillar_env: text({ default: '', doc: 'Environment of all remotes.' }),
  git_pillar_fallback: text({ default: '', doc: 'Branch or tag to use if theirs is missing.' }),
  git_pillar_root: text({ default: '', doc: 'Directory of the repository that is read.' }),
  git_pillar_includes: flag({ default: true, doc: 'Files of other remotes may be included.' }),
  git_pillar_update_interval: integer({ default: 60, unit: 's', doc: 'Time between fetches.' }),
  git_pillar_ssl_verify: flag({ default: true, doc: 'Check certificates.' }),
  git_pillar_user: text({ default: '', doc: 'User for https.' }),
  git_pillar_password: text({ default: '', doc: 'Password for https.' }),
  git_pillar_privkey: text({ default: '', doc: 'Path of a private key for ssh.' }),
  postgres: map({
    default: {},
    doc: 'Values `host`, `port`, `user`, `pass` and `db` of the external pillar `postgres`.',
  }),
} as const;
