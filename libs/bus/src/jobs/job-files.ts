import { createHash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { isMap, mapOf, type SaltValue, textOf } from '@brine/wire';
import type { Bus } from '../connection/connect.ts';
import { BusError } from '../connection/errors.ts';
import { type Answering, ask, serve } from '../rpc/queries.ts';
import { SUBJECT_ROOT } from '../subjects/names.ts';

/** The files of a job on a host: there, still to come, or given up because of an error. */
export type JobFilesState = 'written' | 'awaited' | 'failed';

/** Answers {@link awaitJobFiles} for one host. */
export function serveJobFiles(
  bus: Bus,
  host: string,
  stateOf: (jid: string) => Promise<JobFilesState>,
): Answering {
  return serve(bus, subjectOf(host), async (question) => {
    const jid = isMap(question) ? textOf(question, 'jid') : undefined;
    // Without this an error would leave the question unanswered.
    return jid === undefined ? 'failed' : stateOf(jid).catch(() => 'failed');
  });
}

/** How long {@link awaitJobFiles} waits at most, in ms. */
export interface JobFilesPatience {
  /** For a host whose event bus answers that it has not reached the job, or is too busy. */
  readonly busyMs: number;
  /** For a host whose event bus is absent: it may be between two processes. */
  readonly absentMs: number;
}

/** How long one answer may take; a busy host is asked again. */
const ANSWER_MS = 2_000;
const POLL_MS = 100;

/**
 * Waits until a host has the files of a job. False if they could not be written, or did not come in
 * time. A question finds out what a lost or late message about them would have reported.
 */
export async function awaitJobFiles(
  bus: Bus,
  { host, jid }: { readonly host: string; readonly jid: string },
  { busyMs, absentMs }: JobFilesPatience,
): Promise<boolean> {
  const since = performance.now();
  for (;;) {
    const state = await askOnce(bus, host, jid);
    if (state === 'written') return true;
    const waited = performance.now() - since;
    if (state === 'failed' || waited >= (state === 'absent' ? absentMs : busyMs)) return false;
    await sleep(POLL_MS);
  }
}

async function askOnce(bus: Bus, host: string, jid: string): Promise<JobFilesState | 'absent'> {
  let answer: SaltValue;
  try {
    answer = await ask(bus, subjectOf(host), mapOf({ jid }), ANSWER_MS);
  } catch (error) {
    if (!(error instanceof BusError)) throw error;
    if (error.code === 'BUS_NO_ANSWER') return 'absent';
    // `busy` is an answer too.
    return error.code === 'BUS_TIMEOUT' || error.code === 'BUS_QUERY_FAILED' ? 'awaited' : 'failed';
  }
  return answer === 'written' || answer === 'awaited' ? answer : 'failed';
}

/** A host may have a name that is no token of a subject. */
function subjectOf(host: string): string {
  const token = createHash('sha256').update(host).digest('hex').slice(0, 32);
  return `${SUBJECT_ROOT}.files.${token}`;
}
