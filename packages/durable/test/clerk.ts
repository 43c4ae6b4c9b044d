/** The agent whose processes are killed. Each execution of a tool is a line in a file, which remains whichever process dies. */

import { appendFileSync, readFileSync } from 'node:fs'
import { call, fail, respond, type ScriptResponse, say, scriptedModel, wait } from '@meanwhile/assemble/testing'
import {
  type Agent,
  createAgent,
  type Effect,
  interrupt,
  type Message,
  type Middleware,
  textOf,
  tool,
} from '@meanwhile/core'
import { eagerTools } from '@meanwhile/eager-tools'
import { guard } from '@meanwhile/middleware'
import { z } from 'zod'

const EFFECTS: Readonly<Record<string, Effect>> = {
  look: 'read',
  list: 'read',
  put: 'idempotent',
  hold: 'reversible',
  send: 'external',
}

/** The number of calls in the script: for each tool that is not a `read`, and in total. */
const WANTED = { put: 2, hold: 1, send: 3 }
const ALL = 11

export function isRead({ tool }: { readonly tool: string }): boolean {
  return EFFECTS[tool] === 'read'
}

export type Line =
  | { readonly at: 'check'; readonly run: string; readonly pid: number; readonly time: number }
  | {
      readonly at: 'verdict'
      readonly run: string
      readonly pid: number
      readonly time: number
      readonly pass: boolean
    }
  | { readonly at: 'claim' | 'return' | 'asleep'; readonly run: string; readonly pid: number; readonly time: number }
  | {
      readonly at: 'start' | 'end' | 'undo'
      readonly run: string
      readonly pid: number
      readonly time: number
      readonly tool: string
      readonly key: string
    }

export interface Diary {
  write(line: Line): void
  read(): readonly Line[]
}

export function diaryIn(path: string): Diary {
  return {
    write: (line) => appendFileSync(path, `${JSON.stringify(line)}\n`),
    read() {
      const lines = readFileSync(path, { encoding: 'utf8', flag: 'a+' }).split('\n')
      // The last line of a process that was killed may be incomplete.
      return lines.flatMap((line) => {
        try {
          return line ? [JSON.parse(line)] : []
        } catch {
          return []
        }
      })
    },
  }
}

type Part = ReturnType<typeof say>

/** The same calls in another order each time, with other ids, as models do. */
function varied(parts: readonly Part[]): readonly Part[] {
  const ids = parts.map((part) =>
    part.type === 'call' ? { ...part, id: `x${Math.random().toString(36).slice(2, 8)}` } : part,
  )
  return ids
    .map((part) => ({ part, place: Math.random() }))
    .sort((a, b) => a.place - b.place)
    .map(({ part }) => part)
}

const SCRIPT: readonly (readonly Part[])[] = [
  [
    say('Let me look.'),
    call('look', { ms: 40 }, { id: 'a1' }),
    call('put', { ms: 60 }, { id: 'a2' }),
    call('list', { ms: 10 }, { id: 'a3' }),
    say('One moment.'),
  ],
  [call('ask', {}, { id: 'q1' }), call('send', { ms: 30, to: 'zero' }, { id: 'q2' })],
  [
    call('hold', { ms: 50 }, { id: 'b1' }),
    wait(10),
    call('send', { ms: 80, to: 'one' }, { id: 'b2' }),
    call('look', { ms: 30 }, { id: 'b3' }),
    call('put', { ms: 20, n: 2 }, { id: 'b4' }),
  ],
  [call('send', { ms: 40, to: 'two' }, { id: 'c1' }), call('list', { ms: 60 }, { id: 'c3' })],
  [say('All is done.')],
]

/** The input of a run whose model breaks off after a call of `hold`, and does not call it again on the retry. So that call is undone. */
export const HESITATE = 'Hold, and hesitate'

/** Repeats a model call that breaks off. */
const again: Middleware = {
  name: 'again',
  async *wrapModel(request, next) {
    try {
      return yield* next(request)
    } catch {
      return yield* next(request)
    }
  },
}

/** `held`: resolves when a stored checkpoint has the result of a reversible call. A model call that breaks off does so after that. */
export function clerk(diary: Diary, isVaried: boolean, held: Promise<void> = Promise.resolve()): Agent {
  return clerkWith(diary, { isVaried, held })
}

interface ClerkOptions {
  readonly name?: string
  readonly isVaried?: boolean
  readonly held?: Promise<void>
  readonly outermost?: readonly Middleware[]
}

function clerkWith(
  diary: Diary,
  { name = 'clerk', isVaried = false, held = Promise.resolve(), outermost = [] }: ClerkOptions,
): Agent {
  const tools = Object.entries(EFFECTS).map(([name, effect]) =>
    tool({
      name,
      description: name,
      input: z.looseObject({ ms: z.number() }),
      effect,
      ...(effect === 'reversible' && {
        compensate: () => diary.write({ at: 'undo', run: '', pid: process.pid, time: Date.now(), tool: name, key: '' }),
      }),
      async execute({ ms }, { idempotencyKey: key, run }) {
        const deed = { run: run?.id ?? '', pid: process.pid, tool: name, key }
        diary.write({ at: 'start', time: Date.now(), ...deed })
        await new Promise((resolve) => setTimeout(resolve, ms))
        diary.write({ at: 'end', time: Date.now(), ...deed })
        return name
      },
    }),
  )
  const ask = tool({
    name: 'ask',
    description: 'Asks.',
    input: z.object({}),
    answer: z.string(),
    execute: (_, { answers: [said] }) => (typeof said === 'string' ? `They said ${said}.` : interrupt('May I?')),
  })
  let asked = 0
  const answer = (messages: readonly Message[]): ScriptResponse => {
    if (messages.some((message) => textOf(message) === HESITATE))
      return ++asked === 1
        ? respond(call('hold', { ms: 10 }, { id: 'h1' }), wait(20), fail())
        : respond(say('Rather not.'))
    const parts = SCRIPT[messages.filter(({ role }) => role === 'assistant').length] ?? [say('As you say.')]
    return respond(...(isVaried ? varied(parts) : parts))
  }
  return createAgent({
    name,
    model: {
      provider: 'scripted',
      id: 'scripted-1',
      async *stream(request) {
        const model = scriptedModel([answer(request.messages)], { pace: { firstToken: 20, betweenTokens: 3 } })
        try {
          return yield* model.stream(request)
        } catch (error) {
          await held
          throw error
        }
      },
    },
    tools: [...tools, ask],
    middleware: [...outermost, again, eagerTools()],
  })
}

/** The clerk with a guard. Its check is open until the diary has a verdict for the run. */
export function guardedClerk(diary: Diary): Agent {
  const guarded = guard({
    timeout: Number.POSITIVE_INFINITY,
    async input(_, { run, signal }) {
      diary.write({ at: 'check', run: run.id, pid: process.pid, time: Date.now() })
      for (;;) {
        signal.throwIfAborted()
        for (const line of diary.read()) if (line.at === 'verdict' && line.run === run.id) return { pass: line.pass }
        await new Promise((resolve) => setTimeout(resolve, 20))
      }
    },
  })
  return clerkWith(diary, { name: 'guarded', outermost: [guarded] })
}

export interface Verdict {
  /** Violations of what must always hold. */
  readonly problems: readonly string[]
  /** Calls that the run itself reports as unknown: they may have happened. */
  readonly unknown: number
  readonly readsAgain: number
}

/** Compares what happened with the result of the run. */
export function judge(
  lines: readonly Line[],
  result: { readonly messages: readonly Message[]; readonly unknown?: readonly string[] },
): Verdict {
  const starts = lines.flatMap((line) => (line.at === 'start' ? [line] : []))
  const ends = new Set(lines.flatMap((line) => (line.at === 'end' ? [line.key] : [])))
  const unknown = result.unknown?.length ?? 0
  const problems: string[] = []
  const keys = new Map<string, number>()
  for (const { key } of starts) keys.set(key, (keys.get(key) ?? 0) + 1)
  for (const { key, tool: name } of starts) {
    const times = keys.get(key) ?? 0
    if (EFFECTS[name] !== 'read' && times > 1) problems.push(`${key} (${name}) started ${times} times`)
  }
  for (const [name, most] of Object.entries(WANTED)) {
    const times = starts.filter((line) => line.tool === name).length
    if (times > most) problems.push(`${name} started ${times} times, and was requested ${most} times`)
  }
  const results = result.messages.filter(({ role }) => role === 'tool').length
  if (results !== ALL) problems.push(`${results} results instead of ${ALL}`)
  if (ends.size < ALL - 1 - unknown) problems.push(`${ends.size} calls ended, ${unknown} are unknown`)
  return { problems, unknown, readsAgain: starts.length - keys.size }
}
