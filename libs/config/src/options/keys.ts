import { userInfo } from 'node:os';
import {
  decimal,
  flag,
  integer,
  literalFlag,
  maybeText,
  oneOf,
  openingFlag,
  text,
  texts,
} from '../kinds.ts';

/** Who may sign in, and the keys that protect the traffic. */
export const keyOptions = {
  id: text({ default: '', doc: "Name of the master. The host's name and `_master` when empty." }),
  user: text({
    default: currentUser(),
    env: 'BRINE_USER',
    doc: 'User the master runs as. `brine master` that root starts changes to this user.',
  }),
  open_mode: literalFlag(true, {
    default: false,
    doc: 'Accept every key, also a changed one. Dangerous.',
  }),
  auto_accept: literalFlag(true, { default: false, doc: 'Accept the key of every new minion.' }),
  autosign_timeout: integer({
    default: 120,
    min: 0,
    unit: 'min',
    doc: 'Lifetime of a file in minions_autosign. 0: without end.',
  }),
  max_minions: integer({ default: 0, min: 0, doc: 'Most minions that may log in. 0: any number.' }),
  keysize: integer({ default: 2048, min: 2048, unit: 'bits', doc: 'Size of a new key pair.' }),
  key_pass: maybeText({ doc: "Passphrase of the master's private key." }),
  signing_key_pass: maybeText({ doc: 'Passphrase of the key that signs the public key.' }),
  cluster_id: maybeText({
    doc:
      "Name of a cluster of Salt's masters. Keys are then those of cluster_pki_dir, and the " +
      "master's pair is `cluster`. Brine's hosts share them through NATS.",
  }),
  // Not below root_dir: Salt uses it unchanged.
  cluster_pki_dir: maybeText({
    doc: 'Keys of that cluster. pki_dir when unset; without effect where cluster_id is unset.',
  }),
  cluster_key_pass: maybeText({ doc: "Passphrase of that cluster's private key." }),
  auth_mode: integer({ default: 1, doc: "Salt's authentication protocol." }),
  minimum_auth_version: integer({
    default: 3,
    min: 0,
    doc: 'Lowest version of the request envelope that is served.',
  }),
  auth_events: literalFlag(true, { default: true, doc: 'Fire salt/auth events.' }),
  auth_events_autosign_grains: texts({
    default: [],
    doc:
      'Kinds of salt/auth events with the autosign grains of the minion: `accept`, `pend`, ' +
      '`reject`, `denied`, `full`. At most 16 KiB.',
  }),
  auth_events_pend_autosign_grains: flag({
    default: false,
    doc: 'Older idea of auth_events_autosign_grains.',
  }),
  publish_session: integer({
    default: 86_400,
    min: 0,
    unit: 's',
    doc: 'Age at which session keys and the AES key are renewed.',
  }),
  rotate_aes_key: literalFlag(false, {
    default: true,
    doc: 'New AES key when a key is deleted or rejected.',
  }),
  ping_on_rotate: flag({
    default: false,
    doc: 'Ping all minions after a new AES key.',
  }),
  sign_pub_messages: flag({ default: true, doc: 'Sign publications.' }),
  publish_signing_algorithm: oneOf(['PKCS1v15-SHA1', 'PKCS1v15-SHA224'], {
    default: 'PKCS1v15-SHA1',
    doc: 'How publications are signed.',
  }),
  require_minion_sign_messages: flag({ default: false, doc: 'Refuse unsigned returns.' }),
  drop_messages_signature_fail: flag({ default: false, doc: 'Drop wrongly signed returns.' }),
  allow_minion_key_revoke: openingFlag({ default: true, doc: 'A minion may revoke its own key.' }),
  master_sign_pubkey: flag({
    default: false,
    doc: 'Send a signature of the public key at each log-in. Minions must be set up for it.',
  }),
  master_sign_key_name: text({
    default: 'master_sign',
    doc: 'Name of the key pair that signs the public key.',
  }),
  master_use_pubkey_signature: flag({
    default: false,
    doc: 'Send a signature that was made elsewhere instead of signing.',
  }),
  master_pubkey_signature: maybeText({
    doc: 'File in pki_dir with that signature; `<id>_pubkey_signature` when unset.',
  }),
  permissive_pki_access: openingFlag({
    default: false,
    doc: 'Let the group read the pki directory.',
  }),
  loop_interval: decimal({
    default: 60,
    min: 1,
    unit: 's',
    doc: 'Time between two salt/presence events; also the slack of the schedule.',
  }),
} as const;

/** Salt: salt/utils/user.get_user. A user id may have no name in the host's list. */
function currentUser(): string {
  try {
    return userInfo().username;
  } catch {
    // userInfo throws if the user id has no entry (containers): then the number is the name.
    return String(process.getuid?.() ?? 'root');
  }
}
