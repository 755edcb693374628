import {
  type CommandForm,
  flag,
  type Option,
  text,
  withoutEffect,
} from '../options/command-form.ts';
import {
  BASE_OPTIONS,
  eauthGroup,
  loggingGroup,
  outputGroup,
  SALT_VERSION,
} from '../options/common-groups.ts';

const ACTIONS: readonly Option[] = [
  text(['-l', '--list'], 'list', "List keys: 'acc', 'pre' or 'un', 'rej', 'den', 'all'.", ''),
  flag(['-L', '--list-all'], 'list_all', 'List all keys.'),
  text(['-a', '--accept'], 'accept', 'Accept a pending key; globs and lists by comma.', ''),
  flag(['-A', '--accept-all'], 'accept_all', 'Accept all pending keys.'),
  text(['-r', '--reject'], 'reject', 'Reject a pending key.', ''),
  flag(['-R', '--reject-all'], 'reject_all', 'Reject all pending keys.'),
  flag(['--include-all'], 'include_all', 'Also rejected (-a) or accepted (-r) keys.'),
  flag(['--include-accepted'], 'include_accepted', 'Also accepted keys, for -r.'),
  flag(['--include-rejected'], 'include_rejected', 'Also rejected keys, for -a.'),
  flag(['--include-denied'], 'include_denied', 'Also denied keys.'),
  text(['-p', '--print'], 'print', 'Print a public key.', ''),
  flag(['-P', '--print-all'], 'print_all', 'Print all public keys.'),
  text(['-d', '--delete'], 'delete', 'Delete a key.', ''),
  flag(['-D', '--delete-all'], 'delete_all', 'Delete all keys.'),
  text(['-f', '--finger'], 'finger', 'Print the fingerprint of a key.', ''),
  flag(['-F', '--finger-all'], 'finger_all', 'Print all fingerprints.'),
];

const GENERATION: readonly Option[] = [
  text(['--gen-keys'], 'gen_keys', 'Make a key pair of this name.', ''),
  text(['--gen-keys-dir'], 'gen_keys_dir', 'Directory for the pair.', '.'),
  { names: ['--keysize'], dest: 'keysize', kind: 'int', default: 2048, help: 'Bits of the key.' },
  flag(['--gen-signature'], 'gen_signature', "Sign the master's public key."),
  text(['--priv'], 'priv', 'Private key to sign with.', ''),
  text(['--signature-path'], 'signature_path', 'Directory for the signature.', ''),
  text(['--pub'], 'pub', 'Public key to be signed.', ''),
  flag(['--auto-create'], 'auto_create', 'Make the signing pair if it is missing.'),
];

/** The `salt-key` command (Salt: salt/utils/parsers.py SaltKeyOptionParser). */
export const KEY_FORM: CommandForm = {
  prog: 'salt-key',
  usage: '[options]',
  description: 'Lists, accepts, rejects and deletes the keys of minions.',
  version: SALT_VERSION,
  groups: [
    {
      title: 'Options',
      options: [
        ...BASE_OPTIONS,
        withoutEffect(text(['-u', '--user'], 'user', ''), "run it as the master's user"),
        flag(['-q', '--quiet'], 'quiet', 'Changes nothing, as in Salt.'),
        flag(['-y', '--yes'], 'yes', 'Yes to every question.'),
        text(['--rotate-aes-key'], 'rotate_aes_key', 'False keeps the AES key after -d and -r.'),
        withoutEffect(
          text(['--preserve-minions'], 'preserve_minions', ''),
          "set preserve_minion_cache in the master's file",
        ),
      ],
    },
    loggingGroup(false),
    outputGroup(),
    { title: 'Actions', options: ACTIONS },
    { title: 'Key Generation Options', options: GENERATION },
    eauthGroup(false),
  ],
};
