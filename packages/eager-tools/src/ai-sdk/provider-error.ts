/** Turns an error that a provider reports in a stream into an `Error`. */

import { StreamProviderError } from 'ai'

type Fields = Readonly<Record<string, unknown>>

/**
 * Returns errors, and values without a message, unchanged. Everything else becomes a `StreamProviderError`, as in
 * `streamText`.
 */
export function providerError(reported: unknown): unknown {
  if (reported instanceof Error) return reported
  const outer = fieldsOf(reported)
  const details = fieldsOf(fieldsOf(outer?.response)?.error) ?? fieldsOf(outer?.error) ?? outer
  if (typeof details?.message !== 'string') return reported
  const { message } = details
  const type = [details.type, outer?.type].find((one) => typeof one === 'string')
  const code = [details.code, outer?.code].find((one) => typeof one === 'string' || typeof one === 'number')
  const statusCode = [details, outer]
    .flatMap((of) => [of?.statusCode, of?.status_code, of?.status, of?.code])
    .find(isStatus)
  return new StreamProviderError({
    message,
    ...(type !== undefined && { type }),
    ...(code !== undefined && { code }),
    ...(statusCode !== undefined && { statusCode }),
    data: reported,
  })
}

function fieldsOf(value: unknown): Fields | undefined {
  return typeof value === 'object' && value !== null ? (value as Fields) : undefined
}

function isStatus(value: unknown): value is number {
  return typeof value === 'number' && value >= 400 && value < 600
}
