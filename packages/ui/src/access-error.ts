import { BrandedError } from '@meanwhile/core/calls'

/** `allow` or `open` returned a value that neither admits nor refuses the request. The request got the response 403. */
export class AccessError extends BrandedError {
  static override readonly brand: string = 'AccessError'
  /** The function that returned the value. */
  declare readonly option: 'allow' | 'open'

  /** `returned`: the value. The message only has its kind, because it may be secret. */
  constructor(option: AccessError['option'], returned: unknown) {
    super(`${option} returned ${kindOf(returned)}, so the request was refused. ${EXPECTED[option]}`)
    this.option = option
  }
}

const EXPECTED = {
  allow: 'Return nothing to admit a request, or a Response that refuses it.',
  open: 'Return the context of the run, which is an object, or undefined for none, or a Response that refuses the request.',
}

function kindOf(value: unknown): string {
  if (value === null || typeof value === 'boolean') return String(value)
  if (typeof value !== 'object') return `a ${typeof value}`
  return Array.isArray(value) ? 'an array' : `an object of the kind ${tagOf(value)}`
}

/** The kind of an object, also of one from another realm: `Error`, `Response`, and `Object` for instances of most classes. */
export function tagOf(value: object): string {
  return Object.prototype.toString.call(value).slice('[object '.length, -1)
}
