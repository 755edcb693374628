const INTEGER = /^[-+]?(?:0|[1-9][0-9_]*)$/;
const OCTAL = /^[-+]?0[0-7_]+$/;
const HEX = /^[-+]?0x[0-9a-fA-F_]+$/;
const FLOAT = /^[-+]?(?:[0-9][0-9_]*)\.[0-9_]*(?:[eE][-+][0-9]+)?$|^[-+]?\.[0-9][0-9_]*$/;
const TRUE = new Set(['yes', 'Yes', 'YES', 'true', 'True', 'TRUE', 'on', 'On', 'ON']);
const FALSE = new Set(['no', 'No', 'NO', 'false', 'False', 'FALSE', 'off', 'Off', 'OFF']);

/**
 * Reads a bare key as YAML does, so that `ports:8080:x` finds the number 8080 (Salt:
 * salt/utils/args.py yamlify_arg). Undefined if the key stays a text.
 */
export function yamlKey(text: string): number | bigint | boolean | undefined {
  if (text.includes('_')) return undefined; // yamlify_arg leaves such texts unchanged
  if (INTEGER.test(text)) return integer(Number(text), text);
  if (OCTAL.test(text)) return Number.parseInt(text, 8);
  if (HEX.test(text)) return Number.parseInt(text, 16);
  if (FLOAT.test(text)) return Number(text);
  if (TRUE.has(text)) return true;
  return FALSE.has(text) ? false : undefined;
}

function integer(value: number, text: string): number | bigint {
  return Number.isSafeInteger(value) ? value : BigInt(text);
}
