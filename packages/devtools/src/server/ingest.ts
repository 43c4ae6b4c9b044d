/** Takes what exporters send: spans are kept, metrics and logs are accepted and dropped. */

import type { IncomingMessage, ServerResponse } from 'node:http'
import { acceptance, decodeSpans, type OtlpFormat, otlpFormat, refusal } from '@meanwhile/harness/otlp'
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
  try {
    if (!format) {
      const given = type?.slice(0, 80) ?? 'nothing'
      throw new BodyError(415, `content-type ${given} is neither application/x-protobuf nor application/json`)
    }
    const body = await bodyOf(request)
    const kind = PATHS.get(path)
    const rejected = kind === 'dropped' ? 0 : keep(body, format, kind === 'open', senderOf(request), traces)
    send(response, 200, format, acceptance(format, rejected, 'the id of a span or of its trace is not valid'))
  } catch (error) {
    const { status, message } = error instanceof BodyError ? error : notOtlp(error)
    // What is still on its way is read, because an exporter that is sending does not read the answer.
    request.unpipe().resume()
    send(response, status, format ?? 'application/json', refusal(format ?? 'application/json', message))
  }
}

/** Everything is read before anything is kept. */
function keep(body: Buffer, format: OtlpFormat, open: boolean, sender: Sender | undefined, traces: Traces): number {
  const { spans, rejected } = decodeSpans(body, format)
  traces.add(
    spans.map((span) => spanOf(span, open)),
    sender,
  )
  return rejected
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
