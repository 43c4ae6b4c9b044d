/** Converts the attributes of OTLP to plain values. */

/**
 * Attribute values: texts, numbers, booleans, lists and records of these; bytes stay base64. The records have no
 * prototype, because their keys come from outside. A value inside more than 32 lists and records is `'…'`.
 */
export type Attributes = Readonly<Record<string, unknown>>

export interface KeyValue {
  readonly key: string
  readonly value?: AnyValue | undefined
}

export interface AnyValue {
  readonly stringValue?: string
  readonly boolValue?: boolean
  readonly intValue?: string | number | bigint
  readonly doubleValue?: number
  readonly bytesValue?: string
  readonly arrayValue?: { readonly values?: readonly AnyValue[] }
  readonly kvlistValue?: { readonly values?: readonly KeyValue[] }
}

/** Members that the spans and the metrics of a payload share. */
export interface WireScope {
  readonly name?: string
  readonly version?: string
}

export interface WireResource {
  readonly attributes?: readonly KeyValue[]
}

const MOST_DEPTH = 32

export function plain(attributes: readonly KeyValue[] = [], depth = 0): Attributes {
  const record: Record<string, unknown> = Object.create(null)
  for (const { key, value } of attributes) record[textOf(key)] = plainValue(value ?? {}, depth)
  return record
}

/** Doubles without a fraction arrive as integers, and large integers as texts; all become numbers. */
function plainValue(value: AnyValue, depth: number): unknown {
  if (value.intValue !== undefined) return Number(value.intValue)
  if (value.arrayValue || value.kvlistValue) {
    if (depth === MOST_DEPTH) return '…'
    if (value.kvlistValue) return plain(value.kvlistValue.values, depth + 1)
    return (value.arrayValue?.values ?? []).map((member) => plainValue(member, depth + 1))
  }
  const { doubleValue } = value
  // JSON has no numbers that are not finite: OTLP writes them as texts.
  if (typeof doubleValue === 'string') return Number(doubleValue)
  const single = value.stringValue ?? value.boolValue ?? doubleValue ?? value.bytesValue
  if (typeof single === 'object') throw new TypeError('the value of an attribute is not a single value')
  return single
}

export function scopeOf({ name, version }: WireScope = {}): { readonly name: string; readonly version?: string } {
  return { name: textOf(name), ...(version ? { version: textOf(version) } : {}) }
}

/** Payloads come from outside: a name may be anything. */
export function textOf(name: unknown): string {
  if (typeof name === 'string') return name
  if (name === undefined || name === null) return ''
  throw new TypeError(`a text was expected, not ${JSON.stringify(name)?.slice(0, 40)}`)
}
