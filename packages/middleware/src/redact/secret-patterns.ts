/** What counts as a secret. */

export interface SecretPattern {
  /** What it is called in its mask. */
  readonly kind: string
  /** Without backreferences, and it must not match an empty text. Its flags `g` and `y` mean nothing. */
  readonly pattern: RegExp
  /** Whether a match is one; by default each is. */
  isSecret?(text: string): boolean
}

/** Keys of well-known services, bearer tokens, private keys in PEM, card numbers. */
export const secretPatterns: readonly SecretPattern[] = [
  {
    kind: 'api-key',
    pattern: anyOf(
      /\bsk-[\w-]{20,512}/, // OpenAI, Anthropic and others
      /\b[sr]k_(?:live|test)_[A-Za-z0-9]{16,255}/, // Stripe
      /\bgh[pousr]_[A-Za-z0-9]{36,255}/,
      /\bgithub_pat_\w{22,255}/,
      /\bglpat-[\w-]{20,255}/,
      /\bnpm_[A-Za-z0-9]{36}\b/,
      /\bxox[abeoprs]-[A-Za-z0-9-]{10,255}/, // Slack
      /\bA(?:KI|SI)A[A-Z0-9]{16}\b/, // AWS
      /\bAIza[\w-]{35}(?![\w-])/, // Google
    ),
  },
  {
    kind: 'bearer-token',
    pattern: anyOf(
      /(?<=\b[Bb]earer )[A-Za-z0-9._~+/-]{16,4000}={0,2}/,
      /\beyJ[\w-]{8,2000}\.[\w-]{8,2000}\.[\w-]{8,2000}/, // a JSON Web Token
    ),
  },
  {
    kind: 'private-key',
    pattern:
      /-----BEGIN (?:[A-Z]{1,12} ){0,3}PRIVATE KEY(?: BLOCK)?-----[\s\S]{1,16000}?-----END (?:[A-Z]{1,12} ){0,3}PRIVATE KEY(?: BLOCK)?-----/,
  },
  { kind: 'card-number', pattern: /(?<![\w.-])\d(?:[ -]?\d){12,18}(?![\w-])/, isSecret: passesLuhn },
]

function anyOf(...patterns: readonly RegExp[]): RegExp {
  return new RegExp(patterns.map(({ source }) => source).join('|'))
}

/** ISO/IEC 7812-1, annex B. */
function passesLuhn(text: string): boolean {
  const digits = text.replace(/\D/g, '')
  let sum = 0
  for (let place = 0; place < digits.length; place++) {
    const digit = Number(digits[digits.length - 1 - place])
    const doubled = place % 2 === 0 ? digit : digit * 2
    sum += doubled > 9 ? doubled - 9 : doubled
  }
  return sum % 10 === 0
}
