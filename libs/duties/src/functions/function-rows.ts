import { listOf, mapIn, mapOf, pack, type SaltMap, type SaltValue } from '@brine/wire';
import { pyRepr } from '@brine/wire/text';

/** What is shown of a function: one row, by its kind and name. */
export type FunctionRows = ReadonlyMap<string, SaltMap>;

/** Limits of what one source shows; a minion chooses all of it itself. */
export const SHOWN = {
  functions: 5_000,
  /** Bytes of all rows, packed. */
  bytes: 8 * 1024 * 1024,
  /** Bytes of the documentation of one function, in UTF-8. */
  docBytes: 64 * 1024,
  parameters: 100,
  /** Characters of a default. */
  defaultLength: 1_000,
} as const;

const NAME = /^[\w-]{1,100}\.[\w.-]{1,100}$/;
const PARAMETER = /^\w{1,100}$/;
/** The end of a text that was cut. */
const CUT = ' […]';

/** Documentation and parameters of functions of one kind. */
export interface Described {
  readonly kind: 'module' | 'runner' | 'state' | 'wheel';
  /** `sys.doc`, `sys.state_doc`: documentation by name, with modules among the names. */
  readonly docs: SaltMap;
  /** `sys.argspec`, `sys.state_argspec`; a function that is not in it may take any arguments. */
  readonly specs?: SaltMap | undefined;
}

/**
 * The rows of what a source describes, within {@link SHOWN}; the first ones in the order of the
 * kinds, then of names.
 * @returns `left`: how many functions are beyond the limits
 */
export function functionRows(
  described: readonly Described[],
  source: string,
): { readonly rows: FunctionRows; readonly left: number } {
  const rows = new Map<string, SaltMap>();
  let [bytes, left] = [0, 0];
  for (const { kind, docs, specs } of described) {
    for (const name of namesIn(docs, specs)) {
      const row = mapOf({
        kind,
        name,
        ...signatureIn(specs && mapIn(specs, name)),
        doc: textIn(docs.get(name)),
        source,
      });
      bytes += pack(row).length;
      if (rows.size >= SHOWN.functions || bytes > SHOWN.bytes) left += 1;
      else rows.set(`${kind} ${name}`, row);
      // The rest is not worth its work.
      if (left > SHOWN.functions) return { rows, left };
    }
  }
  return { rows, left };
}

const NOT_KNOWN = { parameters: [], open: 'any' };

function namesIn(docs: SaltMap, specs: SaltMap = mapOf({})): string[] {
  const names = new Set<string>();
  for (const name of [...docs.keys(), ...specs.keys()]) {
    if (typeof name === 'string' && NAME.test(name)) names.add(name);
  }
  return [...names].sort();
}

/** `{args, defaults, varargs, kwargs}` (salt/utils/args.py argspec_report) as a row has it. */
function signatureIn(spec: SaltMap | undefined): Readonly<Record<string, SaltValue>> {
  if (spec === undefined) return NOT_KNOWN;
  const args = (listOf(spec, 'args') ?? []).slice(0, SHOWN.parameters);
  const defaults = listOf(spec, 'defaults') ?? [];
  const firstOptional = (listOf(spec, 'args') ?? []).length - defaults.length;
  const parameters = args.flatMap((name, at) => {
    if (typeof name !== 'string' || !PARAMETER.test(name)) return [];
    return [parameterOf(name, at < firstOptional ? undefined : defaults[at - firstOptional])];
  });
  const [more, named] = [spec.get('varargs') === true, spec.get('kwargs') === true];
  const open = more && named ? 'any' : more ? 'args' : named ? 'kwargs' : null;
  return { parameters, open };
}

/** A parameter of a row. @param preset its default; undefined: it is required */
export function parameterOf(name: string, preset: SaltValue | undefined): SaltMap {
  if (preset === undefined) return mapOf({ name, required: true, default: null });
  const text = pyRepr(preset);
  const isLong = text.length > SHOWN.defaultLength;
  const shown = isLong ? text.slice(0, SHOWN.defaultLength) + CUT : text;
  return mapOf({ name, required: false, default: shown });
}

function textIn(doc: SaltValue | undefined): string {
  if (typeof doc !== 'string') return '';
  const bytes = Buffer.from(doc);
  if (bytes.length <= SHOWN.docBytes) return doc;
  // A character that the cut parts is left out.
  return (
    bytes
      .subarray(0, SHOWN.docBytes)
      .toString()
      .replace(/\uFFFD$/, '') + CUT
  );
}
