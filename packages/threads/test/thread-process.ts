/** A process with threads over a SQLite file. It executes the orders that its test sends. */

import { appendFileSync, existsSync } from 'node:fs'
import { call, respond, type ScriptResponse, say, scriptedModel } from '@meanwhile/assemble/testing'
import { createAgent, interrupt, type Message, type Model, type ModelRequest, textOf, tool } from '@meanwhile/core'
import { createThreads, type Threads } from '@meanwhile/threads'
import { sqliteThreads } from '@meanwhile/threads/sqlite'
import { z } from 'zod'
import { pausing } from './pausing.ts'

export type ThreadOrder =
  | { readonly send: string; readonly whenBusy?: 'queue' | 'preempt' | 'steer' }
  | { readonly answer: boolean }
  | { readonly stop: true }
  | { readonly ping: true }
  /** Kills the process at the next save of a checkpoint. */
  | { readonly dieAtSave: true }

export type ThreadReport = { readonly ready: true } | { readonly done: string; readonly error?: string }

const [path = '', log = '', lease = '500', release = ''] = process.argv.slice(2)
const name = String(process.pid)
const note = (text: string) => appendFileSync(log, `${text}\n`)
const pause = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms))

/** After this many deltas a story stands still. */
const MIDDLE = 10

/** The tool `work`, and the middle of a story, last until the test has made this file. */
async function released(signal: AbortSignal): Promise<void> {
  while (!existsSync(release) && !signal.aborted) await pause(10)
}

const work = tool({
  name: 'work',
  description: 'Works.',
  input: z.object({}),
  async execute(_, { callId, signal }) {
    note(`work ${callId}`)
    await released(signal)
    return 'worked'
  },
})

const mail = tool({
  name: 'mail',
  description: 'Sends mail.',
  input: z.object({}),
  execute(_, { answers, callId }) {
    if (answers.length === 0) interrupt('Really?', { answer: z.boolean() })
    note(`mail ${callId}`)
    return 'sent'
  },
})

const questionOf = ({ messages }: ModelRequest): string =>
  textOf(messages.findLast(({ role }) => role === 'user') as Message)

function script(request: ModelRequest): ScriptResponse {
  const { messages } = request
  const question = questionOf(request)
  note(`model ${question}`)
  if (messages.at(-1)?.role === 'tool') return respond(say(`So: ${textOf(messages.at(-1) as Message)}`))
  if (question.includes('work')) return respond(call('work'))
  if (question.includes('mail')) return respond(say('I write.'), call('mail'))
  if (question.includes('story')) return respond(...Array.from({ length: 20 }, (_, n) => say(`w${n} `)))
  return respond(say(`You said ${question}.`))
}

const store = sqliteThreads(path)
let diesAtSave = false
const change: typeof store.change = (id, decide, options) =>
  store.change(
    id,
    (stored) => {
      const decided = decide(stored)
      if (diesAtSave && decided.checkpoint) process.kill(process.pid, 'SIGKILL')
      return decided
    },
    options,
  )
const scripted = scriptedModel(Array.from({ length: 100 }, () => script))
const model: Model = {
  ...scripted,
  stream: (request) =>
    pausing(scripted.stream(request), questionOf(request).includes('story') ? MIDDLE : Number.POSITIVE_INFINITY, () =>
      released(request.signal),
    ),
}
const agent = createAgent({ name: 'chat', model, tools: [work, mail] })
const threads: Threads = createThreads({
  agent,
  store: { ...store, change },
  lease: Number(lease),
  context: () => {
    note(`context ${name}`)
  },
})
threads.watch()

async function execute(order: ThreadOrder): Promise<string> {
  if ('send' in order) {
    const { send, whenBusy } = order
    return (await threads.send('t', send, { messageId: send, ...(whenBusy && { whenBusy }) })).id
  }
  if ('answer' in order) {
    const { interrupts } = await threads.read('t')
    return (await threads.answer('t', { [interrupts[0]?.id ?? '']: order.answer })).id
  }
  if ('stop' in order) await threads.stop('t')
  if ('dieAtSave' in order) diesAtSave = true
  return 'done'
}

function report(made: ThreadReport): void {
  process.send?.(made)
}

process.on('message', (order: ThreadOrder) => {
  execute(order).then(
    (done) => report({ done }),
    (error: unknown) => report({ done: '', error: String(error) }),
  )
})
process.on('disconnect', () => process.exit())
report({ ready: true })
