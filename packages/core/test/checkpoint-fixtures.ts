/**
 * Makes the pinned checkpoints of `test-data/checkpoints`: `node --conditions=@meanwhile/source test/checkpoint-fixtures.ts`
 * writes those of the current format. Those of a released format stay unchanged.
 */

import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { call, end, respond, type ScriptResponse, say, scriptedModel, wait } from '@meanwhile/assemble/testing'
import {
  type Checkpoint,
  createAgent,
  type Effect,
  interrupt,
  type Json,
  type Middleware,
  map,
  type Tool,
  tool,
} from '@meanwhile/core'
import { z } from 'zod'
import { CHECKPOINT_FORMAT } from '../src/vocabulary/saved-run.ts'

/** `book` asks; the others work for as long as their input states. Each logs what it does. */
export function tools(did: string[]): Tool[] {
  const worker = (name: string, effect: Effect): Tool =>
    tool({
      name,
      description: name,
      input: z.looseObject({ ms: z.number().default(0) }),
      effect,
      ...(effect === 'reversible' && {
        async compensate({ ms }) {
          did.push(`undid ${name}`)
          await new Promise((resolve) => setTimeout(resolve, ms))
        },
      }),
      async execute({ ms }, { attempt }) {
        did.push(`${name} ${attempt}`)
        await new Promise((resolve) => setTimeout(resolve, attempt > 1 ? 0 : ms))
        return name
      },
    }) as Tool
  const book = tool({
    name: 'book',
    description: 'book',
    input: z.looseObject({}),
    execute: (_, { answers, attempt }) => {
      did.push(`book ${attempt}`)
      if (answers.length === 0) throw interrupt({ really: true })
      return `book ${answers[0] as string}`
    },
  }) as Tool
  return [worker('look', 'read'), worker('hold', 'reversible'), worker('send', 'external'), book]
}

export function answersTo({ interrupts }: Checkpoint): Record<string, Json> {
  return Object.fromEntries(interrupts.map(({ id }) => [id, 'yes']))
}

const early: Middleware = {
  name: 'early',
  wrapModel: (request, next, run) =>
    map(next(request), (event) => {
      if (event.type === 'tool-call') run.callTool(event.call).catch(() => undefined)
      return event
    }),
}

/** What is stored of a run. If the run is aborted: while it undoes its early calls. */
async function checkpointAfter(
  response: ScriptResponse,
  cancelAfter?: number,
  middleware: readonly Middleware[] = [],
  abortAfter?: number,
) {
  const abort = new AbortController()
  const store = new Map<string, unknown>()
  const agent = createAgent({
    name: 'fixture',
    model: scriptedModel([response], { pace: { firstToken: 1, betweenTokens: 1 } }),
    tools: tools([]),
    middleware,
    checkpoints: {
      load: async (id) => store.get(id),
      save: async (id, checkpoint) => void store.set(id, checkpoint),
      delete: async () => undefined,
      prune: async () => 0,
    },
  })
  const run = agent.stream('Hello?', { signal: abort.signal })
  if (cancelAfter !== undefined) setTimeout(() => void run.cancel(), cancelAfter)
  if (abortAfter !== undefined) {
    await new Promise((resolve) => setTimeout(resolve, abortAfter))
    abort.abort()
    await new Promise((resolve) => setTimeout(resolve, 50))
    return store.get(run.id)
  }
  const { checkpoint } = await run.result
  return checkpoint ?? store.get(run.id)
}

async function write(): Promise<void> {
  const folder = new URL('../test-data/checkpoints/', import.meta.url)
  mkdirSync(folder, { recursive: true })
  const usage = end({ usage: { inputTokens: 12 } })
  const calls = [call('look', {}, { id: 'a' }), call('hold', {}, { id: 'b' })]
  const made = {
    interrupted: await checkpointAfter(respond(call('look', {}, { id: 'a' }), call('book', {}, { id: 'b' }), usage)),
    cancelled: await checkpointAfter(
      respond(call('look', { ms: 500 }, { id: 'a' }), call('send', { ms: 500 }, { id: 'b' })),
      250,
    ),
    completed: await checkpointAfter(respond(say('Hello.'))),
    'undone-calls': await checkpointAfter(
      respond(call('look', {}, { id: 'a' }), call('hold', { ms: 200 }, { id: 'b' }), wait(2_000), say('late')),
      undefined,
      [early],
      600,
    ),
    'early-calls': await checkpointAfter(respond(...calls, wait(1_000), say('late')), 400, [early]),
  }
  for (const [name, checkpoint] of Object.entries(made)) {
    const file = new URL(`format-${CHECKPOINT_FORMAT}-${name}.json`, folder)
    if (!existsSync(file)) writeFileSync(file, `${JSON.stringify(checkpoint, undefined, 2)}\n`)
  }
}

if (import.meta.main) await write()
