import { anything, flag, integer, list, maybeText, openingFlag, text, texts } from '../kinds.ts';

const REFSPECS = ['+refs/heads/*:refs/remotes/origin/*', '+refs/tags/*:refs/tags/*'];

/** The git file server; a remote can set each of these too, without `gitfs_`. */
export const gitfsOptions = {
  gitfs_remotes: list({ default: [], doc: 'Repositories, in order: URLs, or URL with options.' }),
  gitfs_base: text({ default: 'master', doc: 'Branch or tag of the environment base.' }),
  gitfs_fallback: text({ default: '', doc: 'Branch or tag for environments that have none.' }),
  gitfs_mountpoint: text({ default: '', doc: 'Where the files are shown.' }),
  gitfs_root: text({ default: '', doc: 'Directory of the repository that is served.' }),
  gitfs_saltenv: anything({ default: [], doc: 'Ref, root and mountpoint by environment.' }),
  gitfs_saltenv_whitelist: texts({ default: [], doc: 'Environments that are shown.' }),
  gitfs_saltenv_blacklist: texts({ default: [], doc: 'Environments that are not.' }),
  gitfs_disable_saltenv_mapping: flag({
    default: false,
    doc: 'Only base and mapped environments are shown.',
  }),
  gitfs_ref_types: texts({
    default: ['branch', 'tag', 'sha'],
    doc: 'Kinds of references searched for the name of an environment, in order.',
  }),
  gitfs_refspecs: texts({ default: REFSPECS, doc: 'Refspecs to fetch.' }),
  gitfs_update_interval: integer({ default: 60, min: 0, unit: 's', doc: 'Time between fetches.' }),
  gitfs_depth: integer({
    default: 0,
    min: 0,
    doc: 'Commits to fetch of each ref. 0: all, so commit ids can be environments. Salt: 1.',
  }),
  gitfs_ssl_verify: flag({ default: true, doc: 'Check certificates.' }),
  gitfs_proxy: text({ default: '', doc: 'Proxy for http and https.' }),
  gitfs_user: text({ default: '', doc: 'User for https.' }),
  gitfs_password: text({ default: '', doc: 'Password for https.' }),
  gitfs_insecure_auth: openingFlag({ default: false, doc: 'Send the password over http too.' }),
  gitfs_privkey: text({ default: '', doc: 'Path of a private key for ssh.' }),
  gitfs_pubkey: text({ default: '', doc: 'Public key for ssh. Git does not need it.' }),
  gitfs_passphrase: text({ default: '', doc: 'Refused: give such a key to an ssh-agent.' }),
  gitfs_provider: maybeText({ doc: 'Salt: a Python library. Here it is always git itself.' }),
} as const;
