/** The model server in a child process, for measurements: server and client do not compete for the same thread. */

import { fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { messageOf } from '@meanwhile/core'
import { HarnessError } from './errors.ts'
import type { JournalEntry } from './journal.ts'
import type { ResponseLog } from './log.ts'
import { checkEndpointOptions } from './script-checks.ts'
import { type ModelServer, SERVED_OPTIONS, type Served, type ServedOptions } from './serve-models.ts'
import type { Question, Reply } from './server-process.ts'

/** The script must be data: expectations are patterns, not functions. */
export interface SpawnModelServerOptions extends ServedOptions {
  /**
   * Sends within a fraction of a millisecond of the due time, by busy-waiting for the last 2 ms. Default true, because
   * a separate process may busy-wait.
   */
  readonly precise?: boolean
  /** Ends the process and rejects pending requests to it. */
  readonly signal?: AbortSignal
}

const SOURCE = import.meta.url.endsWith('.ts')
const PROGRAM = SOURCE
  ? new URL('./server-process.ts', import.meta.url)
  : new URL('./server-process.js', import.meta.url)

/**
 * Serves scripts from a child process. The child ends with this process and does not keep it alive. From TypeScript
 * sources it requires what this process uses: `tsx`, or a Node version that strips types.
 */
export async function spawnModelServer(given: SpawnModelServerOptions = {}): Promise<ModelServer> {
  checkEndpointOptions('spawnModelServer', given, { ...SERVED_OPTIONS, precise: '', signal: '' })
  const { signal, ...options } = given
  const child = fork(fileURLToPath(PROGRAM), {
    execArgv: SOURCE ? [...process.execArgv, '--conditions=@meanwhile/source'] : process.execArgv,
    // Supports bytes, RegExps and Infinity, and rejects functions, which JSON would drop.
    serialization: 'advanced',
    ...(signal ? { signal } : {}),
  })
  const waiting = new Map<number, { resolve: (value: unknown) => void; reject: (error: Error) => void }>()
  let asked = 0

  child.on('message', ({ id, value, error }: Reply) => {
    const { resolve, reject } = waiting.get(id) ?? {}
    waiting.delete(id)
    if (waiting.size === 0) child.channel?.unref()
    if (error === undefined) resolve?.(value)
    else reject?.(new HarnessError(error))
  })
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()))
  child.on('error', fail)
  const gone = () => fail(new HarnessError('the process of the model server has ended'))
  child.once('exit', gone)
  child.once('disconnect', gone)
  child.unref()

  const started = ask<string>({ ask: 'serve', options: { precise: true, ...options } })
  const url = await started.catch((error: unknown) => {
    child.kill()
    throw error
  })
  return { ...served(url, close), load: async (more) => served(await ask<string>({ ask: 'load', options: more })) }

  function served(at: string, end: () => Promise<void> = () => ask({ ask: 'close', url: at })): Served {
    return {
      url: at,
      log: () => ask<readonly ResponseLog[]>({ ask: 'log', url: at }),
      requests: () => ask<readonly JournalEntry[]>({ ask: 'requests', url: at }),
      assertComplete: () => ask({ ask: 'assertComplete', url: at }),
      close: end,
      [Symbol.asyncDispose]: end,
    }
  }

  /** The child keeps this process alive only while an answer is pending. */
  function ask<Value = void>(question: Question): Promise<Value> {
    const id = ++asked
    return new Promise<Value>((resolve, reject) => {
      // The process belongs to this package: its answers have the declared types.
      waiting.set(id, { resolve: (value) => resolve(value as Value), reject })
      child.channel?.ref()
      try {
        child.send({ id, ...question }, (error) => error && fail(error))
      } catch (cause) {
        waiting.delete(id)
        if (waiting.size === 0) child.channel?.unref()
        reject(new HarnessError(`a script for another process must be data: ${messageOf(cause)}`, { cause }))
      }
    })
  }

  function fail(error: Error): void {
    for (const { reject } of waiting.values()) reject(error)
    waiting.clear()
  }

  async function close(): Promise<void> {
    child.ref()
    child.kill()
    await ended
  }
}
