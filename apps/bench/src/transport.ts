/** The model endpoints: on a server in a separate process, or mocked in this one. */

import { type ResponseLog, spawnModelServer, type WireName } from '@meanwhile/harness/server'
import type { Place } from './contestant.ts'
import type { Scenario } from './scenario.ts'

export type TransportName = 'server' | 'msw'

export const TRANSPORTS: readonly TransportName[] = ['server', 'msw']

/** A scenario's script, ready for one run. */
export interface Stage extends AsyncDisposable {
  readonly place: Place
  /** What was sent, and when: response by response. */
  log(): Promise<readonly ResponseLog[]>
}

export interface Transport extends AsyncDisposable {
  /** Serves a script for one run. */
  stage(scenario: Pick<Scenario, 'script' | 'pace'>, wire: WireName): Promise<Stage>
}

/** Checks take time that the script does not have, and the requests of the peers are not ours. */
const UNCHECKED = { rules: false } as const

export async function openTransport(name: TransportName, signal: AbortSignal): Promise<Transport> {
  return name === 'server' ? await server(signal) : await mocked()
}

async function server(signal: AbortSignal): Promise<Transport> {
  const server = await spawnModelServer({ signal })
  return {
    async stage({ script, pace }) {
      const served = await server.load({ script, ...(pace && { pace }), ...UNCHECKED })
      return {
        place: { url: served.url },
        async log() {
          signal.throwIfAborted()
          return await served.log()
        },
        // A stopped server has no script to forget, and does not respond any more.
        async [Symbol.asyncDispose]() {
          if (!signal.aborted) await served.close()
        },
      }
    },
    [Symbol.asyncDispose]: () => server.close(),
  }
}

async function mocked(): Promise<Transport> {
  // Loaded only if needed: msw is large, and the server does without it.
  const { mockModels } = await import('@meanwhile/harness')
  return {
    async stage({ script, pace }, wire) {
      const mock = mockModels({ script, wires: [wire], ...(pace && { pace }), ...UNCHECKED })
      return {
        place: { url: 'http://model.test', fetch: mock.fetch },
        log: async () => mock.responses,
        async [Symbol.asyncDispose]() {},
      }
    },
    async [Symbol.asyncDispose]() {},
  }
}
