/** Writes OTLP as JSON. */

import { isList, type Value } from './span.ts'

/** An attribute on the wire. */
export interface WireAttribute {
  readonly key: string
  readonly value: object
}

/** The SDK allows bytes, too. */
export function wireAttributes(attributes: Readonly<Record<string, Value | Uint8Array>>): WireAttribute[] {
  return Object.entries(attributes).map(([key, value]) => ({ key, value: wireValue(value) }))
}

/** Integers are texts, because they may have 64 bits; so are doubles that JSON has not. */
function wireValue(value: Value | Uint8Array): object {
  if (typeof value === 'string') return { stringValue: value }
  if (typeof value === 'boolean') return { boolValue: value }
  if (typeof value === 'number') {
    if (Number.isSafeInteger(value)) return { intValue: String(value) }
    return { doubleValue: Number.isFinite(value) ? value : String(value) }
  }
  if (value === null || value === undefined) return {}
  if (value instanceof Uint8Array) return { bytesValue: Buffer.from(value).toString('base64') }
  if (isList(value)) return { arrayValue: { values: value.map(wireValue) } }
  return { kvlistValue: { values: wireAttributes(value) } }
}

/** A request with these spans. Those with the same `origin`, the program and the instrumentation, are written together. */
export function wireRequest<One>(
  spans: readonly One[],
  origin: (span: One) => unknown,
  describe: (span: One) => { readonly resource: object; readonly scope: object },
  write: (span: One) => object,
): string {
  const groups = new Map<unknown, One[]>()
  for (const span of spans) {
    const key = origin(span)
    const known = groups.get(key)
    if (known) known.push(span)
    else groups.set(key, [span])
  }
  const resourceSpans = [...groups.values()].flatMap(([first, ...more]) => {
    if (first === undefined) return []
    const { resource, scope } = describe(first)
    return [{ resource, scopeSpans: [{ scope, spans: [first, ...more].map(write) }] }]
  })
  return JSON.stringify({ resourceSpans })
}
