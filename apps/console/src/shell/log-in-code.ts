import { ApiError } from '../api/ask.ts';
import { logIn } from '../api/session.ts';
import { troubleElsewhere } from './log-in-elsewhere.ts';

export const WRONG_CODE =
  'This code is not valid. It was used before, or it is older than ten minutes. ' +
  'Run "brine console" for another one.';

/** What an address brings for the log-in page. */
interface Brought {
  readonly code: string | undefined;
  /** What became of a log-in elsewhere. */
  readonly trouble: string | undefined;
}

/** Takes the code out of the address, so that neither the history nor a copied link has it. */
export function takeBrought(): Brought {
  const { hash, pathname, search } = window.location;
  const brought = new URLSearchParams(hash.slice(1));
  if (hash !== '') window.history.replaceState(null, '', pathname + search);
  return {
    code: brought.get('code') ?? undefined,
    trouble: troubleElsewhere(brought.get('log-in')),
  };
}

/** Logs in with a code of `brine console`. @returns what was wrong, or undefined */
export async function logInByCode(code: string): Promise<string | undefined> {
  try {
    await logIn({ code });
    return undefined;
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    return error.code === 'log-in-refused' ? WRONG_CODE : error.message;
  }
}
