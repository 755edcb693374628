/** The nonce of this page, for the styles that its parts add. */
export function nonce(): string {
  const found = document.querySelector<HTMLMetaElement>('meta[property="csp-nonce"]');
  return found?.nonce ?? '';
}

/**
 * Gives the nonce to the part that stops scrolling behind a dialog (get-nonce below
 * react-remove-scroll), which reads it where webpack would put it.
 */
export function shareNonce(): void {
  Object.assign(globalThis, { __webpack_nonce__: nonce() });
}

interface TrustedTypes {
  createPolicy(name: string, rules: { createHTML(text: string): string }): unknown;
}

/**
 * Lets parts set the text of a `<style>`, and no markup: what has a `<` is refused, wherever it
 * comes from. The page's policy forbids it without this rule (`require-trusted-types-for`).
 */
export function onlyPlainText(): void {
  const types = (window as { trustedTypes?: TrustedTypes }).trustedTypes;
  types?.createPolicy('default', {
    createHTML: (text) => {
      if (text.includes('<')) throw new TypeError('markup is not set from a text here');
      return text;
    },
  });
}
