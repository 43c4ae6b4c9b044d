/**
 * Tools that other tools call, and an agent that runs inside a call. They record their executions, and how many ran at
 * once.
 */

import {
  type Agent,
  type AgentOptions,
  createAgent,
  type Effect,
  type Model,
  ModelError,
  type Run,
  type Tool,
  type ToolContext,
  textOf,
} from '@meanwhile/core'
import { z } from 'zod'
import type { HeldKeys } from './held-keys.ts'
import type { Program } from './scenario.ts'
import { type Moment, sayDone, telling } from './telling-model.ts'

/** A call that another tool has made. */
export interface InnerExecution {
  readonly tool: string
  readonly effect: Effect
  readonly n: number
  /** Without the run's id. */
  readonly key: string
  /** Milliseconds on the clock. */
  readonly startedAt: number
}

export interface InnerInput {
  readonly n: number
  readonly ms: number
  /**
   * Writes with the key `n` are in the order of the calls, with and without eager tools, because their maker names the
   * key and makes one call after the other. Calls that a maker makes at once have no order, nor have those of a maker
   * without keys: each waits only for calls that are running with the key at its turn, which is a matter of timing.
   */
  readonly isOrdered: boolean
}

export interface InnerOptions {
  readonly keys: HeldKeys
  readonly sleep: (ms: number, signal?: AbortSignal) => Promise<void>
  /** What was written with each key, in order. */
  readonly notes: Map<string, string[]>
  /** The error that calls of 2 throw. Default: an error of only that call. */
  readonly fatal?: Error | undefined
}

const shape = z.object({ n: z.number(), ms: z.number().default(0), isOrdered: z.boolean().default(false) })

const keyed = ({ n }: InnerInput) => [`${n}`]

export class InnerCalls {
  readonly executions: InnerExecution[] = []
  /** How many calls of one maker ran at once, not counting aborted ones. */
  mostOfOne = 0
  /** How many calls of `narrow` ran at once. */
  mostNarrow = 0
  readonly tools: readonly Tool[]
  readonly #working = new Set<{ readonly maker: string; readonly tool: string; readonly signal: AbortSignal }>()
  readonly #options: InnerOptions
  /** The runs of agents inside calls, in the order in which their tools began. */
  readonly #agentRuns: string[] = []

  constructor(options: InnerOptions) {
    this.#options = options
    const { notes, fatal } = options
    this.tools = [
      this.#make('part', 'read'),
      this.#make('deed', 'external'),
      this.#make('mark', 'idempotent'),
      this.#make('narrow', 'read', { concurrency: 1 }),
      this.#make('reading', 'read', { reads: keyed }, ({ n, isOrdered }) =>
        isOrdered ? ` of ${notes.get(`${n}`)?.join(' ') ?? 'nothing'}` : '',
      ),
      this.#make('note', 'external', { writes: keyed }, ({ n, isOrdered }) => {
        if (isOrdered) notes.set(`${n}`, [...(notes.get(`${n}`) ?? []), 'note'])
        return ''
      }),
      this.#make('slip', 'read', {}, ({ n }) => {
        throw n === 2 && fatal ? fatal : new Error(`slip ${n}`)
      }),
    ]
  }

  /** Makes the calls of a program, and returns their results. */
  async make({ calls, atOnce, insists }: Program, n: number, isKeyed: boolean, context: ToolContext): Promise<string> {
    const { callId } = context
    const run = context.run as Run
    let failed = 0
    const one = async ({ tool, ms }: Program['calls'][number], index: number): Promise<string> => {
      if (tool === 'stood') return run.stood(callId).then(() => ', stood')
      const input: InnerInput = { n, ms, isOrdered: isKeyed && !atOnce }
      const call = { type: 'tool-call', id: `${callId}/${index + 1}`, name: tool, input } as const
      const { output, isError } = await run.callTool(call)
      if (isError) failed++
      return `, ${isError ? 'failed' : String(output)}`
    }
    const said: string[] = []
    if (atOnce) said.push(...(await Promise.all(calls.map(one))))
    else for (const [index, call] of calls.entries()) said.push(await one(call, index))
    if (insists && failed > 0) throw new Error(`${failed} of the calls failed`)
    return said.join('')
  }

  /** An agent that calls `part` and `deed` in one response, and then answers or fails. */
  helper(options: Pick<AgentOptions, 'middleware' | 'telemetry'>): Agent {
    const tools = this.tools.filter(({ name }) => name === 'part' || name === 'deed')
    return createAgent({ name: 'helper', description: 'Helps.', model: helping, tools, ...options })
  }

  #make(
    name: string,
    effect: Effect,
    more: Partial<Tool<InnerInput, string>> = {},
    act: (input: InnerInput) => string = () => '',
  ): Tool {
    const { keys, sleep } = this.#options
    const made: Tool<InnerInput, string> = {
      name,
      description: name,
      input: shape,
      effect,
      execute: async (input, context) => {
        const { callId, signal } = context
        this.executions.push({
          tool: name,
          effect,
          n: input.n,
          key: this.#keyOf(context),
          startedAt: performance.now(),
        })
        const [key] = (more.writes ?? more.reads)?.(input) ?? []
        const release = key !== undefined && keys.hold({ callId, key, writes: !!more.writes, signal })
        const leave = this.#enter({ maker: callId.slice(0, callId.lastIndexOf('/')), tool: name, signal })
        try {
          if (input.ms > 0) await sleep(input.ms, signal)
          return `${name} ${input.n}${act(input)}`
        } finally {
          leave()
          if (release) release()
        }
      },
      ...more,
    }
    return made as Tool
  }

  #enter(working: { readonly maker: string; readonly tool: string; readonly signal: AbortSignal }): () => void {
    this.#working.add(working)
    const all = [...this.#working]
    const ofOne = all.filter(({ maker, signal }) => maker !== '' && maker === working.maker && !signal.aborted)
    this.mostOfOne = Math.max(this.mostOfOne, ofOne.length)
    this.mostNarrow = Math.max(this.mostNarrow, all.filter(({ tool }) => tool === 'narrow').length)
    return () => void this.#working.delete(working)
  }

  /** For a call inside an agent: the number of the agent's run. */
  #keyOf({ idempotencyKey, callId, run }: ToolContext): string {
    const { id } = run as Run
    if (callId.includes('/')) return idempotencyKey.replace(id, '')
    if (!this.#agentRuns.includes(id)) this.#agentRuns.push(id)
    return idempotencyKey.replace(id, `helper ${this.#agentRuns.indexOf(id)}`)
  }
}

/** The response depends on the request, so that simultaneous runs can use it. */
const helping: Model = {
  provider: 'telling',
  id: 'helping-1',
  stream(request) {
    const asked = request.messages.find(({ role }) => role === 'user')
    const { n, fails } = JSON.parse(asked ? textOf(asked) : '') as { n: number; fails: boolean }
    const isAnswered = request.messages.at(-1)?.role === 'tool'
    if (!isAnswered) return telling(request, asking(n))
    return telling(request, fails ? FAILING : sayDone)
  },
}

const FAILING: readonly Moment[] = [
  [
    2,
    () => {
      throw new ModelError('no help', { code: 'no_help', retryable: false })
    },
  ],
]

function asking(n: number): readonly Moment[] {
  const delta = JSON.stringify({ n })
  return [
    [1, (to) => to.call(0, { id: 'h1', name: 'part', delta })],
    [2, (to) => to.seal(0)],
    [4, (to) => to.call(1, { id: 'h2', name: 'deed', delta })],
    [5, (to) => to.seal(1)],
    [9, (to) => to.finish('tool-calls')],
  ]
}
