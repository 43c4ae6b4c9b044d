/** Converts the attributes of OTLP/JSON to plain values. */

/** Attribute values: texts, numbers, booleans, lists and records of these; bytes stay base64. */
export type Attributes = Readonly<Record<string, unknown>>

export interface KeyValue {
  readonly key: string
  readonly value?: AnyValue
}

interface AnyValue {
  readonly stringValue?: string
  readonly boolValue?: boolean
  readonly intValue?: string | number
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

export function plain(attributes: readonly KeyValue[] = []): Attributes {
  return Object.fromEntries(attributes.map(({ key, value }) => [key, plainValue(value)]))
}

/** Doubles without a fraction arrive as integers, and large integers as texts; all become numbers. */
function plainValue(value: AnyValue = {}): unknown {
  if (value.intValue !== undefined) return Number(value.intValue)
  if (value.arrayValue) return (value.arrayValue.values ?? []).map(plainValue)
  if (value.kvlistValue) return plain(value.kvlistValue.values)
  return value.stringValue ?? value.boolValue ?? value.doubleValue ?? value.bytesValue
}
