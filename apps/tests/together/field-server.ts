/** Serves model responses from a real HTTP server, cut into writes, to an agent with the tools of the field's streams. */

import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { DONE, type Door, type FieldWire, modelOf, type Ran, runOf, sdkModelOf } from './field-agent.ts'

export type Body = string | { readonly headers: Readonly<Record<string, string>>; readonly body: string }
export type Cut = 'whole' | 'event' | 'byte' | { readonly seed: number }

/** What happened in a run whose responses were these bodies. */
export interface Played extends Ran {
  /** The bodies of the requests. */
  readonly requests: readonly string[]
}

export interface FieldServer {
  /** Runs an agent against the bodies; after them the model answers `done`. */
  play(wire: FieldWire, bodies: readonly Body[], cut: Cut, eager: boolean, door?: Door): Promise<Played>
  close(): Promise<void>
}

/** One run's part of the server. */
interface Stage {
  readonly wire: FieldWire
  readonly bodies: readonly Body[]
  readonly cut: Cut
  readonly requests: string[]
}

export async function fieldServer(): Promise<FieldServer> {
  const stages = new Map<string, Stage>()
  const server = createServer((request, response) => {
    answer(request, response).catch((error: Error) => response.destroy(error))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return { play, close }

  async function close(): Promise<void> {
    server.closeAllConnections()
    await new Promise((closed) => server.close(closed))
  }

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const stage = stages.get(/^\/(\d+)\//.exec(request.url ?? '')?.[1] ?? '')
    if (!stage) throw new Error(`nothing is served at ${request.url}`)
    const body = stage.bodies[stage.requests.length] ?? DONE[stage.wire]
    stage.requests.push(await textOf(request))
    const { headers, body: text } = typeof body === 'string' ? { headers: STREAM, body } : body
    response.writeHead(200, headers)
    for (const piece of pieces(Buffer.from(text), stage.cut)) response.write(piece)
    response.end()
  }

  async function play(
    wire: FieldWire,
    bodies: readonly Body[],
    cut: Cut,
    eager: boolean,
    door: Door = 'client',
  ): Promise<Played> {
    const id = String(stages.size)
    const requests: string[] = []
    stages.set(id, { wire, bodies, cut, requests })
    const baseURL = `http://127.0.0.1:${port}/${id}${wire === 'anthropic' ? '' : '/v1'}`
    const model = door === 'client' ? modelOf(wire, { baseURL }) : sdkModelOf(wire, { baseURL })
    return { ...(await runOf(model, eager)), requests }
  }
}

async function textOf(request: IncomingMessage): Promise<string> {
  let text = ''
  for await (const piece of request.setEncoding('utf8')) text += piece
  return text
}

const STREAM = { 'content-type': 'text/event-stream' }

function* pieces(bytes: Buffer, cut: Cut): Generator<Buffer> {
  if (cut === 'whole') yield bytes
  else if (cut === 'event') for (const event of bytes.toString().split(/(?<=\n\n)/)) yield Buffer.from(event)
  else {
    const next = cut === 'byte' ? () => 1 : randomSizes(cut.seed)
    for (let at = 0, size = next(); at < bytes.length; at += size, size = next()) yield bytes.subarray(at, at + size)
  }
}

/** Sizes from 1 to 64. */
function randomSizes(seed: number): () => number {
  let state = seed
  return () => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) & 0x7fff_ffff
    return 1 + ((state >> 16) % 64)
  }
}
