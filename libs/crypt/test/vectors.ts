import { readFileSync } from 'node:fs';

/** A file of recorded bytes (test/fixtures/vectors), parsed. */
export function vectors<T>(name: string): T {
  const url = new URL(`../../../test/fixtures/vectors/${name}.json`, import.meta.url);
  return JSON.parse(readFileSync(url, 'utf8')) as T;
}

/** Bytes out of base64. */
export function b64(text: string): Buffer {
  return Buffer.from(text, 'base64');
}

/** A recorded key pair. */
export interface KeyVector {
  readonly pem: string;
  readonly pub: string;
}

/** The file rsa.json. */
export interface RsaVectors {
  readonly keys: readonly (KeyVector & {
    readonly bits: number;
    readonly x931: readonly { readonly message: string; readonly block: string }[];
    readonly oaep: readonly {
      readonly algorithm: string;
      readonly plaintext: string;
      readonly ciphertext: string;
    }[];
    readonly sign: readonly {
      readonly algorithm: string;
      readonly message: string;
      readonly signature: string;
    }[];
  })[];
}
