/** Tools with the effect `calls`: they only call other tools, or run an agent. */

import { call, collect, respond, say, scriptedModel, wait } from '@meanwhile/assemble/testing'
import { unhandledRejections } from '@meanwhile/tests/rejections'
import { vi } from 'vitest'
import { z } from 'zod'
import {
  type Agent,
  type CallOptions,
  createAgent,
  type Effect,
  type Middleware,
  type ResumeOptions,
  type Run,
  type Tool,
} from '../src/index.ts'
import { sleep } from './clock.ts'
import { startingEarly } from './early-calls.ts'
import { timedLog } from './timed-log.ts'

export const input = z.object({ n: z.number() })

export async function callOf(run: Run | undefined, name: string, n = 1, id = name): Promise<string> {
  const message = await run?.callTool({ type: 'tool-call', id, name, input: { n } })
  return message?.isError ? `${name} failed` : String(message?.output)
}

/** The call arrives at once, and the model call succeeds after 100 ms. */
export const first = respond(call('plan', { n: 1 }, { id: 'c1' }), wait(100), say('So.'))

export async function played(agent: Agent, resume?: readonly [string, ResumeOptions?]) {
  const run = resume ? agent.resume(resume[0], {}, resume[1]) : agent.stream('Go')
  const reading = collect(run)
  await vi.runAllTimersAsync()
  const { events, result, error } = await reading
  if (error) throw error
  const results = result?.messages.flatMap((one) =>
    one.role === 'tool' ? one.content.map((part) => ('text' in part ? part.text : '')) : [],
  )
  return { events, result, results }
}

export const NEVER = new Promise<never>(() => undefined)

/** Call this at the top of a test file: each test has a fake clock and an empty log, and leaves no rejection. */
export function callsEffect() {
  unhandledRejections()

  /** What was done, and when. */
  const { log, note, restart } = timedLog()

  /** Logs each call, takes ten milliseconds and returns its name and input. */
  function worker(name: string, effect?: Effect, more: Partial<Tool<{ n: number }>> = {}): Tool {
    return {
      name,
      description: name,
      input,
      ...(effect && { effect }),
      async execute({ n }: { readonly n: number }) {
        note(`${name} ${n}`)
        await sleep(10)
        return `${name} ${n}`
      },
      ...more,
    } as Tool
  }

  const workers = [
    worker('look', 'read'),
    worker('put', 'idempotent'),
    worker('move', 'reversible', { compensate: () => note('moved back') }),
    worker('send'),
  ]

  /** Calls these tools one after the other. */
  function maker(effect: Effect, names: readonly string[], more: Partial<Tool<{ n: number }>> = {}): Tool {
    return worker('plan', effect, {
      async execute({ n }, { run }) {
        note(`plan ${n}`)
        const given: string[] = []
        for (const name of names) given.push(await callOf(run, name, n))
        return given.join(', ')
      },
      ...more,
    })
  }

  /** An agent whose first response is `first`, and whose calls start early with these options. */
  function eager(tools: readonly Tool[], options: CallOptions | undefined, more: readonly Middleware[] = []): Agent {
    return createAgent({
      model: scriptedModel([first, respond(say('Done.'))]),
      tools: [...tools, ...workers],
      middleware: [...more, ...(options ? [startingEarly(options)] : [])],
    })
  }

  return { log, note, restart, worker, workers, maker, eager }
}
