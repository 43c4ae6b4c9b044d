/**
 * Runs that stop with one optional member of a checkpoint each, and the outcome of each resume: `node --conditions=@meanwhile/source
 * test/optional-members.ts` writes the missing ones of the current format in `test-data/checkpoints`. Existing ones stay unchanged.
 */

import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { call, respond, type ScriptResponse, say, scriptedModel, wait } from '@meanwhile/assemble/testing'
import {
  type Agent,
  type AgentOptions,
  agentTool,
  type Checkpoint,
  createAgent,
  interrupt,
  type Middleware,
  runLocal,
  settle,
  type Tool,
  tool,
} from '@meanwhile/core'
import { z } from 'zod'
import { CHECKPOINT_FORMAT } from '../src/vocabulary/saved-run.ts'

/** The part of a run before its stop, or after it. */
type Part = 'before' | 'after'

/** A run that is stopped, and resumed by an agent made in the same way. `did` logs what tools do. */
export interface Fixture {
  /** What the model streams until the stop, and after it. */
  readonly says: readonly [before: readonly ScriptResponse[], after: readonly ScriptResponse[]]
  agent(did: string[], part: Part): Partial<AgentOptions>
  /** Stops the run after this many milliseconds, instead of with a question. */
  readonly cancelAfter?: number
  readonly conversationId?: string
  /** A message that is sent to the run at once. */
  readonly send?: string
}

function plain(name: string, execute: Tool['execute'], more: Partial<Tool> = {}): Tool {
  return {
    ...tool({ name, description: name, input: z.looseObject({}), execute: execute ?? (() => name) }),
    ...more,
  } as Tool
}

const ask = plain('ask', (_, { answers }) => (answers.length > 0 ? `told ${answers[0] as string}` : interrupt('Well?')))
const count = runLocal({ key: 'count', schema: z.number(), initial: 0 })
const asked = respond(call('ask', {}, { id: 'a' }))
const done = [respond(say('Done.'))]
const slow = respond(wait(500), say('Late.'))

export const FIXTURES: Readonly<Record<string, Fixture>> = {
  feedback: {
    says: [[respond(say('No.')), slow], done],
    agent: () => ({
      middleware: [
        {
          name: 'strict',
          beforeFinalAnswer: ({ messages }) =>
            messages.length < 3 ? { accept: false, feedback: 'Say done.' } : { accept: true },
        },
      ],
    }),
    cancelAfter: 250,
  },
  background: {
    says: [[respond(call('long', {}, { id: 'a' }), call('ask', {}, { id: 'b' }))], [...done, ...done, ...done]],
    agent: (did) => ({
      tools: [ask, plain('long', () => `long ${did.push('long')}`, { background: true, effect: 'read' })],
    }),
  },
  conversation: { says: [[asked], done], agent: () => ({ tools: [ask] }), conversationId: 'talk' },
  sent: { says: [[slow], done], agent: () => ({}), cancelAfter: 250, send: 'And this?' },
  values: {
    says: [[asked], done],
    agent: (did) => ({
      tools: [ask],
      middleware: [
        {
          name: 'counts',
          beforeModel(_, run) {
            count(run).value += 1
            did.push(`step ${count(run).value}`)
          },
        },
      ],
    }),
  },
  nested: {
    says: [[respond(call('child', { request: 'Ask.' }, { id: 'a' }))], done],
    agent: (_, part) => ({ tools: [agentTool(child(part), { name: 'child', description: 'child' })] }),
  },
  'also-nested': {
    says: [[respond(call('child', { request: 'Ask.' }, { id: 'a' }))], done],
    agent: (_, part) => ({
      tools: [agentTool(child(part), { name: 'child', description: 'child' })],
      middleware: [twiceAtOnce],
    }),
  },
  maker: {
    says: [[respond(call('outer', {}, { id: 'a' }))], done],
    agent: (did) => ({
      tools: [
        ask,
        plain('outer', async (_, { run, callId }) => {
          did.push('outer')
          const inner = await run?.callTool({ type: 'tool-call', id: `${callId}/1`, name: 'ask', input: {} })
          return inner?.output
        }),
      ],
    }),
  },
  outcomes: {
    says: [[respond(call('fails', {}, { id: 'a' }))], done],
    agent: (did) => ({
      tools: [
        plain('fails', (_, { attempt }) => {
          did.push(`fails ${attempt}`)
          if (attempt < 3) throw new Error(`${attempt}`)
          return 'at last'
        }),
      ],
      middleware: [twiceThenAsks],
    }),
  },
  'asked-by-a-hook': {
    says: [[respond(call('look', {}, { id: 'a' }))], done],
    agent: (did) => ({
      tools: [plain('look', () => `look ${did.push('look')}`, { effect: 'read' })],
      middleware: [
        {
          name: 'asks',
          afterModel(_, run) {
            if (run.answers.length === 0 && run.step === 1) interrupt('Go on?')
          },
        },
      ],
    }),
  },
}

function child(part: Part): Agent {
  const said = part === 'before' ? asked : respond(say('The child is done.'))
  const model = scriptedModel([said, said])
  return createAgent({ name: 'child', model, tools: [ask] })
}

const twiceThenAsks: Middleware = {
  name: 'twice',
  async *wrapToolCall(call, next, run) {
    for (const _ of [1, 2]) {
      try {
        return yield* next(call)
      } catch {
        // Once more.
      }
    }
    if (run.answers.length === 0) interrupt('Again?')
    return yield* next(call)
  },
}

/** Makes a call with its input and with another one, in parallel. */
const twiceAtOnce: Middleware = {
  name: 'twice at once',
  async *wrapToolCall(call, next) {
    const calls = [call, { ...call, input: { request: 'Ask again.' } }]
    const [first, second] = await Promise.allSettled(calls.map((one) => settle(next(one))))
    if (second?.status === 'rejected') throw second.reason
    if (first?.status !== 'fulfilled') throw first?.reason
    return first.value
  },
}

/** The agent before its stop, or the one that resumes. */
export function agentOf({ says, agent }: Fixture, did: string[], part: Part): Agent {
  const model = scriptedModel(says[part === 'before' ? 0 : 1])
  return createAgent({ name: 'fixture', model, ...agent(did, part) })
}

async function stoppedRun(fixture: Fixture): Promise<Checkpoint | undefined> {
  const { conversationId } = fixture
  const run = agentOf(fixture, [], 'before').stream('Hello?', { ...(conversationId && { conversationId }) })
  if (fixture.send !== undefined) run.send(fixture.send)
  if (fixture.cancelAfter !== undefined) setTimeout(() => void run.cancel(), fixture.cancelAfter)
  const result = await run.result
  return result.status === 'completed' ? undefined : result.checkpoint
}

/** Answers all questions with yes. Returns the outcome in short. */
export async function resumed(fixture: Fixture, checkpoint: Checkpoint): Promise<unknown> {
  const did: string[] = []
  const answers = Object.fromEntries(checkpoint.interrupts.map(({ id }) => [id, 'yes']))
  const result = await agentOf(fixture, did, 'after').resume(checkpoint, answers).result
  const said = result.messages.map((message) => [
    message.role,
    typeof message.content === 'string'
      ? message.content
      : message.content.map((part) => ('text' in part ? part.text : part.type)),
  ])
  return { status: result.status, steps: result.steps, unknown: result.unknown ?? [], did, said }
}

async function write(): Promise<void> {
  const folder = new URL(`../test-data/checkpoints/format-${CHECKPOINT_FORMAT}-optional/`, import.meta.url)
  mkdirSync(folder, { recursive: true })
  for (const [name, fixture] of Object.entries(FIXTURES)) {
    const file = new URL(`${name}.json`, folder)
    if (existsSync(file)) continue
    const checkpoint = await stoppedRun(fixture)
    if (!checkpoint) throw new Error(`${name} completed`)
    writeFileSync(
      file,
      `${JSON.stringify({ checkpoint, resumed: await resumed(fixture, checkpoint) }, undefined, 2)}\n`,
    )
  }
}

if (import.meta.main) await write()
