/** One step of another library's loop: tools that record what they do, and a response that streams in pieces. */

import { vi } from 'vitest'
import type { DeclaredTool } from '../src/host/declared.ts'
import { EagerLoop, type HostRun } from '../src/host/eager-loop.ts'
import type { HostStep } from '../src/host/early-starts.ts'
import { type HostCalls, nextStep } from '../src/host/host-calls.ts'
import type { HostTool, StartedCall } from '../src/host/host-tool.ts'
import type { EagerSettings } from '../src/host/settings.ts'

export interface Work {
  readonly n: number
  readonly ms?: number
  /** Ignores an abort and runs to its end. */
  readonly deaf?: boolean
  readonly fails?: boolean
}

export class Host {
  /** `{time} {tool} {n}` for each start; also `… aborted` and `… undone`. */
  readonly log: string[] = []
  readonly warnings: string[] = []
  readonly loop: EagerLoop
  readonly run: HostRun
  readonly started: StartedCall[] = []
  readonly #begin = performance.now()

  constructor(settings: EagerSettings = {}) {
    const onWarning: EagerSettings['onWarning'] = ({ code }) => void this.warnings.push(code)
    this.loop = new EagerLoop({ onWarning, ...settings }, 'host 1')
    this.run = this.loop.run()
  }

  note(text: string): void {
    this.log.push(`${Math.round(performance.now() - this.#begin)} ${text}`)
  }

  async work(name: string, { n, ms = 0, deaf, fails }: Work, signal?: AbortSignal): Promise<string> {
    this.note(`${name} ${n}`)
    await new Promise<void>((resolve, reject) => {
      const timer = setTimeout(resolve, ms)
      if (deaf) return
      signal?.addEventListener('abort', () => {
        clearTimeout(timer)
        this.note(`${name} ${n} aborted`)
        reject(signal.reason)
      })
    })
    if (fails) throw new Error(`${name} ${n} failed`)
    return `${name} ${n}`
  }

  early(name: string, effect: DeclaredTool<Work>['effect'], more: Partial<DeclaredTool<Work>> = {}): HostTool {
    const { reads, writes, compensate } = more
    return {
      name,
      early: {
        effect: typeof effect === 'function' ? (input) => effect(workOf(input)) : effect,
        ...(reads && { reads: (input: unknown) => reads(workOf(input)) }),
        ...(writes && { writes: (input: unknown) => writes(workOf(input)) }),
        ...(compensate && { compensate: (input: unknown, output: unknown) => compensate(workOf(input), output) }),
        check: workOf,
        start: (input, call) => {
          this.started.push(call)
          return this.work(name, workOf(input), call.signal)
        },
      },
    }
  }

  /** One tool of each effect, and one that is not declared. */
  get tools(): readonly HostTool[] {
    const compensate = ({ n }: Work) => this.note(`move ${n} undone`)
    return [
      this.early('look', 'read'),
      this.early('put', 'idempotent'),
      this.early('move', 'reversible', { compensate }),
      { name: 'send' },
    ]
  }

  step(more: Partial<HostStep> = {}): HostCalls {
    const calls = nextStep(this.loop, this.run, { tools: this.tools, ...more })
    if (!calls) throw new Error('nothing may start early')
    return calls
  }
}

function workOf(input: unknown): Work {
  const work: Partial<Work> = { ...Object(input) }
  if (typeof work.n !== 'number') throw new TypeError('n must be a number')
  return { ...work, n: work.n }
}

/** Streams a whole call in pieces of its text. */
export function told(calls: HostCalls, id: string | undefined, name: string, input: object, pieces = 3): number {
  const label = calls.begin(id, name)
  const text = JSON.stringify(input)
  const size = Math.ceil(text.length / pieces)
  for (let at = 0; at < text.length; at += size) calls.delta(label, text.slice(at, at + size))
  return label
}

/** What the host gets for a call: the result of the early call, or its own, which it makes once nothing is in its way. */
export async function asked(
  calls: HostCalls,
  id: string | undefined,
  name: string,
  input: object,
  signal?: AbortSignal,
): Promise<unknown> {
  const taken = calls.take(id, name, input, signal)
  if (!taken) {
    const made = calls.cleared(id, name, input, signal)?.done.then(() => 'by the host')
    return made?.catch((error: Error) => `threw ${error.message}`) ?? 'by the host'
  }
  const { result } = taken
  if (result instanceof Promise) return result.catch((error: Error) => `threw ${error.message}`)
  const values: unknown[] = []
  for await (const value of result) values.push(value)
  return values
}

/** Moves the fake clock on by this many milliseconds. */
export const after = (ms: number) => vi.advanceTimersByTimeAsync(ms)

export function abortable(): { readonly signal: AbortSignal; abort(): void } {
  const controller = new AbortController()
  return { signal: controller.signal, abort: () => controller.abort(new Error('stop')) }
}
