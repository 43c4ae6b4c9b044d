/** Plays a run under interleavings: its agent, and what its tools do. */

import { call, fail, respond, type ScriptResponse, say, scriptedModel } from '@meanwhile/assemble/testing'
import { type SpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace'
import { z } from 'zod'
import {
  type Agent,
  AgentError,
  type CheckpointStore,
  createAgent,
  interrupt,
  type Message,
  type Middleware,
  type Model,
  ModelError,
  memoryStore,
  type Tool,
  type ToolContext,
  ToolDiscardedError,
  tool,
} from '../src/index.ts'
import { editing, startingEarly } from './early-calls.ts'
import { type Case, EFFECTS, KINDS, type Kind } from './interleaved-cases.ts'
import type { Deed } from './reentrant-play.ts'

const GRACE = 100

type Execute = (ms: number, context: ToolContext) => unknown

/** What tools, store and reader did, over a run and all its resumes. */
export class InterleavedPlay {
  readonly agent: Agent
  /** How often each call was executed, by tool and key. */
  readonly executions = new Map<string, number>()
  /** What tools did, in order. */
  readonly deeds: Deed[] = []
  /** Inner calls that were not made although their maker was accepted. */
  readonly refused: string[] = []
  /** Timers of tools and store, which do not belong to a run. */
  readonly waits = new Set<unknown>()
  /** The number of calls that ignore their signal. */
  deaf = 0
  /** The number of messages sent to the run, and how many of them each request contained. */
  sent = 0
  readonly asked: number[] = []
  controller = new AbortController()

  constructor(options: Case, spanProcessors: SpanProcessor[] = []) {
    this.agent = createAgent({
      model: modelOf(options, (messages) => this.asked.push(saidIn(messages))),
      tools: this.#tools(),
      toolConcurrency: options.toolConcurrency,
      grace: GRACE,
      middleware: this.#middleware(options),
      ...(options.store !== undefined && { checkpoints: this.#store(options.store) }),
      telemetry: { tracerProvider: new TracerProvider({ spanProcessors }) },
    })
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason)
      const over = () => {
        this.waits.delete(timer)
        clearTimeout(timer)
        signal?.removeEventListener('abort', leave)
      }
      const leave = () => {
        over()
        reject(signal?.reason)
      }
      const timer = setTimeout(() => {
        over()
        resolve()
      }, ms)
      this.waits.add(timer)
      signal?.addEventListener('abort', leave, { once: true })
    })
  }

  #store(ms: number): CheckpointStore {
    const store = memoryStore()
    return {
      ...store,
      load: (id) => this.sleep(ms).then(() => store.load(id)),
      save: (...saved) => this.sleep(ms).then(() => store.save(...saved)),
    }
  }

  #note(did: string, callId: string | undefined, about: unknown): void {
    this.deeds.push({ at: performance.now(), did, ...(callId !== undefined && { callId }), about })
  }

  #tools(): Tool[] {
    const kinds = this.#kinds()
    return KINDS.flatMap((kind) =>
      EFFECTS.map((effect) => {
        const name = `${kind}_${effect}`
        return tool({
          name,
          description: kind,
          input: z.object({ ms: z.number() }),
          effect,
          execute: ({ ms }, context) => {
            const { callId, idempotencyKey, attempt } = context
            const call = `${name} ${idempotencyKey}`
            this.executions.set(call, (this.executions.get(call) ?? 0) + 1)
            this.#note(`${name} starts`, callId, { ms, idempotencyKey, attempt })
            return kinds[kind](ms, context)
          },
          compensate: ({ ms }) => this.#note(`${name} is undone`, undefined, { ms }),
        }) as Tool
      }),
    )
  }

  /** A call ignores its signal only once: when it is made again, it ends. */
  #kinds(): Readonly<Record<Kind, Execute>> {
    const sleep = this.sleep.bind(this)
    return {
      quick: () => 'at once',
      slow: (ms, { signal }) => sleep(ms, signal).then(() => 'in time'),
      throws: (ms, { signal }) => sleep(ms, signal).then(() => Promise.reject(new Error('broken'))),
      lasts: (_, { attempt, signal }) => (attempt > 1 ? 'in the end' : sleep(1e6, signal)),
      deaf: (_, { attempt }) => {
        if (attempt > 1) return 'in the end'
        this.deaf++
        return new Promise(() => undefined)
      },
      stubborn: (ms) => sleep(ms + GRACE).then(() => 'whatever you say'),
      tidies: (ms, { signal }) =>
        sleep(ms, signal).then(
          () => 'whole',
          () => 'tidied up',
        ),
      async asks(ms, { answers, signal }) {
        if (answers.length > 0) return 'answered'
        await sleep(ms, signal)
        throw interrupt('May I?')
      },
      async *tells(ms, { signal, run }) {
        for (const progress of [0.3, 0.6]) {
          await sleep(ms / 2, signal)
          run?.emit({ name: 'halfway', data: progress })
          yield { progress }
        }
        return 'told'
      },
      nests: async (ms, { run, callId, signal }) => {
        await sleep(ms / 2, signal)
        const call = { type: 'tool-call', id: `in ${callId}`, name: 'slow_read', input: { ms } } as const
        const inner = await run?.callTool(call).catch((error: unknown) => {
          if (error instanceof ToolDiscardedError && !signal.aborted) this.refused.push(error.message)
          throw error
        })
        return inner?.content
      },
      async stands(ms, { run, callId, signal }) {
        await sleep(ms / 2, signal)
        await run?.stood(callId)
        return 'stood'
      },
      async sends(ms, { run, callId, signal }) {
        await sleep(ms / 2, signal)
        const input = { ms: ms / 2 }
        const inner = await run?.callTool({ type: 'tool-call', id: `in ${callId}`, name: 'slow_external', input })
        return inner?.content
      },
      async fatal(ms, { signal }) {
        await sleep(ms, signal)
        throw new AgentError('that is the end')
      },
    }
  }

  #middleware({ pass, edits, hooks, approving, retryWait, early }: Case): Middleware[] {
    return [
      ...(pass ? [passing] : []),
      ...(edits ? [longer] : []),
      ...(hooks === undefined ? [] : [this.#slowly(hooks)]),
      ...(approving ? [asking] : []),
      this.#retrying(retryWait),
      ...(early ? [startingMost] : []),
    ]
  }

  #retrying(waitMs: number): Middleware {
    const sleep = this.sleep.bind(this)
    return {
      name: 'retry',
      async *wrapModel(request, next) {
        for (let attempt = 1; ; attempt++) {
          try {
            return yield* next(request)
          } catch (error) {
            if (!(error instanceof ModelError) || attempt > 2) throw error
            if (waitMs === 0) continue
            yield { type: 'attempt-failed', error, next: 'retry', waitMs }
            await sleep(waitMs, request.signal)
          }
        }
      },
    }
  }

  /** Takes its time in each hook, and rejects the first answer. */
  #slowly(ms: number): Middleware {
    const sleep = this.sleep.bind(this)
    return {
      name: 'hooks',
      beforeAgent: () => sleep(ms),
      beforeModel: () => sleep(ms),
      afterModel: (_, run) => sleep(ms, run.signal),
      async beforeFinalAnswer({ messages }) {
        await sleep(ms)
        const again = messages.filter(({ role }) => role === 'user').length < 2
        return again ? { accept: false, feedback: 'Again.' } : { accept: true }
      },
    }
  }
}

const SAID = 'And this'

/** How many of the sent messages are among these. */
export function saidIn(messages: readonly Message[]): number {
  return messages.filter(({ content }) => content === SAID).length
}

/** Starts each call that may start early as soon as it is sealed. */
const startingMost = startingEarly({ ceiling: 'reversible', only: ({ name }) => !name.endsWith('external') })

const passing: Middleware = {
  name: 'pass',
  wrapAgent: (setup, next) => next(setup),
  wrapModel: (request, next) => next(request),
  wrapToolCall: (call, next) => next(call),
}

/** The first call of each response works a little longer. */
const longer = editing((input) => ({ ms: (input as { readonly ms: number }).ms + 1 }))

/** Asks once, after the first model call. */
const asking: Middleware = {
  name: 'approving',
  afterModel(_, run) {
    if (run.step === 1 && run.answers.length === 0) throw interrupt('Go on?')
  },
}

/** The response to each request depends on its history, and on how often the request has failed. */
function modelOf({ turns, pace }: Case, asked: (messages: readonly Message[]) => void): Model {
  const failed = new Map<number, number>()
  return {
    provider: 'p',
    id: 'm',
    stream(request) {
      asked(request.messages)
      const number = request.messages.filter((message) => message.role === 'assistant' && !message.cutOff).length
      const { text, calls, failures } = turns[number] ?? { text: true, calls: [], failures: 0 }
      const spoken = [
        ...(text || calls.length === 0 ? [say('Some words', { deltas: 2 })] : []),
        ...calls.map(({ kind, effect, ms }, index) =>
          call(`${kind}_${effect}`, { ms }, { id: `c${number}_${index}`, deltas: 2 }),
        ),
      ]
      const before = failed.get(number) ?? 0
      failed.set(number, before + 1)
      const script: ScriptResponse =
        before < failures ? respond(...spoken.slice(0, before + 1), fail()) : respond(...spoken)
      return scriptedModel([script], { pace }).stream(request)
    },
  }
}
