import { CryptError, type Crypticle, isSigAlgo, SerialMemory } from '@brine/crypt';
import type { Log } from '@brine/tasks';
import { unpackMap, WireError } from '@brine/wire';
import { type Publication, readPublication } from '@brine/wire/frames';
import { parsePublishedJob, type PublishedJob } from '@brine/wire/load';
import type { Authenticator } from './authenticator.ts';
import type { Credentials } from './sign-in.ts';

/** The rules for reading publications. */
export interface PublicationRules {
  /** Refuse publications without the master's signature. */
  readonly signPubMessages: boolean;
}

/** Opens frames of port 4505 (Salt: salt/channel/client.py AsyncPubChannel). */
export class FrameReader {
  readonly #authenticator: Authenticator;
  readonly #rules: PublicationRules;
  readonly #log: Log;
  #serials: { readonly keyString: string; readonly memory: SerialMemory } | undefined;

  constructor(authenticator: Authenticator, rules: PublicationRules, log: Log) {
    this.#authenticator = authenticator;
    this.#rules = rules;
    this.#log = log;
  }

  /**
   * The job in a frame. Undefined for frames that a minion ignores: foreign or broken ones, a
   * serial that is not higher than the last one. A frame of another key makes the minion sign in
   * once. Throws MinionError only with an exit code.
   */
  async read(frame: Uint8Array, signal: AbortSignal): Promise<PublishedJob | undefined> {
    try {
      const publication = readPublication(frame);
      const opened = await this.#open(publication, signal);
      if (opened === undefined) return undefined;
      const job = parsePublishedJob(unpackMap(opened.body));
      return this.#isNew(job, opened.aes) ? job : undefined;
    } catch (error) {
      if (!(error instanceof WireError) && !(error instanceof CryptError)) throw error;
      this.#log.warn({ err: error }, 'a publication was ignored');
      return undefined;
    }
  }

  async #open(
    publication: Publication,
    signal: AbortSignal,
  ): Promise<{ readonly body: Buffer; readonly aes: Crypticle } | undefined> {
    let credentials = this.#authenticator.current;
    if (credentials === undefined || !this.#isSigned(publication, credentials)) return undefined;
    let body: Buffer | undefined;
    try {
      body = credentials.aes.open(publication.load);
    } catch (error) {
      if (!(error instanceof CryptError) || error.code !== 'SALT_CRYPT_MAC') throw error;
      credentials = await this.#authenticator.renew(credentials, signal);
      body = credentials.aes.open(publication.load);
    }
    return body === undefined ? undefined : { body, aes: credentials.aes };
  }

  #isSigned(publication: Publication, { masterKey }: Credentials): boolean {
    if (!this.#rules.signPubMessages) return true;
    const { load, sig, sigAlgo } = publication;
    const good =
      sig !== undefined &&
      sigAlgo !== undefined &&
      isSigAlgo(sigAlgo) &&
      masterKey.verify(load, sig, sigAlgo);
    if (!good) this.#log.warn({}, 'a publication without a good signature was ignored');
    return good;
  }

  /** Each key has one memory for serials: a new sign-in with the same key does not reset it. */
  #isNew(job: PublishedJob, aes: Crypticle): boolean {
    if (this.#serials?.keyString !== aes.keyString) {
      this.#serials = { keyString: aes.keyString, memory: new SerialMemory() };
    }
    if (job.serial === undefined || this.#serials.memory.accept(job.serial)) return true;
    this.#log.warn({ jid: job.jid }, 'a publication with an old serial was ignored');
    return false;
  }
}
