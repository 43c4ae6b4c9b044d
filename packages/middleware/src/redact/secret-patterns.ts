/** The default patterns of secrets. */

import { isRecord } from '@meanwhile/core/calls'

/** How a kind of secret is recognised. */
export interface SecretPattern {
  /** Its name in the mask. */
  readonly kind: string
  /** Must not contain backreferences or match an empty text. Its flags `g` and `y` are ignored. */
  readonly pattern: RegExp
  /** Whether a match is really a secret. Default: always. */
  isSecret?(text: string): boolean
}

export function isSecretPattern(value: unknown): value is SecretPattern {
  return isRecord(value) && typeof value.kind === 'string' && value.pattern instanceof RegExp
}

/** A secret may also follow an escape: `\\n` in JSON, `%3D` in a URL. */
const START = /(?:(?<![A-Za-z0-9_])|(?<=\\[nrtbf])|(?<=%[0-9A-Fa-f]{2}))/.source

/** Keys of well-known services, bearer tokens, private keys in PEM, card numbers. */
export const secretPatterns: readonly SecretPattern[] = [
  {
    kind: 'api-key',
    pattern: anyOf(
      /sk-[\w-]{20,4000}/, // OpenAI, Anthropic and others
      /[sr]k_(?:live|test)_[A-Za-z0-9]{16,255}/, // Stripe
      /gh[pousr]_[A-Za-z0-9]{36,255}/,
      /github_pat_\w{22,255}/,
      /glpat-[\w-]{20,255}/,
      /npm_[A-Za-z0-9]{36}\b/,
      /xox[abeoprs]-[A-Za-z0-9-]{10,255}/, // Slack
      /A(?:KI|SI)A[A-Z0-9]{16}\b/, // AWS
      /AIza[\w-]{35}(?![\w-])/, // Google
    ),
  },
  {
    kind: 'bearer-token',
    pattern: anyOf(
      /(?<=(?:Bearer|bearer|BEARER) )[A-Za-z0-9._~+/-]{16,16000}={0,2}/,
      /(?<!-)eyJ[\w-]{8,16000}\.[\w-]{8,16000}\.[\w-]{8,16000}/, // a JSON Web Token
    ),
  },
  {
    kind: 'private-key',
    pattern:
      /-----BEGIN (?:[A-Z]{1,12} ){0,3}PRIVATE KEY(?: BLOCK)?-----(?:[^-]|-(?!----)){1,16000}-----END (?:[A-Z]{1,12} ){0,3}PRIVATE KEY(?: BLOCK)?-----/,
  },
  {
    kind: 'card-number',
    pattern: anyOf(
      /4\d{3}(?:[ -]?\d{4}){3}(?![\w-])/, // Visa
      /(?:5[1-5]|2[2-7])\d{2}(?:[ -]?\d{4}){3}(?![\w-])/, // Mastercard
      /3[47]\d{2}[ -]?\d{6}[ -]?\d{5}(?![\w-])/, // American Express
      /6(?:011|5\d{2})(?:[ -]?\d{4}){3}(?![\w-])/, // Discover
    ),
    isSecret: passesLuhn,
  },
]

/** Addresses of people and machines: mail addresses, and IP addresses of both versions. Add them to {@link secretPatterns}. */
export const addressPatterns: readonly SecretPattern[] = [
  {
    kind: 'mail-address',
    pattern: anyOf(/[\w.%+-]{1,64}@(?:[A-Za-z0-9-]{1,63}\.){1,8}[A-Za-z]{2,63}(?![\w-])/),
  },
  {
    kind: 'ip-address',
    pattern: anyOf(
      /(?<!\d\.)(?:\d{1,3}\.){3}\d{1,3}(?![\w-]|\.\d)/,
      /(?:[0-9A-Fa-f]{0,4}:){2,7}(?:(?:\d{1,3}\.){3}\d{1,3}|[0-9A-Fa-f]{0,4})(?![\w:-]|\.\d)/,
    ),
    isSecret: isIpAddress,
  },
]

/** Not a time of day, not a pair of colons, and not a version number with a part above 255. */
function isIpAddress(text: string): boolean {
  if (text.includes(':')) return text !== '::' && URL.canParse(`http://[${text}]`)
  return text.split('.').every((part) => Number(part) <= 255)
}

function anyOf(...patterns: readonly RegExp[]): RegExp {
  return new RegExp(`${START}(?:${patterns.map(({ source }) => source).join('|')})`)
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
