import { X509Certificate } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { CERTIFICATE_FILES } from '@brine/crypt';
import type { TlsOptions } from '@nats-io/nats-core';
import type { BusOptions } from './bus-options.ts';
import { BusError } from './errors.ts';

/** Addresses whose traffic does not leave this host. */
const LOOPBACK = /^(?:localhost|127(?:\.\d+){3}|\[::1\])$/;

/** The servers of a NATS URL, and how they are to be reached. */
export interface Servers {
  readonly urls: readonly URL[];
  /** `host:port` of each. */
  readonly servers: readonly string[];
  /** The client reads the files at each connect, so a renewed certificate needs no restart. */
  readonly tls?: TlsOptions;
}

/**
 * Parses a NATS URL. Beyond loopback it demands TLS: without it, anyone on the way could read jobs
 * and replace the keys that workers trust.
 * @throws BusError `BUS_EXPOSED`, `BUS_NO_CERTIFICATE`, each with what to do.
 */
export function readServers(options: BusOptions): Servers {
  const urls = options.url.split(',').map((part) => {
    const text = part.trim();
    return new URL(text.includes('://') ? text : `nats://${text}`);
  });
  const servers = urls.map((url) => `${url.hostname}:${url.port === '' ? '4222' : url.port}`);
  // One connection's options are for all its servers.
  if (urls.some(({ protocol }) => protocol === 'tls:')) {
    return { urls, servers, tls: certificatesOf(options) };
  }
  const beyond = urls.find(({ hostname }) => !LOOPBACK.test(hostname));
  if (beyond !== undefined && options.plain !== true) {
    const text =
      `NATS at ${beyond.host} is beyond loopback and would be reached without TLS: make ` +
      `certificates with \`brine pki init\` and call it tls://${beyond.host}, or set ` +
      'brine.nats.plain (BRINE_NATS_PLAIN) where the network is believed';
    throw new BusError('BUS_EXPOSED', text);
  }
  return { urls, servers };
}

function certificatesOf({ name, certificates }: BusOptions): TlsOptions {
  const dir = join(certificates ?? '', name);
  const file = (kind: keyof typeof CERTIFICATE_FILES): string => {
    const path = join(dir, CERTIFICATE_FILES[kind]);
    if (existsSync(path)) return path;
    const text =
      `${path} is not there, and NATS is to be reached by TLS: make it with \`brine pki init\`, ` +
      'or bring it here from where that was done';
    throw new BusError('BUS_NO_CERTIFICATE', text);
  };
  return { caFile: file('roots'), certFile: file('certificate'), keyFile: file('key') };
}

/** When a certificate expires, Unix ms; undefined while its file can not be read. */
export function endOfCertificate(path: string): number | undefined {
  try {
    return Date.parse(new X509Certificate(readFileSync(path)).validTo);
  } catch {
    // The file is being replaced, or missing. The next connect reports that.
    return undefined;
  }
}
