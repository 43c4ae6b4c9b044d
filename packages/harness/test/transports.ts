/**
 * The three transports between a script and a client: a `fetch`, the global fetch with MSW, and a server on loopback.
 */

import { onTestFinished } from 'vitest'
import type { EndpointOptions } from '../src/endpoint.ts'
import type { JournalEntry } from '../src/journal.ts'
import type { ResponseLog } from '../src/log.ts'
import { type MockModels, mockModels } from '../src/msw.ts'
import { serveModels } from '../src/serve-models.ts'
import type { Reach } from './clients.ts'

export interface Stage extends Reach {
  requests(): Promise<readonly JournalEntry[]>
  log(): Promise<readonly ResponseLog[]>
  assertComplete(): Promise<void>
}

export interface Transport {
  readonly name: string
  serve(options: EndpointOptions): Promise<Stage>
}

let listening: MockModels | undefined

function silence(): void {
  listening?.close()
  listening = undefined
}

export const transports: readonly Transport[] = [
  {
    name: 'the fetch of a mock',
    async serve(options) {
      const mock = mockModels(options)
      return { ...stage(mock), fetch: mock.fetch }
    },
  },
  {
    name: 'setupServer',
    async serve(options) {
      const mock = mockModels(options)
      // One at a time, because every listening mock would respond.
      silence()
      mock.listen()
      listening = mock
      onTestFinished(silence)
      return stage(mock)
    },
  },
  {
    name: 'a server',
    async serve(options) {
      const server = await serveModels(options)
      onTestFinished(() => server.close())
      return server
    },
  },
]

function stage(mock: ReturnType<typeof mockModels>): Stage {
  return {
    requests: async () => mock.requests,
    log: async () => mock.responses,
    assertComplete: async () => mock.assertComplete(),
  }
}
