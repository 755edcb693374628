import { NetapiError } from '../errors.ts';

/** The forms of answers, the preferred one first (salt/netapi/rest_cherrypy/app.py ct_out_map). */
export const MEDIA_TYPES = ['application/json', 'application/x-yaml'] as const;

/** The form of an answer. */
export type MediaType = (typeof MEDIA_TYPES)[number];

/** More entries than any client sends; the others are not read. */
const ENTRIES_MAX = 64;

/**
 * The form that a peer wants, by the weights in its header (cherrypy/lib/cptools.py accept).
 * @throws NetapiError 406 with CherryPy's text
 */
export function acceptedType(accept: string | undefined): MediaType {
  const [preferred] = MEDIA_TYPES;
  if (accept === undefined || accept === '') return preferred;
  const entries = accept
    .split(',', ENTRIES_MAX)
    .map((entry) => entryOf(entry))
    .filter(({ weight }) => weight > 0)
    .sort((one, other) => other.weight - one.weight);
  for (const { type } of entries) {
    if (type === '*/*') return preferred;
    const found = MEDIA_TYPES.find(
      (one) => one === type || (type.endsWith('/*') && one.startsWith(type.slice(0, -1))),
    );
    if (found !== undefined) return found;
  }
  const text =
    `Your client sent this Accept header: ${accept}. But this resource only emits these media ` +
    `types: ${MEDIA_TYPES.join(', ')}.`;
  throw new NetapiError(406, text);
}

function entryOf(entry: string): { readonly type: string; readonly weight: number } {
  const [type = '', ...parameters] = entry.split(';').map((part) => part.trim());
  const given = parameters.find((one) => /^q\s*=/i.test(one))?.split('=')[1];
  const weight = given === undefined ? 1 : Number(given);
  return { type: type.toLowerCase(), weight: Number.isFinite(weight) ? weight : 1 };
}
