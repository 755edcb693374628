import { logOut } from '../api/session.ts';

/** Ends the session, and shows what one logs in with. */
export async function leave(): Promise<void> {
  await logOut();
  window.location.reload();
}
