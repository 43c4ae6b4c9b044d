/** Marks what this copy of core makes, so that other copies of core in the same process recognize it. */

/** Copies of every format have this symbol and the members of {@link Copy}, so they never change. */
const BRAND: unique symbol = Symbol.for('@meanwhile/core')

/** A copy of core. */
export interface Copy {
  /** Copies of the same format work together. `npm run check:shape` fails if it must be raised. */
  readonly format: number
  /** A test keeps it equal to the version in `package.json`. */
  readonly version: string
  /** Its stack begins in the file of the copy. Not `import.meta.url`, which CommonJS bundles do not have. */
  readonly madeIn: Error
}

export const COPY: Copy = { format: 1, version: '0.1.0', madeIn: /* @__PURE__ */ new Error() }

type Kind = 'agent' | 'agent tool' | 'call' | 'error' | 'middleware' | 'model' | 'run' | 'schema' | 'tool' | 'tool call'

export interface Brand {
  readonly copy: Copy
  readonly kind: Kind
  /** Only for copies of the same format. */
  readonly content?: unknown
}

/** Marks a value, if it can have new members, and returns it. The mark is not enumerable, so copies of the value do not have it. */
export function branded<Value extends object>(kind: Brand['kind'], value: Value, content?: unknown): Value {
  const brand: Brand = { copy: COPY, kind, content }
  Reflect.defineProperty(value, BRAND, { value: brand })
  return value
}

/** The brand of any value. A value that cannot be looked at, such as a proxy, has none. */
export function brandOf(value: unknown): Brand | undefined {
  try {
    return (value as { readonly [BRAND]?: Brand } | null | undefined)?.[BRAND]
  } catch {
    return undefined
  }
}

/**
 * The base class of the errors of these packages. Their `instanceof` is also true for an error that another copy of the package has made, if both
 * copies have the same format.
 */
export class BrandedError extends Error {
  /** The name of the class in all copies. A class without its own `brand`, such as yours, has only instances of its own copy. */
  static readonly brand: string = 'Error'
  /** The `brand` of its class. */
  declare readonly name: string

  constructor(message?: string, options?: ErrorOptions) {
    super(message, options)
    this.name = new.target.brand
    branded('error', this)
  }

  /** Whether the value is an instance of this class, or of the class with the same brand in another copy. */
  static override readonly [Symbol.hasInstance]: (value: unknown) => boolean = isInstance
}

function isInstance(this: typeof BrandedError, value: unknown): boolean {
  if (Function.prototype[Symbol.hasInstance].call(this, value)) return true
  return brandOf(value)?.copy.format === COPY.format && Object.hasOwn(this, 'brand') && hasClass(value, this.brand)
}

/** Whether the class of a value, or a class that it extends, has this brand, or this name. The value may come from a copy with another format. */
export function hasClass(value: unknown, wanted: string, by: 'brand' | 'name' = 'brand'): boolean {
  let one = Object.getPrototypeOf(value ?? {}) as { constructor?: { brand?: string; name?: string } } | null
  while (one && one.constructor?.[by] !== wanted) one = Object.getPrototypeOf(one)
  return one !== null
}
