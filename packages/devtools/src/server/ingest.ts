/** Takes what exporters send: spans are kept, metrics and logs are accepted and dropped. */

import type { IncomingMessage, ServerResponse } from 'node:http'
import {
  acceptance,
  type DecodedSpans,
  decodeSpans,
  type OtlpFormat,
  otlpFormat,
  refusal,
} from '@meanwhile/harness/otlp'
import { PROCESS_HEADER } from '../process-header.ts'
import { spanOf } from '../span.ts'
import type { Sender, Traces } from '../store/traces.ts'
import { BodyError, bodyOf } from './body.ts'

/** The paths of OTLP, and one for spans that have not ended, which no other collector knows. */
const PATHS: ReadonlyMap<string, 'ended' | 'open' | 'dropped'> = new Map([
  ['/v1/traces', 'ended'],
  ['/devtools/open', 'open'],
  ['/v1/metrics', 'dropped'],
  ['/v1/logs', 'dropped'],
])

export const isIngest = (path: string): boolean => PATHS.has(path)

export async function ingest(
  path: string,
  request: IncomingMessage,
  response: ServerResponse,
  traces: Traces,
): Promise<void> {
  const type = request.headers['content-type']
  const format = otlpFormat(type)
  const kind = PATHS.get(path)
  try {
    if (!format) {
      const given = type?.slice(0, 80) ?? 'nothing'
      throw new BodyError(415, `content-type ${given} is neither application/x-protobuf nor application/json`)
    }
    const body = await bodyOf(request)
    // Everything is read before anything is kept.
    const { spans, rejected } = kind === 'dropped' ? NOTHING : spansIn(body, format)
    const kept = spans.map((span) => spanOf(span, kind === 'open'))
    traces.add(kept, senderOf(request))
    send(response, 200, format, acceptance(format, rejected, 'the id of a span or of its trace is not valid'))
  } catch (error) {
    if (!(error instanceof BodyError)) throw error
    // What is still on its way is read, because an exporter that is sending does not read the answer.
    request.unpipe().resume()
    send(response, error.status, format ?? 'application/json', refusal(format ?? 'application/json', error.message))
  }
}

const NOTHING: DecodedSpans = { spans: [], rejected: 0 }

function spansIn(body: Buffer, format: OtlpFormat): DecodedSpans {
  try {
    return decodeSpans(body, format)
  } catch (error) {
    throw notOtlp(error)
  }
}

function notOtlp(error: unknown): BodyError {
  const why = error instanceof Error ? error.message : String(error)
  return new BodyError(400, `the body is not OTLP: ${why.slice(0, 200)}`, { cause: error })
}

function senderOf({ headers, socket }: IncomingMessage): Sender | undefined {
  const process = headers[PROCESS_HEADER]
  return typeof process === 'string' ? { process, isConnected: () => !socket.destroyed } : undefined
}

function send(response: ServerResponse, status: number, format: OtlpFormat, body: Uint8Array): void {
  response.writeHead(status, { 'content-type': format, 'content-length': body.length })
  response.end(body)
}
