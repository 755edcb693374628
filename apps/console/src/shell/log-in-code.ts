import { ApiError } from '../api/ask.ts';
import { logIn } from '../api/session.ts';

export const WRONG_CODE =
  'This code is not valid. It was used before, or it is older than ten minutes. ' +
  'Run "brine console" for another one.';

/** Takes the code out of the address, so that neither the history nor a copied link has it. */
export function takeCode(): string | undefined {
  const { hash, pathname, search } = window.location;
  const code = new URLSearchParams(hash.slice(1)).get('code') ?? undefined;
  if (hash !== '') window.history.replaceState(null, '', pathname + search);
  return code;
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
