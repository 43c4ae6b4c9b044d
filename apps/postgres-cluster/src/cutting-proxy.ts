/** A proxy in front of a PostgreSQL server that cuts a connection at a chosen statement. */

import { type ServerProxy, startProxy } from './proxy.ts'

export interface CuttingProxy extends ServerProxy {
  /**
   * Cuts the connection of the next statement with this text: `before` the server reads it, `during` its execution, or `after` it ran, so that its
   * client gets no response. Resolves when the connection was cut; `meanwhile` is awaited before.
   */
  cut(when: Cut['when'], statement: string, meanwhile?: Cut['meanwhile']): Promise<void>
}

interface Cut {
  readonly when: 'before' | 'during' | 'after'
  readonly statement: string
  readonly meanwhile: () => Promise<void>
  readonly done: (cut: Promise<void>) => void
}

/** How a `ReadyForQuery` begins: the statement before it has run. */
const READY = Buffer.from([0x5a, 0, 0, 0, 5])

export async function cuttingProxy(url: string): Promise<CuttingProxy> {
  let next: Cut | undefined
  const proxy = await startProxy(
    url,
    () => url,
    ({ client, upstream, end }) => {
      let cutting: Cut | undefined
      const cut = ({ meanwhile, done }: Cut): void => {
        // Nothing that comes until the end is read, or it would cut again.
        client.pause()
        upstream.pause()
        done(meanwhile().finally(end))
      }
      client.on('data', (chunk: Buffer) => {
        if (next && chunk.includes(next.statement)) {
          cutting = next
          next = undefined
        }
        if (cutting?.when !== 'before') upstream.write(chunk)
        if (cutting && cutting.when !== 'after') cut(cutting)
      })
      upstream.on('data', (chunk: Buffer) => {
        if (!cutting) client.write(chunk)
        else if (chunk.includes(READY)) cut(cutting)
      })
    },
  )
  return {
    ...proxy,
    cut: (when, statement, meanwhile = async () => {}) =>
      new Promise((done) => {
        next = { when, statement, meanwhile, done }
      }),
  }
}
