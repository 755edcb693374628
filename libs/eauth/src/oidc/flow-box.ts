import { hkdfSync } from 'node:crypto';
import { EncryptJWT, errors, jwtDecrypt } from 'jose';
import type { OidcOptions } from './oidc-options.ts';

/** What a log-in that was begun must come back with. */
export interface Flow {
  readonly state: string;
  readonly nonce: string;
  /** Of PKCE. */
  readonly verifier: string;
}

/** The time to finish a log-in, in seconds. */
export const FLOW_LIFE_S = 600;

const CIPHER = 'A256GCM';
const KEY_BYTES = 32;
const PURPOSE = 'brine oidc flow 1';
/** A sealed flow has some 400 characters; longer texts are not opened. */
const SEALED_MAX = 1_024;

/**
 * Seals log-ins that were begun, for the browser to keep: any worker opens them, and no store grows
 * while strangers begin log-ins. The key is made from the secret of the client.
 */
export class FlowBox {
  readonly #key: Uint8Array;

  constructor({ issuer, clientId, clientSecret }: OidcOptions) {
    const salt = JSON.stringify([issuer, clientId]);
    this.#key = new Uint8Array(hkdfSync('sha256', clientSecret, salt, PURPOSE, KEY_BYTES));
  }

  seal(flow: Flow): Promise<string> {
    return new EncryptJWT({ ...flow })
      .setProtectedHeader({ alg: 'dir', enc: CIPHER })
      .setExpirationTime(`${FLOW_LIFE_S}s`)
      .encrypt(this.#key);
  }

  /** Undefined for a text that is not one of ours, or is too old. */
  async open(sealed: string): Promise<Flow | undefined> {
    if (sealed.length > SEALED_MAX) return undefined;
    try {
      const { payload } = await jwtDecrypt<Flow>(sealed, this.#key, {
        keyManagementAlgorithms: ['dir'],
        contentEncryptionAlgorithms: [CIPHER],
        requiredClaims: ['exp'],
      });
      return payload;
    } catch (error) {
      if (error instanceof errors.JOSEError) return undefined;
      throw error;
    }
  }
}
